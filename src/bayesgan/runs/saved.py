"""A finished run, read back from its folder alone, without the images that it was trained on."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from bayesgan.base.environment import available
from bayesgan.base.errors import BayesganError
from bayesgan.base.files import parsed, read_text
from bayesgan.posterior.diagnosis import Logged
from bayesgan.posterior.posterior import Posterior
from bayesgan.posterior.samples import SampleSet
from bayesgan.runs.images import Task, task_of
from bayesgan.runs.record import CONFIG, RunRecord, read_record
from bayesgan.runs.run import ENVIRONMENTS, METRICS
from bayesgan.runs.summary import SUMMARY, Summary, read_summary
from bayesgan.settings.settings import ImageSettings


class Evaluation(BaseModel):
    """A line of metrics.jsonl; errors are shares of the test images."""

    iteration: int
    seconds: float = Field(allow_inf_nan=False)
    chains_error: float | None
    average_error: float | None
    log_likelihood: dict[str, float | None] = {}  # of one data point, the mean over the chains of a side


@dataclass(frozen=True)
class SavedRun:
    """A finished run."""

    folder: Path
    record: RunRecord
    summary: Summary

    @property
    def settings(self) -> ImageSettings:
        """Every number of the run."""
        return self.record.settings

    @cached_property
    def task(self) -> Task:
        """The method, the data and the settings."""
        return task_of(self.record)

    @property
    def changed(self) -> dict[str, Any]:
        """The settings that are not those of the preset as it is now, which may not be as it was at the time."""
        return self.task.changed

    @cached_property
    def evaluations(self) -> list[Evaluation]:
        """The evaluations along the way."""
        path, remedy = self.folder / METRICS, f"leave out {self.folder}"
        found = [parsed(Evaluation, line, path, remedy) for line in read_text(path).splitlines()]
        if not found:
            raise BayesganError(f"{path} is damaged (it is empty): {remedy}.")
        return found

    @cached_property
    def environments(self) -> list[dict[str, Any]]:
        """The machines that computed it, where they are on record: no figure depends on it."""
        try:
            there = json.loads(read_text(self.folder / ENVIRONMENTS))
            return [each for each in there if {"device", "threads", "processor", "python", "torch"} <= each.keys()]
        except (BayesganError, ValueError, TypeError, AttributeError, RecursionError):
            return []

    @property
    def has_samples(self) -> bool:
        """Whether the weights are there: a run may be kept without them, for its errors alone."""
        return len(SampleSet(self.folder / "samples")) > 0

    def posterior(self, device: str = "cpu") -> Posterior:
        """Its sampled networks: all that were collected, or a sentence on the first that is lost or no good."""
        posterior = load(self.folder, device)
        there = set(posterior.samples.iterations)
        for iteration in self.settings.length.collected:
            if iteration not in there:
                raise BayesganError(f"{self.folder} lacks the sample of iteration {iteration}: put it back.")
        try:
            posterior.check()
        except BayesganError as error:
            raise BayesganError(f"{self.folder}: {error}") from None
        return posterior


def load(folder: str | Path, device: str = "cpu") -> Posterior:
    """The posterior that ``bayesgan train`` left in the run folder ``folder``.

    >>> from tempfile import TemporaryDirectory
    >>> import torch
    >>> from bayesgan.runs.images import Task, Training
    >>> task = Task("digits", labels=20, overrides={"iterations": 3, "generators": 1, "discriminators": 1})
    >>> with TemporaryDirectory() as folder:
    ...     training = Training(task, Path(folder), Path(), torch.device("cpu"))
    ...     summary = training.train()
    ...     probabilities = load(folder).predict_proba(training.images.test[:, 0])
    >>> int((probabilities.argmax(1) != training.images.test_labels).sum()) == summary["test_errors"]
    True
    """
    folder = Path(folder)
    record, samples = read_record(folder), SampleSet(folder / "samples")
    if not samples.iterations:
        if (folder / SUMMARY).exists():
            raise BayesganError(f"{folder} has ended, but its weights are not there: train it again in another folder.")
        raise BayesganError(f"{folder} holds no samples yet: its training has not got past the burn-in.")
    logged = partial(read_logged, folder)
    return Posterior(record.settings, record.shape, record.classes, samples, available(device), logged)


def read_logged(folder: Path) -> list[Logged]:
    """What training logged of the chains it collected; nothing where there was no sampling, or no such log."""
    path = folder / METRICS
    if not path.exists():
        return []
    whole, _, _ = read_text(path).rpartition("\n")  # a kill may have torn the last line
    every = [parsed(Logged, line, path, "put it back") for line in whole.splitlines()]
    return [each for each in every if each.motion]


def read_run(folder: Path, remedy: str | None = None) -> SavedRun:
    """The finished run in ``folder``; ``remedy`` ends the sentence on a damaged one."""
    record, summary = read_record(folder), read_summary(folder, remedy or f"leave out {folder}")
    labels = summary.labels if record.labels == "all" or record.dataset == "own" else record.labels
    of = record.dataset, labels, record.subset, record.split, record.labelled_sha256, record.settings.length.iterations
    found = summary.dataset, summary.labels, summary.subset, summary.split, summary.labelled_sha256, summary.iterations
    methods = {record.method, "bayesgan"} if record.method == "ensemble" else {record.method}  # 0.1.0 had no such name
    if of != found or summary.method not in methods:
        raise BayesganError(f"{folder / SUMMARY} is of another run: {remedy or f'leave out {folder}'}.")
    return SavedRun(folder, record, summary)


def find_runs(paths: Sequence[Path]) -> tuple[list[SavedRun], int]:
    """The finished runs in and below ``paths``, and how many are not finished."""
    folders: dict[Path, Path] = {}
    for path in paths:
        if not path.is_dir():
            raise BayesganError(f"{path} is not a folder: name run folders, or folders that hold some.")
        folders |= {config.parent.resolve(): config.parent for config in path.rglob(CONFIG)}
    where = ", ".join(map(str, paths))
    if not folders:
        raise BayesganError(f"There is no run in {where}: a run folder, made by 'bayesgan train', has a config.json.")
    finished = [folder for folder in folders.values() if (folder / SUMMARY).exists()]
    if not finished:
        raise BayesganError(f"No run in {where} is finished: 'bayesgan train --resume FOLDER' goes on with one.")
    return [read_run(folder) for folder in finished], len(folders) - len(finished)
