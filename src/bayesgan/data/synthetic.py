"""The synthetic data of Section 4.1: the paper's linear-Gaussian plane and the published code's ten clusters."""

from typing import NamedTuple

import numpy as np

from bayesgan.data.names import SYNTHETIC_SETS, SyntheticName

CLUSTERS = 10
INHERENT_DIM = 2  # d of the paper


class SyntheticData(NamedTuple):
    """Points and cluster centres, standardised by the training points, feature by feature."""

    train: np.ndarray  # (size, dim) float32
    test: np.ndarray  # (size, dim) float32: a second, independent draw
    centres: np.ndarray  # (clusters, dim) float32; no row for the plane


def synthetic(name: SyntheticName, dim: int, size: int, seed: int) -> SyntheticData:
    """Draw a data distribution of ``dim`` dimensions, then ``size`` training and ``size`` test points from it."""
    rng = np.random.default_rng([seed, dim, SYNTHETIC_SETS.index(name)])
    train, test, centres = (_clusters if name == "clusters" else _plane)(rng, dim, size)
    mean, deviation = train.mean(0), train.std(0)
    return SyntheticData(*(((points - mean) / deviation).astype(np.float32) for points in (train, test, centres)))


def _clusters(rng: np.random.Generator, dim: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x = A_c (z + μ_c), z ~ N(0, I₂), μ_c ~ N(0, 25 I), A_c ~ N(0, 25), c uniform over ten clusters."""
    maps = rng.normal(scale=5.0, size=(CLUSTERS, dim, INHERENT_DIM))
    means = rng.normal(scale=5.0, size=(CLUSTERS, INHERENT_DIM))

    def draw() -> np.ndarray:
        cluster = rng.integers(CLUSTERS, size=size)
        z = rng.normal(size=(size, INHERENT_DIM))
        return np.einsum("nij,nj->ni", maps[cluster], z + means[cluster])

    return draw(), draw(), np.einsum("cij,cj->ci", maps, means)


def _plane(rng: np.random.Generator, dim: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x = A z + ε, z ~ N(0, 10 I₂), A ~ N(0, I), ε ~ N(0, 0.01 I)."""
    plane = rng.normal(size=(dim, INHERENT_DIM))

    def draw() -> np.ndarray:
        z = rng.normal(scale=np.sqrt(10.0), size=(size, INHERENT_DIM))
        return z @ plane.T + rng.normal(scale=np.sqrt(0.01), size=(size, dim))

    return draw(), draw(), np.empty((0, dim))
