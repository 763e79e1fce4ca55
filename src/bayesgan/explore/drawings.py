"""Bring a drawing made by hand to the form of the training images."""

from dataclasses import dataclass

import numpy as np
from PIL import Image

LOOKED_AT = 1000  # training images
INK = 64  # a pixel so far from the background is drawn


@dataclass(frozen=True)
class Paper:
    """Background and margin of a set of grey images; by default MNIST's."""

    dark: bool = True  # light strokes on a dark background
    fill: float = 20 / 28  # share of the image that the drawing's longer side takes


def paper_of(images: np.ndarray) -> Paper:
    """Measure the paper of grey training images (n, 1, height, width)."""
    images = images[:LOOKED_AT, 0].astype(np.int64)
    edges = np.concatenate([images[:, [0, -1]].ravel(), images[:, :, [0, -1]].ravel()])
    background = float(np.median(edges))
    drawn = np.abs(images - background) > INK
    fills = [max(_extent(each, axis) for axis in (0, 1)) for each in drawn if each.any()]
    return Paper(background < 128, float(np.median(fills)) if fills else 1.0)


def _extent(drawn: np.ndarray, axis: int) -> float:
    """The share of the rows (or columns) from the first to the last that has something drawn."""
    places = np.flatnonzero(drawn.any(1 - axis))
    return (places[-1] - places[0] + 1) / drawn.shape[axis]


def as_trained(drawing: np.ndarray, shape: tuple[int, ...], paper: Paper) -> np.ndarray | None:
    """Bring a drawing (height, width, 4), strokes on nothing or on white, to bytes (channels, height, width).

    For grey networks it is cut out, centred with the margin of the training images, and as bright as they are; for
    others the whole sheet is scaled. None if nothing is drawn.
    """
    channels, height, width = shape
    strokes = Image.fromarray(drawing, "RGBA")
    sheet = Image.new("RGBA", strokes.size, "white")
    sheet.alpha_composite(strokes)
    ink = 255 - np.asarray(sheet.convert("L"))
    rows, columns = np.flatnonzero(ink.max(1) > INK), np.flatnonzero(ink.max(0) > INK)
    if len(rows) == 0:
        return None
    if channels > 1:
        scaled = sheet.convert("RGB").resize((width, height), Image.Resampling.BOX)
        return np.ascontiguousarray(np.asarray(scaled).transpose(2, 0, 1))
    cut = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    scale = paper.fill * min(height / cut.shape[0], width / cut.shape[1])
    tall, wide = (max(1, round(scale * length)) for length in cut.shape)
    small = np.asarray(Image.fromarray(cut).resize((wide, tall), Image.Resampling.BOX), np.float64)
    picture = np.zeros((1, height, width), np.uint8)
    top, left = (height - tall) // 2, (width - wide) // 2
    # A thin stroke turns grey where it is scaled down.
    picture[0, top : top + tall, left : left + wide] = (small * (255.0 / small.max())).round()
    return picture if paper.dark else 255 - picture
