"""Training and test part of an image set, and the errors for its files."""

from pathlib import Path

import numpy as np

from bayesgan.base.errors import BayesganError
from bayesgan.data.split import damaged, hold_out, missing


def test_the_last_images_are_held_out_with_their_labels() -> None:
    images, labels = np.arange(10).reshape(10, 1, 1, 1).astype(np.uint8), np.arange(10)
    parts = hold_out(images, labels, 3)
    assert parts.train_labels.tolist() == parts.train.ravel().tolist() == list(range(7))
    assert parts.test_labels.tolist() == parts.test.ravel().tolist() == [7, 8, 9]


def test_holding_out_nothing_leaves_an_empty_test_part() -> None:
    parts = hold_out(np.zeros((4, 1, 2, 2), np.uint8), np.zeros(4, np.int64), 0)
    assert (len(parts.train), len(parts.test), len(parts.test_labels)) == (4, 0, 0)


def test_the_errors_name_the_file_and_say_what_to_do() -> None:
    path = Path("data") / "svhn" / "test.mat"
    for error, words in (
        (missing("svhn", path), (str(path), "is missing", "`bayesgan data get svhn`", "--data-dir or BAYESGAN_DATA")),
        (damaged("svhn", path, "no X"), (str(path), "is damaged (no X)", "delete it", "`bayesgan data get svhn`")),
    ):
        assert isinstance(error, BayesganError)
        assert all(word in str(error) for word in words)
