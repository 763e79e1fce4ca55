"""Any log density, against closed forms: of Gaussians under the discretised dynamics, and of a gamma law."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from bayesgan import BayesganError, Draws, sample_density
from bayesgan.sampler import density
from bayesgan.sampler.density import LogDensity, Mass
from tests.helpers.laws import SIGMAS, assert_covariance, correlated_precision, predicted_covariance

pytestmark = pytest.mark.usefixtures("one_thread")

DIM, CHAINS = 4, 2000
MEAN = torch.tensor([3.0, -2.0, 0.0, 50.0], dtype=torch.double)


def gaussian(precision: Tensor, mean: Tensor = MEAN) -> LogDensity:
    return lambda theta: -0.5 * ((theta - mean) @ precision * (theta - mean)).sum(1)


def zeros(*shape: int) -> Tensor:
    return torch.zeros(*shape, dtype=torch.double)


def standard_normal(theta: Tensor) -> Tensor:
    return -0.5 * theta.square().sum(1)


def assert_moments(draws: Draws, mean: Tensor, deviation: Tensor) -> None:
    """Draws are nearly independent; normal ones have a relative error of 1/√2n of their deviation."""
    points = draws.points.flatten(0, 1)
    assert ((points.mean(0) - mean).abs() <= SIGMAS * deviation / math.sqrt(len(points))).all()
    assert ((points.std(0) / deviation - 1.0).abs() <= SIGMAS / math.sqrt(2 * len(points))).all()


@pytest.mark.parametrize("dynamics", ["plain", "frozen"])
def test_a_gaussian_is_widened_by_a_large_step_as_predicted(dynamics: Mass) -> None:
    """Chains are independent, so the last draws of them are."""
    precision = correlated_precision(DIM)
    found = sample_density(gaussian(precision), zeros(CHAINS, DIM), 1, dynamics, inflation=0.5)
    expected = predicted_covariance(precision, found.mass, found.step, found.friction, 1.0)
    assert_covariance(found.points[:, -1] - MEAN, expected)
    assert (
        float((expected / torch.linalg.inv(precision)).diag().max()) > 1.15
    )  # to be seen in 2,000 draws, whose error is 3 %
    # The widening along the steepest direction is the one that was asked for, at the curvature that is there.
    scale = found.mass.rsqrt()
    steepest = float(torch.linalg.eigvalsh(scale[:, None] * precision * scale).max())
    assert found.curvature == pytest.approx(steepest, rel=0.02)
    assert found.inflation == pytest.approx(0.5, rel=0.05)
    assert found.heat == 0.0
    # ½(v + v') of each coordinate is normal in equilibrium; CHAINS × DIM of them, less than independent.
    assert found.kinetic_temperature == pytest.approx(1.0, abs=SIGMAS * math.sqrt(2 / CHAINS))


@pytest.mark.parametrize("dynamics", ["plain", "frozen"])
def test_a_gaussian_is_itself_with_a_small_step(dynamics: Mass) -> None:
    precision = correlated_precision(DIM)
    found = sample_density(gaussian(precision), zeros(CHAINS, DIM), 1, dynamics)
    assert_covariance(found.points[:, -1] - MEAN, torch.linalg.inv(precision))


@pytest.mark.parametrize("dynamics", ["plain", "frozen"])
def test_the_noise_of_mini_batches_heats_as_predicted(dynamics: Mass) -> None:
    """A slope of variance V in each coordinate adds η²V/M² to the velocity's: a temperature of 1 + ηV/(2αM)."""
    variance, deviation = 30.0, torch.tensor([1.0, 0.5, 1.5, 1.0], dtype=torch.double)
    rng = torch.Generator().manual_seed(1)

    def noisy(theta: Tensor) -> Tensor:
        slope = math.sqrt(variance) * torch.randn(theta.shape, generator=rng, dtype=theta.dtype)
        return standard_normal(theta / deviation) + (slope * theta).sum(1)

    found = sample_density(noisy, zeros(1000, DIM), 1, dynamics, inflation=0.5)
    heat = found.step * variance / (2.0 * found.friction * found.mass)
    assert found.heat == pytest.approx(float(heat.max()), rel=0.1)
    assert 0.2 < found.heat <= 0.5
    variances = (1.0 + heat) * predicted_covariance(
        deviation.pow(-2).diag(), found.mass, found.step, found.friction, 1.0
    ).diag()
    assert_covariance(found.points[:, -1], variances.diag())


def test_scales_may_differ_by_eight_orders_of_magnitude() -> None:
    deviation = torch.logspace(-4, 4, 50, dtype=torch.double)
    mean = 10.0 * deviation * torch.linspace(-1, 1, 50, dtype=torch.double)
    found = sample_density(lambda theta: standard_normal((theta - mean) / deviation), zeros(50, 50), 60)
    precision = deviation.pow(-2).diag()
    expected = predicted_covariance(precision, found.mass, found.step, found.friction, 1.0)
    assert_moments(found, mean, expected.diag().sqrt())


@pytest.mark.parametrize("dynamics", ["plain", "frozen"])
def test_an_unscaled_column_of_a_regression_is_found(dynamics: Mass) -> None:
    """A slope on a column far from 0 is nearly the negative of the intercept: a curvature of 10,000 to 1."""
    column = torch.linspace(20, 60, 40, dtype=torch.double)
    inputs = torch.stack([torch.ones_like(column), column], 1)
    mean, precision = torch.tensor([7.0, -0.5], dtype=torch.double), inputs.T @ inputs
    found = sample_density(gaussian(precision, mean), zeros(1000, 2), 1, dynamics)
    assert_covariance(found.points[:, -1] - mean, torch.linalg.inv(precision))


def test_chains_may_start_anywhere_and_differently() -> None:
    """Of log σ where 1/σ² has the gamma law of shape 50 and rate 50; to start at −50 is to start at a slope of e¹⁰⁰."""
    start = torch.tensor([-50.0, -3.0, 0.0, 4.0, 50.0], dtype=torch.double).repeat(40)[:, None]
    found = sample_density(lambda theta: (-100.0 * theta - 50.0 * (-2.0 * theta).exp()).sum(1), start, 40)
    inverse = (-2.0 * found.points).exp()
    error = SIGMAS / math.sqrt(inverse.numel())
    assert float(inverse.mean()) == pytest.approx(1.0, abs=error * math.sqrt(1 / 50))
    assert float(inverse.std()) == pytest.approx(math.sqrt(1 / 50), rel=error + 0.01)  # 0.01 by the step


@pytest.mark.parametrize("start", [torch.zeros(1, 2), torch.full((1, 2), 1e6)])
def test_one_chain_in_single_precision(start: Tensor) -> None:
    found = sample_density(standard_normal, start, 1000)
    assert found.points.dtype == torch.float32
    assert_moments(found, torch.zeros(2), torch.ones(2))


@pytest.mark.parametrize(
    ("log_density", "deviation"),
    [
        (lambda theta: -theta.pow(4).sum(1), math.sqrt(math.gamma(0.75) / math.gamma(0.25))),  # flat at the start
        (lambda theta: -theta.abs().sum(1), math.sqrt(2.0)),  # without curvature
    ],
)
def test_densities_without_a_curvature_where_they_start(log_density: LogDensity, deviation: float) -> None:
    points = sample_density(log_density, zeros(200, 2), 20).points
    kurtosis = float((points / deviation).pow(4).mean())
    error = math.sqrt((kurtosis - 1.0) / 4.0 / points.numel())
    assert float(points.std()) == pytest.approx(deviation, rel=SIGMAS * error + 0.01)  # 0.01 by the step


def test_the_same_seed_gives_the_same_draws() -> None:
    first, again, other = (sample_density(standard_normal, zeros(3, 2), 5, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.points, again.points)
    assert not torch.equal(first.points, other.points)
    assert first.points.shape == (3, 5, 2)


START = zeros(3, 2)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"start": zeros(3)}, "start is a tensor"),
        ({"start": torch.zeros(3, 2, dtype=torch.long)}, "start is a tensor"),
        ({"start": zeros(0, 2)}, "start is a tensor"),
        ({"draws": 0}, "draws are a whole number, at least 1"),
        ({"inflation": 1.0}, "inflation is between 0 and 1"),
        ({"dynamics": "running"}, "dynamics is one of plain, frozen"),
        ({"log_density": lambda theta: -theta.square().sum()}, r"returns one number a chain, \(3,\), not \(\)"),
        ({"log_density": lambda theta: 0.0}, r"returns one number a chain, \(3,\), not float"),
        ({"log_density": lambda theta: theta.detach().sum(1)}, "has no gradient"),
        ({"log_density": lambda theta: theta.log().sum(1)}, "not finite where chain 0 starts"),
        ({"start": torch.tensor([[0.0], [math.inf]])}, "not finite where chain 1 starts"),
        ({"log_density": lambda theta: theta.sum(1)}, "grows without end"),
    ],
)
def test_what_a_person_can_get_wrong_is_said(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(BayesganError, match=says):
        sample_density(**{"log_density": standard_normal, "start": START, **arguments})


@pytest.mark.parametrize(
    ("log_density", "says"),
    [
        (lambda theta: -theta[:, 0].square(), "have not settled"),  # nothing holds the second coordinate
        (lambda theta: -theta.square().sum(1) + 0.0 * theta.asin().sum(1), "leave where the log density is finite"),
    ],
)
def test_a_density_that_cannot_be_sampled_is_refused(
    log_density: Callable[[Tensor], Tensor], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(density, "WINDOWS", 4)
    monkeypatch.setattr(density, "RETREATS", 3)
    with pytest.raises(BayesganError, match=says):
        sample_density(log_density, START)


def test_a_chain_that_diverges_among_the_draws_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wall that the warm-up did not meet."""
    steps = 0

    def walled(theta: Tensor) -> Tensor:
        nonlocal steps
        steps += 1
        return standard_normal(theta) + (math.nan if steps > 20_000 else 0.0) * theta.sum(1)

    with pytest.raises(BayesganError, match="choose a smaller inflation"):
        sample_density(walled, START, 2000)
