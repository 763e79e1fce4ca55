"""What every image set is read into, and the sentences for files that are missing or damaged."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayesgan.base.errors import BayesganError


class Parts(NamedTuple):
    """Images are (N, channels, height, width) uint8, labels (N,) int64."""

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray


def hold_out(images: np.ndarray, labels: np.ndarray, count: int) -> Parts:
    """The last ``count`` images in the place of the test set."""
    kept = len(images) - count
    return Parts(images[:kept], labels[:kept], images[kept:], labels[kept:])


def missing(name: str, path: Path) -> BayesganError:
    """``path``, a file of the data set ``name``, is not there."""
    return BayesganError(
        f"{path} is missing: run `bayesgan data get {name}`, or put the files that you already have into a folder"
        f" {name} in the folder that --data-dir or BAYESGAN_DATA names."
    )


def damaged(name: str, path: Path, why: str) -> BayesganError:
    """``path``, a file of the data set ``name``, is not what it should be."""
    return BayesganError(f"{path} is damaged ({why}): delete it and run `bayesgan data get {name}`.")
