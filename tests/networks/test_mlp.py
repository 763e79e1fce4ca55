"""The two-layer networks of vectors."""

import torch
from torch import nn

from bayesgan.networks.mlp import mlp
from tests.helpers.tensors import rng


def test_a_network_is_two_matrices_with_rectified_units_between_them() -> None:
    network = mlp(3, 5, 2).double()
    first, bias, second, last = network.parameters()
    assert (first.shape, bias.shape, second.shape, last.shape) == ((5, 3), (5,), (2, 5), (2,))
    points = torch.randn(4, 3, dtype=torch.double, generator=rng())
    expected = (points @ first.T + bias).clamp_min(0) @ second.T + last
    torch.testing.assert_close(network(points), expected)


def test_the_last_layer_is_linear() -> None:
    network = mlp(2, 4, 1)
    assert isinstance(network[-1], nn.Linear)
    with torch.no_grad():
        network[-1].bias.fill_(-1e6)
    assert network(torch.zeros(1, 2)).item() < -1e5
