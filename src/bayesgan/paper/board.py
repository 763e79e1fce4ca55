"""Table 1 as it fills: the state of every run of the grid, and the files that are written from it."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from bayesgan.base.errors import BayesganError
from bayesgan.base.files import locked, parsed, read_text, write_text
from bayesgan.paper.grid import PATIENCE, Found, Job, finished, found_in, refuse_other_settings, unfinished
from bayesgan.paper.statistics import RunRow, run_order
from bayesgan.paper.table1 import Caption, Made, write_table
from bayesgan.paper.workers import Event
from bayesgan.runs.run import METRICS

GRIDS = "grids.jsonl"  # a line for each grid whose runs are in a folder

Place = tuple[str, int, str]  # data set, labels, method: a cell


class Underway(NamedTuple):
    """How far a running run is, by its latest evaluation on disk; at 0 before the first."""

    job: Job
    iteration: int
    seconds: float
    error: float | None

    @property
    def seconds_in_all(self) -> float:
        """How long the run will take if it goes on like this; it has to have been evaluated."""
        return self.seconds / self.iteration * self.job.task.settings.length.iterations


class Board:
    """Where every run of a grid stands; those that had ended before count as done."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs
        self.runs: dict[Path, Found] = {}
        self._at_once = 1  # as many runs as were seen running at the same time
        for job in jobs:
            refuse_other_settings(job)
            self.update(Event(job, "waiting"))
        self.look()

    @property
    def rows(self) -> list[RunRow]:
        """A row a run, in the order of the grid."""
        return [each.row for each in self.runs.values()]

    @property
    def waiting(self) -> list[Job]:
        """The runs that have not ended."""
        return [job for job in self.jobs if self._status(job) != "done"]

    def _status(self, job: Job) -> str:
        return self.runs[job.folder].row.status

    def update(self, event: Event) -> None:
        """Take note of what happened to a run."""
        job, status = event
        found = None
        if status == "done":
            try:
                found, status = finished(job), f"failed: {job.folder} has no figures that could be seen from here."
            except BayesganError as error:
                status = f"failed: {error}"
        self.runs[job.folder] = found or unfinished(job, status)
        self._at_once = max(self._at_once, sum(row.status == "running" for row in self.rows))

    def look(self) -> None:
        """Take note of runs that have ended unheard of: before, or in another grid."""
        for job in self.waiting:
            with suppress(BayesganError):  # damaged: the run fails, when it is its turn
                if self._status(job) != "running" and (found := finished(job)) is not None:
                    self.runs[job.folder] = found

    def stop(self) -> None:
        """Note that nothing runs any more."""
        for job in self.jobs:
            if self._status(job) == "running":
                self.update(Event(job, "waiting"))

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
        return [_underway(job) for job in self.jobs if self._status(job) == "running"]

    @property
    def seconds_left(self) -> float | None:
        """How long the rest will take, if runs take as long as before and as many at a time are done."""
        underway = self.underway
        took: dict[tuple[str, str], list[float]] = {}
        for each in self.rows:
            if each.seconds is not None:
                took.setdefault((each.dataset, each.method), []).append(each.seconds)
        for run in underway:
            if run.iteration > 0:
                took.setdefault((run.job.task.dataset, run.job.task.method), []).append(run.seconds_in_all)
        if not took:
            return None
        typical = mean(mean(seconds) for seconds in took.values())

        def usual(dataset: str, method: str) -> float:
            return mean(took.get((dataset, method), [typical]))

        left = [usual(each.dataset, each.method) for each in self.rows if each.status == "waiting"]
        left += [
            run.seconds_in_all - run.seconds if run.iteration > 0 else usual(run.job.task.dataset, run.job.task.method)
            for run in underway
        ]
        return max([sum(left) / self._at_once, *left])


def _underway(job: Job) -> Underway:
    """Read how far a run is that another process is writing: its last line may be torn."""
    with suppress(BayesganError):
        for line in reversed(read_text(job.folder / METRICS).splitlines()):
            with suppress(ValueError, KeyError, TypeError):
                record = json.loads(line)
                error = record["chains_error"] if record["average_error"] is None else record["average_error"]
                return Underway(job, int(record["iteration"]), float(record["seconds"]), error)
    return Underway(job, 0, 0.0, None)


def fill(board: Board, events: Iterable[Event], grid: Made, out: Path) -> Iterable[Event]:
    """Pass ``events`` on, with the tables in ``out`` written anew after each run that ends, and once at the end.

    They show every run that ``out`` holds, those of other grids too, and how all of these grids were made.
    """
    _write(board, grid, out)
    try:
        for event in events:
            board.update(event)
            if event.status != "running":
                _write(board, grid, out)
            yield event
    finally:
        board.stop()
        _write(board, grid, out)


def _write(board: Board, grid: Made, out: Path) -> None:
    with locked(out, PATIENCE):  # another grid may fill the same tables
        grids = _grids(grid, out / GRIDS)
        board.look()
        runs = sorted([*board.runs.values(), *found_in(out, board.runs).values()], key=lambda each: run_order(each.row))
        ended = [each for each in runs if each.summary is not None]
        caption = Caption(
            subsets=max(Counter((row.dataset, row.labels, row.method) for row in (each.row for each in runs)).values()),
            sizes={each.row.dataset: each.summary.train_shape for each in ended if each.summary is not None},
            changed=[(each.row, each.changed) for each in ended if each.changed],
            machines=list(dict.fromkeys(each.machine for each in ended if each.machine is not None)),
            grids=grids,
        )
        write_table([each.row for each in runs], caption, out)


def _grids(grid: Made, path: Path) -> list[Made]:
    """How the runs in the folder of ``path`` were made, this grid's included, which is added to the file."""
    known = [parsed(Made, line, path, "delete it") for line in read_text(path).splitlines()] if path.exists() else []
    grids = list({each.command: each for each in [*known, grid]}.values())
    write_text(path, "".join(f"{each.model_dump_json()}\n" for each in grids))
    return grids
