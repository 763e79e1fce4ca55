"""A person's own pictures: folders of files, of which some have a label."""

import csv
import hashlib
import io
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
from pydantic import Field

from bayesgan.data.images import Images, ImageSetName
from bayesgan.data.labels import LabelledImages, LabelledSet, hashed
from bayesgan.data.pictures import SUFFIXES, Header, decoded, each, header
from bayesgan.errors import BayesganError

UNLABELLED = ("unlabelled", "unlabeled")  # folders whose pictures are of no class
NOT_LABELLED = -1
SIDES = (8, 16, 32, 64)  # pixels of what pictures of mixed sizes are scaled to
LARGEST = 64  # pixels of a side that pictures of one size may keep
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
FEWEST = 10  # pictures to train on
LEAST_HELD_OUT, MOST_HELD_OUT = 0.01, 0.9  # shares that may be asked for
SMALLEST_SIDE, LARGEST_SIDE = 8, 256  # pixels that may be asked for


@dataclass(frozen=True)
class OwnImages:
    """Where the pictures of a run are, and what becomes of them."""

    images: str  # a folder of class folders, with unlabelled pictures beside them, or a flat one with a labels file
    labels_file: str | None = None  # CSV with the header file,label
    test_images: str | None = None  # a folder of the same form
    held_out: Annotated[float, Field(ge=LEAST_HELD_OUT, le=MOST_HELD_OUT)] = (
        0.2  # share of the labelled pictures to test on where there is no folder of test pictures
    )
    size: Annotated[int, Field(ge=SMALLEST_SIDE, le=LARGEST_SIDE)] | None = None  # of a side; None: chosen from them


@dataclass(frozen=True)
class _File:
    path: Path
    name: str  # below the folder, for people to read
    label: str | None


def read(own: OwnImages) -> LabelledImages:
    """Read the pictures of ``own``: every one without a label is unlabelled, every one that is broken is skipped."""
    _refuse_common(own)
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
    indices = np.flatnonzero(labels != NOT_LABELLED).astype(np.int64)
    text = f"own/{hashlib.sha256(train.tobytes()).hexdigest()}/{len(indices)}/0"
    labelled = LabelledSet(indices, hashed(text, indices, labels))
    images = Images(Path(own.images).name, names, train, labels, test, test_labels)
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
        links = {each for each in folders if (Path(place) / each).is_symlink()}
        skipped += [
            f"{printable(_below(folder, place, each))}: a link to a folder, which is not followed" for each in links
        ]
        # What a run drew is not for the next one to learn from.
        folders[:] = [
            each for each in folders if not each.startswith(".") and not (Path(place) / each / "config.json").exists()
        ]
        for name in names:
            path = Path(place) / name
            relative = _below(folder, place, name)
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


def _below(folder: Path, place: str, name: str) -> str:
    return (Path(place) / name).relative_to(folder).as_posix()


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
    return _label(first) if inside else None


def _label(text: str) -> str | None:
    """The class that ``text`` names, if it names one."""
    return None if text == "" or text.lower() in UNLABELLED else printable(text)


def read_labels(path: Path) -> dict[str, str | None]:
    """Labels by file name, from a CSV file with the header ``file,label``; an empty one and 'unlabelled' are none."""
    try:
        # As the names of files are read, so that a name that is not UTF-8 is found.
        text = os.fsdecode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
        rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        if rows.fieldnames is None or not {"file", "label"} <= set(rows.fieldnames):
            raise BayesganError(f"{path} needs the header file,label in its first line.")
        labels: dict[str, str | None] = {}
        for row in rows:
            name, label = (row["file"] or "").strip(), _label((row["label"] or "").strip())
            if not name:
                continue
            if labels.setdefault(name, label) != label:
                both = " and ".join("none" if each is None else f"'{each}'" for each in (labels[name], label))
                raise BayesganError(f"{path} gives {printable(name)} two labels, {both}: leave one.")
        return labels
    except OSError as error:
        raise BayesganError(f"Cannot read {path}: {error.strerror or error}.") from None
    except csv.Error as error:
        raise BayesganError(f"{path} is not a CSV file: {error}.") from None


def printable(name: str) -> str:
    r"""A name that any terminal and file can take: what is not UTF-8, and control characters, are written \\xnn."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


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


def held_out(labels: np.ndarray, share: float, images: np.ndarray) -> np.ndarray:
    """Which of the points are to test on, (N,) of booleans: ``share`` of those of each class that has two or more.

    At least one of each such class, and never all. They are those whose pixels have the least sha256, wherever the
    files are, so that most stay the same when more pictures get a label.
    """
    order = np.array(sorted(range(len(labels)), key=lambda index: hashlib.sha256(images[index].tobytes()).digest()))
    held = np.zeros(len(labels), bool)
    for label, count in sorted(Counter(labels[labels != NOT_LABELLED].tolist()).items()):
        number = min(max(1, round(share * count)), count - 1)
        held[order[labels[order] == label][:number]] = True
    return held
