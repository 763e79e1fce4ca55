"""Images turned, stretched and moved, against scipy's own way of doing it; lit, mirrored and cut."""

import math

import numpy as np
import pytest
import torch
from scipy import ndimage

from bayesgan.data.augment import CHANGES, MOVE, PLACES, STRETCH, TURN, Strengths, augmented
from bayesgan.data.pixels import as_numbers
from tests.helpers.tensors import rng

SIZE = 14


def picture(channels: int = 1, width: int = SIZE) -> torch.Tensor:
    return torch.rand(channels, SIZE, width, dtype=torch.double, generator=rng())


def jittered(images: torch.Tensor, changes: torch.Tensor, strength: float) -> torch.Tensor:
    """Change where images are, by ``changes`` (..., 5) in −1 … 1, and nothing else."""
    others = torch.full((*changes.shape[:-1], CHANGES - PLACES), 0.5)
    return augmented(images, torch.cat([(changes + 1) / 2, others], -1), Strengths(jitter=strength))


def oracle(image: np.ndarray, changes: list[float], strength: float) -> np.ndarray:
    """Where each pixel comes from, in pixels from the middle of the picture."""
    turn, wide, high, right, down = (strength * each for each in changes)
    angle, wide, high = TURN * turn, math.exp(STRETCH * wide), math.exp(STRETCH * high)
    from_column = np.array([wide * math.cos(angle), -high * math.sin(angle)])  # of column, row
    from_row = np.array([wide * math.sin(angle), high * math.cos(angle)])
    sides = np.array(image.shape[1:])
    matrix = np.array([from_row[::-1], from_column[::-1]])  # scipy counts rows first
    offset = (sides - 1) / 2 + sides / 2 * MOVE * np.array([down, right]) - matrix @ ((sides - 1) / 2)
    return np.stack([ndimage.affine_transform(each, matrix, offset, order=1, mode="nearest") for each in image])


@pytest.mark.parametrize("which", range(PLACES))
@pytest.mark.parametrize(("strength", "width"), [(1.0, SIZE), (0.5, SIZE), (1.0, 2 * SIZE), (1.0, 8)])
def test_each_change_is_what_scipy_makes_of_it(which: int, strength: float, width: int) -> None:
    changes = [0.0] * PLACES
    changes[which] = 0.9
    image = picture(3, width)
    ours = jittered(image[None], torch.tensor([changes]), strength)[0]
    np.testing.assert_allclose(ours.numpy(), oracle(image.numpy(), changes, strength), atol=1e-6)
    assert not torch.allclose(ours, image, atol=1e-2)


def test_all_changes_at_once_and_every_image_by_its_own() -> None:
    images = torch.stack([picture(), picture().flip(-1)]).expand(3, 2, 1, SIZE, SIZE)
    changes = 2 * torch.rand(3, 2, PLACES, generator=rng(1)) - 1
    ours = jittered(images, changes, 1.0)
    for chain in range(3):
        for number in range(2):
            expected = oracle(images[chain, number].numpy(), changes[chain, number].tolist(), 1.0)
            np.testing.assert_allclose(ours[chain, number].numpy(), expected, atol=1e-6)


def test_no_change_changes_nothing() -> None:
    images = as_numbers(torch.randint(256, (2, 3, 1, SIZE, SIZE), generator=rng()))
    torch.testing.assert_close(jittered(images, torch.zeros(2, 3, PLACES), 1.0), images, atol=1e-5, rtol=0)


def test_a_move_to_the_right_takes_pixels_from_the_right_and_repeats_the_edge() -> None:
    image = picture()
    changes = torch.tensor([[0.0, 0.0, 0.0, 1.0, 0.0]])
    columns = (torch.arange(SIZE) + 2).clamp(max=SIZE - 1)
    torch.testing.assert_close(jittered(image[None], changes, 4 / SIZE / MOVE)[0], image[..., columns])


def numbers(**places: float) -> torch.Tensor:
    """The numbers of one image, of which those that are named are not in the middle."""
    names = ("turn", "wide", "high", "right", "down", "mirror", "contrast", "light", "hidden", "row", "column")
    return torch.tensor([[places.get(name, 0.5) for name in names]], dtype=torch.double)


@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_half_of_the_images_are_mirrored_and_only_if_they_may_be(jitter: float) -> None:
    image = picture(3, 10)
    for flip, mirror, expected in ((True, 0.4, image.flip(-1)), (True, 0.6, image), (False, 0.4, image)):
        ours = augmented(image[None], numbers(mirror=mirror), Strengths(jitter=jitter, flip=flip))[0]
        torch.testing.assert_close(ours, expected, atol=1e-5, rtol=0)


def test_a_mirrored_image_is_then_turned_and_moved() -> None:
    image, place = picture(), {"turn": 0.9, "right": 0.8, "high": 0.3}
    both = augmented(image[None], numbers(mirror=0.1, **place), Strengths(jitter=1.0, flip=True))
    turned = augmented(image.flip(-1)[None], numbers(**place), Strengths(jitter=1.0))
    torch.testing.assert_close(both, turned)


def test_brightness_moves_the_mean_and_contrast_the_spread() -> None:
    image = picture(3)
    ours = augmented(image[None], numbers(light=0.8, contrast=0.1), Strengths(brightness=0.3))[0]
    torch.testing.assert_close(ours.mean(), image.mean() + 0.3 * 0.6)
    torch.testing.assert_close(ours.std(), image.std() * math.exp(-0.3 * 0.8))


def test_a_rectangle_is_cut_out_of_half_of_the_images() -> None:
    image = picture(2, 20) + 2
    hidden = augmented(image[None], numbers(hidden=0.4, row=0.5, column=0.0), Strengths(cut=0.4))[0]
    expected = image.clone()
    expected[:, 4:10, :4] = 0.0  # rows within 0.2 · 14 of the middle, columns within 0.2 · 20 of the left edge
    torch.testing.assert_close(hidden, expected)
    assert torch.equal(augmented(image[None], numbers(hidden=0.6), Strengths(cut=0.4))[0], image)


def test_images_that_are_not_to_be_changed_are_not() -> None:
    image = picture(3)[None]
    assert torch.equal(augmented(image, torch.rand(1, CHANGES, generator=rng()), Strengths()), image)
