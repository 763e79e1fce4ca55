"""The sampler against closed forms: of the discretised dynamics, of Adam, and of an independent implementation."""

import math

import numpy as np
import posteriors
import pytest
import torch
from torch import Tensor

from bayesgan.sampler import sghmc
from bayesgan.sampler.densities import log_prior, rescaled
from bayesgan.sampler.sghmc import Adam, Chains
from bayesgan.settings.names import Dynamics, Schedule
from tests.helpers.laws import SIGMAS, assert_covariance, correlated_precision, predicted_covariance

SEEDS = torch.arange(10)


def sampled(
    precision: Tensor, mass: Tensor | None, eta: float, alpha: float, temperature: float, steps: int = 300
) -> Tensor:
    """The last position of many independent chains, long after they forgot where they started."""
    chains, dim = 20_000, len(precision)
    rng = torch.Generator().manual_seed(1)
    state = Chains.at(torch.zeros(chains, dim, dtype=torch.double))
    if mass is not None:
        state.preconditioner = mass.rsqrt().expand(chains, dim)
    for _ in range(steps):
        sghmc.sghmc_step(state, -state.theta @ precision, eta, alpha, temperature, sghmc.noise_seeds(rng, 10))
    return state.theta


@pytest.mark.parametrize("kind", ["plain", "frozen"])
@pytest.mark.parametrize(("eta", "alpha", "temperature"), [(0.4, 0.5, 1.0), (0.4, 0.1, 1.0), (0.2, 0.9, 0.3)])
def test_gaussian_matches_the_discretised_dynamics(kind: str, eta: float, alpha: float, temperature: float) -> None:
    precision = correlated_precision(10)
    mass = torch.linspace(0.6, 2.0, 10, dtype=torch.double) if kind == "frozen" else torch.ones(10, dtype=torch.double)
    theta = sampled(precision, None if kind == "plain" else mass, eta, alpha, temperature)
    assert_covariance(theta, predicted_covariance(precision, mass, eta, alpha, temperature))


@pytest.mark.parametrize(("eta", "alpha", "temperature"), [(0.4, 0.5, 1.0), (0.8, 0.1, 1.0), (0.2, 0.9, 0.3)])
def test_the_temperatures_of_a_gaussian_are_those_of_the_discretised_dynamics(
    eta: float, alpha: float, temperature: float
) -> None:
    """Kinetic: T for every step, curvature and friction; configurational: T (4 − 2α)/(4 − 2α − k), k = ηλ/M.

    Of n independent normal draws a mean square has the relative standard error √(2/n); the weights are independent.
    """
    chains, curvature = 20_000, torch.tensor([0.3, 1.0, 3.0], dtype=torch.double)
    mass = torch.tensor([0.6, 2.0, 1.5], dtype=torch.double)
    rng = torch.Generator().manual_seed(8)
    state = Chains.at(torch.zeros(chains, 3, dtype=torch.double))
    state.preconditioner = mass.rsqrt().expand(chains, 3)
    for _ in range(300):
        sghmc.sghmc_step(state, -curvature * state.theta, eta, alpha, temperature, sghmc.noise_seeds(rng, 10))
    theta, before = state.theta.clone(), state.momentum.clone()
    sghmc.sghmc_step(state, -curvature * theta, eta, alpha, temperature, sghmc.noise_seeds(rng, 10))
    error = SIGMAS * math.sqrt(2 / chains)
    for weight in range(3):
        own = Chains.at(state.theta[:, weight : weight + 1])
        own.momentum, own.preconditioner = (
            each[:, weight : weight + 1] for each in (state.momentum, state.preconditioner)
        )
        kinetic = sghmc.kinetic_temperature(own, before[:, weight : weight + 1], eta)
        where = sghmc.configurational_temperature(own.theta - own.momentum, -curvature[weight] * theta[:, weight, None])
        k = eta * float(curvature[weight] / mass[weight])
        wide = (4 - 2 * alpha) / (4 - 2 * alpha - k)
        assert kinetic.mean().item() == pytest.approx(temperature, rel=error)
        assert where.mean().item() == pytest.approx(temperature * wide, rel=error)
        assert (own.momentum.square() * mass[weight] / eta).mean().item() == pytest.approx(  # at an end of the step
            temperature * 4 / (4 - 2 * alpha - k), rel=error
        )
    kinetic = sghmc.kinetic_temperature(state, before, eta)  # of all weights together: their mean
    assert kinetic.shape == (chains,)
    assert kinetic.mean().item() == pytest.approx(temperature, rel=error)


def test_gradient_noise_heats_by_beta_over_alpha() -> None:
    """As gradient_noise_over_friction estimates it, from two gradients."""
    chains, eta, alpha, spread = 20_000, 0.2, 0.5, 3.0
    mass = torch.tensor([0.6, 2.0], dtype=torch.double)
    rng = torch.Generator().manual_seed(9)
    state = Chains.at(torch.zeros(chains, 2, dtype=torch.double))
    state.preconditioner = mass.rsqrt().expand(chains, 2)

    def gradient() -> Tensor:
        return -state.theta + spread * torch.randn(chains, 2, dtype=torch.double, generator=rng)

    for _ in range(200):
        before = state.momentum.clone()
        sghmc.sghmc_step(state, gradient(), eta, alpha, 1.0, sghmc.noise_seeds(rng, 10))
    heat = sghmc.gradient_noise_over_friction(state, gradient() - gradient(), eta, alpha).mean().item()
    kinetic = sghmc.kinetic_temperature(state, before, eta).mean().item()
    assert heat > 0.5  # large enough to be seen
    assert kinetic == pytest.approx(1.0 + heat, rel=2 * SIGMAS * math.sqrt(1 / chains))  # both have an error


def test_the_configurational_temperature_is_the_targets_whatever_its_form() -> None:
    """Draws from exp(log p / T), log p = −θ⁴/4: θ⁴/4T has the law Gamma(1/4), whose deviation is twice its mean."""
    draws, temperature = 100_000, 0.3
    theta = torch.from_numpy((4.0 * temperature * np.random.default_rng(0).gamma(0.25, size=(draws, 1))) ** 0.25)
    found = sghmc.configurational_temperature(theta, -(theta**3))
    assert found.mean().item() == pytest.approx(temperature, rel=SIGMAS * 2.0 / math.sqrt(draws))
    assert sghmc.configurational_temperature(theta, theta).max() < 0  # driven outwards


def test_gaussian_approaches_the_target_as_the_step_falls() -> None:
    precision, mass = correlated_precision(10), torch.ones(10, dtype=torch.double)
    target = torch.linalg.inv(precision)
    distances = []
    for eta, steps in ((0.4, 300), (0.1, 300), (0.02, 1500)):
        theta = sampled(precision, None, eta, 0.5, 1.0, steps)
        assert_covariance(theta, predicted_covariance(precision, mass, eta, 0.5, 1.0))
        distances.append(float((theta.T @ theta / len(theta) - target).norm()))
    assert distances[0] > 2 * distances[1]
    # At a step of 0.02 what remains of the bias, 2 % in the steepest direction, is less than the Monte Carlo error.
    assert_covariance(theta, target)


def test_chains_do_not_see_each_other() -> None:
    """Several chains at once behave like one: the same law in time, and no correlation between them."""
    chains, steps, every = 4, 6_000, 10
    rng = torch.Generator().manual_seed(2)
    state = Chains.at(torch.zeros(chains, 1, dtype=torch.double))
    kept = []
    for step in range(steps):
        sghmc.sghmc_step(state, -state.theta, 0.2, 0.5, 1.0, sghmc.noise_seeds(rng, 10))
        if step % every == 0:
            kept.append(state.theta.flatten().clone())
    draws = torch.stack(kept[1:])  # (599, 4), spaced so that their autocorrelation is a few per cent
    variance = 3.0 / 2.8  # (4 − 2α)/(4 − 2α − η)
    expected = variance * torch.eye(chains, dtype=torch.double)
    assert_covariance(draws, expected)


def test_linear_regression_with_mini_batches_matches_the_closed_form() -> None:
    """The posterior mean, and its covariance heated by the gradient noise as predicted.

    The gradient noise of a mini-batch has, at a distance e from the posterior mean m, the covariance
    (N²/n) Cov_i[x_i (y_i − x_iᵀ(m + e))/σ²], quadratic in e, so the second moments of the chain obey a closed
    linear recursion, iterated here to its fixed point.
    """
    data_size, batch, dim, noise, variance = 200, 10, 4, 0.5, 0.002  # a prior as strong as the data
    eta, alpha, temperature = 2e-4, 0.5, 1.0
    rng = torch.Generator().manual_seed(3)
    x = torch.randn(data_size, dim, dtype=torch.double, generator=rng) @ correlated_precision(dim, 4)
    y = x @ torch.tensor([1.0, -2.0, 0.5, 0.0], dtype=torch.double)
    y = y + noise * torch.randn(data_size, dtype=torch.double, generator=rng)

    precision = x.T @ x / noise**2 + torch.eye(dim, dtype=torch.double) / variance
    mean = torch.linalg.solve(precision, x.T @ y / noise**2)

    chains, steps = 20_000, 600
    state = Chains.at(mean.repeat(chains, 1))
    for _ in range(steps):
        indices = torch.randint(data_size, (chains, batch), generator=rng)
        theta = state.theta.requires_grad_()
        residual = y[indices] - torch.einsum("cnd,cd->cn", x[indices], theta)
        log_p = rescaled(-(residual**2) / (2 * noise**2), data_size) + log_prior(
            theta, theta.new_full((dim,), 1 / variance)
        )
        (gradient,) = torch.autograd.grad(log_p.sum(), theta)
        theta.requires_grad_(False)
        sghmc.sghmc_step(state, gradient, eta, alpha, temperature, sghmc.noise_seeds(rng, 10))

    expected = heated_covariance(x, y, mean, precision, noise, batch, eta, alpha, temperature)
    exact = torch.linalg.inv(precision)
    assert (expected.diag() / exact.diag() > 1.1).any()  # the heating is large enough to be seen
    assert_covariance(state.theta - mean, expected)


def heated_covariance(
    x: Tensor, y: Tensor, mean: Tensor, precision: Tensor, noise: float, batch: int, eta: float, alpha: float, t: float
) -> Tensor:
    """Fixed point of the second moments of (e, v) under v ← (1−α)v − ηΛe + ηξ(e) + n, e ← e + v."""
    data_size, dim = x.shape
    identity = torch.eye(dim, dtype=torch.double)
    step_v = torch.cat([-eta * precision, (1 - alpha) * identity], 1)
    step = torch.cat([torch.cat([identity, torch.zeros_like(identity)], 1) + step_v, step_v], 0)
    residual = y - x @ mean
    moments = torch.zeros(2 * dim, 2 * dim, dtype=torch.double)
    for _ in range(2_000):
        spread = moments[:dim, :dim]
        square = residual**2 + torch.einsum("ni,ij,nj->n", x, spread, x)
        second = torch.einsum("n,ni,nj->ij", square, x, x) / data_size / noise**4
        # The mean gradient per point at e is (Λ_prior m − Λ_lik e)/N, with Λ_lik = xᵀx/σ².
        likelihood = x.T @ x / noise**2
        constant = x.T @ residual / noise**2 / data_size
        first = torch.outer(constant, constant) + likelihood @ spread @ likelihood / data_size**2
        gradient_noise = data_size**2 / batch * (second - first)
        injected = eta**2 * gradient_noise + 2 * alpha * eta * t * identity
        moments = step @ moments @ step.T + injected.repeat(2, 2)
    return moments[:dim, :dim]


def quadratic_gradient(theta: Tensor) -> Tensor:
    curvature = torch.linspace(1.0, 50.0, theta.shape[1], dtype=theta.dtype)
    return -curvature * (theta - 0.3) - torch.sin(3 * theta)


@pytest.mark.parametrize("data_size", [1, 1000])
def test_adam_step_is_torch_adam_on_the_mean_loss(data_size: int) -> None:
    torch.manual_seed(0)
    start = torch.randn(3, 5, dtype=torch.double)
    parameter = start.clone().requires_grad_()
    oracle = torch.optim.Adam([parameter], lr=1e-2, betas=(0.5, 0.99), eps=1e-4)
    state = Chains.at(start.clone())
    for _ in range(20):
        parameter.grad = -quadratic_gradient(parameter.detach())
        oracle.step()
        sghmc.adam_step(state, data_size * quadratic_gradient(state.theta), Adam(1e-2, (0.5, 0.99), 1e-4, data_size))
    torch.testing.assert_close(state.theta, parameter.detach())


def test_frozen_at_temperature_zero_continues_adam_with_its_scaling_frozen() -> None:
    """With α = 1 − β₁ and γ = α × Adam's rate; torch's own Adam supplies the moments at the hand-over."""
    torch.manual_seed(1)
    data_size, rate, betas, epsilon = 500, 1e-2, (0.5, 0.99), 1e-4
    alpha = 1 - betas[0]
    parameter = torch.randn(3, 5, dtype=torch.double).requires_grad_()
    oracle = torch.optim.Adam([parameter], lr=rate, betas=betas, eps=epsilon)
    state = Chains.at(parameter.detach().clone())
    settings = Adam(rate, betas, epsilon, data_size)
    for _ in range(60):
        parameter.grad = -quadratic_gradient(parameter.detach())
        oracle.step()
        sghmc.adam_step(state, data_size * quadratic_gradient(state.theta), settings)
    before = state.theta.clone()
    sghmc.hand_over(state, "frozen", settings)
    assert torch.equal(state.theta, before)  # nothing jumps

    moments = oracle.state[parameter]
    scale = (moments["exp_avg_sq"] / (1 - betas[1] ** 60)).sqrt() + epsilon
    theta, first = parameter.detach().clone(), moments["exp_avg"].clone()
    for _ in range(40):
        first = betas[0] * first - (1 - betas[0]) * quadratic_gradient(theta)
        theta = theta - rate * first / scale
        gradient = data_size * quadratic_gradient(state.theta)
        sghmc.sghmc_step(state, gradient, alpha * rate / data_size, alpha, 0.0, SEEDS)
    torch.testing.assert_close(state.theta, theta, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["plain", "frozen", "running"])
def test_hand_over_keeps_the_last_displacement_as_velocity(kind: Dynamics) -> None:
    state = Chains.at(torch.linspace(-1, 1, 10, dtype=torch.double).view(2, 5))
    settings = Adam(1e-2, (0.5, 0.99), 1e-4, 100)
    for _ in range(30):
        before = state.theta.clone()
        sghmc.adam_step(state, 100 * quadratic_gradient(state.theta), settings)
    sghmc.hand_over(state, kind, settings)
    torch.testing.assert_close(state.momentum, state.theta - before, rtol=1e-7, atol=1e-12)
    assert (state.preconditioner is None) == (kind == "plain")


def test_plain_update_equals_posteriors(monkeypatch: pytest.MonkeyPatch) -> None:
    """posteriors' SGHMC: m ← (1 − εα')m + ε∇log p + √(2εα'T) ξ, θ ← θ + εm with the *old* m.

    With v = εm that is ours for η = ε², α = εα'. Both draw ξ from torch's global stream here.
    """
    monkeypatch.setattr(sghmc, "white_noise", lambda like, deviation, seeds: deviation * torch.randn_like(like))
    epsilon, alpha, temperature = 0.1, 3.0, 0.7
    theta = torch.linspace(-1, 1, 6, dtype=torch.double)
    momenta = torch.linspace(0.5, -0.2, 6, dtype=torch.double)

    def log_posterior(parameters: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        return -(parameters**4).sum(), torch.tensor([])

    transform = posteriors.sgmcmc.sghmc.build(
        log_posterior, lr=epsilon, alpha=alpha, beta=0.0, sigma=1.0, temperature=temperature, momenta=momenta.clone()
    )
    oracle = transform.init(theta.clone())
    torch.manual_seed(5)
    oracle, _ = transform.update(oracle, torch.tensor([]))

    state = Chains.at(theta.clone()[None])
    state.momentum = (epsilon * momenta)[None]
    gradient = (-4 * theta**3)[None]
    torch.manual_seed(5)
    sghmc.sghmc_step(state, gradient, epsilon**2, epsilon * alpha, temperature, SEEDS)
    torch.testing.assert_close(state.momentum[0], epsilon * oracle.momenta)
    torch.testing.assert_close(state.theta[0] - state.momentum[0] + epsilon * momenta, oracle.params)


def test_running_mass_is_the_second_moment_of_the_gradient() -> None:
    state = Chains.at(torch.zeros(1, 3, dtype=torch.double))
    settings = Adam(1e-3, (0.5, 0.9), 1e-6, 10)
    gradient = torch.tensor([[10.0, -20.0, 40.0]], dtype=torch.double)
    for _ in range(5):
        sghmc.update_running_mass(state, gradient, settings)
    assert state.preconditioner is not None
    torch.testing.assert_close(state.preconditioner, (gradient.abs() / 10 + 1e-6).rsqrt())


def test_schedules() -> None:
    def eta(schedule: Schedule, seen: int, progress: float) -> float:
        return sghmc.step_size(schedule, gamma=2.0, data_size=100, seen=seen, progress=progress, cycles=2)

    assert eta("per-datum", 50, 0.3) == 2.0 / 50
    assert eta("per-datum", 100, 0.9) == 2.0 / 100
    assert eta("constant", 50, 0.3) == 2.0 / 100
    assert eta("cyclical", 50, 0.0) == 2.0 / 100
    assert eta("cyclical", 50, 0.25) == pytest.approx(1.0 / 100)
    assert eta("cyclical", 50, 0.4999) == pytest.approx(0.0, abs=1e-6)
    assert eta("cyclical", 50, 0.5) == 2.0 / 100
    assert eta("linear", 50, 0.05) == pytest.approx(1.0 / 100)  # half of the way up,
    assert eta("linear", 50, 0.1) == pytest.approx(2.0 / 100)
    assert eta("linear", 50, 0.55) == pytest.approx(1.0 / 100)  # and half of the way down


def test_the_moving_average_is_that_of_all_weights_each_with_its_weight() -> None:
    """At the start of as many as there are: after one step 2/11 of it are the first weights."""
    theta = torch.randn(30, 2, 3, dtype=torch.double, generator=torch.Generator().manual_seed(2))
    state = Chains.at(theta[0].clone(), averaged=True)
    for step in range(1, 30):
        state.theta = theta[step]
        sghmc.update_average(state, 0.8, step)
    decays = [min(0.8, (1 + step) / (10 + step)) for step in range(1, 30)]
    shares = [1.0, *[1 - decay for decay in decays]]
    weights = [share * math.prod(decays[number:]) for number, share in enumerate(shares)]
    assert math.isclose(sum(weights), 1.0)
    expected = sum(weight * each for weight, each in zip(weights, theta, strict=True))
    torch.testing.assert_close(state.average, expected)


def test_without_an_average_none_is_kept() -> None:
    state = Chains.at(torch.zeros(1, 3))
    sghmc.update_average(state, 0.9, 1)
    assert state.average is None


def test_gradient_noise_over_friction_recovers_a_known_variance() -> None:
    """Gradients with variance V and mass M: β̂/α = ηV/(2αM)."""
    rng = torch.Generator().manual_seed(6)
    shape, deviation, mass, eta, alpha = (10, 10_000), 3.0, 4.0, 0.02, 0.5
    state = Chains.at(torch.zeros(shape))
    state.preconditioner = torch.full(shape, mass**-0.5)
    difference = deviation * (torch.randn(shape, generator=rng) - torch.randn(shape, generator=rng))
    difference[:, 0] *= 10
    estimate = sghmc.gradient_noise_over_friction(state, difference, eta, alpha)
    # The mean of 10⁵ values of (g − g')²/2V, each χ²₁, has a standard error of √(2/10⁵).
    expected = eta * deviation**2 / (2 * alpha * mass)
    assert estimate.mean().item() == pytest.approx(expected * (1 + 99 / 10_000), rel=SIGMAS * math.sqrt(2 / 1e5))
    # One weight has a hundred times the variance; it is estimated from ten chains.
    assert estimate.max().item() == pytest.approx(100 * expected, rel=SIGMAS * math.sqrt(2 / 10))


def test_white_noise_does_not_depend_on_the_number_of_threads() -> None:
    like = torch.empty(23, 1000)
    threads = torch.get_num_threads()
    draws = []
    for number in (1, 3):
        torch.set_num_threads(number)
        draws.append(sghmc.white_noise(like, 1.0, SEEDS))
    torch.set_num_threads(threads)
    assert torch.equal(*draws)
    assert len(draws[0].unique(dim=0)) == 23


def test_temperature_zero_draws_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sghmc, "white_noise")
    state = Chains.at(torch.ones(1, 2))
    sghmc.sghmc_step(state, torch.ones(1, 2), 0.1, 0.5, 0.0, SEEDS)
    np.testing.assert_allclose(state.theta.numpy(), 1.1)
