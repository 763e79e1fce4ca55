"""Points and images that classifiers are fitted to."""

import numpy as np
import pytest

from tests.helpers.fitted import small_digits, three_blobs


@pytest.fixture(scope="session")
def blobs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return three_blobs()


@pytest.fixture(scope="session")
def digits() -> tuple[np.ndarray, np.ndarray]:
    return small_digits()
