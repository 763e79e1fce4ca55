"""The figures of the paper's Table 1, some of them typed again from the paper."""

import pytest

from bayesgan.data.names import IMAGE_SETS
from bayesgan.paper.reported import LABEL_COUNTS, LFVI_MNIST, reported, reported_epoch_seconds, reported_size
from bayesgan.settings.names import METHODS, Method


def test_what_the_paper_reports() -> None:
    assert LABEL_COUNTS["digits"] == LABEL_COUNTS["mnist"] == (20, 50, 100, 200)
    assert LABEL_COUNTS["svhn"] == (500, 1000, 2000, 4000)
    assert LABEL_COUNTS["cifar10"] == LABEL_COUNTS["celeba"] == (1000, 2000, 4000, 8000)
    assert reported("mnist", 100, "bayesgan") == (79, 5.8)
    assert reported("mnist", 50, "supervised") is None
    assert reported("svhn", 4000, "bayesgan") == (8.7, 1.8)
    assert reported("celeba", 2000, "dcgan10") == (31.2, 1.8)
    assert reported_epoch_seconds("celeba", "dcgan10") == 649 * 60
    assert reported_epoch_seconds("cifar10", "supervised") is None
    assert reported_size("svhn") == (75_000, (32, 32, 3))
    for dataset in IMAGE_SETS:
        known = {each for each in METHODS if reported(dataset, LABEL_COUNTS[dataset][-1], each)}
        assert known == (set() if dataset == "digits" else {*METHODS[:5]})
    assert reported_size("digits") is None
    assert reported_epoch_seconds("digits", "dcgan") is None
    assert reported("mnist", 77, "dcgan") is None


@pytest.mark.parametrize(
    ("dataset", "labels", "row"),
    [
        ("mnist", 100, [(2134, 525), (128, 11), (156, 17), (97, 8.2), (79, 5.8)]),
        ("mnist", 200, [(1389, 438), (95, 3.2), (91, 5.2), (78, 2.8), (74, 1.4)]),
        ("cifar10", 4000, [(51.4, 2.9), (40.1, 3.3), (38.1, 2.9), (27.4, 3.2), (23.4, 3.7)]),
        ("svhn", 1000, [(37.3, 3.1), (25.5, 3.3), (25.1, 2.6), (18.3, 1.7), (12.9, 2.5)]),
        ("celeba", 8000, [(31.1, 4.2), (29.5, 2.8), (27.6, 4.2), (26.4, 1.1), (25.3, 2.4)]),
    ],
)
def test_a_row_of_the_table(dataset: str, labels: int, row: list[tuple[float, float]]) -> None:
    columns: tuple[Method, ...] = ("supervised", "dcgan", "wdcgan", "dcgan10", "bayesgan")
    assert [reported(dataset, labels, method) for method in columns] == row


def test_every_cell_is_there_but_two_of_the_supervised_classifier() -> None:
    columns: tuple[Method, ...] = ("supervised", "dcgan", "wdcgan", "dcgan10", "bayesgan")
    empty = [
        (dataset, labels, method)
        for dataset in IMAGE_SETS
        for labels in LABEL_COUNTS[dataset]
        for method in columns
        if dataset != "digits" and reported(dataset, labels, method) is None
    ]
    assert empty == [("mnist", 20, "supervised"), ("mnist", 50, "supervised")]


def test_minutes_per_epoch() -> None:
    minutes = {"mnist": (14, 15, 114, 32), "cifar10": (18, 19, 146, 68), "svhn": (29, 31, 217, 81)}
    for dataset, row in minutes.items():
        for method, each in zip(("dcgan", "wdcgan", "dcgan10", "bayesgan"), row, strict=True):
            assert reported_epoch_seconds(dataset, method) == 60 * each


def test_what_the_text_quotes_for_lfvi() -> None:
    assert LFVI_MNIST == (50_000, 140)
    assert all(reported("mnist", labels, "lfvi") is None for labels in LABEL_COUNTS["mnist"])
