"""A grid of runs, as in Table 1: systems × data sets × label counts × labelled subsets; how one of them is done."""

import json
import os
import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bayesgan import environment
from bayesgan.data.images import NAMES, ImageSetName
from bayesgan.errors import BayesganError
from bayesgan.experiments.cells import RunRow
from bayesgan.experiments.images import Task, Training, resumed
from bayesgan.experiments.paper_table import LABEL_COUNTS
from bayesgan.files import locked, read_text, write_text
from bayesgan.methods import IMAGE_METHODS, ImageMethod
from bayesgan.presets import PresetName, image_settings
from bayesgan.training import Metrics

# The Bayesian GAN's chains without what makes them samples of a posterior: what sampling adds over an ensemble.
ABLATION: Literal["ensemble"] = "ensemble"
ENSEMBLE: dict[str, Any] = {"temperature": 0.0, "prior_variance": None}

System = ImageMethod | Literal["ensemble"]
SYSTEMS: tuple[System, ...] = (*IMAGE_METHODS, ABLATION)

EVALUATIONS = 50  # of a long run, for its curve; more of them would take a good part of its time
FAILURE = "failure.txt"  # the traceback of what should not have happened
PATIENCE = 120.0  # seconds for a process of a grid that was killed to find out and let go of its run


@dataclass(frozen=True)
class Job:
    """One run of the grid, with all that a worker on any machine needs to know."""

    system: System
    task: Task
    folder: Path
    data_dir: Path
    device: str = "cpu"
    threads: int = 1

    @property
    def name(self) -> str:
        """What the run is called in messages."""
        task = self.task
        return f"{task.dataset}, {task.labels} labels, {self.system}, subset {task.subset}"


@dataclass(frozen=True)
class Grid:
    """What to run. ``labels`` None stands for the paper's label counts of each data set."""

    datasets: Sequence[ImageSetName]
    systems: Sequence[System] = SYSTEMS
    subsets: int = 10
    labels: Sequence[int] | None = None
    preset: PresetName = "fast"
    overrides: dict[str, Any] = field(default_factory=dict)

    def jobs(self, out: Path, data_dir: Path, device: str = "cpu", threads: int = 1) -> list[Job]:
        """The runs, in folders of ``out``, subset after subset: every cell has a figure early on.

        The seed of a run is the number of its labelled subset.
        """
        return [
            Job(system, task, folder(out, task, system), data_dir.resolve(), device, threads)
            for subset in range(self.subsets)
            for dataset in self.datasets
            for labels in self.labels or LABEL_COUNTS[dataset]
            for system in self.systems
            for task in [self._task(dataset, labels, system, subset)]
        ]

    def _task(self, dataset: ImageSetName, labels: int, system: System, subset: int) -> Task:
        method: ImageMethod = "bayesgan" if system == ABLATION else system
        overrides = self.overrides | (ENSEMBLE if system == ABLATION else {})
        iterations = image_settings(self.preset, method, dataset, **overrides).iterations
        every = max(100, iterations // EVALUATIONS)
        return Task(dataset, labels, subset, method, self.preset, subset, every=every, overrides=overrides)


def folder(out: Path, task: Task, system: System) -> Path:
    """Where a run goes."""
    return out.resolve() / "runs" / f"{task.dataset}-{task.labels}-{system}-{task.subset}"


def finished(job: Job) -> dict[str, Any] | None:
    """The summary of the run if it has ended; a run of other settings in its place is refused."""
    if not (job.folder / "config.json").exists():
        return None
    there = resumed(job.folder)
    if there.settings != job.task.settings or there.identity != job.task.identity:
        raise BayesganError(f"{job.folder} holds a run with other settings: choose another --out, or delete it.")
    path = job.folder / "summary.json"
    if not path.exists():
        return None
    try:
        summary = json.loads(read_text(path))
        return summary if summary["iterations"] == job.task.settings.iterations else None
    except (ValueError, KeyError, TypeError):
        raise BayesganError(f"{path} is damaged: delete {job.folder} to train again.") from None


def row(job: Job, status: str, summary: dict[str, Any]) -> RunRow:
    """The line of the run in runs.csv, with the figures of its ``summary`` as far as there are any."""
    task = job.task
    return _row(task.dataset, int(task.labels), job.system, task.preset, task.subset, status, summary)


def _row(
    dataset: str, labels: int, system: str, preset: str, subset: int, status: str, summary: dict[str, Any]
) -> RunRow:
    return RunRow(
        dataset=dataset,
        labels=labels,
        method=system,
        preset=preset,
        subset=subset,
        labelled_sha256=summary.get("labelled_sha256"),
        iterations=summary.get("iterations"),
        test_size=summary.get("test_size"),
        test_errors=summary.get("test_errors"),
        seconds=summary.get("seconds"),
        seconds_per_epoch=summary.get("seconds_per_epoch"),
        status=status,
    )


def ended(out: Path) -> dict[Path, tuple[RunRow, tuple[int, ...]]]:
    """All runs of any grid in ``out`` that have ended: their rows, and the shapes of their training images."""
    found = {}
    for path in sorted((out.resolve() / "runs").glob("*/summary.json")):
        try:
            summary = json.loads(read_text(path))
            dataset, labels, preset, subset = (summary[name] for name in ("dataset", "labels", "preset", "subset"))
            system = path.parent.name.removeprefix(f"{dataset}-{labels}-").removesuffix(f"-{subset}")
            if dataset not in NAMES or system not in SYSTEMS:
                raise ValueError(path.parent.name)
            ours = _row(dataset, labels, system, preset, subset, "done", summary)
            found[path.parent] = ours, tuple(summary["train_shape"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BayesganError(f"{path} is damaged: delete {path.parent} to train again.") from None
    return found


def attempt(job: Job, still_wanted: Callable[[], bool] = lambda: True) -> str | None:
    """Do the run, going on with what is there; why it failed, if it did.

    It is left where it is once it is not ``still_wanted``: whoever started it is gone, and may have been started again.
    """

    def look_around(iteration: int, metrics: Metrics) -> None:
        if not still_wanted():
            os._exit(1)  # the way of a kill, which a run survives

    try:
        device = environment.use(job.device, job.threads)
        with locked(job.folder, PATIENCE):
            (job.folder / FAILURE).unlink(missing_ok=True)
            if finished(job) is None:
                Training(job.task, job.folder, job.data_dir, device).train(look_around)
    except BayesganError as error:
        return str(error)
    except Exception as error:  # whatever it is, the other runs go on
        write_text(job.folder / FAILURE, traceback.format_exc())
        return re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")
    return None
