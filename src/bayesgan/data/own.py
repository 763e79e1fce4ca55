"""A person's own pictures: folders of files, of which some have a label."""

import csv
import hashlib
import io
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from bayesgan.data.images import Images, ImageSetName
from bayesgan.data.labels import LabelledImages, LabelledSet, hashed
from bayesgan.data.pictures import SUFFIXES, Header, decoded, each, header
from bayesgan.errors import BayesganError

UNLABELLED = ("unlabelled", "unlabeled")  # folders whose pictures are of no class
NOT_LABELLED = -1
SIDES = (8, 16, 32, 64)  # pixels of what pictures of mixed sizes are scaled to
LARGEST = 64  # pixels of a side that pictures of one size may keep
FEWEST = 10  # pictures to train on


@dataclass(frozen=True)
class OwnImages:
    """Where the pictures of a run are, and what becomes of them."""

    images: str  # a folder of class folders, with unlabelled pictures beside them, or a flat one with a labels file
    labels_file: str | None = None  # CSV with the header file,label
    test_images: str | None = None  # a folder of the same form
    held_out: float = 0.2  # share of the labelled pictures to test on where there is no folder of test pictures
    size: int | None = None  # pixels of a side; None: chosen from the pictures


@dataclass(frozen=True)
class _File:
    path: Path
    name: str  # below the folder, for people to read
    label: str | None


def read(own: OwnImages) -> LabelledImages:
    """Read the pictures of ``own``: every one without a label is unlabelled, every one that is broken is skipped."""
    files, skipped = listed(Path(own.images), own.labels_file)
    test_files: list[_File] = []
    if own.test_images is not None:
        test_files, more = listed(Path(own.test_images), own.labels_file)
        skipped += more
    skipped += _missing(own, files + test_files)
    test_files = [file for file in test_files if file.label is not None]
    headers = each(header, [file.path for file in files])
    shape = chosen_shape([found for found in headers if isinstance(found, Header)], own.size)
    files, train, more = _pixels(files, shape)
    test_files, test, more_tested = _pixels(test_files, shape)
    skipped += more + more_tested
    names = tuple(sorted({file.label for file in files if file.label is not None}))
    _refuse_useless(own, len(files), names)
    labels = np.array([NOT_LABELLED if file.label is None else names.index(file.label) for file in files], np.int64)
    if own.test_images is None:
        held = held_out(labels, own.held_out)
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
    indices = np.flatnonzero(labels != NOT_LABELLED).astype(np.int64)
    text = f"own/{hashlib.sha256(train.tobytes()).hexdigest()}/{len(indices)}/0"
    labelled = LabelledSet(indices, hashed(text, indices, labels))
    images = Images(Path(own.images).name, names, train, labels, test, test_labels)
    return LabelledImages(images, labelled, tuple(file.name for file in files), tuple(skipped))


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


# Which files there are


def listed(folder: Path, labels_file: str | None) -> tuple[list[_File], list[str]]:
    """The picture files of ``folder`` with their labels, in the order of their names; a few words on each other file.

    With a labels file it has the labels, without one the folders directly below ``folder`` are the classes.
    """
    if not folder.is_dir():
        raise BayesganError(f"{folder} is not a folder.")
    found: dict[str, Path] = {}
    skipped = []
    for place, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".")]
        for name in names:
            path = Path(place) / name
            relative = path.relative_to(folder).as_posix()
            if name.startswith(".") or (labels_file is not None and path.resolve() == Path(labels_file).resolve()):
                continue
            if path.suffix.lower() in SUFFIXES:
                found[relative] = path
            else:
                skipped.append(f"{printable(relative)}: not named like a picture")
    if not found:
        raise BayesganError(f"{folder} has no pictures ({', '.join(SUFFIXES)}).")
    ordered = sorted(found, key=os.fsencode)
    if labels_file is None:
        labels = {name: _class_folder(name) for name in ordered}
    else:
        labels = read_labels(Path(labels_file))
        if not any(name in found for name in labels):
            raise BayesganError(f"None of the files that {labels_file} names is in {folder}.")
    files = [_File(found[name], printable(name), labels.get(name)) for name in ordered]
    return files, sorted(skipped)


def _missing(own: OwnImages, files: list[_File]) -> list[str]:
    """A few words on each file that the labels file names and no folder has."""
    if own.labels_file is None:
        return []
    there = {file.name for file in files}
    named = map(printable, read_labels(Path(own.labels_file)))
    where = own.images if own.test_images is None else f"{own.images} or {own.test_images}"
    return [f"{name}: in {own.labels_file}, but not in {where}" for name in named if name not in there]


def _class_folder(name: str) -> str | None:
    first, inside, _ = name.partition("/")
    return None if not inside or first.lower() in UNLABELLED else printable(first)


def read_labels(path: Path) -> dict[str, str | None]:
    """Labels by file name, from a CSV file with the header ``file,label``; an empty label is none."""
    try:
        # As the names of files are read, so that a name that is not UTF-8 is found.
        text = os.fsdecode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
        rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        if rows.fieldnames is None or not {"file", "label"} <= set(rows.fieldnames):
            raise BayesganError(f"{path} needs the header file,label in its first line.")
        labels: dict[str, str | None] = {}
        for row in rows:
            name, label = (row["file"] or "").strip(), printable((row["label"] or "").strip()) or None
            if not name:
                continue
            if labels.setdefault(name, label) != label:
                raise BayesganError(
                    f"{path} gives {printable(name)} two labels, '{labels[name]}' and '{label}': leave one."
                )
        return labels
    except OSError as error:
        raise BayesganError(f"Cannot read {path}: {error.strerror or error}.") from None
    except csv.Error as error:
        raise BayesganError(f"{path} is not a CSV file: {error}.") from None


def printable(name: str) -> str:
    r"""A file name that any terminal and file can take: bytes that are not UTF-8 are written \\xnn."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


# What becomes of them


def chosen_shape(headers: Sequence[Header], size: int | None = None) -> tuple[int, int, int]:
    """Channels, height and width that all pictures are brought to.

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
    """The image set whose settings suit pictures of ``shape``."""
    channels, height, width = shape
    if max(height, width) <= 16:
        return "digits"
    if max(height, width) > 32:
        return "celeba"
    return "mnist" if channels == 1 else "cifar10"


def _pixels(files: list[_File], shape: tuple[int, int, int]) -> tuple[list[_File], np.ndarray, list[str]]:
    """The files that can be decoded, their pixels, and why the others cannot."""
    arrays, reasons = decoded([file.path for file in files], shape)
    tried = list(zip(files, reasons, strict=True))
    skipped = [f"{file.name}: {reason}" for file, reason in tried if reason is not None]
    return [file for file, reason in tried if reason is None], arrays, skipped


def held_out(labels: np.ndarray, share: float) -> np.ndarray:
    """Which of the points are to test on, (N,) of booleans: ``share`` of those of each class that has two or more.

    At least one of each such class, and never all. It depends on nothing but the arguments.
    """
    order = np.argsort(np.random.PCG64(0).random_raw(len(labels)), kind="stable")
    held = np.zeros(len(labels), bool)
    for label, count in sorted(Counter(labels[labels != NOT_LABELLED].tolist()).items()):
        number = min(max(1, round(share * count)), count - 1)
        held[order[labels[order] == label][:number]] = True
    return held
