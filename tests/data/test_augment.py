"""Images turned, stretched and moved, against scipy's own way of doing it."""

import math

import numpy as np
import pytest
import torch
from scipy import ndimage

from bayesgan.data.augment import CHANGES, MOVE, SLANT, STRETCH, TURN, jittered
from bayesgan.data.pixels import as_numbers
from tests.helpers.tensors import rng

SIZE = 14


def picture(channels: int = 1, width: int = SIZE) -> torch.Tensor:
    return torch.rand(channels, SIZE, width, dtype=torch.double, generator=rng())


def oracle(image: np.ndarray, changes: list[float], strength: float) -> np.ndarray:
    """Where each pixel comes from, in pixels from the middle of the picture."""
    turn, wide, high, slant, right, down = (strength * each for each in changes)
    angle, wide, high = TURN * turn, math.exp(STRETCH * wide), math.exp(STRETCH * high)
    from_column = np.array([wide * math.cos(angle), -high * math.sin(angle) + SLANT * slant])  # of column, row
    from_row = np.array([wide * math.sin(angle), high * math.cos(angle)])
    sides = np.array(image.shape[1:])
    matrix = np.array([from_row[::-1], from_column[::-1]])  # scipy counts rows first
    offset = (sides - 1) / 2 + sides / 2 * MOVE * np.array([down, right]) - matrix @ ((sides - 1) / 2)
    return np.stack([ndimage.affine_transform(each, matrix, offset, order=1, mode="nearest") for each in image])


@pytest.mark.parametrize("which", range(CHANGES))
@pytest.mark.parametrize(("strength", "width"), [(1.0, SIZE), (0.5, SIZE), (1.0, 2 * SIZE), (1.0, 8)])
def test_each_change_is_what_scipy_makes_of_it(which: int, strength: float, width: int) -> None:
    changes = [0.0] * CHANGES
    changes[which] = 0.9
    image = picture(3, width)
    ours = jittered(image[None], torch.tensor([changes]), strength)[0]
    np.testing.assert_allclose(ours.numpy(), oracle(image.numpy(), changes, strength), atol=1e-6)
    assert not torch.allclose(ours, image, atol=1e-2)


def test_all_changes_at_once_and_every_image_by_its_own() -> None:
    images = torch.stack([picture(), picture().flip(-1)]).expand(3, 2, 1, SIZE, SIZE)
    changes = 2 * torch.rand(3, 2, CHANGES, generator=rng(1)) - 1
    ours = jittered(images, changes, 1.0)
    for chain in range(3):
        for number in range(2):
            expected = oracle(images[chain, number].numpy(), changes[chain, number].tolist(), 1.0)
            np.testing.assert_allclose(ours[chain, number].numpy(), expected, atol=1e-6)


def test_no_change_changes_nothing() -> None:
    images = as_numbers(torch.randint(256, (2, 3, 1, SIZE, SIZE), generator=rng()))
    torch.testing.assert_close(jittered(images, torch.zeros(2, 3, CHANGES), 1.0), images, atol=1e-5, rtol=0)


def test_a_move_to_the_right_takes_pixels_from_the_right_and_repeats_the_edge() -> None:
    """Two pixels of 14 are MOVE of half a side twice over."""
    image = picture()
    changes = torch.tensor([[0.0, 0.0, 0.0, 0.0, 1.0, 0.0]])
    columns = (torch.arange(SIZE) + 2).clamp(max=SIZE - 1)
    torch.testing.assert_close(jittered(image[None], changes, 2.0)[0], image[..., columns])
