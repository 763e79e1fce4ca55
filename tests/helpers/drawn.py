"""Drawings made by hand."""

import numpy as np


def drawn(ink: np.ndarray) -> np.ndarray:
    """Black strokes on nothing, (height, width, 4)."""
    sheet = np.zeros((*ink.shape, 4), np.uint8)
    sheet[..., 3] = ink
    return sheet
