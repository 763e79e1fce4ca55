"""A person's own pictures: folders of files, of which some have a label."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
from pydantic import Field

from bayesgan.base.errors import BayesganError
from bayesgan.data.decode import Header, decoded, each, header
from bayesgan.data.images import Images
from bayesgan.data.labels import LabelledImages, LabelledSet, hashed
from bayesgan.data.listing import NOT_NAMED, PictureFile, listed, printable, read_labels
from bayesgan.data.names import LARGEST_SIDE, LEAST_HELD_OUT, MOST_HELD_OUT, SMALLEST_SIDE, ImageSetName

UNLABELLED = -1  # the label of a picture that has none
SIDES = (8, 16, 32, 64)  # pixels of what pictures of mixed sizes are scaled to
LARGEST = 64  # pixels of a side that pictures of one size may keep
FEWEST = 10  # pictures to train on


@dataclass(frozen=True)
class OwnImages:
    """Where the pictures of a run are, and how to split and scale them."""

    images: str  # a folder of class folders, with unlabelled pictures beside them, or a flat one with a labels file
    labels_file: str | None = None  # CSV with the header file,label
    test_images: str | None = None  # a folder of the same form
    held_out: Annotated[float, Field(ge=LEAST_HELD_OUT, le=MOST_HELD_OUT)] = (
        0.2  # share of the labelled pictures to test on where there is no folder of test pictures
    )
    size: Annotated[int, Field(ge=SMALLEST_SIDE, le=LARGEST_SIDE)] | None = None  # of a side; None: chosen from them


def read(own: OwnImages, shape: tuple[int, ...] | None = None) -> LabelledImages:
    """Read the pictures of ``own``: every one without a label is unlabelled, every one that is broken is skipped.

    They are brought to ``shape``, (channels, height, width); None: one that is chosen from them.
    """
    _refuse_common(own)
    files, others = listed(Path(own.images), own.labels_file)
    test_files: list[PictureFile] = []
    if own.test_images is not None:
        test_files, more = listed(Path(own.test_images), own.labels_file, optional=True)
        others += more
        _refuse_twice_named(own, files, test_files)
    skipped = _missing(own, files + test_files)
    if unlabelled := sum(file.label is None for file in test_files):
        skipped.append(f"{unlabelled} of the pictures in {own.test_images}: without a label to test with")
    test_files = [file for file in test_files if file.label is not None]
    files, train, broken = _pixels_of_any(files, own.size) if shape is None else _pixels(files, shape)
    test_files, test, more = _pixels(test_files, train.shape[1:])
    skipped = broken + more + skipped
    names = tuple(sorted({file.label for file in files if file.label is not None}))
    _refuse_useless(own, len(files), names)
    labels = np.array([UNLABELLED if file.label is None else names.index(file.label) for file in files], np.int64)
    if own.test_images is None:
        held = held_out(labels, own.held_out, train)
        test, test_labels = train[held], labels[held]
        train, labels = train[~held], labels[~held]
        files = [file for file, out in zip(files, held, strict=True) if not out]
        if len(test) == 0:
            raise BayesganError(
                f"No picture in {own.images} can be held out to test on: label two of some class at least, or give "
                "--test-images."
            )
    else:
        strangers = [file for file in test_files if file.label not in names]
        skipped += [f"{file.name}: of the class '{file.label}', which no training picture has" for file in strangers]
        test = test[[file.label in names for file in test_files]]
        test_labels = np.array([names.index(str(file.label)) for file in test_files if file.label in names], np.int64)
        if len(test) == 0:
            raise BayesganError(f"{own.test_images} has no labelled picture of a class of the training pictures.")
    indices = np.flatnonzero(labels != UNLABELLED).astype(np.int64)
    text = f"own/{hashlib.sha256(train.tobytes()).hexdigest()}/{len(indices)}/0"
    labelled = LabelledSet(indices, hashed(text, indices, labels))
    images = Images(Path(own.images).name, names, train, labels, test, test_labels)
    skipped += sorted(others, key=lambda words: words.endswith(NOT_NAMED))  # pictures before what may be no picture
    return LabelledImages(images, labelled, tuple(file.name for file in files), tuple(skipped))


def _refuse_common(own: OwnImages) -> None:
    if own.test_images is None:
        return
    train, test = Path(own.images).resolve(), Path(own.test_images).resolve()
    if train.is_relative_to(test) or test.is_relative_to(train):
        raise BayesganError(
            f"{own.test_images} and {own.images} lie in one another: test pictures need a folder that no training "
            "picture is in."
        )


def _refuse_twice_named(own: OwnImages, files: list[PictureFile], test_files: list[PictureFile]) -> None:
    """Refuse a labels file that names a picture which both folders have."""
    labelled, tested = ({file.name for file in some if file.label is not None} for some in (files, test_files))
    if own.labels_file is not None and (both := labelled & tested):
        raise BayesganError(
            f"{own.labels_file} names {min(both)}, which is in {own.images} and in {own.test_images} too: give one of "
            "them another name."
        )


def _missing(own: OwnImages, files: list[PictureFile]) -> list[str]:
    """Notes on the files that the labels file names and no folder has."""
    if own.labels_file is None:
        return []
    there = {file.name for file in files}
    named = map(printable, read_labels(Path(own.labels_file)))
    where = own.images if own.test_images is None else f"{own.images} or {own.test_images}"
    return [f"{name}: in {own.labels_file}, but not in {where}" for name in named if name not in there]


def _refuse_useless(own: OwnImages, number: int, names: Sequence[str]) -> None:
    if number < FEWEST:
        raise BayesganError(
            f"{own.images} has {number} usable picture{'' if number == 1 else 's'}: at least {FEWEST} are needed."
        )
    if not names:
        raise BayesganError(
            f"No picture in {own.images} has a label: sort some into folders named after their class, or give "
            "--labels-file."
        )
    if len(names) == 1:
        raise BayesganError(f"All labelled pictures in {own.images} are of the class '{names[0]}': two are needed.")


def chosen_shape(headers: Sequence[Header], size: int | None = None) -> tuple[int, int, int]:
    """Choose the channels, height and width that all pictures are brought to.

    One channel if all are grey. Pictures of one size keep it if its sides have 8 to 64 pixels; others become squares,
    with the largest of 8, 16, 32 and 64 pixels that at least half of the pictures reach with their shorter side.
    """
    if not headers:
        return 1, SIDES[0], SIDES[0]  # nothing is read
    channels = 1 if all(found.grey for found in headers) else 3
    shapes = {(found.height, found.width) for found in headers}
    if size is not None:
        return channels, size, size
    if len(shapes) == 1:
        height, width = shapes.pop()
        if SIDES[0] <= min(height, width) and max(height, width) <= LARGEST:
            return channels, height, width
        headers = headers[:1]
    shorter = median(min(found.height, found.width) for found in headers)
    side = max((each for each in SIDES if each <= shorter), default=SIDES[0])
    return channels, side, side


def similar(shape: Sequence[int]) -> ImageSetName:
    """Choose the image set whose settings suit pictures of ``shape``."""
    channels, height, width = shape
    if max(height, width) <= 16:
        return "digits"
    if max(height, width) > 32:
        return "celeba"
    return "mnist" if channels == 1 else "cifar10"


def _pixels_of_any(files: list[PictureFile], size: int | None) -> tuple[list[PictureFile], np.ndarray, list[str]]:
    """Call :func:`_pixels` with the shape chosen from the files that can be decoded, and from no others."""
    headers = dict(zip(files, each(header, [file.path for file in files]), strict=True))

    def chosen(files: list[PictureFile]) -> tuple[int, int, int]:
        return chosen_shape([found for file in files if isinstance(found := headers[file], Header)], size)

    shape = chosen(files)
    files, pixels, skipped = _pixels(files, shape)
    while shape != chosen(files):
        shape = chosen(files)
        files, pixels, more = _pixels(files, shape)
        skipped += more
    return files, pixels, skipped


def _pixels(files: list[PictureFile], shape: tuple[int, ...]) -> tuple[list[PictureFile], np.ndarray, list[str]]:
    """Decode files: those that can be, their pixels, and notes on the others."""
    arrays, reasons = decoded([file.path for file in files], shape)
    tried = list(zip(files, reasons, strict=True))
    skipped = [f"{file.name}: {reason}" for file, reason in tried if reason is not None]
    return [file for file, reason in tried if reason is None], arrays, skipped


def held_out(labels: np.ndarray, share: float, images: np.ndarray) -> np.ndarray:
    """Choose the points to test on, (N,) of booleans: ``share`` of each class that has two or more.

    At least one of each such class, and never all. They are those whose pixels have the least sha256, wherever the
    files are, so that most stay the same when more pictures get a label.
    """
    order = np.array(sorted(range(len(labels)), key=lambda index: hashlib.sha256(images[index].tobytes()).digest()))
    held = np.zeros(len(labels), bool)
    for label, count in sorted(Counter(labels[labels != UNLABELLED].tolist()).items()):
        number = min(max(1, round(share * count)), count - 1)
        held[order[labels[order] == label][:number]] = True
    return held
