"""Table 1 as it fills: the state of every run of the grid, and the files that are written from it."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from bayesgan.experiments.cells import RunRow, run_order
from bayesgan.experiments.engines import Event
from bayesgan.experiments.grid import PATIENCE, Job, ended, finished, row
from bayesgan.experiments.table1_output import Caption, write_table
from bayesgan.files import locked, read_text, write_text
from bayesgan.training import METRICS

COMMANDS = "commands.txt"  # of all grids whose runs are in a folder

Place = tuple[str, int, str]  # data set, labels, system: a cell


class Underway(NamedTuple):
    """How far a running run is, by its latest evaluation on disk; at 0 before the first."""

    job: Job
    iteration: int
    seconds: float
    error: float | None

    @property
    def seconds_in_all(self) -> float:
        """How long the run will take if it goes on like this; it has to have been evaluated."""
        return self.seconds / self.iteration * self.job.task.settings.iterations


class Board:
    """Where every run of a grid stands; those that had ended before count as done."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs
        self.sizes: dict[str, tuple[int, ...]] = {}  # N, channels, height, width of the data sets of ended runs
        self._rows: dict[Path, RunRow] = {}
        for job in jobs:
            self.update(Event(job, "waiting" if finished(job) is None else "done"))

    @property
    def rows(self) -> list[RunRow]:
        """A row a run, in the order of the grid."""
        return list(self._rows.values())

    @property
    def folders(self) -> set[Path]:
        """Where the runs of the grid are."""
        return set(self._rows)

    @property
    def waiting(self) -> list[Job]:
        """The runs that have not ended."""
        return [job for job in self.jobs if self._rows[job.folder].status != "done"]

    def update(self, event: Event) -> None:
        """Take note of what happened to a run."""
        summary = finished(event.job) if event.status == "done" else None
        self._rows[event.job.folder] = row(event.job, event.status, summary or {})
        if summary is not None:
            self.sizes[event.job.task.dataset] = tuple(summary["train_shape"])

    def counts(self) -> dict[Place, Counter[str]]:
        """How many runs of each cell are done, running, waiting and failed."""
        found: dict[Place, Counter[str]] = {}
        for each in self.rows:
            kinds = found.setdefault((each.dataset, each.labels, each.method), Counter())
            kinds[each.status.partition(":")[0]] += 1
        return found

    @property
    def underway(self) -> list[Underway]:
        """The runs that are being done."""
        return [_underway(job) for job in self.jobs if self._rows[job.folder].status == "running"]

    def seconds_left(self, workers: int) -> float | None:
        """What is left to do as long as it took before, shared by ``workers``."""
        underway = self.underway
        took: dict[tuple[str, str], list[float]] = {}
        for each in self.rows:
            if each.seconds is not None:
                took.setdefault((each.dataset, each.method), []).append(each.seconds)
        for run in underway:
            if run.iteration > 0:
                took.setdefault((run.job.task.dataset, run.job.system), []).append(run.seconds_in_all)
        if not took:
            return None
        typical = mean(mean(seconds) for seconds in took.values())

        def usual(dataset: str, system: str) -> float:
            return mean(took.get((dataset, system), [typical]))

        left = sum(usual(each.dataset, each.method) for each in self.rows if each.status == "waiting")
        left += sum(
            run.seconds_in_all - run.seconds if run.iteration > 0 else usual(run.job.task.dataset, run.job.system)
            for run in underway
        )
        return left / workers


def _underway(job: Job) -> Underway:
    """What is on disk of a run that another process is writing: its last line may be torn."""
    path = job.folder / METRICS
    for line in reversed(read_text(path).splitlines() if path.exists() else []):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        error = record["chains_error"] if record["average_error"] is None else record["average_error"]
        return Underway(job, record["iteration"], record["seconds"], error)
    return Underway(job, 0, 0.0, None)


def fill(board: Board, events: Iterable[Event], caption: Caption, out: Path) -> Iterable[Event]:
    """Pass ``events`` on, with the tables in ``out`` written anew after each run that ends, and once at the end.

    They show every run that ``out`` holds, those of other grids too, and the commands of all of them.
    """
    _write(board, caption, out)
    for event in events:
        board.update(event)
        if event.status != "running":
            _write(board, caption, out)
        yield event


def _write(board: Board, caption: Caption, out: Path) -> None:
    with locked(out, PATIENCE):  # another grid may fill the same tables
        path = out / COMMANDS
        commands = read_text(path).splitlines() if path.exists() else []
        commands = list(dict.fromkeys([*commands, *caption.commands]))
        write_text(path, "".join(f"{each}\n" for each in commands))
        others = {folder: found for folder, found in ended(out).items() if folder not in board.folders}
        sizes = {row.dataset: size for row, size in others.values()} | board.sizes
        rows = sorted([*board.rows, *(row for row, _ in others.values())], key=run_order)
        cells = Counter((row.dataset, row.labels, row.method) for row in rows)
        subsets = max([caption.subsets, *cells.values()])  # another grid may have asked for more
        write_table(rows, replace(caption, subsets=subsets, commands=commands, sizes=sizes), out)
