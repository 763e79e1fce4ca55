"""A population against the same networks run one by one."""

import math
from typing import Any, get_args

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Normal

from bayesgan.base.errors import BayesganError
from bayesgan.networks.dcgan import Discriminator
from bayesgan.networks.layers import BatchNorm
from bayesgan.networks.mlp import mlp
from bayesgan.sampler.population import Population
from bayesgan.settings.names import Precision, PriorScale

PRECISIONS: tuple[Precision, ...] = get_args(Precision)


def single(theta: torch.Tensor, network: nn.Module) -> nn.Module:
    nn.utils.vector_to_parameters(theta, network.parameters())
    return network


def test_population_equals_its_members_run_one_by_one() -> None:
    network = mlp(3, 7, 2)
    population = Population(network)
    theta = population.initial(4, torch.Generator().manual_seed(0))
    inputs = torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(1))
    together = population(theta, inputs)
    for chain in range(4):
        torch.testing.assert_close(together[chain], single(theta[chain], network)(inputs[chain]))


@pytest.mark.parametrize("network", [mlp(8, 16, 2), nn.Sequential(nn.Conv2d(1, 8, 3), nn.GELU(), nn.Flatten())])
def test_bfloat16_is_float32_rounded_to_eight_bits(network: nn.Module) -> None:
    """Sums of at most 16 products, each rounded by 2⁻⁹ of itself at most, in two layers: 2 % of the largest number."""
    inputs = torch.randn(2, 3, *((8,) if isinstance(network[0], nn.Linear) else (1, 5, 5)))  # type: ignore[index]
    found = []
    for precision in PRECISIONS:
        population = Population(network, precision)
        theta = population.initial(2, torch.Generator().manual_seed(0)).requires_grad_()
        outputs = population(theta, inputs)
        (gradient,) = torch.autograd.grad(outputs.square().sum(), theta)
        assert outputs.dtype == gradient.dtype == torch.float32
        found.append((outputs.detach(), gradient))
    for exact, rounded in zip(*found, strict=True):
        apart = (exact - rounded).abs().max() / exact.abs().max()
        assert 0 < apart < 0.02


def test_initial_weights_have_the_stated_variances_and_differ_between_chains() -> None:
    population = Population(mlp(10, 1000, 100))
    theta = population.initial(3, torch.Generator().manual_seed(0))
    named = population.named(theta)
    for name, variance in (("0.weight", 1 / 30), ("0.bias", 1 / 3), ("2.weight", 1 / 3000), ("2.bias", 1 / 3)):
        values = named[name]
        # The variance of n normal draws has a relative standard error of √(2/n).
        assert abs(values.var().item() / variance - 1) < 5 * (2 / values.numel()) ** 0.5
    assert theta.unique(dim=0).shape[0] == 3


@pytest.mark.parametrize(("scale", "fans"), [("isotropic", (1, 1, 1, 1)), ("fan-in", (10, 1, 50, 1))])
def test_prior_draws_have_the_variance_of_each_layer(scale: PriorScale, fans: tuple[int, ...]) -> None:
    population = Population(mlp(10, 50, 5))
    precision = population.precision(10.0, scale, torch.empty(0))
    assert precision is not None
    named = population.named(population.prior_draw(200, precision, torch.Generator().manual_seed(0)))
    for values, fan_in in zip(named.values(), fans, strict=True):
        assert abs(values.var().item() * fan_in / 10.0 - 1) < 5 * (2 / values.numel()) ** 0.5


def test_the_log_prior_is_that_of_independent_normals() -> None:
    population = Population(mlp(3, 4, 2))
    theta = population.initial(2, torch.Generator().manual_seed(0), torch.float64).requires_grad_()
    precision = population.precision(0.7, "fan-in", theta)
    found = population.log_p(theta, precision)
    named = population.named(theta)
    variances = {"0.weight": 0.7 / 3, "0.bias": 0.7, "2.weight": 0.7 / 4, "2.bias": 0.7}
    expected = sum(
        Normal(0.0, math.sqrt(variance)).log_prob(named[name]).flatten(1).sum(1) for name, variance in variances.items()
    )
    torch.testing.assert_close(found[0] - found[1], expected[0] - expected[1])
    gradients = [torch.autograd.grad(each.sum(), theta, retain_graph=True)[0] for each in (found, expected)]
    torch.testing.assert_close(*gradients)
    assert population.log_p(theta, population.precision(None, "fan-in", theta)).tolist() == [0.0, 0.0]


def test_named_views_share_memory_with_the_flat_tensor() -> None:
    population = Population(mlp(2, 3, 1))
    theta = torch.zeros(2, population.weights)
    population.named(theta)["0.weight"].fill_(1.0)
    assert theta.sum().item() == 2 * 6


def images(chains: int, number: int, seed: int) -> torch.Tensor:
    return torch.rand(chains, number, 1, 8, 8, generator=torch.Generator().manual_seed(seed)) * 2 - 1


def convolutional() -> tuple[Population, torch.Tensor]:
    population = Population(Discriminator((1, 8, 8), 3, 2))
    return population, population.initial(3, torch.Generator().manual_seed(0))


def test_a_chain_does_not_change_the_statistics_of_another() -> None:
    population, theta = convolutional()
    first = population.statistics(theta, images(3, 6, 0))
    other_inputs, other_theta = images(3, 6, 0), theta.clone()
    other_inputs[1], other_theta[1] = images(1, 6, 1)[0], -theta[1]
    second = population.statistics(other_theta, other_inputs)
    assert torch.equal(first[[0, 2]], second[[0, 2]])
    assert not torch.equal(first[1], second[1])
    assert first.unique(dim=0).shape == (3, population.buffers)


def test_statistics_depend_on_these_images_alone_and_not_on_what_the_network_did_before() -> None:
    population, theta = convolutional()
    first = population.statistics(theta, images(3, 6, 0))
    population(theta, images(3, 6, 1))
    population(theta, images(3, 6, 1), first)
    population.statistics(theta, images(3, 6, 2))
    assert torch.equal(population.statistics(theta, images(3, 6, 0)), first)


def test_statistics_are_finite_whatever_the_memory_held_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch can fill what it leaves uninitialised with NaN."""
    population, theta = convolutional()
    expected = population.statistics(theta, images(3, 6, 0))
    monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", True)
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(3).isnan().all()
        assert torch.equal(population.statistics(theta, images(3, 6, 0)), expected)
        assert population(theta, images(3, 6, 0)).isfinite().all()
    finally:
        torch.use_deterministic_algorithms(False)


def test_in_training_the_statistics_are_those_of_the_batch_and_in_prediction_the_given_ones() -> None:
    population, theta = convolutional()
    batch = images(3, 6, 0)
    alone = torch.cat([population(theta, batch[:, [i]]) for i in range(6)], 1)
    assert not torch.allclose(alone, population(theta, batch), rtol=1e-3, atol=1e-3)
    given = population.statistics(theta, images(3, 20, 1))
    alone = torch.cat([population(theta, batch[:, [i]], given) for i in range(6)], 1)
    torch.testing.assert_close(alone, population(theta, batch, given), rtol=1e-4, atol=1e-5)


def test_networks_without_normalisation_have_no_statistics() -> None:
    population = Population(mlp(3, 7, 2))
    theta = population.initial(4, torch.Generator().manual_seed(0))
    assert population.buffers == 0
    assert population.statistics(theta, torch.zeros(4, 5, 3)).shape == (4, 0)


def test_weights_that_an_output_does_not_depend_on_have_gradient_zero() -> None:
    population, theta = convolutional()
    features = population(theta.requires_grad_(), images(3, 4, 0))[..., 3:]
    (gradient,) = torch.autograd.grad(features.sum(), theta)
    named = population.named(gradient)
    assert named["logits.weight"].abs().max().item() == named["logits.bias"].abs().max().item() == 0
    assert gradient.isfinite().all()
    assert named["body.0.weight"].abs().max().item() > 0


def test_a_population_of_no_chains_has_no_statistics() -> None:
    """A supervised classifier has no generators."""
    population, theta = convolutional()
    assert population.statistics(theta[:0], images(3, 4, 0)[:0]).shape == (0, population.buffers)


@pytest.mark.parametrize("network", ["batch", "layer", "none", "minibatch", "vectors"])
def test_several_batches_in_one_call_are_those_batches_each_by_itself(network: str) -> None:
    """Outputs and gradients in double precision; afterwards a call is one of one batch again."""
    rng = torch.Generator().manual_seed(0)
    shape: tuple[int, ...] = (6,) if network == "vectors" else (1, 8, 8)
    normalisation: Any = network if network in ("batch", "layer", "none") else "batch"
    discriminator = Discriminator((1, 8, 8), 3, 2, normalisation, minibatch_discrimination=network == "minibatch")
    population = Population(mlp(6, 4, 3) if network == "vectors" else discriminator)
    theta = population.initial(2, rng, torch.double).requires_grad_()
    batches = [torch.randn(2, size, *shape, dtype=torch.double, generator=rng) for size in (4, 2, 3)]
    together, apart = population.of_batches(theta, batches), [population(theta, batch) for batch in batches]
    for ours, expected in zip(together, apart, strict=True):
        torch.testing.assert_close(ours, expected)
    sums = [torch.stack([each.square().sum() for each in outputs]) for outputs in (together, apart)]
    of_each = torch.tensor([1.0, 2.0, 3.0], dtype=torch.double)
    gradients = [torch.autograd.grad(each, theta, of_each)[0] for each in sums]
    torch.testing.assert_close(*gradients)
    torch.testing.assert_close(population(theta, batches[0]), apart[0])


# Networks of a reader's own


class Shifted(nn.Module):
    """A layer with a constant, beside a convolution if asked for."""

    def __init__(self, convolution: bool) -> None:
        super().__init__()
        self.register_buffer("shift", torch.full((3,), 2.0))
        self.linear = nn.Linear(3, 1)
        self.convolution = nn.Conv2d(1, 1, 1) if convolution else None

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x + self.get_buffer("shift"))


@pytest.mark.parametrize("convolution", [False, True])
def test_buffers_that_are_no_statistics_keep_their_values(convolution: bool) -> None:
    network = Shifted(convolution)
    population = Population(network)
    assert population.buffers == 0
    theta = population.initial(2, torch.Generator().manual_seed(0))
    x = torch.randn(2, 4, 3)
    for chain in range(2):
        nn.utils.vector_to_parameters(theta[chain], network.parameters())
        torch.testing.assert_close(population(theta, x)[chain], network(x[chain]))


def test_batch_statistics_work_without_convolutions() -> None:
    population = Population(nn.Sequential(nn.Linear(3, 4), BatchNorm(4), nn.Linear(4, 1)))
    theta, x = population.initial(2, torch.Generator().manual_seed(0)), torch.randn(2, 50, 3)
    assert population(theta, x).shape == (2, 50, 1)
    assert population.statistics(theta, x).shape == (2, 8)


def test_scales_of_normalisations_start_at_one() -> None:
    population = Population(nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 1)))
    named = population.named(population.initial(2, torch.Generator().manual_seed(0)))
    assert torch.equal(named["1.weight"], torch.ones(2, 4))
    assert named["0.weight"].unique().numel() == 24


def tied() -> nn.Module:
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.weight = first.weight
    return nn.Sequential(first, second)


def frozen() -> nn.Module:
    network = nn.Linear(3, 3)
    network.weight.requires_grad_(False)
    return network


@pytest.mark.parametrize(
    ("network", "sentence"),
    [
        (nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), "Dropout draws from a stream that no seed of a run covers"),
        (nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)), "BatchNorm1d averages statistics over changing weights"),
        (tied(), "The parameter 1.weight is shared with another layer"),
        (frozen(), "The parameter weight is frozen"),
    ],
    ids=["dropout", "batch norm", "tied", "frozen"],
)
def test_networks_whose_chains_would_not_be_what_they_seem_are_refused(network: nn.Module, sentence: str) -> None:
    with pytest.raises(BayesganError, match=sentence):
        Population(network)
