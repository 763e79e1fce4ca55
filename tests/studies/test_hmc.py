"""Full-batch HMC against a Gaussian that is known."""

import math

import torch
from torch import Tensor

from studies import hmc
from tests.helpers.laws import SIGMAS

CHAINS, DRAWS = 50, 200


def test_a_gaussian_is_sampled_whatever_the_step_is() -> None:
    deviations, mean = torch.tensor([0.5, 1.0, 2.0]).double(), torch.tensor([1.0, -2.0, 0.0]).double()

    def log_density(theta: Tensor) -> Tensor:
        return -0.5 * ((theta - mean) / deviations).square().sum(1)

    found = hmc.hmc(log_density, torch.zeros(CHAINS, 3, dtype=torch.double), 150, DRAWS)
    assert 0.6 < found.acceptance < 0.99
    own_means = found.draws.mean(1)  # chains are independent: their spread is the Monte Carlo error
    error = own_means.std(0) / math.sqrt(CHAINS)
    assert ((own_means.mean(0) - mean).abs() <= SIGMAS * error).all()
    squares = (found.draws - mean).square().mean(1)
    error = squares.std(0) / math.sqrt(CHAINS)
    assert ((squares.mean(0) - deviations.square()).abs() <= SIGMAS * error).all()
    assert (error < 0.05 * deviations.square()).all()  # so that half or twice the variance is seen


def test_an_orbit_into_nothing_is_not_accepted() -> None:
    """Outside of a box the density is no number: no chain gets there."""
    found = hmc.hmc(
        lambda theta: torch.where(theta.abs() < 1.0, 0.0 * theta, torch.nan).sum(1), torch.zeros(4, 2).double(), 20, 20
    )
    assert (found.draws.abs() < 1.0).all()
