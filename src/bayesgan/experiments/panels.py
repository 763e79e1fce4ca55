"""Pictures of pictures: one row for each generator, as in Figure 2."""

from pathlib import Path

import numpy as np
from PIL import Image
from torch import Tensor

from bayesgan.files import replacing

GAP = 2  # pixels between pictures
SMALLEST_SIDE = 56  # of a picture in the panel: small images are enlarged, pixel by pixel


def panel(pictures: Tensor) -> Image.Image:
    """One image of (rows, columns, channels, height, width) bytes."""
    pixels = pictures.cpu().numpy()
    rows, columns, channels, height, width = pixels.shape
    factor = max(1, -(-SMALLEST_SIDE // min(height, width)))
    pixels = pixels.repeat(factor, axis=3).repeat(factor, axis=4)
    height, width = height * factor, width * factor
    canvas = np.full((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, channels), 255, np.uint8)
    for row in range(rows):
        for column in range(columns):
            top, left = row * (height + GAP), column * (width + GAP)
            canvas[top : top + height, left : left + width] = pixels[row, column].transpose(1, 2, 0)
    return Image.fromarray(canvas[..., 0] if channels == 1 else canvas)


def draw_panels(pictures: Tensor, path: Path) -> None:
    """Write the panel of ``pictures`` as PNG."""
    with replacing(path) as temporary:
        panel(pictures).save(temporary, format="PNG")
