"""The networks of a run, by its settings and the shape of its points."""

import pytest
import torch
from torch import nn

from bayesgan.base.errors import BayesganError
from bayesgan.networks import whitened
from bayesgan.networks.build import pair
from bayesgan.networks.dcgan import Discriminator, Generator
from bayesgan.networks.layers import GaussianNoise, GroupNorm, MinibatchDiscrimination
from bayesgan.sampler.population import Population
from bayesgan.settings.settings import ImageSettings, Settings, VectorSettings
from tests.helpers.tensors import rng


def test_vectors_have_two_networks_of_as_many_units() -> None:
    generator, discriminator = pair(VectorSettings.of(hidden=7, noise_dim=2), (5,), 3)
    assert [tuple(each.shape) for each in generator.parameters()] == [(7, 2), (7,), (5, 7), (5,)]
    assert [tuple(each.shape) for each in discriminator.parameters()] == [(7, 5), (7,), (3, 7), (3,)]


def test_images_have_the_dcgan_pair_with_every_setting() -> None:
    values = {"generator_width": 2, "discriminator_width": 3, "features": 11, "noise_dim": 4, "normalisation": "layer"}
    tricks = {"layer_noise": 0.2, "feature_normalisation": True, "minibatch_discrimination": True}
    generator, discriminator = pair(ImageSettings.of(**values, **tricks), (3, 8, 12), 5)
    assert isinstance(generator, Generator)
    assert isinstance(discriminator, Discriminator)
    made = Population(generator)
    images = made(made.initial(1, rng()), torch.randn(1, 6, 4, generator=rng()))
    assert images.shape == (1, 6, 3, 8, 12)
    judge = Population(discriminator)
    assert judge(judge.initial(1, rng()), images).shape == (1, 6, 5 + 11)
    parts = list(discriminator.modules())
    assert {each.deviation for each in parts if isinstance(each, GaussianNoise)} == {0.2}
    assert any(isinstance(each, MinibatchDiscrimination) for each in parts)
    assert any(isinstance(each, GroupNorm) for each in parts)
    assert any(isinstance(each, GroupNorm) for each in generator.modules())
    assert discriminator.feature_normalisation
    assert [each.in_channels for each in generator.modules() if isinstance(each, nn.ConvTranspose2d)] == [4, 2]
    assert [each.out_channels for each in parts if isinstance(each, nn.Conv2d)] == [3, 6]


def test_a_pair_that_whitens_learns_how_from_the_points() -> None:
    settings = ImageSettings.of(
        architecture="whitened", normalisation="group", generator_width=2, discriminator_width=3
    )
    points = torch.randint(256, (20, 3, 8, 12), generator=rng(), dtype=torch.uint8)
    generator, discriminator = pair(settings, (3, 8, 12), 5, points)
    assert isinstance(generator, whitened.Generator)
    assert isinstance(discriminator, whitened.Discriminator)
    assert {each.device.type for each in discriminator.parameters()} == {"meta"}
    expected = whitened.Discriminator((3, 8, 12), 5, 3, "group")
    expected.whitening.fit(points.float() / 127.5 - 1)
    torch.testing.assert_close(discriminator.whitening.filters, expected.whitening.filters)
    _, told_later = pair(settings, (3, 8, 12), 5)
    assert {each.device.type for each in told_later.buffers()} == {"meta"}


def test_nothing_is_drawn_from_torchs_own_state() -> None:
    before = torch.get_rng_state()
    for settings, shape in ((VectorSettings(), (4,)), (ImageSettings.of(generator_width=2), (1, 8, 8))):
        for network in pair(settings, shape, 2):
            assert {each.device.type for each in network.parameters()} == {"meta"}
    assert torch.equal(torch.get_rng_state(), before)


def test_a_side_of_fewer_than_eight_pixels_is_refused() -> None:
    with pytest.raises(BayesganError, match="Images of 7×8 pixels are too small: both sides need 8 or more"):
        pair(ImageSettings(), (1, 7, 8), 2)


def test_vectors_have_no_features_to_match() -> None:
    with pytest.raises(BayesganError, match="no features to match"):
        pair(VectorSettings.of(feature_matching=True), (3,), 3)


def test_settings_of_neither_kind_name_no_networks() -> None:
    with pytest.raises(TypeError, match="Settings name no networks"):
        pair(Settings(), (3,), 1)
