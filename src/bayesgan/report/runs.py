"""What the report says of one finished run: read from its folder, and drawn from its samples."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np
import torch
from markupsafe import Markup
from pydantic import BaseModel

from bayesgan.base.errors import BayesganError
from bayesgan.base.files import open_tensors, parsed
from bayesgan.data.labels import LabelledImages
from bayesgan.paper.reported import reported
from bayesgan.paper.statistics import unit
from bayesgan.posterior.average import ModelAverage, entropy
from bayesgan.posterior.posterior import load
from bayesgan.posterior.scores import Scores, scores
from bayesgan.report.charts import plane_of_weights, reliability_diagram
from bayesgan.runs.images import Task, Training, data_of_run, resumed
from bayesgan.runs.record import read_config
from bayesgan.runs.run import METRICS, Metrics
from bayesgan.runs.summary import SUMMARY, Summary, read_summary
from bayesgan.settings.systems import system_of

GENERATORS, EACH = 6, 10  # rows of generated pictures, at least where there are as many, and pictures in a row
LEAST_SHOWN, SUREST_SHOWN = 24, 12  # test images
LEAST_SURE, SUREST = 0.1, 0.5  # shares of the test images whose errors are compared
FEWEST = 3  # networks that a plane can tell more of than their distance
FILES = (SUMMARY, "predictions.safetensors", "checkpoint.safetensors")  # of a run that is done


class Evaluated(BaseModel):
    """What the report needs of a line of metrics.jsonl."""

    iteration: int
    chains_error: float | None
    average_error: float | None
    log_likelihood: dict[str, float | None]


@dataclass(frozen=True)
class Card:
    """A test image and what the model average thinks of it."""

    picture: np.ndarray  # (channels, height, width) of bytes
    label: str
    guesses: list[tuple[str, float]]  # the likeliest classes with their probabilities
    entropy: float  # of the prediction, nats
    disagreement: float  # the part of it that is the networks' contradicting each other


@dataclass(frozen=True)
class Certainty:
    """Where the model average is sure and where not, by the entropy of its predictions."""

    parts: list[tuple[float, int, int]]  # share, number and wrong ones of the least sure and of the surest test images
    least: list[Card]  # the least sure first
    surest: list[Card]  # the surest first


@dataclass(frozen=True)
class Drawn:
    """Pictures (n, channels, height, width) of one generator; chains count from 1."""

    iteration: int
    chain: int
    pictures: np.ndarray


@dataclass(frozen=True)
class Plane:
    """The sampled networks of one side in two dimensions."""

    chart: Markup
    chains: int
    iterations: list[int]  # that were collected


@dataclass(frozen=True)
class RunReport:
    """A finished run. What needs labels is None for a run without them."""

    folder: Path
    task: Task
    system: str  # a key of SYSTEM_TITLES
    summary: Summary
    metrics: list[Metrics]
    settings: dict[str, Any]
    environments: list[dict[str, Any]]
    command: str  # that trains it again
    paper: str  # the paper's error, empty where it has none
    scores: Scores | None
    reliability: Markup | None
    certainty: Certainty | None
    rows: list[Drawn]
    planes: dict[str, Plane]  # by side


def finished(folders: Sequence[Path], data_dir: Path, device: torch.device) -> Iterator[Training]:
    """The finished runs in ``folders``, opened one after another; the same data are read once."""
    folders = list({folder.resolve(): folder for folder in folders}.values())
    tasks = [_task(folder, device) for folder in folders]  # what is not finished is refused before anything is read
    read: dict[Any, LabelledImages] = {}
    for folder, task in zip(folders, tasks, strict=True):
        key = (task.dataset, task.labels, task.subset, task.split, task.own)
        data = read[key] = data_of_run(folder, data_dir, read.get(key))
        load(folder, str(device)).check()
        yield Training(task, folder, data_dir, device, data=data)


def _task(folder: Path, device: torch.device) -> Task:
    for name in FILES:
        if (folder / "config.json").exists() and not (folder / name).exists():
            raise BayesganError(
                f"{folder} is not finished, it has no {name}: 'bayesgan train --resume {folder}' goes on with it."
            )
    config = read_config(folder)
    if config.device != device.type:
        raise BayesganError(f"{folder} was trained on another device: give --device {config.device}.")
    return resumed(folder)


def examined(training: Training) -> RunReport:
    """All that the report says of the finished ``training``."""
    task, run = training.task, training.run
    summary = read_summary(training.folder, "'bayesgan train --resume' makes it again")
    for record in run.metrics:
        lines = training.folder / METRICS
        parsed(Evaluated, dumps(record), lines, f"delete {training.folder} to train again")
    system, _ = system_of(task.method, task.changed)
    figures = certainty = None
    if training.gan.labels is not None:
        probabilities = _probabilities(training)
        figures = scores(probabilities, training.images.test_labels)
        certainty = _certainty(training, probabilities)
    return RunReport(
        folder=training.folder,
        task=task,
        system=system,
        summary=summary,
        metrics=run.metrics,
        settings=training.gan.settings.model_dump(mode="json"),
        environments=run.environments,
        command=command(task, training.folder, run.environments[-1], summary.ranks),
        paper=paper_error(task, len(training.labelled.indices), system),
        scores=figures,
        reliability=None if figures is None else reliability_diagram(figures),
        certainty=certainty,
        rows=_rows(training),
        planes=_planes(training),
    )


def command(task: Task, folder: Path, machine: dict[str, Any], ranks: int = 1) -> str:
    """What makes the run in ``folder`` again, in a folder of its name."""
    words = ["torchrun", "--nproc-per-node", str(ranks), "-m", "bayesgan"] if ranks > 1 else ["bayesgan"]
    if task.own is None:
        words += ["train", "--dataset", task.dataset, "--labels", str(task.labels), "--subset", str(task.subset)]
    else:
        words += ["train", "--images", task.own.images]
        for option, value in (
            ("--labels-file", task.own.labels_file),
            ("--test-images", task.own.test_images),
            ("--held-out", task.own.held_out if task.own.test_images is None else None),
            ("--size", task.own.size),
        ):
            words += [] if value is None else [option, str(value)]
    words += ["--method", task.method, "--preset", task.preset]
    for name, value in task.changed.items():
        words += ["--set", f"{name}={dumps(value)}"]
    words += ["--seed", str(task.seed), "--every", str(task.every), "--threads", str(machine["threads"])]
    words += [] if task.split == "test" else ["--split", task.split]
    words += [] if machine["device"] == "cpu" else ["--device", machine["device"]]
    return shlex.join([*words, "--out", folder.resolve().name])


def paper_error(task: Task, labels: int, system: str) -> str:
    """Mean ± 2 standard deviations of the same system on the same data set with as many labels."""
    theirs = reported(task.dataset, labels, system) if task.split == "test" else None
    return "" if theirs is None else f"{theirs[0]:g} ± {theirs[1]:g} {unit(task.dataset)}"


def _probabilities(training: Training) -> np.ndarray:
    """(n, K): what the model average said of the test images at the end of the run."""
    path = training.folder / "predictions.safetensors"
    with open_tensors(path) as tensors:
        probabilities = tensors.get_tensor("probabilities").double().numpy()
    if probabilities.shape != (len(training.test), training.gan.classes):
        raise BayesganError(f"{path} is not of this run: 'bayesgan train --resume' makes it again.")
    return probabilities


def _certainty(training: Training, probabilities: np.ndarray) -> Certainty:
    entropies = entropy(torch.from_numpy(probabilities)).numpy()
    order = np.argsort(-entropies, kind="stable")
    wrong = (probabilities.argmax(-1) != training.images.test_labels)[order]
    parts = []
    for share, end in ((LEAST_SURE, 1), (SUREST, -1)):
        number = max(1, round(share * len(wrong)))
        parts.append((share, number, int(wrong[::end][:number].sum())))
    half = (len(order) + 1) // 2  # of few test images none is shown on both sides
    least, surest = order[:half][:LEAST_SHOWN], order[half:][::-1][:SUREST_SHOWN]
    shown = np.concatenate([least, surest])
    average = ModelAverage(training.gan.discriminator, training.gan.classes, training.test[torch.from_numpy(shown)])
    average.update(training.run.samples)
    classes, images = training.images.classes, training.images
    cards = []
    for index, disagreement in zip(shown.tolist(), average.uncertainty.mutual_information.tolist(), strict=True):
        likeliest = np.argsort(-probabilities[index], kind="stable")[:2].tolist()
        cards.append(
            Card(
                picture=images.test[index],
                label=classes[images.test_labels[index]],
                guesses=[(classes[each], float(probabilities[index, each])) for each in likeliest],
                entropy=float(entropies[index]),
                disagreement=disagreement,
            )
        )
    return Certainty(parts, cards[: len(least)], cards[len(least) :])


def _rows(training: Training) -> list[Drawn]:
    """Every chain of the last sample, then of those before it."""
    if training.gan.settings.generators == 0:
        return []
    chains, iterations = training.gan.number("generators"), training.run.samples.iterations
    pictures = training.pictures(max(GENERATORS, chains), EACH).cpu().numpy()
    return [Drawn(iterations[-1 - row // chains], row % chains + 1, each) for row, each in enumerate(pictures)]


def _planes(training: Training) -> dict[str, Plane]:
    """Of each side that has networks enough."""
    samples, planes = training.run.samples, {}
    for side in ("generators", "discriminators"):
        weights = torch.stack(list(samples.each(side))).numpy()
        collected, chains, _ = weights.shape
        if collected * chains >= FEWEST:
            paths = training.gan.settings.family == "weights"  # draws from a Gaussian follow no path
            planes[side] = Plane(plane_of_weights(weights, paths), chains, samples.iterations)
    return planes
