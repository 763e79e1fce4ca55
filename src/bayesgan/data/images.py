"""The image sets of Section 4, all in one form."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

import numpy as np

from bayesgan.data import celeba, cifar10, digits, mnist, svhn
from bayesgan.data.names import ImageSetName


@dataclass(frozen=True)
class Images:
    """A training and a test set of images of one size."""

    name: str
    classes: tuple[str, ...]  # their names, in the order of the labels
    train: np.ndarray  # (N, channels, height, width) uint8
    train_labels: np.ndarray  # (N,) int64
    test: np.ndarray
    test_labels: np.ndarray


def load(name: ImageSetName, folder: Path, split: Literal["test", "validation"] = "test") -> Images:
    """Read the image set ``name`` from the folder of that name under the data root ``folder``.

    With ``split="validation"``, for choosing settings, ``test`` is made of validation images; the real test set is not
    looked at. Sets without an official validation part give the end of their training images for it.
    """
    validation = split == "validation"
    match name:
        case "digits":
            return Images(name, digits.CLASSES, *digits.read(validation))
        case "mnist":
            return Images(name, mnist.CLASSES, *mnist.read(folder / name, validation))
        case "cifar10":
            return Images(name, cifar10.CLASSES, *cifar10.read(folder / name, validation))
        case "svhn":
            return Images(name, svhn.CLASSES, *svhn.read(folder / name, validation))
        case "celeba":
            return Images(name, celeba.CLASSES, *celeba.read(folder / name, validation))
        case _:
            assert_never(name)
