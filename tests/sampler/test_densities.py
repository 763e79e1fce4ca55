"""Eqs. 1 and 2 from logits, against naive arithmetic in double precision."""

import math

import pytest
import torch

from bayesgan.sampler.densities import (
    GAMES,
    discriminator_log_posterior,
    generator_log_posterior,
    log_prior,
    marginalise,
    rescaled,
)

JENSEN_SHANNON = GAMES["jensen-shannon"]


def test_generator_posterior_is_equation_1() -> None:
    logits = torch.tensor([[0.3, -1.2, 2.0], [0.0, 0.5, -0.5]], dtype=torch.double)
    prior = torch.tensor([-1.0, -2.0], dtype=torch.double)
    log_p = generator_log_posterior(logits, prior, 30, JENSEN_SHANNON)
    probabilities = 1 / (1 + torch.exp(-logits))
    torch.testing.assert_close(log_p, torch.log(probabilities.prod(-1)) * 30 / 3 + prior)


def test_discriminator_posterior_is_equation_2() -> None:
    """With different batch sizes for real and generated points: each is rescaled by its own N/n."""
    real = torch.tensor([0.3, -1.2, 2.0, 0.1], dtype=torch.double)
    fake = torch.tensor([0.7, -0.4], dtype=torch.double)
    prior = torch.tensor(-3.0, dtype=torch.double)
    log_p = discriminator_log_posterior(real, fake, prior, 100, JENSEN_SHANNON)
    p_real, p_fake = 1 / (1 + torch.exp(-real)), 1 / (1 + torch.exp(-fake))
    expected = 100 / 4 * torch.log(p_real).sum() + 100 / 2 * torch.log(1 - p_fake).sum() + prior
    torch.testing.assert_close(log_p, expected)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_extreme_logits_neither_underflow_nor_lose_their_gradient(sign: float) -> None:
    """A probability of e^{-10,000} is 0 in floating point; its logarithm and gradient are not."""
    logits = torch.tensor([sign * 1e4], requires_grad=True)
    for part, wrong in (("real", sign < 0), ("fool", sign < 0), ("fake", sign > 0)):
        value = getattr(JENSEN_SHANNON, part)(logits)
        (gradient,) = torch.autograd.grad(value.sum(), logits)
        assert value.item() == (-1e4 if wrong else 0.0)
        assert abs(gradient.item()) == (1.0 if wrong else 0.0)


def test_wasserstein_game_is_the_difference_of_the_critics_means() -> None:
    real, fake = torch.tensor([1.0, 2.0]), torch.tensor([5.0, 7.0])
    log_p = discriminator_log_posterior(real, fake, torch.tensor(0.0), 10, GAMES["wasserstein"])
    assert log_p.item() == 10 * (1.5 - 6.0)
    assert generator_log_posterior(fake, torch.tensor(0.0), 10, GAMES["wasserstein"]).item() == 60.0


def test_rescaled_is_unbiased() -> None:
    """Averaged over all mini-batches of one point, (N/n) Σ equals the sum over the data."""
    data = torch.tensor([1.0, -2.0, 4.0])
    assert torch.stack([rescaled(point[None], 3) for point in data]).mean().item() == pytest.approx(data.sum().item())


@pytest.mark.parametrize("variance", [1.0, 10.0])
def test_gaussian_prior(variance: float) -> None:
    theta = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=torch.double, requires_grad=True)
    normal = torch.distributions.Normal(0.0, math.sqrt(variance))
    log_p = log_prior(theta, variance)
    # Equal up to the constant of normalisation.
    expected = normal.log_prob(theta).sum(-1) - normal.log_prob(torch.zeros(2, dtype=torch.double)).sum()
    torch.testing.assert_close(log_p, expected)
    weights = torch.tensor([1.0, 3.0], dtype=torch.double)
    torch.testing.assert_close(
        torch.autograd.grad((weights * log_p).sum(), theta), torch.autograd.grad((weights * expected).sum(), theta)
    )


def test_flat_prior_has_no_gradient() -> None:
    assert log_prior(torch.ones(2, 3), None).tolist() == [0.0, 0.0]


def test_marginals() -> None:
    log_p = torch.tensor([[-1.0, -2.0], [-3.0, -0.5]], dtype=torch.double)
    assert marginalise(log_p, (0, 1), "sum").item() == pytest.approx(-6.5)
    assert marginalise(log_p, (0, 1), "mean").item() == pytest.approx(-6.5 / 4)
    assert marginalise(log_p, (0, 1), "density").item() == pytest.approx(math.log(torch.exp(log_p).mean().item()))
    assert marginalise(log_p, (1,), "density").shape == (2,)


def test_density_marginal_does_not_underflow() -> None:
    log_p = torch.tensor([-1e5, -1e5 - 1.0])
    expected = -1e5 + math.log((1 + math.exp(-1)) / 2)
    assert marginalise(log_p, (0,), "density").item() == pytest.approx(expected, rel=1e-6)
