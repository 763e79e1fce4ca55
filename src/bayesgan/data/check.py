"""Check whether the files of an image set are there, whole and official."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from bayesgan.base.errors import BayesganError
from bayesgan.data import celeba, cifar10, mnist, svhn
from bayesgan.data.download import md5
from bayesgan.data.sources import CELEBA, CIFAR10_BINARY, CIFAR10_PYTHON, MNIST, SVHN

State = Literal["official", "readable, but not the official file", "there", "missing", "damaged"]
CELEBA_PICTURES = 202_599


class Finding(NamedTuple):
    """The state of one file or folder."""

    path: Path
    state: State
    note: str = ""  # what is wrong with it, or how much of it is there


def check(name: str, folder: Path) -> list[Finding]:
    """Find the state of each file that the image set ``name`` has under the data root ``folder``; digits need none."""
    place = folder / name
    match name:
        case "mnist":
            return [_file(place / file.name, file.md5, mnist.read_file) for file in MNIST]
        case "cifar10":
            if (place / cifar10.PYTHON).is_dir() and not (place / cifar10.BINARY).is_dir():
                files, inner, read = CIFAR10_PYTHON, cifar10.PYTHON, cifar10.read_pickle
            else:
                files, inner, read = CIFAR10_BINARY, cifar10.BINARY, cifar10.read_binary
            return [_file(place / inner / file, checksum, read) for file, checksum in files.items()]
        case "svhn":
            return [_file(place / file.name, file.md5, svhn.read_mat) for file in SVHN]
        case "celeba":
            lists = [
                _file(place / celeba.ATTRIBUTES, CELEBA[celeba.ATTRIBUTES], celeba.read_labels),
                _file(place / celeba.PARTITION, CELEBA[celeba.PARTITION], celeba.read_partition),
            ]
            return [*lists, _pictures(place / celeba.PICTURES)]
    return []


def _file(path: Path, checksum: str, read: Callable[[Path], object]) -> Finding:
    if not path.is_file():
        return Finding(path, "missing")
    try:
        if md5(path) == checksum:
            return Finding(path, "official")
        read(path)
    except (BayesganError, OSError) as error:
        return Finding(path, "damaged", str(error))
    return Finding(path, "readable, but not the official file")


def _pictures(folder: Path) -> Finding:
    count = sum(1 for _ in folder.glob("*.jpg"))
    if not count:
        return Finding(folder, "missing")
    return Finding(folder, "there", f"{count:,} of {CELEBA_PICTURES:,} pictures")
