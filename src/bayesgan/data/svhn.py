"""SVHN, the cropped digits of 32×32 pixels, from the official ``.mat`` files."""

from pathlib import Path

import numpy as np

from bayesgan.data.split import Parts, damaged, hold_out, missing

CLASSES = tuple("0123456789")
TRAIN_FILE, TEST_FILE = "train_32x32.mat", "test_32x32.mat"
MOST = 1_000_000  # images; the largest official file has 531,131
VALIDATION = 10  # one image in so many


def read(folder: Path, validation: bool) -> Parts:
    """The training and the test file, or the training file with its last tenth as the test set."""
    images, labels = read_mat(folder / TRAIN_FILE)
    if validation:
        return hold_out(images, labels, len(images) // VALIDATION)
    return Parts(images, labels, *read_mat(folder / TEST_FILE))


def read_mat(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of a file with X, (32, 32, 3, n) bytes, and y, (n, 1) labels of which 10 means the digit 0."""
    from scipy.io import loadmat, whosmat  # takes a while to import

    if not path.is_file():
        raise missing("svhn", path)
    try:
        # The sizes before the values: a small file can decompress to a huge one.
        shapes = {name: (shape, kind) for name, shape, kind in whosmat(path)}
        (*size, count), kind = shapes["X"]
        labels_shape, _ = shapes["y"]
        if size != [32, 32, 3] or kind != "uint8" or not 0 < count <= MOST or labels_shape != (count, 1):
            raise ValueError("X and y do not have the shapes of images and their labels")
        content = loadmat(path, variable_names=["X", "y"])
        images, labels = content["X"], content["y"].ravel().astype(np.int64)
        if images.shape != (32, 32, 3, count) or labels.shape != (count,):
            raise ValueError("X and y are not as long as they should be")
        if labels.min() < 1 or labels.max() > 10:
            raise ValueError("a label is not in 1…10")
    except OSError as error:
        if error.errno is not None:
            raise
        raise damaged("svhn", path, str(error)) from None
    except Exception as error:  # a broken file raises whatever its next byte asks for
        raise damaged("svhn", path, f"{type(error).__name__}: {error}") from None
    return np.ascontiguousarray(images.transpose(3, 2, 0, 1)), labels % 10
