"""Scores against figures worked out by hand and against scikit-learn's."""

import math

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from bayesgan.posterior.scores import auroc, reliability, scores

PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.35, 0.4, 0.25], [0.0, 0.0, 1.0]])
LABELS = np.array([0, 2, 1, 2])


def test_scores_by_hand() -> None:
    found = scores(PROBABILITIES, LABELS)
    assert (found.errors, found.error) == (1, 0.25)
    assert found.log_loss == pytest.approx(-(math.log(0.7) + math.log(0.3) + math.log(0.4)) / 4)
    squares = (0.09 + 0.04 + 0.01) + (0.01 + 0.36 + 0.49) + (0.35**2 + 0.36 + 0.25**2) + 0.0
    assert found.brier == pytest.approx(squares / 4)


def test_scores_as_scikit_learn_has_them() -> None:
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(5), 200)
    labels = rng.integers(0, 5, 200)
    found = scores(probabilities, labels)
    assert found.log_loss == pytest.approx(log_loss(labels, probabilities, labels=range(5)))
    assert found.brier == pytest.approx(brier_score_loss(labels, probabilities, labels=range(5), scale_by_half=False))


def test_a_wrong_certainty_has_a_finite_loss() -> None:
    assert math.isfinite(scores(np.array([[1.0, 0.0]]), np.array([1])).log_loss)


def test_bins_and_calibration_error_by_hand() -> None:
    confidence = np.array([0.95, 0.91, 0.55, 0.51, 1.0])
    probabilities = np.stack([confidence, 1 - confidence], 1)
    labels = np.array([0, 1, 0, 1, 0])
    first, second = reliability(probabilities, labels, 5)  # [0.4, 0.6) and [0.8, 1]
    assert first == pytest.approx((2, 0.53, 0.5))
    assert second == pytest.approx((3, (0.95 + 0.91 + 1.0) / 3, 2 / 3))
    gap = 2 * 0.03 + 3 * abs((0.95 + 0.91 + 1.0) / 3 - 2 / 3)
    bins = reliability(probabilities, labels, 5)
    assert sum(each.size * abs(each.confidence - each.accuracy) for each in bins) == pytest.approx(gap)
    fine = reliability(probabilities, labels)
    whole = scores(probabilities, labels).calibration_error
    assert whole == pytest.approx(sum(each.size * abs(each.confidence - each.accuracy) for each in fine) / 5)


def test_probabilities_that_are_true_are_calibrated() -> None:
    rng = np.random.default_rng(1)
    number = 40_000
    first = rng.uniform(0, 1, number)
    labels = (rng.uniform(0, 1, number) > first).astype(int)  # class 0 with probability `first`
    error = scores(np.stack([first, 1 - first], 1), labels).calibration_error
    # Each of the 8 bins above one half has about 5,000: its accuracy has a deviation below 0.5/√5000 = 0.007.
    assert error < 3 * 0.5 / math.sqrt(number / 8)


def test_auroc_counts_pairs() -> None:
    familiar, strange = np.array([0.1, 0.4, 0.4]), np.array([0.4, 0.9])
    pairs = [(s > f) + 0.5 * (s == f) for f in familiar for s in strange]
    assert auroc(familiar, strange) == pytest.approx(float(np.mean(pairs)))
    assert auroc(strange, familiar) == pytest.approx(1 - float(np.mean(pairs)))
