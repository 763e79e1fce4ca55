"""Turn, stretch, slant and move images a little."""

import math

import torch
from torch import Tensor
from torch.nn import functional

# At most, at strength 1.
TURN = math.radians(15.0)
STRETCH = 0.1  # of either side, as a logarithm
SLANT = 0.1  # sideways, of the height
MOVE = 1 / 7  # of half a side, up or down and sideways: two pixels of 28
CHANGES = 6  # numbers for each image


def jittered(images: Tensor, changes: Tensor, strength: float) -> Tensor:
    """Change each of ``images`` (..., channels, height, width) by its ``changes`` (..., 6) in −1 … 1; edges repeat.

    The changes are, in this order: turn, stretch sideways and upwards, slant, move sideways and upwards. Zeros
    leave an image as it is.
    """
    flat = images.flatten(0, -4)
    turn, wide, high, slant, right, down = (strength * changes.flatten(0, -2).to(flat.dtype)).unbind(1)
    wide, high = torch.exp(STRETCH * wide), torch.exp(STRETCH * high)
    cosine, sine = torch.cos(TURN * turn), torch.sin(TURN * turn)
    narrow = flat.shape[-2] / flat.shape[-1]  # places are told in halves of either side
    rows = (
        (wide * cosine, narrow * (SLANT * slant - high * sine), MOVE * right),
        (wide * sine / narrow, high * cosine, MOVE * down),
    )
    places = functional.affine_grid(torch.stack([torch.stack(row, 1) for row in rows], 1), list(flat.shape), False)
    return functional.grid_sample(flat, places, padding_mode="border", align_corners=False).view(images.shape)
