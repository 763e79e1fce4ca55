import numpy as np
import pytest

from bayesgan.data.names import SYNTHETIC_SETS, SyntheticName
from bayesgan.data.synthetic import synthetic


@pytest.mark.parametrize("name", SYNTHETIC_SETS)
def test_standardised_deterministic_and_two_dimensional(name: SyntheticName) -> None:
    data = synthetic(name, 20, 3000, seed=1)
    assert data.train.shape == data.test.shape == (3000, 20)
    assert data.train.dtype == np.float32
    np.testing.assert_allclose(data.train.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(data.train.std(0), 1, rtol=1e-5)
    again, other = synthetic(name, 20, 3000, seed=1), synthetic(name, 20, 3000, seed=2)
    np.testing.assert_array_equal(data.train, again.train)
    assert not np.allclose(data.train, other.train)
    assert not np.array_equal(data.train, data.test)


def test_plane_has_two_directions_and_a_little_noise() -> None:
    """x = Az + ε: two eigenvalues of the covariance carry the data, the others the noise, 1,000 times less.

    Standardising multiplies the noise of features that the plane hardly moves, so a few per cent remain.
    """
    eigenvalues = np.linalg.eigvalsh(np.cov(synthetic("plane", 20, 3000, seed=0).train.T))[::-1]
    assert eigenvalues[1] > 1.0
    assert eigenvalues[:2].sum() > 0.95 * eigenvalues.sum()


def test_each_cluster_lies_in_a_plane_around_its_centre() -> None:
    data = synthetic("clusters", 30, 5000, seed=0)
    assert data.centres.shape == (10, 30)
    nearest = ((data.train[:, None] - data.centres) ** 2).sum(-1).argmin(1)
    shares = np.bincount(nearest, minlength=10) / 5000
    assert shares.min() > 0.05
    sharp = int(np.argmax([np.linalg.norm(centre) for centre in data.centres]))
    members = data.train[nearest == sharp]
    singular = np.linalg.svd(members - members.mean(0), compute_uv=False)
    assert singular[2] < 0.05 * singular[1]
