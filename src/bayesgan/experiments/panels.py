"""Pictures of pictures: one row for each generator, as in Figure 2."""

from pathlib import Path

import numpy as np
from PIL import Image
from torch import Tensor

from bayesgan.files import replacing

GAP = 2  # pixels between pictures
SMALLEST_SIDE = 56  # of a picture in the panel: small images are enlarged, pixel by pixel


def picture(pixels: np.ndarray) -> Image.Image:
    """An image of (channels, height, width) bytes: grey with one channel, in colour with three."""
    return Image.fromarray(pixels[0] if len(pixels) == 1 else np.ascontiguousarray(pixels.transpose(1, 2, 0)))


def panel(pictures: Tensor) -> Image.Image:
    """One image of (rows, columns, channels, height, width) bytes."""
    pixels = pictures.cpu().numpy()
    rows, columns, channels, height, width = pixels.shape
    factor = max(1, -(-SMALLEST_SIDE // min(height, width)))
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
