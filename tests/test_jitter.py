"""Images turned, stretched and moved, against scipy's own way of doing it."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import ndimage

from bayesgan.draws import as_numbers
from bayesgan.errors import BayesganError
from bayesgan.jitter import CHANGES, MOVE, SLANT, STRETCH, TURN, jittered
from tests.labelled import dcgan, rng, small_gan

SIZE = 14


def picture(channels: int = 1) -> torch.Tensor:
    return torch.rand(channels, SIZE, SIZE, dtype=torch.double, generator=rng())


def oracle(image: np.ndarray, changes: list[float], strength: float) -> np.ndarray:
    """Where each pixel comes from, about the middle of the picture, in units of half a side."""
    turn, wide, high, slant, right, down = (strength * each for each in changes)
    angle, wide, high = TURN * turn, math.exp(STRETCH * wide), math.exp(STRETCH * high)
    from_column = np.array([wide * math.cos(angle), -high * math.sin(angle) + SLANT * slant])  # of column, row
    from_row = np.array([wide * math.sin(angle), high * math.cos(angle)])
    middle, half = (SIZE - 1) / 2, SIZE / 2
    matrix = np.array([from_row[::-1], from_column[::-1]])  # scipy counts rows first
    offset = middle + half * MOVE * np.array([down, right]) - matrix @ np.array([middle, middle])
    return np.stack([ndimage.affine_transform(each, matrix, offset, order=1, mode="nearest") for each in image])


@pytest.mark.parametrize("which", range(CHANGES))
@pytest.mark.parametrize("strength", [1.0, 0.5])
def test_each_change_is_what_scipy_makes_of_it(which: int, strength: float) -> None:
    changes = [0.0] * CHANGES
    changes[which] = 0.9
    image = picture(3)
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


def test_real_and_labelled_images_are_shown_changed_and_statistics_are_not() -> None:
    def shown(**settings: Any) -> tuple[torch.Tensor, ...]:
        gan = dcgan(discriminators=2, **settings)
        indices = gan.mini_batches()
        labelled = gan.labelled_batches()
        assert labelled is not None
        return gan.points(indices), gan.shown(indices), labelled[0], gan.calibration()[0]

    plain, real, labelled, calibration = shown()
    torch.testing.assert_close(real, plain)
    _, changed, changed_labelled, same_calibration = shown(jitter=1.0)
    assert not torch.allclose(changed, real)
    assert not torch.allclose(changed_labelled, labelled)
    assert torch.equal(calibration, same_calibration)


def test_the_same_image_is_shown_in_another_way_to_each_discriminator_and_each_time() -> None:
    gan = dcgan(discriminators=2, jitter=1.0)
    same = torch.zeros(2, 1, dtype=torch.long)
    first, second = gan.shown(same), gan.shown(same)
    assert not torch.allclose(first[0], first[1])
    assert not torch.allclose(first, second)


def test_vectors_cannot_be_turned() -> None:
    with pytest.raises(BayesganError, match=r"Only images can be turned and moved: set jitter to 0\."):
        small_gan(jitter=1.0)
