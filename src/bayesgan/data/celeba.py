"""CelebA: aligned pictures cut to the face, in 32 classes made of five attributes."""

import os
from itertools import product
from pathlib import Path

import numpy as np
from rich.console import Console

from bayesgan.base.errors import BayesganError
from bayesgan.base.files import read_text
from bayesgan.data.faces import Faces, faces
from bayesgan.data.split import Parts, damaged, missing

PICTURES, ATTRIBUTES, PARTITION = "img_align_celeba", "list_attr_celeba.txt", "list_eval_partition.txt"
# The first is the highest bit of a label.
BITS = {"blond": "Blond_Hair", "glasses": "Eyeglasses", "male": "Male", "pale": "Pale_Skin", "young": "Young"}
CLASSES = tuple(
    " ".join(word for word, bit in zip(BITS, bits, strict=True) if bit) or "none"
    for bits in product((False, True), repeat=len(BITS))
)
TRAIN, VALIDATION, TEST = "0", "1", "2"  # what the partition file calls them
MOST_TRAIN, MOST_TEST = 100_000, 10_000


def read(folder: Path, validation: bool) -> Parts:
    """At most 100,000 training and 10,000 test or validation faces of 50×50 pixels, in the order of the files."""
    labels = read_labels(folder / ATTRIBUTES)
    parts = read_partition(folder / PARTITION)
    if not parts.keys() <= labels.keys():
        raise damaged("celeba", folder / ATTRIBUTES, f"it does not list all pictures of {PARTITION}")
    sizes = _sizes(folder / PICTURES)
    results = []
    for part, most in (TRAIN, MOST_TRAIN), (VALIDATION if validation else TEST, MOST_TEST):
        names = [name for name, its_part in parts.items() if its_part == part and name in sizes]
        if not names:
            raise missing("celeba", folder / PICTURES / next(n for n, its_part in parts.items() if its_part == part))
        found = faces(
            folder / PICTURES, {name: sizes[name] for name in names}, most, folder / f"faces-{part}.safetensors"
        )
        if len(found.indices) == 0:
            raise BayesganError(f"No picture of part {part} in {folder / PICTURES} shows exactly one face.")
        results.append((found, [labels[names[index]] for index in found.indices]))
    _say([found for found, _ in results])
    (train, train_labels), (test, test_labels) = results
    return Parts(train.images, np.array(train_labels, np.int64), test.images, np.array(test_labels, np.int64))


def read_labels(path: Path) -> dict[str, int]:
    """Read the label of each picture from a table whose second line names its columns; entries are 1 and -1."""
    _, header, *lines = _lines(path)
    names = header.split()
    try:
        columns = [1 + names.index(attribute) for attribute in BITS.values()]
        labels = {}
        for line in lines:
            row = line.split()
            if len(row) != 1 + len(names):
                raise ValueError(f"the line '{line[:40]}…' does not have {1 + len(names)} entries")
            bits = [{"1": "1", "-1": "0"}[row[column]] for column in columns]
            labels[row[0]] = int("".join(bits), base=2)
    except KeyError as error:
        raise damaged("celeba", path, f"an attribute is {error}") from None
    except ValueError as error:
        raise damaged("celeba", path, str(error)) from None
    return labels


def read_partition(path: Path) -> dict[str, str]:
    """Read the part of each picture, in the order of the file."""
    rows = [line.split() for line in _lines(path)]
    if not all(len(row) == 2 and row[1] in (TRAIN, VALIDATION, TEST) for row in rows):
        raise damaged("celeba", path, "a line is not a name and 0, 1 or 2")
    parts = dict(rows)
    if not {TRAIN, VALIDATION, TEST} <= set(parts.values()):
        raise damaged("celeba", path, "it does not name all three parts")
    return parts


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        raise missing("celeba", path)
    lines = read_text(path).splitlines()
    if len(lines) < 3:
        raise damaged("celeba", path, "it has fewer than three lines")
    return lines


def _sizes(folder: Path) -> dict[str, int]:
    """Find the size of each picture, in bytes."""
    if not folder.is_dir():
        raise missing("celeba", folder)
    with os.scandir(folder) as entries:
        return {entry.name: entry.stat().st_size for entry in entries if entry.name.endswith(".jpg")}


def _say(parts: list[Faces]) -> None:
    left_out = sum(part.left_out for part in parts)
    seen = left_out + sum(len(part.indices) for part in parts)
    text = f"celeba: {left_out:,} of {seen:,} pictures are left out because not exactly one face was found in them."
    Console(stderr=True).print(text, highlight=False, soft_wrap=True)
