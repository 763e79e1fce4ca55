"""Names of the data sets, and their default folder; imports nothing large, so that the command line starts at once."""

import os
from pathlib import Path
from typing import Literal, get_args

ImageSetName = Literal["digits", "mnist", "cifar10", "svhn", "celeba"]
IMAGE_SETS: tuple[ImageSetName, ...] = get_args(ImageSetName)
IMAGE_SET_TITLES: dict[str, str] = {
    "digits": "Digits",
    "mnist": "MNIST",
    "cifar10": "CIFAR-10",
    "svhn": "SVHN",
    "celeba": "CelebA",
}

# Channels, height and width of an image, and how many classes there are
IMAGE_SET_SHAPES: dict[ImageSetName, tuple[tuple[int, int, int], int]] = {
    "digits": ((1, 8, 8), 10),
    "mnist": ((1, 28, 28), 10),
    "cifar10": ((3, 32, 32), 10),
    "svhn": ((3, 32, 32), 10),
    "celeba": ((3, 50, 50), 32),
}

# Official training images
IMAGE_SET_SIZES: dict[ImageSetName, int] = {
    "digits": 1_297,
    "mnist": 60_000,
    "cifar10": 50_000,
    "svhn": 73_257,
    "celeba": 162_770,
}

SyntheticName = Literal["clusters", "plane"]
SYNTHETIC_SETS: tuple[SyntheticName, ...] = get_args(SyntheticName)

# Limits of options for a person's own pictures
LEAST_HELD_OUT, MOST_HELD_OUT = 0.01, 0.9  # shares to test on
SMALLEST_SIDE, LARGEST_SIDE = 8, 256  # pixels


def default_folder() -> Path:
    """The data root when none is given: what BAYESGAN_DATA names, or else a folder in the user's cache."""
    return Path(os.environ.get("BAYESGAN_DATA") or "~/.cache/bayesgan").expanduser()
