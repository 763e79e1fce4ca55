import hashlib

import numpy as np
import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.data import digits
from bayesgan.data.labels import labelled_set


@pytest.mark.parametrize(
    ("subset", "sha256", "first"),
    [
        (0, "08776ddd7c2ed8a83653d183381f203602a3f8febdb8c91847e4947b8dd71936", [17, 52, 80, 111, 144]),
        (1, "c0dc2bc86fe2cd38846ec8fe5e7e7514eff666d5eecb44ebf785faf9a2cc8f22", [19, 74, 88, 354, 356]),
    ],
)
def test_the_choice_never_changes(subset: int, sha256: str, first: list[int]) -> None:
    """Published results name these subsets: whoever changes them changes what the results mean."""
    labels = digits.read(validation=False).train_labels
    chosen = labelled_set("digits", labels, 50, subset)
    assert chosen.indices[:5].tolist() == first
    assert chosen.sha256 == sha256
    assert np.bincount(labels[chosen.indices]).tolist() == [5] * 10
    described = f"digits/50/{subset}/".encode() + chosen.indices.tobytes() + labels[chosen.indices].tobytes()
    assert chosen.sha256 == hashlib.sha256(described).hexdigest()


def test_the_order_of_remainders_never_changes() -> None:
    labels = digits.read(validation=False).train_labels
    chosen = labelled_set("digits", labels, 53, 0)
    assert chosen.sha256 == "9457e055a2c54b0030241d4240b710c21dfc7865203650069afc5b87756bee2a"


@pytest.mark.parametrize("seed", range(40))
def test_properties(seed: int) -> None:
    """As many as asked for, each once, from classes as equal as their sizes allow."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(1, 12))
    labels = rng.choice(classes, size=int(rng.integers(1, 300)), p=rng.dirichlet(np.full(classes, 0.5)))
    for count in {0, 1, len(labels) // 3, len(labels) - 1, len(labels), int(rng.integers(len(labels) + 1))}:
        chosen = labelled_set("any", labels, count, seed)
        assert chosen.indices.dtype == np.int64
        assert len(chosen.indices) == count
        assert np.all(np.diff(chosen.indices) > 0)
        assert np.all((chosen.indices >= 0) & (chosen.indices < len(labels)))
        sizes = np.bincount(labels, minlength=classes)
        given = np.bincount(labels[chosen.indices], minlength=classes)
        # A class that gives less than another, by more than the remainder of one, has nothing left to give.
        assert np.all((given >= given.max() - 1) | (given == sizes))
        again = labelled_set("any", labels, count, seed)
        np.testing.assert_array_equal(chosen.indices, again.indices)
        assert chosen.sha256 == again.sha256


def test_tiny_classes_give_all_they_have() -> None:
    labels = np.repeat([0, 1, 2, 3], [1, 3, 100, 100])
    given = np.bincount(labels[labelled_set("any", labels, 50, 0).indices])
    assert given.tolist() == [1, 3, 23, 23]
    given = np.bincount(labels[labelled_set("any", labels, 51, 0).indices])
    assert given[:2].tolist() == [1, 3]
    assert sorted(given[2:]) == [23, 24]


def test_a_class_can_be_empty_and_labels_need_not_be_numbered_from_zero() -> None:
    labels = np.array([7] * 5 + [31] * 5)
    assert np.unique(labels[labelled_set("any", labels, 4, 0).indices], return_counts=True)[1].tolist() == [2, 2]


def test_all_none_and_no_images() -> None:
    labels = np.array([2, 0, 1, 1])
    assert labelled_set("any", labels, 4, 3).indices.tolist() == [0, 1, 2, 3]
    assert labelled_set("any", labels, 0, 3).indices.tolist() == []
    assert labelled_set("any", labels[:0], 0, 0).indices.tolist() == []


def test_name_count_subset_and_labels_all_matter() -> None:
    labels = np.arange(1000) % 10
    sets = [
        labelled_set(*arguments)
        for arguments in (
            ("a", labels, 100, 0),
            ("b", labels, 100, 0),
            ("a", labels, 101, 0),
            ("a", labels, 100, 1),
            ("a", np.sort(labels), 100, 0),
        )
    ]
    assert len({chosen.sha256 for chosen in sets}) == len({chosen.indices.tobytes() for chosen in sets}) == 5


def test_remainders_and_members_are_drawn_evenly() -> None:
    """Over 1,000 subsets: 3 of 10 classes get one more (300 ± 5 standard deviations of 14.5 times each).

    An image of the 10 of its class is taken 230 times on average, with a standard deviation of at most 13.3.
    """
    labels = np.repeat(np.arange(10), 10)
    chosen = np.stack([labelled_set("any", labels, 23, subset).indices for subset in range(1000)])
    third = np.stack([np.bincount(labels[row], minlength=10) for row in chosen]) == 3
    assert np.abs(third.sum(0) - 300).max() < 73
    assert np.abs(np.bincount(chosen.ravel(), minlength=100) - 230).max() < 67


def test_impossible_requests() -> None:
    labels = np.zeros(10, np.int64)
    for count in (11, -1):
        with pytest.raises(BayesganError, match=f"^{count} labelled images cannot be had: any has 10 to choose from"):
            labelled_set("any", labels, count, 0)
    with pytest.raises(BayesganError, match="-1 is not the number of a labelled subset"):
        labelled_set("any", labels, 5, -1)
