"""JSD by histogram and smoothing, against scipy's kernel density estimate and a closed form."""

import numpy as np
import pytest
from scipy.stats import gaussian_kde, multivariate_normal

from bayesgan.posterior.divergence import JensenShannon, coverage


def normal(rng: np.random.Generator, n: int, shift: float = 0.0) -> np.ndarray:
    """Points in five dimensions whose first two principal components are the first two coordinates."""
    points = rng.normal(size=(n, 5)) * np.array([4.0, 2.0, 0.1, 0.1, 0.1])
    points[:, 0] += shift
    return points


def quadrature_jsd(p: np.ndarray, q: np.ndarray) -> float:
    """Of two densities on the same grid, normalised."""
    p, q = p / p.sum(), q / q.sum()
    m = (p + q) / 2
    return float(np.sum(p * np.log(p / m)) / 2 + np.sum(q * np.log(q / m)) / 2)


def kernel_density(points: np.ndarray, grid: np.ndarray, bandwidth: float) -> np.ndarray:
    """The definition: a Gaussian bump on every point."""
    squares = ((grid[:, None, :] - points[None, :, :]) ** 2).sum(-1)
    return np.exp(-squares / (2 * bandwidth**2)).mean(1) + 1e-300


def test_jsd_equals_that_of_the_kernel_density_estimates_by_definition() -> None:
    rng = np.random.default_rng(0)
    reference, points = normal(rng, 1000), normal(rng, 1000, shift=2.0)
    divergence = JensenShannon(reference, reference)
    # Scott's rule is scipy's default too.
    assert divergence.bandwidth == pytest.approx(gaussian_kde(divergence.project(reference).T).factor)
    axis = np.linspace(-6, 6, 100)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    densities = [kernel_density(divergence.project(each), grid, divergence.bandwidth) for each in (reference, points)]
    # Cells of a quarter of the bandwidth widen the kernel by half a per cent.
    assert divergence(points) == pytest.approx(quadrature_jsd(*densities), rel=0.01)


def test_jsd_of_two_gaussians_approaches_the_quadrature_of_their_smoothed_densities() -> None:
    """KDE of n normal points estimates the normal with variance 1 + h²; its JSD is exact up to O(1/(n h²))."""
    rng = np.random.default_rng(1)
    n, shift = 200_000, 4.0
    divergence = JensenShannon(normal(rng, n), normal(rng, n))
    variance = 1 + divergence.bandwidth**2
    axis = np.linspace(-7, 7, 300)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    centre = divergence.project(np.array([[shift, 0.0, 0.0, 0.0, 0.0]]))[0]
    p = multivariate_normal([0, 0], variance * np.eye(2)).pdf(grid)
    q = multivariate_normal(centre, variance * np.eye(2)).pdf(grid)
    assert divergence(normal(rng, n, shift)) == pytest.approx(quadrature_jsd(p, q), abs=0.002)


def test_jsd_is_zero_for_the_same_points_and_log_2_for_points_elsewhere() -> None:
    rng = np.random.default_rng(2)
    reference = normal(rng, 1000)
    divergence = JensenShannon(reference, reference)
    assert divergence(reference) == 0.0
    # Far outside the grid nothing is lost: the points count as a cell of their own.
    assert divergence(reference + 1e4) == pytest.approx(np.log(2), rel=1e-6)


def test_data_against_data_is_a_small_floor() -> None:
    rng = np.random.default_rng(3)
    divergence = JensenShannon(normal(rng, 10_000), normal(rng, 10_000))
    assert 0 < divergence(normal(rng, 10_000)) < 0.005


def test_coverage_counts_the_nearest_centre() -> None:
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    points = np.array([[1.0, 1.0], [9.0, 1.0], [8.0, -3.0], [0.0, 0.0]])
    assert coverage(points, centres) == [0.5, 0.5, 0.0]
    assert coverage(points, np.empty((0, 2))) == []
