"""MNIST, from the four official ``.gz`` files."""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from bayesgan.data.split import Parts, damaged, hold_out, missing

CLASSES = tuple("0123456789")
TRAIN, TEST, VALIDATION = 60_000, 10_000, 10_000
SHAPES = {
    "train-images-idx3-ubyte.gz": (TRAIN, 28, 28),
    "train-labels-idx1-ubyte.gz": (TRAIN,),
    "t10k-images-idx3-ubyte.gz": (TEST, 28, 28),
    "t10k-labels-idx1-ubyte.gz": (TEST,),
}


def read(folder: Path, validation: bool) -> Parts:
    """The first 50,000 images of the training file, and the test file or the last 10,000 of the training file."""
    whole = hold_out(*_pair(folder, "train"), VALIDATION)
    return whole if validation else Parts(whole.train, whole.train_labels, *_pair(folder, "t10k"))


def read_file(path: Path) -> np.ndarray:
    """The images or labels of one of the four files."""
    content = read_idx(path, SHAPES[path.name])
    if content.ndim == 1 and content.max() >= len(CLASSES):
        raise damaged("mnist", path, f"a label is {content.max()}")
    return content


def _pair(folder: Path, prefix: str) -> tuple[np.ndarray, np.ndarray]:
    images = read_file(folder / f"{prefix}-images-idx3-ubyte.gz")
    labels = read_file(folder / f"{prefix}-labels-idx1-ubyte.gz")
    return images[:, None], labels.astype(np.int64)


def read_idx(path: Path, shape: tuple[int, ...]) -> np.ndarray:
    """The bytes of a gzipped idx file that must have this shape.

    An idx file of bytes starts with 0, 0, 8 (bytes) and the number of dimensions, then each dimension as a big-endian
    32-bit number.
    """
    expected = bytes([0, 0, 8, len(shape)]) + np.array(shape, ">u4").tobytes()
    size = math.prod(shape)
    try:
        with gzip.open(path) as file:
            header = file.read(len(expected))
            if header[:4] != expected[:4]:
                raise damaged("mnist", path, "it does not start as an idx file of bytes does")
            if header != expected:
                raise damaged("mnist", path, f"its dimensions are not {' × '.join(map(str, shape))}")
            # One byte more than there should be, and no more: a small file can decompress to a huge one.
            content = file.read(size + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise missing("mnist", path) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise damaged("mnist", path, str(error)) from None
    if len(content) != size:
        raise damaged("mnist", path, f"it holds {'more' if len(content) > size else 'less'} than {size} bytes")
    # A copy, because an array over bytes cannot be written to.
    return np.frombuffer(content, np.uint8).reshape(shape).copy()
