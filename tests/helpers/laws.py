"""Closed forms of stationary laws, and tolerances from the Monte Carlo error."""

import math

import torch
from torch import Tensor

SIGMAS = 5.0  # of Monte Carlo error; with 55 covariances of 10 dimensions a correct sampler fails once in 30,000


def correlated_precision(dim: int, seed: int = 0) -> Tensor:
    """A symmetric matrix with eigenvalues from 0.3 to 3 and random eigenvectors."""
    rng = torch.Generator().manual_seed(seed)
    basis, _ = torch.linalg.qr(torch.randn(dim, dim, dtype=torch.double, generator=rng))
    return basis @ torch.diag(torch.linspace(0.3, 3.0, dim, dtype=torch.double)) @ basis.T


def predicted_covariance(precision: Tensor, mass: Tensor, eta: float, alpha: float, temperature: float) -> Tensor:
    """Stationary covariance of v ← (1−α)v − ηM⁻¹Λθ + n, θ ← θ + v.

    In the coordinates M^{1/2}θ the mass is one, and along an eigenvector with curvature λ the variance is
    (T/λ)(4−2α)/(4−2α−ηλ).
    """
    root = mass.sqrt()
    curvature, basis = torch.linalg.eigh(precision / root[:, None] / root[None, :])
    variance = temperature / curvature * (4 - 2 * alpha) / (4 - 2 * alpha - eta * curvature)
    return (basis @ torch.diag(variance) @ basis.T) / root[:, None] / root[None, :]


def equally_often(counts: list[int], draws: int) -> bool:
    """Whether each count is within SIGMAS of the binomial error of its share."""
    share = sum(counts) / draws / len(counts)
    error = SIGMAS * math.sqrt(draws * share * (1 - share))
    return all(abs(count - draws * share) <= error for count in counts)


def assert_covariance(theta: Tensor, expected: Tensor) -> None:
    """Every mean and covariance within SIGMAS standard errors: Var(Ĉ_ij) = (C_ii C_jj + C_ij²)/n for normal draws."""
    n, scale = len(theta), expected.diag()
    assert (theta.mean(0).abs() <= SIGMAS * (scale / n).sqrt()).all()
    error = (theta.T @ theta / n - expected).abs()
    assert (error <= SIGMAS * ((torch.outer(scale, scale) + expected**2) / n).sqrt()).all()
