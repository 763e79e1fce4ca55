"""The DCGAN pair against networks put together from torch's own layers, in double precision."""

import math
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from bayesgan.networks import layers
from bayesgan.networks.dcgan import Discriminator, Generator, Shape
from bayesgan.networks.layers import (
    Convolution,
    GaussianNoise,
    MinibatchDiscrimination,
    TransposedConvolution,
    channels_last,
)
from bayesgan.sampler.population import Population
from bayesgan.sampler.sghmc import noise_seeds
from bayesgan.settings.names import Normalisation
from tests.helpers.plain_networks import Plain, PlainDiscriminator, PlainGenerator, statistics_of, with_weights

SHAPES: list[Shape] = [(1, 8, 8), (1, 28, 28), (3, 32, 32), (3, 50, 50), (2, 9, 13)]
NOISE_DIM, CLASSES = 5, 3


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pixels(number: int, shape: Shape, seed: int = 0) -> Tensor:
    return torch.rand(number, *shape, dtype=torch.double, generator=rng(seed)) * 2 - 1


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


def test_noise_comes_from_the_named_stream_alone() -> None:
    population = Population(noisy())
    theta, images = population.initial(2, rng()), pixels(4, (1, 8, 8)).float().expand(2, -1, -1, -1, -1)
    stream = rng(5)
    population.draw_noise_from(partial(noise_seeds, stream))
    outside = torch.get_rng_state()
    first, second = population(theta, images), population(theta, images)
    stream.manual_seed(5)
    again = population(theta, images)
    assert torch.equal(torch.get_rng_state(), outside)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)


def test_statistics_are_those_of_training_and_predictions_have_no_noise() -> None:
    quiet, population = Population(Discriminator((1, 8, 8), CLASSES, 2)), Population(noisy())
    stream = rng(5)
    population.draw_noise_from(partial(noise_seeds, stream))
    theta, images = population.initial(2, rng()), pixels(4, (1, 8, 8)).float().expand(2, -1, -1, -1, -1)
    statistics = population.statistics(theta, images)
    assert not torch.equal(statistics, quiet.statistics(theta, images))
    before = stream.get_state()
    assert torch.equal(population(theta, images, statistics), quiet(theta, images, statistics))
    assert torch.equal(stream.get_state(), before)
    assert not torch.equal(population(theta, images), quiet(theta, images))  # which is no matter of modes left behind


# Minibatch discrimination


def test_minibatch_discrimination_is_a_double_loop_over_the_batch() -> None:
    """o(xᵢ)_b = Σ_{j≠i} exp(−‖M_{i,b} − M_{j,b}‖₁)/(n−1), M = T f(x), and a linear function of o as the logit."""
    module = MinibatchDiscrimination(6).double()
    features = torch.randn(4, 6, dtype=torch.double, generator=rng())
    kernels = (features @ module.kernels.weight.T).view(4, 32, 5)
    for i, logit in enumerate(module(features)):
        closeness = torch.zeros(32, dtype=torch.double)
        for j in range(4):
            for b in range(32):
                if i != j:
                    closeness[b] += math.exp(-(kernels[i, b] - kernels[j, b]).abs().sum().item()) / 3
        torch.testing.assert_close(logit, module.closeness.weight @ closeness)


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


@pytest.mark.parametrize("size", [(4, 4), (3, 4), (2, 2)])
@pytest.mark.parametrize("kernel", [3, 5])
def test_convolutions_by_matrix_products_are_convolutions(
    size: tuple[int, int], kernel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways round, with gradients, against torch's own kernels in double precision."""
    monkeypatch.setattr(layers, "MANY", 1)
    images = torch.randn(3, 4, *size, dtype=torch.double, generator=rng(), requires_grad=True)
    weight = torch.randn(5, 4, kernel, kernel, dtype=torch.double, generator=rng(1), requires_grad=True)
    down = Convolution(4, 5, kernel, stride=2, padding=kernel // 2, bias=False)
    ours = functional_call(down, {"weight": weight}, images)
    theirs = functional.conv2d(images, weight, stride=2, padding=kernel // 2)
    same_with_gradients(ours, theirs, images, weight)
    for extra in (0, 1):
        up = TransposedConvolution(5, 4, kernel, stride=2, padding=kernel // 2, output_padding=extra, bias=False)
        maps = ours.detach().clone().requires_grad_()
        again = functional_call(up, {"weight": weight}, maps)
        expected = functional.conv_transpose2d(maps, weight, stride=2, padding=kernel // 2, output_padding=extra)
        same_with_gradients(again, expected, maps, weight)


def same_with_gradients(ours: Tensor, theirs: Tensor, *inputs: Tensor) -> None:
    """Equal values, and equal gradients of a random sum of them."""
    torch.testing.assert_close(ours, theirs)
    direction = torch.randn(theirs.shape, dtype=torch.double, generator=rng(2))
    torch.testing.assert_close(
        torch.autograd.grad(ours, inputs, direction), torch.autograd.grad(theirs, inputs, direction)
    )


@pytest.mark.parametrize("channels", [1, 3])
def test_the_layout_of_images_changes_no_value_and_is_kept_by_convolutions(channels: int) -> None:
    images = torch.randn(4, channels, 7, 6, generator=rng(), requires_grad=True)
    arranged = channels_last(images)
    same_with_gradients(arranged.double(), images.double(), images)
    maps = nn.Conv2d(channels, 8, 3)(arranged)
    assert maps.is_contiguous(memory_format=torch.channels_last)
    assert not maps.is_contiguous()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sides", [(8, 12), (7, 8), (28, 28)])
def test_layers_of_grey_images_are_torchs_own(sides: tuple[int, int], bias: bool) -> None:
    """Outputs and all gradients, in double precision, whichever form is computed."""
    images = torch.randn(3, 1, *sides, dtype=torch.double, generator=rng(), requires_grad=True)
    down = Convolution(1, 5, 5, stride=2, padding=2, bias=bias).double()
    form = partial(functional.conv2d, images, down.weight, down.bias, stride=2, padding=2)
    same_with_gradients(down(images), form(), images, *down.parameters())
    same_with_gradients(down(images.detach()), form(), *down.parameters())
    extra = ((sides[0] + 1) % 2, (sides[1] + 1) % 2)
    up = TransposedConvolution(5, 1, 5, stride=2, padding=2, output_padding=extra, bias=bias).double()
    maps = form().detach().requires_grad_()
    back = functional.conv_transpose2d(maps, up.weight, up.bias, stride=2, padding=2, output_padding=extra)
    assert back.shape[2:] == sides
    same_with_gradients(up(maps), back, maps, *up.parameters())
