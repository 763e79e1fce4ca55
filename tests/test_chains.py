"""A population against the same networks run one by one."""

import torch
from torch import nn

from bayesgan.chains import Population
from bayesgan.networks import mlp


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


def test_initial_weights_have_the_stated_variances_and_differ_between_chains() -> None:
    population = Population(mlp(10, 1000, 100))
    theta = population.initial(3, torch.Generator().manual_seed(0))
    named = population.named(theta)
    for name, variance in (("0.weight", 1 / 30), ("0.bias", 1 / 3), ("2.weight", 1 / 3000), ("2.bias", 1 / 3)):
        values = named[name]
        # The variance of n normal draws has a relative standard error of √(2/n).
        assert abs(values.var().item() / variance - 1) < 5 * (2 / values.numel()) ** 0.5
    assert theta.unique(dim=0).shape[0] == 3


def test_prior_draw_has_the_prior_variance() -> None:
    theta = Population(mlp(10, 50, 5)).prior_draw(20, 10.0, torch.Generator().manual_seed(0))
    assert abs(theta.var().item() / 10.0 - 1) < 5 * (2 / theta.numel()) ** 0.5


def test_named_views_share_memory_with_the_flat_tensor() -> None:
    population = Population(mlp(2, 3, 1))
    theta = torch.zeros(2, population.weights)
    population.named(theta)["0.weight"].fill_(1.0)
    assert theta.sum().item() == 2 * 6
