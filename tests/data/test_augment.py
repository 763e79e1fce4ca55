"""Images turned, stretched and moved, against scipy's own way of doing it."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import ndimage

from bayesgan.base.errors import BayesganError
from bayesgan.data.augment import CHANGES, MOVE, SLANT, STRETCH, TURN, jittered
from bayesgan.data.pixels import as_numbers
from tests.helpers.labelled import dcgan, rng, small_gan

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


def test_what_an_iteration_shows_is_changed_and_diagnostics_draw_from_their_own_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gan = dcgan(jitter=1.0, feature_matching=True)
    shown: list[torch.Tensor] = []
    discriminators, generators = gan.discriminator_log_posterior, gan.generator_log_posterior

    def watch_d(
        theta: Any, fakes: Any, real: torch.Tensor, labelled: tuple[torch.Tensor, Any], plain: None
    ) -> torch.Tensor:
        shown.extend([real, labelled[0]])
        return discriminators(theta, fakes, real, labelled, plain)

    def watch_g(theta_g: Any, theta_d: Any, noise: Any, real: torch.Tensor) -> torch.Tensor:
        shown.append(real)
        return generators(theta_g, theta_d, noise, real)

    monkeypatch.setattr(gan, "discriminator_log_posterior", watch_d)
    monkeypatch.setattr(gan, "generator_log_posterior", watch_g)
    gan.iterate()
    before = {name: each.get_state() for name, each in gan.rng.items()}
    gan.gradient_noise()
    assert {name for name, each in gan.rng.items() if not torch.equal(each.get_state(), before[name])} == {
        "diagnostics"
    }
    assert len(shown) == 3 + 2 * 3
    for images in shown:
        for image in images.flatten(0, 1):
            assert (image - gan.data).abs().amax((1, 2, 3)).min() > 1e-3


def test_vectors_cannot_be_turned() -> None:
    with pytest.raises(BayesganError, match=r"Only images can be turned and moved: set jitter to 0\."):
        small_gan(jitter=1.0)
