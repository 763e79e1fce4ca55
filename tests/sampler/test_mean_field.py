"""Gaussians over weights against torch.distributions and finite differences."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from bayesgan.networks.dcgan import Discriminator, Generator
from bayesgan.networks.mlp import mlp
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.mean_field import MeanField
from bayesgan.sampler.minibatches import Labels
from bayesgan.sampler.population import Population
from bayesgan.settings.names import Side
from bayesgan.settings.settings import Settings
from tests.helpers.gradients import discriminator_log_p, generator_log_p


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def some_theta(chains: int, weights: int) -> Tensor:
    """μ of both signs, σ from about 0.1 to 3."""
    means = torch.randn(chains, weights, dtype=torch.double, generator=rng())
    return torch.cat([means, 0.7 * torch.randn(chains, weights, dtype=torch.double, generator=rng(1)) - 0.5], 1)


@pytest.mark.parametrize("variance", [0.3, 10.0])
def test_the_log_prior_is_minus_the_divergence_from_the_prior(variance: float) -> None:
    """Up to a constant: −KL(N(μ, σ²) ‖ N(0, s²)) of weights and its gradient."""
    population = MeanField(mlp(2, 3, 1))
    theta = some_theta(3, population.weights).requires_grad_()
    means, log_deviations = theta.split(population.weights, 1)
    prior = Normal(torch.zeros((), dtype=torch.double), variance**0.5)
    expected = -kl_divergence(Normal(means, log_deviations.exp()), prior).sum(1)
    ours = population.log_p(theta, population.precision(variance, "isotropic", theta))
    torch.testing.assert_close(ours - ours[0], expected - expected[0])
    torch.testing.assert_close(torch.autograd.grad(ours.sum(), theta), torch.autograd.grad(expected.sum(), theta))


def test_the_best_gaussian_without_data_is_the_prior() -> None:
    population = MeanField(mlp(2, 3, 1))
    theta = torch.zeros(1, 2 * population.weights, dtype=torch.double)
    theta[:, population.weights :] = 0.5 * torch.log(torch.tensor(10.0, dtype=torch.double))
    precision = population.precision(10.0, "isotropic", theta)
    (gradient,) = torch.autograd.grad(population.log_p(theta.requires_grad_(), precision).sum(), theta)
    assert gradient.abs().max().item() < 1e-12


def test_draws_have_the_mean_and_the_variance_of_each_gaussian() -> None:
    population = MeanField(mlp(2, 3, 1))
    theta = some_theta(2, population.weights)
    stream, number = rng(3), 4000
    draws = torch.stack([population.drawn(theta, stream) for _ in range(number)])
    assert draws.shape == (number, 2, population.weights)
    means, deviations = theta[:, : population.weights], theta[:, population.weights :].exp()
    # 26 weights: of as many standard errors the largest is beyond 5 with probability 1e-5.
    assert ((draws.mean(0) - means).abs() < 5 * deviations / number**0.5).all()
    assert ((draws.var(0) / deviations**2 - 1).abs() < 5 * (2 / number) ** 0.5).all()
    correlation = torch.corrcoef(draws.flatten(1).T) - torch.eye(2 * population.weights)
    assert correlation.abs().max().item() < 6 / number**0.5


def test_it_starts_narrow_around_the_usual_weights() -> None:
    network = mlp(2, 3, 1)
    theta = MeanField(network).initial(2, rng())
    plain = Population(network).initial(2, rng())
    assert torch.equal(theta[:, : plain.shape[1]], plain)
    assert (theta[:, plain.shape[1] :] == -5).all()


def lfvi(seed: int = 0, **settings: Any) -> BayesianGAN:
    values: dict[str, Any] = {
        "generators": 2,
        "discriminators": 1,
        "replicas": 2,
        "noise_dim": 2,
        "real_batch": 4,
        "fake_batch": 3,
    }
    values |= {"family": "mean-field", "dynamics": "adam", "temperature": 0.0, "iterations": 20, "burn_in": 10}
    data = torch.randn(12, 3, dtype=torch.double, generator=rng(7))
    labels = Labels(torch.arange(4), torch.tensor([0, 1, 2, 0]), 3)
    chosen = Settings.of(**(values | settings))
    return BayesianGAN(chosen, mlp(2, 4, 3), mlp(3, 4, 3), data, seed, labels)


def wide(gan: BayesianGAN) -> None:
    """Deviations that matter, not the e^-5 of the start."""
    for state, population in ((gan.state.generators, gan.generator), (gan.state.discriminators, gan.discriminator)):
        state.theta[:] = some_theta(len(state.theta), population.weights)


@pytest.mark.parametrize("side", ["generators", "discriminators"])
def test_the_gradient_is_that_of_finite_differences_with_the_same_noise(side: Side) -> None:
    """Central differences of a step h have an error of the order h², here 1e-10 of a third derivative."""
    gan = lfvi()
    wide(gan)
    noise = gan.batches.noise(gan.state.streams)
    real, labelled = gan.batches.points(gan.batches.indices(gan.state.streams)), gan.batches.labelled(gan.state.streams)
    fakes = gan.gradients.generated(gan.state.streams, gan.state.generators.theta, noise)

    def objective(theta: Tensor) -> Tensor:
        gan.state.streams["weights"].manual_seed(11)
        if side == "generators":
            return generator_log_p(gan, theta, gan.state.discriminators.theta, noise, None)
        return discriminator_log_p(gan, theta, fakes, real, labelled)

    theta = gan.state.of(side).theta.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(objective(theta).sum(), theta)
    theta, step = theta.detach(), 1e-5
    for weight in range(theta.shape[1]):
        moved = torch.zeros_like(theta)
        moved[:, weight] = step
        difference = (objective(theta + moved) - objective(theta - moved)) / (2 * step)
        torch.testing.assert_close(gradient[:, weight], difference, rtol=1e-5, atol=1e-5)


def test_the_objective_is_the_likelihood_at_drawn_weights_minus_the_divergence() -> None:
    """With the noise on the weights made by hand: w = μ + σ ε in ordinary chains of a flat prior."""
    gan, plain = (
        lfvi(generator_prior=2.0, discriminator_prior=2.0),
        lfvi(family="weights", generator_prior=None, discriminator_prior=None),
    )
    wide(gan)
    real, labelled = gan.batches.points(gan.batches.indices(gan.state.streams)), gan.batches.labelled(gan.state.streams)
    fakes = torch.randn(4, 3, 3, dtype=torch.double, generator=rng(5))
    state = gan.state.streams["weights"].get_state()
    theta = gan.state.discriminators.theta
    means, log_deviations = theta.chunk(2, 1)
    ours = discriminator_log_p(gan, theta, fakes, real, labelled)
    twin = torch.Generator()
    twin.set_state(state)
    weights = means + log_deviations.exp() * torch.randn(means.shape, dtype=torch.double, generator=twin)
    likelihood = discriminator_log_p(plain, weights, fakes, real, labelled)
    divergence = kl_divergence(Normal(means, log_deviations.exp()), Normal(torch.zeros_like(means), 2.0**0.5)).sum(1)
    # The log prior leaves a constant out of −KL: 1/2 − log s for each weight.
    constant = means.shape[1] * (0.5 - 0.5 * math.log(2.0))
    torch.testing.assert_close(ours, likelihood - divergence - constant)


def test_a_sample_is_a_draw_of_weights_and_has_its_own_statistics() -> None:
    values: dict[str, Any] = {"generators": 1, "discriminators": 1, "noise_dim": 2, "real_batch": 4, "fake_batch": 3}
    values |= {"family": "mean-field", "dynamics": "adam", "temperature": 0.0, "iterations": 20, "burn_in": 10}
    data = torch.rand(12, 1, 8, 8, generator=rng(7))
    networks = Generator(2, (1, 8, 8), 2), Discriminator((1, 8, 8), 1, 2)
    gan = BayesianGAN(Settings.of(**values), *networks, data, 0)
    gan.iterate()
    before = gan.state.discriminators.theta.clone()
    first, again = gan.sample(), gan.sample()
    assert all(torch.equal(first[name], again[name]) for name in first)  # asked twice, the same draw
    gan.state.iteration += 1
    second = gan.sample()
    for population, name in ((gan.generator, "generator"), (gan.discriminator, "discriminator")):
        assert first[f"{name}s"].shape == (1, population.weights)
        assert not torch.equal(first[f"{name}s"], second[f"{name}s"])
        assert not torch.equal(first[f"{name}_statistics"], second[f"{name}_statistics"])
    expected = gan.discriminator.statistics(first["discriminators"], data[None])
    torch.testing.assert_close(first["discriminator_statistics"], expected, rtol=1e-4, atol=1e-6)
    assert torch.equal(gan.state.discriminators.theta, before)


def test_taking_a_sample_does_not_disturb_the_gaussians() -> None:
    quiet, watched = lfvi(), lfvi()
    for _ in range(4):
        quiet.iterate()
        watched.iterate()
        watched.sample()
    assert torch.equal(quiet.state.generators.theta, watched.state.generators.theta)
    assert torch.equal(quiet.state.discriminators.theta, watched.state.discriminators.theta)
