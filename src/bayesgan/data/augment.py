"""Show images a little changed: turned, stretched, moved, mirrored, brighter or darker, with a part cut out."""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

# At most, at strength 1.
TURN = math.radians(12.0)
STRETCH = 0.12  # of either side, as a logarithm
MOVE = 0.2  # of half a side, up or down and sideways
PLACES, LIGHTS, CUTS = 5, 2, 3  # numbers for each image that say where it goes, how bright it is, and what is cut out,
CHANGES = PLACES + 1 + LIGHTS + CUTS  # and one that says whether it is mirrored


class Strengths(NamedTuple):
    """How much images are changed; with zeros and False they stay as they are."""

    jitter: float = 0.0
    brightness: float = 0.0
    cut: float = 0.0
    flip: bool = False


def augmented(images: Tensor, changes: Tensor, strengths: Strengths) -> Tensor:
    """Change each of ``images`` (..., channels, height, width) in [−1, 1] by its ``changes`` (..., 11) in 0 … 1."""
    flat, numbers = images.flatten(0, -4), changes.flatten(0, -2).to(images.dtype)
    place, mirror, light, cut = numbers.split([PLACES, 1, LIGHTS, CUTS], 1)
    mirrored = (mirror < 0.5) & strengths.flip
    if strengths.jitter > 0:
        flat = _moved(flat, 2.0 * place - 1.0, strengths.jitter, torch.where(mirrored[:, 0], -1.0, 1.0).to(flat))
    elif strengths.flip:
        flat = torch.where(mirrored[:, :, None, None], flat.flip(-1), flat)
    if strengths.brightness > 0:
        flat = _lit(flat, 2.0 * light - 1.0, strengths.brightness)
    if strengths.cut > 0:
        flat = _cut(flat, cut, strengths.cut)
    return flat.view(images.shape)


def _moved(images: Tensor, changes: Tensor, strength: float, mirror: Tensor) -> Tensor:
    """Turn, stretch sideways and upwards, move sideways and upwards, by ``changes`` (n, 5) in −1 … 1.

    Edges repeat. ``mirror`` (n,) is −1 for images that are mirrored, too.
    """
    turn, wide, high, right, down = (strength * changes).unbind(1)
    wide, high = torch.exp(STRETCH * wide), torch.exp(STRETCH * high)
    cosine, sine = torch.cos(TURN * turn), torch.sin(TURN * turn)
    narrow = images.shape[-2] / images.shape[-1]  # places are told in halves of either side
    rows = (
        (mirror * wide * cosine, mirror * -narrow * high * sine, mirror * MOVE * right),
        (wide * sine / narrow, high * cosine, MOVE * down),
    )
    places = functional.affine_grid(torch.stack([torch.stack(row, 1) for row in rows], 1), list(images.shape), False)
    return functional.grid_sample(images, places, padding_mode="border", align_corners=False)


def _lit(images: Tensor, changes: Tensor, strength: float) -> Tensor:
    """Add up to ``strength`` times half the range, and change the contrast by up to a factor of e^strength."""
    contrast, light = (strength * changes).view(-1, LIGHTS, 1, 1, 1).unbind(1)
    mean = images.mean((1, 2, 3), keepdim=True)
    return (images - mean) * torch.exp(contrast) + mean + light


def _cut(images: Tensor, changes: Tensor, share: float) -> Tensor:
    """Make a rectangle grey in half of the images: ``share`` of both sides, its middle anywhere."""
    height, width = images.shape[-2:]
    yes, down, right = changes.unbind(1)
    rows, columns = (torch.arange(side, device=images.device) + 0.5 for side in (height, width))
    beside_rows = (rows - height * down[:, None]).abs() < share * height / 2
    beside_columns = (columns - width * right[:, None]).abs() < share * width / 2
    hidden = beside_rows[:, None, :, None] & beside_columns[:, None, None, :] & (yes < 0.5)[:, None, None, None]
    return images.masked_fill(hidden, 0.0)
