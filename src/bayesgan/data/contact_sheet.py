"""Sheets of many pictures: a row for each generator, as in Figure 2, or with captions."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from bayesgan.base.files import replacing
from bayesgan.data.decode import picture

GAP = 2  # pixels between pictures
ENLARGED_SIDE = 56  # pixels of a side that smaller pictures are enlarged to at least, pixel by pixel
CAPTION = 14  # pixels of a line of text


def panel(pictures: Tensor) -> Image.Image:
    """Lay (rows, columns, channels, height, width) bytes out as one image."""
    pixels = pictures.cpu().numpy()
    rows, columns, channels, height, width = pixels.shape
    factor = _factor(height, width)
    pixels = pixels.repeat(factor, axis=3).repeat(factor, axis=4)
    height, width = height * factor, width * factor
    canvas = np.full((channels, rows * (height + GAP) - GAP, columns * (width + GAP) - GAP), 255, np.uint8)
    for row in range(rows):
        for column in range(columns):
            top, left = row * (height + GAP), column * (width + GAP)
            canvas[:, top : top + height, left : left + width] = pixels[row, column]
    return picture(canvas)


def draw_panels(pictures: Tensor, path: Path) -> None:
    """Write the panel of ``pictures`` as PNG."""
    with replacing(path) as temporary:
        panel(pictures).save(temporary, format="PNG")


def draw_sheet(pictures: np.ndarray, captions: list[str], path: Path, columns: int = 10) -> None:
    """Write ``pictures`` (n, channels, height, width), each with a line of text below it, as PNG."""
    factor = _factor(*pictures.shape[2:])
    width, height = pictures.shape[3] * factor, pictures.shape[2] * factor
    columns = min(columns, len(pictures))
    rows = -(-len(pictures) // columns)
    step_x, step_y = width + 2 * GAP, height + CAPTION + 2 * GAP
    canvas = Image.new("RGB", (columns * step_x, rows * step_y), "white")
    drawing, font = ImageDraw.Draw(canvas), ImageFont.load_default()
    for number, (pixels, caption) in enumerate(zip(pictures, captions, strict=True)):
        left, top = number % columns * step_x + GAP, number // columns * step_y + GAP
        canvas.paste(picture(pixels).resize((width, height), Image.Resampling.NEAREST), (left, top))
        drawing.text((left + width / 2, top + height), caption, fill="black", font=font, anchor="ma")
    with replacing(path) as temporary:
        canvas.save(temporary, format="PNG")


def _factor(height: int, width: int) -> int:
    return max(1, -(-ENLARGED_SIDE // min(height, width)))
