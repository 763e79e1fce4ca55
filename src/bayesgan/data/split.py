"""Training and test part of an image set, and the errors for files that are missing or damaged."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayesgan.base.errors import BayesganError


class Parts(NamedTuple):
    """Training and test part: images (N, channels, height, width) uint8, labels (N,) int64."""

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray


def hold_out(images: np.ndarray, labels: np.ndarray, count: int) -> Parts:
    """Take the last ``count`` images as the test part."""
    kept = len(images) - count
    return Parts(images[:kept], labels[:kept], images[kept:], labels[kept:])


def missing(name: str, path: Path) -> BayesganError:
    """Make the error for ``path``, a file of the data set ``name`` that is not there."""
    return BayesganError(
        f"{path} is missing: run `bayesgan data get {name}`, or put the files that you already have into a folder"
        f" {name} in the folder that --data-dir or BAYESGAN_DATA names."
    )


def damaged(name: str, path: Path, why: str) -> BayesganError:
    """Make the error for ``path``, a file of the data set ``name`` that cannot be used because of ``why``."""
    return BayesganError(f"{path} is damaged ({why}): delete it and run `bayesgan data get {name}`.")
