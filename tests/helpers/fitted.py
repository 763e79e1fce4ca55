"""Quick classifiers, and the points and images that they are fitted to in tests."""

# ruff: noqa: N806 - X is scikit-learn's name for the points

from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_blobs

from bayesgan import BayesGANClassifier

SMALL = {"generators": 2, "discriminators": 2}
TINY_IMAGES = SMALL | {"generator_width": 4, "discriminator_width": 4, "features": 16}


def quick(**parameters: Any) -> BayesGANClassifier:
    """Twelve iterations of two pairs, with a collected sample or more."""
    defaults: dict[str, Any] = {"iterations": 12, "settings": SMALL, "random_state": 0}
    return BayesGANClassifier(**(defaults | parameters))


def three_blobs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, their classes 0, 1 and 2, and the same with four labels of each."""
    X, truth = make_blobs(90, centers=[[0, 0], [6, 0], [0, 60]], cluster_std=0.5, random_state=0)
    return X, truth, hidden(truth, 4)


def hidden(truth: np.ndarray, shown: int) -> np.ndarray:
    """Labels of which the first ``shown`` of each class are left, the others -1."""
    y = np.full(len(truth), -1)
    for label in np.unique(truth):
        y[np.flatnonzero(truth == label)[:shown]] = label
    return y


def small_digits() -> tuple[np.ndarray, np.ndarray]:
    """Bytes (60, 8, 8) and digits."""
    images, truth = load_digits(n_class=3, return_X_y=True)
    return (images[:60] * 15).astype(np.uint8).reshape(60, 8, 8), truth[:60]
