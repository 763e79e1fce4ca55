"""The small modern pair: shapes of every size, images by themselves, gradients, and what is frozen."""

import pytest
import torch
from torch.nn import functional

from bayesgan.networks.whitened import Discriminator, Generator, blocks
from bayesgan.sampler.population import Population
from bayesgan.settings.names import Normalisation
from tests.helpers.tensors import rng

SIZES = [(8, 8), (9, 14), (16, 16), (28, 28), (32, 32), (50, 50), (64, 40), (96, 96)]


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_of_any_size_from_8_to_96_pixels(height: int, width: int, channels: int) -> None:
    shape = (channels, height, width)
    made, judge = Population(Generator(5, shape, 2, "group")), Population(Discriminator(shape, 4, 3, "group"))
    noise = torch.randn(2, 3, 5, generator=rng())
    pictures = made(made.initial(2, rng()), noise)
    assert pictures.shape == (2, 3, *shape)
    assert pictures.abs().max() < 1
    assert judge(judge.initial(2, rng()), pictures).shape == (2, 3, 4 + 6)


def test_larger_pictures_have_deeper_networks() -> None:
    assert [blocks(*size) for size in SIZES] == [2, 2, 2, 3, 3, 4, 3, 5]


@pytest.mark.parametrize("normalisation", ["group", "layer", "none"])
def test_an_image_is_judged_by_itself(normalisation: Normalisation) -> None:
    """The likelihood is a product over images only if no image changes what is said of another."""
    network = Discriminator((3, 12, 12), 4, 8, normalisation).double()
    images = torch.randn(6, 3, 12, 12, dtype=torch.double, generator=rng())
    network.whitening.fit(images)
    torch.testing.assert_close(network(images)[2:3], network(images[2:3]))


def test_the_discriminator_is_its_layers_by_hand() -> None:
    network = Discriminator((1, 8, 8), 3, 2, "none").double()
    images = torch.randn(4, 1, 8, 8, dtype=torch.double, generator=rng())
    network.whitening.fit(images)
    maps = functional.gelu(functional.conv2d(images, network.whitening.filters))
    weights = [each for each in network.body.parameters() if each.dim() == 4]
    for first, second in zip(weights[::2], weights[1::2], strict=True):
        maps = functional.gelu(functional.max_pool2d(functional.conv2d(maps, first, padding=1), 2))
        maps = functional.gelu(functional.conv2d(maps, second, padding=1))
    features = maps.flatten(2).max(-1).values
    expected = torch.cat([features @ network.logits.weight.t(), features], 1)
    torch.testing.assert_close(network(images), expected)


def test_chains_share_filters_that_are_not_weights_and_that_a_sample_holds() -> None:
    network = Discriminator((1, 8, 8), 3, 4, "group")
    images = torch.randn(10, 1, 8, 8, generator=rng())
    network.whitening.fit(images)
    population = Population(network)
    theta = population.initial(2, rng())
    facing = images.expand(2, *images.shape)
    statistics = population.statistics(theta, facing)
    torch.testing.assert_close(statistics, network.whitening.filters.flatten().expand(2, -1))
    with torch.device("meta"):
        untold = Population(Discriminator((1, 8, 8), 3, 4, "group"))
    torch.testing.assert_close(untold(theta, facing, statistics), population(theta, facing))


def test_gradients_reach_every_weight_and_the_generator() -> None:
    made, network = Generator(3, (1, 8, 8), 4, "group"), Discriminator((1, 8, 8), 2, 8, "group")
    network.whitening.fit(torch.randn(10, 1, 8, 8, generator=rng()))
    network(made(torch.randn(4, 3, generator=rng()))).square().sum().backward()
    for each in (*made.parameters(), *network.parameters()):
        assert each.grad is not None
        assert each.grad.abs().max() > 0
