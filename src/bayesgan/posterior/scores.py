"""Scores of probabilities: likelihood, Brier score, calibration, and telling familiar points from strange ones."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

BINS = 15
LEAST = 1e-12  # probability that counts as none: its logarithm stays finite


class Bin(NamedTuple):
    """The predictions whose confidence lies in one interval."""

    size: int
    confidence: float  # their mean
    accuracy: float  # the share of them that is right


@dataclass(frozen=True)
class Scores:
    """Probabilities (n, K) against the labels (n,) that turned out to be true."""

    errors: int
    error: float
    log_loss: float  # mean negative log-likelihood, nats
    brier: float  # mean Σ_k (p_k − 1[y=k])², from 0 to 2
    calibration_error: float  # mean over predictions of |confidence − accuracy| of their bin
    bins: tuple[Bin, ...]  # of equal width, without empty ones


def scores(probabilities: np.ndarray, labels: np.ndarray) -> Scores:
    """Every score of ``probabilities`` (n, K) for ``labels`` (n,)."""
    rows = np.arange(len(labels))
    wrong = probabilities.argmax(-1) != labels
    truth = np.zeros_like(probabilities)
    truth[rows, labels] = 1.0
    bins = reliability(probabilities, labels)
    gaps = [each.size * abs(each.confidence - each.accuracy) for each in bins]
    return Scores(
        errors=int(wrong.sum()),
        error=float(wrong.mean()),
        log_loss=float(-np.log(probabilities[rows, labels].clip(LEAST)).mean()),
        brier=float(((probabilities - truth) ** 2).sum(-1).mean()),
        calibration_error=float(sum(gaps) / len(labels)),
        bins=bins,
    )


def reliability(probabilities: np.ndarray, labels: np.ndarray, number: int = BINS) -> tuple[Bin, ...]:
    """Confidence (the largest probability) against accuracy, in ``number`` bins of equal width."""
    confidence, right = probabilities.max(-1), probabilities.argmax(-1) == labels
    places = np.minimum((confidence * number).astype(int), number - 1)
    return tuple(
        Bin(int(inside.sum()), float(confidence[inside].mean()), float(right[inside].mean()))
        for inside in (places == each for each in range(number))
        if inside.any()
    )


def auroc(familiar: np.ndarray, strange: np.ndarray) -> float:
    """The probability that a score of a strange point is above that of a familiar one; a tie is half.

    >>> auroc(np.array([0.1, 0.2]), np.array([0.2, 0.9]))
    0.875
    """
    truth = np.concatenate([np.zeros(len(familiar)), np.ones(len(strange))])
    return float(roc_auc_score(truth, np.concatenate([familiar, strange])))
