"""Write an image set as picture files in folders, the form of a person's own pictures (:mod:`bayesgan.data.folder`)."""

from pathlib import Path

import numpy as np

from bayesgan.base.errors import BayesganError
from bayesgan.data.decode import picture
from bayesgan.data.labels import LabelledImages
from bayesgan.data.listing import UNLABELLED_FOLDERS


def write_folders(data: LabelledImages, out: Path) -> tuple[Path, Path]:
    """Write PNG files: ``out/train/CLASS``, ``out/train/unlabelled`` and ``out/test/CLASS``; the two folders."""
    if out.exists() and any(out.iterdir()):
        raise BayesganError(f"{out} is not empty: choose another folder.")
    images = data.images
    shown = np.isin(np.arange(len(images.train)), data.labelled.indices)
    for index, pixels in enumerate(images.train):
        place = images.classes[images.train_labels[index]] if shown[index] else UNLABELLED_FOLDERS[0]
        _write(pixels, out / "train" / place, index)
    for index, pixels in enumerate(images.test):
        _write(pixels, out / "test" / images.classes[images.test_labels[index]], index)
    return out / "train", out / "test"


def _write(pixels: np.ndarray, folder: Path, number: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    picture(pixels).save(folder / f"{number:06d}.png")
