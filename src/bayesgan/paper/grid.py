"""A grid of runs, as in Table 1: methods × data sets × label counts × labelled subsets; how one of them is done."""

import os
import re
import traceback
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bayesgan.base import environment
from bayesgan.base.errors import BayesganError
from bayesgan.base.files import locked, read_text, write_text
from bayesgan.data.names import IMAGE_SETS, ImageSetName
from bayesgan.paper.reported import LABEL_COUNTS
from bayesgan.paper.statistics import RunRow
from bayesgan.runs.images import Task, Training, task_of
from bayesgan.runs.record import CONFIG, read_record
from bayesgan.runs.run import Metrics
from bayesgan.runs.saved import SavedRun, read_run
from bayesgan.runs.summary import SUMMARY, Summary
from bayesgan.settings.compose import image_settings
from bayesgan.settings.methods import METHOD_VALUES, SAMPLED
from bayesgan.settings.names import METHODS, Method, PresetName

RUNS = "runs"  # the folder of a table's runs, each in a folder of this name:
NAME = re.compile(
    rf"(?P<dataset>{'|'.join(IMAGE_SETS)})-(?P<labels>\d{{1,9}})-(?P<method>{'|'.join(METHODS)})-(?P<subset>\d{{1,9}})"
)
EVALUATIONS = 20  # of a long run, for its curve; more of them would take a good part of its time
FAILURE = "failure.txt"  # why the last try failed; below it the traceback of what should not have happened
PATIENCE = 120.0  # seconds for a process of a grid that was killed to find out and let go of its run


@dataclass(frozen=True)
class Job:
    """One run of the grid, with all that a worker on any machine needs to know."""

    task: Task
    folder: Path
    data_dir: Path
    device: str = "cpu"
    threads: int = 1

    @property
    def name(self) -> str:
        """The run's name in messages."""
        task = self.task
        return f"{task.dataset}, {task.labels} labels, {task.method}, subset {task.subset}"


@dataclass(frozen=True)
class Grid:
    """A grid of runs. ``labels`` None stands for the paper's label counts of each data set.

    ``overrides`` replace values of the preset, but none that makes a method what it is: DCGAN-10 keeps its ten pairs
    and the end of training as its only sample.
    """

    datasets: Sequence[ImageSetName]
    methods: Sequence[Method] = METHODS
    subsets: int = 10
    labels: Sequence[int] | None = None
    preset: PresetName = "fast"
    overrides: dict[str, Any] = field(default_factory=dict)

    def jobs(self, out: Path, data_dir: Path, device: str = "cpu", threads: int = 1) -> list[Job]:
        """The runs, in folders of ``out``, subset after subset: every cell has a figure early on.

        The seed of a run is the number of its labelled subset.
        """
        return [
            Job(task, folder(out, task), data_dir.resolve(), device, threads)
            for subset in range(self.subsets)
            for dataset in self.datasets
            for labels in self.labels or LABEL_COUNTS[dataset]
            for method in self.methods
            for task in [self._task(dataset, labels, method, subset)]
        ]

    def _task(self, dataset: ImageSetName, labels: int, method: Method, subset: int) -> Task:
        own = METHOD_VALUES[method].keys() | (set() if method in SAMPLED else {"burn_in", "thin"})
        overrides = {name: value for name, value in self.overrides.items() if name not in own}
        iterations = image_settings(self.preset, method, dataset, **overrides).length.iterations
        every = max(100, iterations // EVALUATIONS)
        return Task(dataset, labels, subset, method, self.preset, subset, every=every, overrides=overrides)


def folder(out: Path, task: Task) -> Path:
    """The folder of a run."""
    return out.resolve() / RUNS / f"{task.dataset}-{task.labels}-{task.method}-{task.subset}"


@dataclass(frozen=True)
class Found:
    """A run as far as it is known: its row in runs.csv, and more once it has ended."""

    row: RunRow
    summary: Summary | None = None
    changed: dict[str, Any] = field(default_factory=dict)  # from the preset as it is now
    machine: str | None = None  # where it ended, if that is on record


def refuse_other_settings(job: Job) -> None:
    """Nothing that is in the folder of the run may be of another run."""
    if (job.folder / CONFIG).exists():
        there = task_of(read_record(job.folder))
        if there.settings != job.task.settings or there.identity != job.task.identity:
            raise BayesganError(f"{job.folder} holds a run with other settings: choose another --out, or delete it.")


def finished(job: Job) -> Found | None:
    """The run if it has ended."""
    refuse_other_settings(job)
    if not (job.folder / CONFIG).exists() or not (job.folder / SUMMARY).exists():
        return None
    run = read_run(job.folder, f"delete {job.folder} to train again")
    return Found(_row(job, "done", run.summary), run.summary, run.changed, _machine(run))


def unfinished(job: Job, status: str) -> Found:
    """A run of which there is no more to say than its status."""
    return Found(_row(job, status, None))


def _row(job: Job, status: str, summary: Summary | None) -> RunRow:
    task = job.task
    place = task.dataset, int(task.labels), task.method, task.preset, task.subset
    if summary is None:
        return RunRow(*place, None, None, None, None, None, None, status)
    figures = summary.iterations, summary.test_size, summary.test_errors, summary.seconds, summary.seconds_per_epoch
    return RunRow(*place, summary.labelled_sha256, *figures, status)


def _machine(run: SavedRun) -> str | None:
    """The machine that the run ended on, if that is on record."""
    if not run.environments:
        return None
    last = run.environments[-1]
    threads = f"{last['threads']} thread{'' if last['threads'] == 1 else 's'}"
    return f"{threads} of {last['processor']}, Python {last['python']}, torch {last['torch']}"


def found_in(out: Path, known: Container[Path]) -> dict[Path, Found]:
    """All runs of any grid in ``out`` that have ended or failed, but for those in the folders ``known``.

    What cannot be read, or is another run than the name of its folder says, is a failed run.
    """
    found = {}
    for path in sorted((out.resolve() / RUNS).glob("*")):
        name = NAME.fullmatch(path.name)
        if name is None or path in known:
            continue
        try:
            if (path / SUMMARY).exists():
                ended = _ended(path)
            elif (path / FAILURE).exists():
                raise BayesganError(read_text(path / FAILURE).partition("\n")[0])
            else:
                continue
        except BayesganError as error:
            place = name["dataset"], int(name["labels"]), name["method"], "", int(name["subset"])
            ended = Found(RunRow(*place, None, None, None, None, None, None, f"failed: {error}"))
        found[path] = ended
    return found


def _ended(path: Path) -> Found:
    """The run in the folder ``path`` of some grid."""
    task = task_of(read_record(path))
    named = folder(path.parent.parent, task)
    if (named, task.split, task.seed) != (path, "test", task.subset):
        raise BayesganError(f"{path} holds another run than its name says: move it away.")
    ended = finished(Job(task, path, Path()))
    assert ended is not None  # both files are there
    return ended


def attempt(job: Job, still_wanted: Callable[[], bool] = lambda: True) -> str | None:
    """Do the run, going on with what is there; why it failed, if it did.

    It is left where it is once it is not ``still_wanted``: whoever started it is gone, and may have been started again.
    """

    def look_around(iteration: int, metrics: Metrics) -> None:
        if not still_wanted():
            os._exit(1)  # the way of a kill, which a run survives

    try:
        with locked(job.folder, PATIENCE):
            try:
                (job.folder / FAILURE).unlink(missing_ok=True)
                device = environment.use(job.device, job.threads)
                if finished(job) is None:
                    Training(job.task, job.folder, job.data_dir, device).train(look_around)
                return None
            except BayesganError as error:
                return record_failure(job, str(error))
            except Exception as error:  # whatever it is, the other runs go on
                return record_failure(job, f"{type(error).__name__}: {error}", traceback.format_exc())
    except BayesganError as error:  # the folder is not for this process, which leaves no word in it
        return str(error)


def record_failure(job: Job, reason: str, trace: str = "") -> str:
    """Leave the reason in the run's folder, for whoever writes a table of it, and return it as one line."""
    reason = re.sub(r"\s+", " ", reason)
    with suppress(BayesganError):  # where nothing can be written either, the reason is told all the same
        write_text(job.folder / FAILURE, f"{reason}\n{trace}")
    return reason
