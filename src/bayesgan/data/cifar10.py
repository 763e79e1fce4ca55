"""CIFAR-10, from the official binary version or the official Python version."""

import pickle
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from bayesgan.data.split import Parts, damaged, hold_out, missing

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
TRAIN_FILES = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST_FILE = "test_batch"
BINARY, PYTHON = "cifar-10-batches-bin", "cifar-10-batches-py"
BATCH = 10_000  # images of each file
VALIDATION = 5_000
SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
LONGEST_PICKLE = 2 * BATCH * PIXELS  # bytes; the official ones have 31 million


def read(folder: Path, validation: bool) -> Parts:
    """50,000 training and 10,000 test images, or 45,000 training and 5,000 validation images of the training files."""
    if (folder / PYTHON).is_dir() and not (folder / BINARY).is_dir():
        batches = [read_pickle(folder / PYTHON / name) for name in TRAIN_FILES]
        test = None if validation else read_pickle(folder / PYTHON / TEST_FILE)
    else:
        batches = [read_binary(folder / BINARY / f"{name}.bin") for name in TRAIN_FILES]
        test = None if validation else read_binary(folder / BINARY / f"{TEST_FILE}.bin")
    images, labels = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    return hold_out(images, labels, VALIDATION) if test is None else Parts(images, labels, *test)


def read_binary(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of a file of rows: a byte for the label, then the red, green and blue pixels."""
    rows = np.frombuffer(_content(path, BATCH * (1 + PIXELS)), np.uint8)
    if len(rows) != BATCH * (1 + PIXELS):
        raise damaged("cifar10", path, f"it does not hold {BATCH} images")
    rows = rows.reshape(BATCH, 1 + PIXELS)
    return _checked(path, rows[:, 1:], rows[:, 0])


def read_pickle(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of a pickled dict, of which nothing but plain values and arrays of bytes is admitted."""
    content = _content(path, LONGEST_PICKLE)
    try:
        batch = _Unpickler(BytesIO(content), encoding="bytes").load()
        rows, labels = batch[b"data"].values, np.array(batch[b"labels"], np.int64)
    except Exception as error:  # a broken pickle raises whatever its next byte asks for
        raise damaged("cifar10", path, f"it is not a pickle of images: {error}") from None
    if rows.shape != (BATCH, PIXELS) or labels.shape != (BATCH,):
        raise damaged("cifar10", path, f"it does not hold {BATCH} images")
    return _checked(path, rows, labels)


def _content(path: Path, longest: int) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(longest + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise missing("cifar10", path) from None
    if len(content) > longest:
        raise damaged("cifar10", path, f"it is longer than {longest} bytes")
    return content


def _checked(path: Path, rows: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if labels.min() < 0 or labels.max() >= len(CLASSES):
        raise damaged("cifar10", path, "a label is not in 0…9")
    # A copy, because an array over bytes cannot be written to.
    return rows.copy().reshape(-1, *SHAPE), labels.astype(np.int64)


class _Array:
    """Takes the place of a numpy array in a pickle: its bytes are checked here before numpy sees them."""

    def __init__(self, *_: object) -> None:
        self.values = np.empty(0, np.uint8)

    def __setstate__(self, state: tuple[int, tuple[int, ...], object, bool, object]) -> None:
        _, shape, dtype, column_order, content = state
        if not isinstance(dtype, _Dtype) or not isinstance(content, bytes):
            raise pickle.UnpicklingError("an array does not hold bytes")
        self.values = np.frombuffer(content, np.uint8).reshape(shape, order="F" if column_order else "C")


class _Dtype:
    """Takes the place of a numpy dtype in a pickle; only that of bytes is admitted."""

    def __init__(self, code: object, *_: object) -> None:
        if code not in ("u1", b"u1"):
            raise pickle.UnpicklingError("an array does not hold bytes")

    def __setstate__(self, state: object) -> None:
        """Byte order and the like, which bytes do not have."""


# The Python implementation: in the other one a pickle of a few bytes can ask for a table of many gigabytes.
class _Unpickler(pickle._Unpickler):
    """Builds nothing but plain values and the two stand-ins."""

    ADMITTED = {  # noqa: RUF012
        ("numpy.core.multiarray", "_reconstruct"): _Array,
        ("numpy._core.multiarray", "_reconstruct"): _Array,
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _Dtype,
        ("_codecs", "encode"): str.encode,  # bytes, in pickles that Python 3 wrote for Python 2
    }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self.ADMITTED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None
