"""The 1,797 handwritten digits of 8×8 pixels that come with scikit-learn: no file is needed."""

import numpy as np

from bayesgan.data.split import Parts, hold_out

CLASSES = tuple("0123456789")
TEST = 500
VALIDATION = 297
BRIGHTEST = 16


def read(validation: bool) -> Parts:
    """1,297 training and 500 test images of a fixed shuffle, or 1,000 training and 297 validation images."""
    from sklearn.datasets import load_digits  # takes a second to import

    data = load_digits()
    # The order of the file goes by writer.
    order = np.random.default_rng(0).permutation(len(data.target))
    images = np.round(data.images[order, None] * (255 / BRIGHTEST)).astype(np.uint8)
    labels = data.target[order].astype(np.int64)
    whole = hold_out(images, labels, TEST)
    return hold_out(whole.train, whole.train_labels, VALIDATION) if validation else whole
