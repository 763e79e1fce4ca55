"""The model average against probabilities of K+1 classes, one network and one image at a time."""

import itertools

import pytest
import torch
from torch import Tensor, nn

from bayesgan.networks.dcgan import Discriminator, Shape
from bayesgan.posterior import average
from bayesgan.posterior.average import ModelAverage
from bayesgan.sampler.population import Population
from tests.helpers.plain_networks import PlainDiscriminator, set_statistics, with_weights
from tests.helpers.tensors import rng

SHAPE: Shape = (1, 8, 8)
CLASSES, CHAINS = 3, 2


IMAGES = torch.randint(0, 256, (7, *SHAPE), dtype=torch.uint8, generator=rng(0))
POPULATION = Population(Discriminator(SHAPE, CLASSES, 2))


def population(seed: int) -> tuple[Tensor, Tensor]:
    """Weights large enough to disagree, with the statistics of some other images."""
    theta = POPULATION.initial(CHAINS, rng(seed))
    seen = torch.rand(CHAINS, 20, *SHAPE, generator=rng(seed + 100)) * 2 - 1
    theta[:, -3 * (CLASSES * 8 + CLASSES) :] *= 6
    return theta, POPULATION.statistics(theta, seen)


def averaged(*iterations: int) -> ModelAverage:
    found = ModelAverage(POPULATION, CLASSES, IMAGES)
    for iteration in iterations:
        found.add(iteration, *population(iteration))
    return found


def naive(iterations: list[int]) -> tuple[Tensor, Tensor]:
    """Eq. 5: for every network a softmax over classes 0 … K, class 0 removed and the rest divided by its sum."""
    probabilities, real = torch.zeros(len(IMAGES), CLASSES), torch.zeros(len(IMAGES))
    networks = 0
    for iteration in iterations:
        for theta, statistics in zip(*population(iteration), strict=True):
            plain = set_statistics(with_weights(PlainDiscriminator(SHAPE, CLASSES, 2), theta), statistics)
            networks += 1
            for i, image in enumerate(IMAGES):
                pixels = (image.float() - 127.5) / 127.5
                with torch.no_grad():
                    logits = [0.0, *plain(pixels[None])[0, :CLASSES].tolist()]
                odds = torch.tensor(logits, dtype=torch.double).exp()
                d = odds / odds.sum()
                probabilities[i] += (d[1:] / (1 - d[0])).float()
                real[i] += (1 - d[0]).float()
    return probabilities / networks, real / networks


def test_the_average_is_over_samples_and_chains_with_the_fake_class_removed_from_each() -> None:
    average = averaged(10, 20, 30)
    assert average.included == {10, 20, 30}
    probabilities, real = naive([10, 20, 30])
    torch.testing.assert_close(average.probabilities.float(), probabilities, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(average.real.float(), real, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(average.probabilities.sum(1), torch.ones(7, dtype=torch.double))
    # The networks disagree, so that any other kind of average would be something else.
    alone = torch.stack([naive([iteration])[0] for iteration in (10, 20, 30)])
    assert alone.std(0).max().item() > 0.05


def test_each_chain_predicts_for_itself() -> None:
    average = ModelAverage(POPULATION, CLASSES, IMAGES)
    theta, statistics = population(5)
    probabilities, real = average.predict(theta, statistics)
    assert probabilities.shape == (CHAINS, 7, CLASSES)
    expected, expected_real = naive([5])
    torch.testing.assert_close(probabilities.mean(0).float(), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(real.mean(0).float(), expected_real, rtol=1e-4, atol=1e-5)
    assert not average.included
    for chain in range(CHAINS):
        alone, _ = average.predict(theta[[chain]], statistics[[chain]])
        torch.testing.assert_close(alone[0], probabilities[chain])


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_how_many_images_are_in_memory_does_not_matter(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parts = ModelAverage(POPULATION, CLASSES, IMAGES), ModelAverage(POPULATION, CLASSES, IMAGES)
    whole.add(5, *population(5))
    monkeypatch.setattr(average, "BATCH", size)
    parts.add(5, *population(5))
    torch.testing.assert_close(parts.probabilities, whole.probabilities, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(parts.real, whole.real, rtol=1e-5, atol=1e-6)


def test_the_order_of_samples_does_not_matter() -> None:
    averages = [averaged(*order).probabilities for order in itertools.permutations([10, 20, 30])]
    for each in averages[1:]:
        torch.testing.assert_close(each, averages[0], rtol=1e-12, atol=1e-14)


def test_two_certain_networks_that_disagree_average_to_one_half() -> None:
    """Averaged logits would say something else: the network with the larger ones would win."""
    theta = torch.zeros(2, POPULATION.weights)
    biases = POPULATION.named(theta)["logits.bias"]
    biases[0, 0], biases[1, 1] = 1000.0, 50.0
    average = ModelAverage(POPULATION, CLASSES, IMAGES)
    average.add(1, theta, POPULATION.statistics(theta, torch.zeros(2, 4, *SHAPE)))
    expected = torch.tensor([0.5, 0.5, 0.0], dtype=torch.double).expand(7, 3)
    torch.testing.assert_close(average.probabilities, expected)


def test_a_sure_fake_still_has_classes() -> None:
    """D(x = 0) is 1 in floating point, and what is left over is divided up all the same."""
    theta = torch.zeros(1, POPULATION.weights)
    POPULATION.named(theta)["logits.bias"][0] = torch.tensor([-1000.0, -1000.0, -1000.0 + torch.log(torch.tensor(2.0))])
    average = ModelAverage(POPULATION, CLASSES, IMAGES)
    average.add(1, theta, POPULATION.statistics(theta, torch.zeros(1, 4, *SHAPE)))
    expected = torch.tensor([0.25, 0.25, 0.5], dtype=torch.double).expand(7, 3)
    torch.testing.assert_close(average.probabilities, expected, rtol=1e-4, atol=1e-4)
    assert average.real.max().item() < 1e-300


def test_networks_without_statistics_can_be_averaged_too() -> None:
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, CLASSES))
    linear = Population(network)
    theta = linear.initial(2, rng(0))
    average = ModelAverage(linear, CLASSES, IMAGES)
    average.add(1, theta, torch.zeros(2, 0))
    expected = torch.zeros(7, CLASSES)
    for row in theta:
        nn.utils.vector_to_parameters(row, network.parameters())
        expected += network((IMAGES.float() - 127.5) / 127.5).softmax(1).detach() / 2
    torch.testing.assert_close(average.probabilities.float(), expected, rtol=1e-4, atol=1e-5)
