"""From single runs to the cells of Table 1, and to comparisons on the same labelled subsets."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from scipy.special import stdtrit

from bayesgan.data.names import IMAGE_SETS
from bayesgan.settings.names import METHOD_TITLES

REFERENCES = ("dcgan", "dcgan10")  # that every method is compared with; the Bayesian GAN also with the ensemble
CONFIDENCE = 0.95

Unit = Literal["errors", "%"]


@dataclass(frozen=True)
class RunRow:
    """One run: a row of ``runs.csv``, whose columns these are."""

    dataset: str
    labels: int
    method: str  # a key of METHOD_TITLES
    preset: str
    subset: int
    labelled_sha256: str | None
    iterations: int | None
    test_size: int | None
    test_errors: int | None
    seconds: float | None
    seconds_per_epoch: float | None
    status: str  # "done", "running", "waiting" or "failed: REASON"

    @property
    def figure(self) -> float | None:
        """The error that the table shows, in ``unit`` of the data set; None until the run is done."""
        if self.status != "done" or self.test_errors is None or self.test_size is None:
            return None
        return float(self.test_errors) if unit(self.dataset) == "errors" else 100 * self.test_errors / self.test_size

    @property
    def failure(self) -> str | None:
        """Why the run failed, if it did."""
        return self.status.removeprefix("failed:").strip() if self.status.startswith("failed") else None


@dataclass(frozen=True)
class Cell:
    """A method on a data set with a number of labels, over the labelled subsets."""

    dataset: str
    labels: int
    method: str
    runs: int  # that are done: all figures are over these
    failures: tuple[str, ...]  # a reason for each failed run
    mean: float | None
    two_sd: float | None  # None with one run
    seconds: float | None
    seconds_per_epoch: float | None


@dataclass(frozen=True)
class Paired:
    """A method against a reference on the ``pairs`` subsets that both have done."""

    dataset: str
    labels: int
    method: str
    reference: str
    pairs: int
    difference: float  # mean of method − reference, in the unit of the cell: below 0 where the method is better
    interval: tuple[float, float] | None  # of the mean difference; None with one pair
    ratio: float | None  # mean of the method ÷ mean of the reference; None where the reference made no error
    wins: float  # a tie is half a win


def unit(dataset: str) -> Unit:
    """The unit of errors: their number on MNIST, as in the paper, and per cent of the test images elsewhere."""
    return "errors" if dataset == "mnist" else "%"


def make_cells(rows: Iterable[RunRow]) -> list[Cell]:
    """A cell for each (data set, labels, method) that has a row, in the order of the table."""
    groups: dict[tuple[str, int, str], list[RunRow]] = {}
    for row in rows:
        groups.setdefault((row.dataset, row.labels, row.method), []).append(row)
    return [_cell(*key, groups[key]) for key in sorted(groups, key=_order)]


def epoch_seconds(rows: Iterable[RunRow], dataset: str, method: str) -> float | None:
    """Mean runtime per epoch over the done runs of a method, whatever their number of labels."""
    return _mean(_seconds_per_epoch(row for row in rows if (row.dataset, row.method) == (dataset, method)))


def make_pairs(rows: Iterable[RunRow]) -> list[Paired]:
    """Every method against its references, wherever both have done the same subset."""
    figures: dict[tuple[str, int, str], dict[tuple[object, ...], float]] = {}
    for row in rows:
        if row.figure is not None:
            same = row.subset, row.labelled_sha256, row.test_size  # the same labelled images, as many test images
            figures.setdefault((row.dataset, row.labels, row.method), {})[same] = row.figure
    pairs = []
    for key in sorted(figures, key=_order):
        dataset, labels, method = key
        for reference in (*REFERENCES, "ensemble") if method == "bayesgan" else REFERENCES:
            theirs = figures.get((dataset, labels, reference), {})
            shared = [same for same in figures[key] if same in theirs]
            if reference != method and shared:
                ours = [figures[key][same] for same in shared]
                pairs.append(_paired(*key, reference, ours, [theirs[same] for same in shared]))
    return pairs


def mean_ratio(pairs: Iterable[Paired], dataset: str, method: str, reference: str) -> float | None:
    """The ratio of a method to a reference, averaged over the label counts that have one, all with the same weight."""
    wanted = (dataset, method, reference)
    same = [each for each in pairs if (each.dataset, each.method, each.reference) == wanted]
    return _mean(each.ratio for each in same if each.ratio is not None)


def run_order(row: RunRow) -> tuple[int, ...]:
    """By which runs are sorted: as their cells, then by subset."""
    return *_order((row.dataset, row.labels, row.method)), row.subset


def _order(key: tuple[str, int, str]) -> tuple[int, int, int]:
    dataset, labels, method = key
    names: tuple[str, ...] = IMAGE_SETS
    return names.index(dataset), labels, [*METHOD_TITLES].index(method)


def _cell(dataset: str, labels: int, method: str, rows: list[RunRow]) -> Cell:
    done = [row for row in rows if row.figure is not None]
    figures = [row.figure for row in done if row.figure is not None]
    failures = tuple(row.failure for row in rows if row.failure is not None)
    return Cell(
        dataset,
        labels,
        method,
        runs=len(done),
        failures=failures,
        mean=_mean(figures),
        two_sd=2 * statistics.stdev(figures) if len(figures) > 1 else None,
        seconds=_mean(row.seconds for row in done if row.seconds is not None),
        seconds_per_epoch=_mean(_seconds_per_epoch(rows)),
    )


def _paired(dataset: str, labels: int, method: str, reference: str, ours: list[float], theirs: list[float]) -> Paired:
    differences = [our - their for our, their in zip(ours, theirs, strict=True)]
    pairs, difference = len(differences), statistics.fmean(differences)
    interval = None
    if pairs > 1:
        quantile = float(stdtrit(pairs - 1, (1 + CONFIDENCE) / 2))  # of Student's t
        half = quantile * statistics.stdev(differences) / pairs**0.5
        interval = difference - half, difference + half
    return Paired(
        dataset,
        labels,
        method,
        reference,
        pairs,
        difference,
        interval,
        ratio=sum(ours) / sum(theirs) if any(theirs) else None,
        wins=sum(1.0 if each < 0 else 0.5 if each == 0 else 0.0 for each in differences),
    )


def _seconds_per_epoch(rows: Iterable[RunRow]) -> list[float]:
    return [row.seconds_per_epoch for row in rows if row.status == "done" and row.seconds_per_epoch is not None]


def _mean(values: Iterable[float]) -> float | None:
    values = [*values]
    return statistics.fmean(values) if values else None
