"""The DCGAN pair against networks put together from torch's own layers, in double precision."""

import pytest
import torch
from torch import Tensor, nn

from bayesgan.networks.dcgan import Discriminator, Generator, Shape
from bayesgan.networks.layers import GaussianNoise
from bayesgan.sampler.population import Population
from bayesgan.settings.names import Normalisation
from tests.helpers.plain_networks import Plain, PlainDiscriminator, PlainGenerator, statistics_of, with_weights
from tests.helpers.tensors import pixels, rng

SHAPES: list[Shape] = [(1, 8, 8), (1, 28, 28), (3, 32, 32), (3, 50, 50), (2, 9, 13)]
NOISE_DIM, CLASSES = 5, 3


def pair(kind: str, shape: Shape, width: int = 2) -> tuple[nn.Module, Plain]:
    if kind == "generator":
        return Generator(NOISE_DIM, shape, width), PlainGenerator(NOISE_DIM, shape, width)
    return Discriminator(shape, CLASSES, width), PlainDiscriminator(shape, CLASSES, width)


def inputs_of(kind: str, chains: int, shape: Shape, number: int = 6) -> Tensor:
    if kind == "generator":
        return torch.randn(chains, number, NOISE_DIM, dtype=torch.double, generator=rng(1))
    return torch.stack([pixels(number, shape, seed) for seed in range(chains)])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("normalisation", ["batch", "layer", "none"])
def test_images_of_every_size_go_in_and_come_out(shape: Shape, normalisation: Normalisation) -> None:
    noise = 10 * torch.randn(4, NOISE_DIM, generator=rng())
    images = Generator(NOISE_DIM, shape, 2, normalisation)(noise)
    assert images.shape == (4, *shape)
    assert -1 <= images.min().item() < images.max().item() <= 1
    assert Discriminator(shape, CLASSES, 2, normalisation)(images).shape == (4, CLASSES + 256)


@pytest.mark.parametrize("width", [3, 96])
def test_the_widths_double_up_to_512_and_are_mirrored(width: int) -> None:
    down = [m for m in Discriminator((3, 32, 32), 10, width).modules() if isinstance(m, nn.Conv2d)]
    up = [m for m in Generator(100, (3, 32, 32), width).modules() if isinstance(m, nn.ConvTranspose2d)]
    channels = [3, width, 2 * width, 4 * width, min(512, 8 * width)]
    assert [m.in_channels for m in down] == channels[:-1]
    assert [m.out_channels for m in down] == channels[1:]
    assert [m.in_channels for m in up] == channels[:0:-1]
    assert [m.out_channels for m in up] == channels[-2::-1]


@pytest.mark.parametrize("kind", ["discriminator", "generator"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_outputs_and_gradients_of_a_population_are_those_of_plain_networks(kind: str, shape: Shape) -> None:
    network, plain = pair(kind, shape)
    population = Population(network)
    theta = population.initial(3, rng(), torch.double).requires_grad_()
    inputs = inputs_of(kind, 3, shape)
    outputs = population(theta, inputs)
    weights = torch.randn(outputs.shape, dtype=torch.double, generator=rng(2))
    (gradient,) = torch.autograd.grad((outputs * weights).sum(), theta)
    for chain in range(3):
        with_weights(plain, theta[chain].detach())
        expected = plain(inputs[chain])
        torch.testing.assert_close(outputs[chain], expected, rtol=1e-9, atol=1e-10)
        gradients = torch.autograd.grad((expected * weights[chain]).sum(), plain.ordered())
        flat = torch.cat([each.flatten() for each in gradients])
        torch.testing.assert_close(gradient[chain], flat, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kind", ["discriminator", "generator"])
@pytest.mark.parametrize("shape", [(1, 8, 8), (2, 9, 13)], ids=str)
def test_statistics_and_predictions_are_those_of_torchs_batch_norm(kind: str, shape: Shape) -> None:
    """Each chain has its own statistics of its own images; afterwards other images are treated one by one."""
    network, plain = pair(kind, shape)
    population = Population(network)
    theta = population.initial(3, rng(), torch.double)
    seen, new = inputs_of(kind, 3, shape, 7).flip(0), inputs_of(kind, 3, shape, 4)
    statistics = population.statistics(theta, seen)
    kept = statistics.clone()
    predicted = population(theta, new, statistics)
    assert torch.equal(statistics, kept)
    for chain in range(3):
        with_weights(plain, theta[chain]).train()
        plain(seen[chain])
        torch.testing.assert_close(statistics[chain], statistics_of(plain), rtol=1e-9, atol=1e-12)
        plain.eval()
        torch.testing.assert_close(predicted[chain], plain(new[chain]).detach(), rtol=1e-9, atol=1e-10)
        alone = population(theta[[chain]], new[[chain], :1], statistics[[chain]])
        torch.testing.assert_close(alone[0, 0], predicted[chain, 0], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("normalisation", ["layer", "none"])
def test_without_batch_norm_an_image_does_not_depend_on_its_batch(normalisation: Normalisation) -> None:
    shape = (1, 8, 8)
    population = Population(Discriminator(shape, CLASSES, 2, normalisation))
    theta = population.initial(1, rng(), torch.double)
    images = pixels(5, shape)[None]
    assert population.buffers == 0
    torch.testing.assert_close(population(theta, images)[:, :2], population(theta, images[:, :2]))


def test_layer_norm_is_torchs_with_a_bias_for_each_channel() -> None:
    """One convolution of two in the discriminator of 8×8 images is normalised: the second, with maps of 2×2."""
    shape = (1, 8, 8)
    network = Discriminator(shape, CLASSES, 2, "layer").double()
    plain = with_weights(
        PlainDiscriminator(shape, CLASSES, 2), nn.utils.parameters_to_vector(network.parameters()).detach()
    )
    assert isinstance(plain, PlainDiscriminator)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1)
        for parameter in plain.ordered():
            parameter.add_(0.1)
        images = pixels(3, shape)
        maps = plain.convolutions[0](nn.functional.leaky_relu(plain.first(images), 0.2))
        maps = nn.functional.layer_norm(maps, (4, 2, 2)) + 0.1
        features = nn.functional.leaky_relu(plain.hidden(nn.functional.leaky_relu(maps, 0.2).flatten(1)), 0.2)
        torch.testing.assert_close(network(images)[:, CLASSES:], features)


def test_feature_normalisation_gives_the_features_of_each_image_a_mean_square_of_one() -> None:
    shape, classes = (1, 8, 8), 2
    normal, raw = (Discriminator(shape, classes, 3, feature_normalisation=each).double() for each in (True, False))
    normal.load_state_dict(raw.state_dict())
    images = pixels(5, shape)
    features, raw_features = normal(images)[:, classes:], raw(images)[:, classes:]
    expected = raw_features / raw_features.square().mean(1, keepdim=True).sqrt()
    torch.testing.assert_close(features, expected)
    logits = features @ normal.logits.weight.T + normal.logits.bias
    torch.testing.assert_close(normal(images)[:, :classes], logits)


# Noise on the layers


def noisy(deviation: float = 0.3) -> Discriminator:
    return Discriminator((1, 8, 8), CLASSES, 2, layer_noise=deviation)


def test_every_layer_of_the_discriminator_and_only_in_training_gets_noise_of_the_stated_deviation() -> None:
    network = noisy()
    inputs: list[Tensor] = []
    added: list[tuple[Tensor, Tensor]] = []
    for part in network.modules():
        if isinstance(part, nn.Conv2d | nn.Linear):
            part.register_forward_hook(lambda module, given, result: inputs.append(given[0]))
        if isinstance(part, GaussianNoise):
            part.stream = rng()
            part.register_forward_hook(lambda module, given, result: added.append((given[0], result)))
    images = pixels(200, (1, 8, 8)).float()
    network(images)
    assert len(inputs) == len(added) == 4  # two convolutions, the hidden layer, the logits
    for fed, (before, after) in zip(inputs, added, strict=True):
        assert fed is after
        difference = (after - before).detach()
        # n draws: their mean has the standard error σ/√n, their variance the relative one √(2/n).
        assert abs(difference.mean().item()) < 5 * 0.3 / difference.numel() ** 0.5
        assert abs(difference.var().item() / 0.09 - 1) < 5 * (2 / difference.numel()) ** 0.5
    added.clear()
    network.eval()
    network(images)
    assert all(torch.equal(before, after) for before, after in added)


def test_noise_has_the_seed_of_its_chain_and_nothing_else() -> None:
    population, quiet = Population(noisy()), Population(Discriminator((1, 8, 8), CLASSES, 2))
    theta, images = population.initial(2, rng()), pixels(4, (1, 8, 8)).float().expand(2, -1, -1, -1, -1)
    seeds = torch.tensor([5, 6])
    outside = torch.get_rng_state()
    first, second = population(theta, images, seeds=seeds), population(theta, images, seeds=seeds + 10)
    again = population(theta, images, seeds=seeds)
    assert torch.equal(torch.get_rng_state(), outside)
    assert torch.equal(first, again)
    for chain in range(2):
        assert not torch.equal(first[chain], second[chain])
        assert torch.equal(population(theta[[chain]], images[[chain]], seeds=seeds[[chain]])[0], first[chain])
    assert torch.equal(population(theta, images), quiet(theta, images))  # without seeds there is none


def test_statistics_are_those_of_training_and_predictions_have_no_noise() -> None:
    quiet, population = Population(Discriminator((1, 8, 8), CLASSES, 2)), Population(noisy())
    theta, images = population.initial(2, rng()), pixels(4, (1, 8, 8)).float().expand(2, -1, -1, -1, -1)
    seeds = torch.tensor([5, 6])
    statistics = population.statistics(theta, images, seeds)
    assert not torch.equal(statistics, quiet.statistics(theta, images))
    assert torch.equal(population.statistics(theta, images), quiet.statistics(theta, images))
    assert torch.equal(population(theta, images, statistics), quiet(theta, images, statistics))
    assert torch.equal(population(theta, images, statistics, seeds), quiet(theta, images, statistics))
    # Which is no matter of modes left behind.
    assert not torch.equal(population(theta, images, seeds=seeds), quiet(theta, images))


# Minibatch discrimination


def test_minibatch_discrimination_moves_being_real_but_not_the_classes() -> None:
    shape = (1, 8, 8)
    population = Population(Discriminator(shape, CLASSES, 2, minibatch_discrimination=True))
    without = Population(Discriminator(shape, CLASSES, 2))
    theta = population.initial(2, rng(), torch.double)
    images = torch.stack([pixels(5, shape, seed) for seed in (0, 1)])
    shared = without.weights
    with_it, without_it = population(theta, images), without(theta[:, :shared], images)
    moved = with_it[..., :CLASSES] - without_it[..., :CLASSES]
    assert moved.abs().min().item() > 1e-6
    torch.testing.assert_close(moved, moved[..., :1].expand_as(moved))
    torch.testing.assert_close(
        with_it[..., :CLASSES].softmax(-1), without_it[..., :CLASSES].softmax(-1), rtol=1e-9, atol=1e-12
    )
    # In prediction it is one number for each chain, its mean in the batch that the statistics come from.
    statistics = population.statistics(theta, images)
    new = torch.stack([pixels(3, shape, seed) for seed in (2, 3)])
    predicted = population(theta, new, statistics)[..., :CLASSES]
    plain = without(theta[:, :shared], new, without.statistics(theta[:, :shared], images))[..., :CLASSES]
    torch.testing.assert_close(predicted - plain, moved.mean((1, 2))[:, None, None].expand_as(plain))


def test_minibatch_discrimination_beside_batch_norm_has_the_gradient_of_the_network_by_itself() -> None:
    shape = (1, 8, 8)
    network = Discriminator(shape, CLASSES, 2, minibatch_discrimination=True, feature_normalisation=True)
    population = Population(network)
    theta = population.initial(2, rng(), torch.double).requires_grad_()
    images = torch.stack([pixels(5, shape, seed) for seed in (0, 1)])
    (gradient,) = torch.autograd.grad(population(theta, images).square().sum(), theta)
    network.double()
    for chain in range(2):
        nn.utils.vector_to_parameters(theta[chain].detach(), network.parameters())
        parts = torch.autograd.grad(network(images[chain]).square().sum(), list(network.parameters()))
        torch.testing.assert_close(gradient[chain], torch.cat([part.flatten() for part in parts]))
