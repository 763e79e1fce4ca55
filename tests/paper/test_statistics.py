from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from bayesgan.paper.statistics import RunRow, epoch_seconds, make_cells, make_pairs, mean_ratio
from bayesgan.settings.names import METHOD_TITLES, METHODS


def run(method: str, subset: int, errors: int, dataset: str = "digits", labels: int = 50) -> RunRow:
    size = 10_000 if dataset == "mnist" else 500
    return RunRow(dataset, labels, method, "fast", subset, "0a", 1000, size, errors, 60.0, 1.5, "done")


def unfinished(method: str, subset: int, status: str) -> RunRow:
    row = replace(run(method, subset, 0), labelled_sha256=None, iterations=None, test_size=None)
    return replace(row, test_errors=None, seconds=None, seconds_per_epoch=None, status=status)


def test_a_cell_has_mean_and_two_standard_deviations() -> None:
    (cell,) = make_cells([run("dcgan", subset, errors) for subset, errors in enumerate((10, 20, 30))])
    # 2, 4 and 6 per cent of 500, whose sample variance is (4 + 0 + 4) / 2.
    assert (cell.dataset, cell.labels, cell.method) == ("digits", 50, "dcgan")
    assert (cell.runs, cell.failures) == (3, ())
    assert cell.mean == pytest.approx(4.0)
    assert cell.two_sd == pytest.approx(4.0)
    assert (cell.seconds, cell.seconds_per_epoch) == (60.0, 1.5)


def test_mnist_counts_errors() -> None:
    (cell,) = make_cells([run("bayesgan", subset, errors, "mnist") for subset, errors in enumerate((70, 75, 95))])
    assert cell.mean == pytest.approx(80.0)
    assert cell.two_sd == pytest.approx(2 * np.std([70, 75, 95], ddof=1))


def test_one_run_has_no_spread_and_none_has_no_figure() -> None:
    one = [run("dcgan", 0, 7), unfinished("dcgan", 1, "running"), unfinished("dcgan", 2, "failed: no: memory")]
    none = [unfinished("wdcgan", 0, "waiting"), unfinished("wdcgan", 1, "failed: diverged")]
    first, second = make_cells(one + none)
    assert (first.runs, first.failures) == (1, ("no: memory",))
    assert first.mean == pytest.approx(1.4)
    assert first.two_sd is None
    assert (second.runs, second.failures) == (0, ("diverged",))
    assert (second.mean, second.two_sd, second.seconds, second.seconds_per_epoch) == (None, None, None, None)


def test_cells_stand_in_the_order_of_the_table() -> None:
    keys = [*product(("digits", "mnist", "svhn"), (20, 100, 1000), METHOD_TITLES)]
    rows = [run(method, 0, 1, dataset, labels) for dataset, labels, method in reversed(keys)]
    assert [(cell.dataset, cell.labels, cell.method) for cell in make_cells(rows)] == keys
    assert {*METHOD_TITLES} == {*METHODS}


def test_the_runtime_per_epoch_is_over_all_label_counts() -> None:
    rows = [
        replace(run("dcgan", 0, 1), seconds_per_epoch=2.0),
        replace(run("dcgan", 1, 1, labels=20), seconds_per_epoch=5.0),
        replace(run("dcgan", 0, 1, "mnist"), seconds_per_epoch=100.0),
        replace(run("dcgan", 2, 1), seconds_per_epoch=50.0, status="running"),
        run("wdcgan", 0, 1),
    ]
    assert epoch_seconds(rows, "digits", "dcgan") == pytest.approx(3.5)
    assert epoch_seconds(rows, "digits", "bayesgan") is None


def test_pairs_are_of_the_same_subset() -> None:
    ours, theirs = {0: 10, 1: 30, 2: 20, 4: 15, 9: 400}, {4: 25, 2: 20, 1: 25, 0: 40, 3: 300}
    rows = [run("bayesgan", *each) for each in ours.items()] + [run("dcgan", *each) for each in theirs.items()]
    rows.append(unfinished("dcgan", 9, "failed: killed"))
    (pair,) = make_pairs(rows)
    assert (pair.dataset, pair.labels, pair.method, pair.reference) == ("digits", 50, "bayesgan", "dcgan")
    shared = np.array([(ours[each], theirs[each]) for each in (0, 1, 2, 4)]) / 5
    expected = stats.ttest_rel(shared[:, 0], shared[:, 1]).confidence_interval(0.95)
    assert pair.pairs == 4
    assert pair.difference == pytest.approx((-30 + 5 + 0 - 10) / 4 / 5)
    assert pair.interval == pytest.approx((expected.low, expected.high))
    assert pair.ratio == pytest.approx(75 / 110)
    assert pair.wins == 2.5  # subsets 0 and 4, and half of 2


def test_every_method_meets_its_references_but_itself() -> None:
    rows = [
        run(method, 0, 10 + place, labels=labels) for place, method in enumerate(METHOD_TITLES) for labels in (20, 50)
    ]
    found = [(pair.labels, pair.method, pair.reference) for pair in make_pairs(rows)]
    expected = [
        (labels, method, reference)
        for labels, method, reference in product((20, 50), METHOD_TITLES, ("dcgan", "dcgan10", "ensemble"))
        if method != reference and (reference != "ensemble" or method == "bayesgan")
    ]
    assert found == expected


def test_one_pair_has_no_interval_and_a_faultless_reference_no_ratio() -> None:
    (pair,) = make_pairs([run("wdcgan", 3, 50, "mnist"), run("dcgan", 3, 0, "mnist")])
    assert (pair.pairs, pair.difference, pair.interval, pair.ratio, pair.wins) == (1, 50.0, None, None, 0.0)
    assert make_pairs([run("wdcgan", 3, 50), run("dcgan", 4, 50)]) == []


def test_equal_differences_have_an_interval_of_no_width() -> None:
    rows = [run("dcgan", each, 20 + each, "mnist") for each in range(3)]
    (pair,) = make_pairs(rows + [run("lfvi", each, 25 + each, "mnist") for each in range(3)])
    assert pair.interval == (5.0, 5.0)


def test_the_mean_ratio_weighs_label_counts_alike() -> None:
    figures = {20: ((300, 200), (400, 400)), 50: ((10,), (40,)), 100: ((7,), (0,))}
    rows = []
    for labels, (ours, theirs) in figures.items():
        rows += [run("bayesgan", subset, errors, labels=labels) for subset, errors in enumerate(ours)]
        rows += [run("dcgan", subset, errors, labels=labels) for subset, errors in enumerate(theirs)]
    pairs = make_pairs(rows)
    assert mean_ratio(pairs, "digits", "bayesgan", "dcgan") == pytest.approx((500 / 800 + 10 / 40) / 2)
    assert mean_ratio(pairs, "digits", "bayesgan", "dcgan10") is None
    assert mean_ratio(pairs, "mnist", "bayesgan", "dcgan") is None
