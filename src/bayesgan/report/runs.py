"""One finished run for the report: read from its folder, and drawn from its samples."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np
import torch
from markupsafe import Markup

from bayesgan.base.errors import BayesganError
from bayesgan.base.files import open_tensors
from bayesgan.data.labels import LabelledImages
from bayesgan.paper.reported import reported
from bayesgan.paper.statistics import unit
from bayesgan.posterior.average import entropy
from bayesgan.posterior.diagnosis import Diagnosis
from bayesgan.posterior.posterior import Posterior
from bayesgan.posterior.samples import SampleSet
from bayesgan.posterior.scores import Scores, scores
from bayesgan.report.charts import plane_of_weights, reliability_diagram
from bayesgan.runs.images import PREDICTIONS, Task, data_of_run
from bayesgan.runs.record import CONFIG
from bayesgan.runs.saved import Evaluation, SavedRun, read_run
from bayesgan.runs.summary import SUMMARY, Summary
from bayesgan.settings.names import SIDES

GENERATORS, EACH = 6, 10  # rows of generated pictures, at least where there are as many, and pictures in a row
LEAST_SHOWN, SUREST_SHOWN = 24, 12  # test images
LEAST_SURE, SUREST = 0.1, 0.5  # shares of the test images whose errors are compared
FEWEST = 3  # networks that a plane can tell more of than their distance
FILES = (SUMMARY, PREDICTIONS)  # of a run that is done


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
class Row:
    """Pictures of one generator, bytes (n, channels, height, width); chains count from 1."""

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
    summary: Summary
    evaluations: list[Evaluation]
    settings: dict[str, Any]
    environments: list[dict[str, Any]]
    command: str  # that trains it again
    paper: str  # the paper's error, empty where it has none
    scores: Scores | None
    reliability: Markup | None
    certainty: Certainty | None
    rows: list[Row]
    planes: dict[str, Plane]  # by side
    diagnosis: Diagnosis | None  # None where nothing was sampled


def finished(folders: Sequence[Path], data_dir: Path) -> Iterator[tuple[SavedRun, LabelledImages]]:
    """The finished runs in ``folders``, one after another, with their images; the same images are read once."""
    folders = list({folder.resolve(): folder for folder in folders}.values())
    runs = [_finished(folder) for folder in folders]  # what is not finished is refused before anything is read
    read: dict[Any, LabelledImages] = {}
    for run in runs:
        record = run.record
        key = (record.dataset, record.labels, record.subset, record.split, record.own)
        read[key] = data_of_run(run.folder, data_dir, read.get(key))
        yield run, read[key]


def _finished(folder: Path) -> SavedRun:
    if (folder / SUMMARY).exists() and not SampleSet(folder / "samples").iterations:
        raise BayesganError(f"{folder} has ended, but its weights are not there: train it again in another folder.")
    for name in FILES:
        if (folder / CONFIG).exists() and not (folder / name).exists():
            raise BayesganError(
                f"{folder} is not finished, it has no {name}: 'bayesgan train --resume {folder}' goes on with it."
            )
    return read_run(folder, "'bayesgan train --resume' makes it again")


def examined(run: SavedRun, data: LabelledImages, device: str = "cpu") -> RunReport:
    """Examine the finished ``run`` on its images."""
    task, posterior = run.task, run.posterior(device)
    machine = run.environments[-1] if run.environments else {"threads": run.summary.threads, "device": "cpu"}
    sampled = run.settings.sampler.dynamics != "adam" and run.settings.sampler.temperature > 0
    figures = certainty = None
    if run.record.classes:
        probabilities = _probabilities(run)
        figures = scores(probabilities, data.images.test_labels)
        certainty = _certainty(posterior, data, probabilities)
    return RunReport(
        folder=run.folder,
        task=task,
        summary=run.summary,
        evaluations=run.evaluations,
        settings=run.settings.flat(),
        environments=run.environments,
        command=command(task, run.folder, machine, run.summary.ranks),
        paper=paper_error(task, len(data.labelled.indices)),
        scores=figures,
        reliability=None if figures is None else reliability_diagram(figures),
        certainty=certainty,
        rows=_rows(posterior, task.seed),
        planes=_planes(posterior),
        diagnosis=posterior.diagnose(data.images.test.transpose(0, 2, 3, 1)) if sampled else None,
    )


def command(task: Task, folder: Path, machine: dict[str, Any], ranks: int = 1) -> str:
    """The command that makes the run in ``folder`` again, in a folder of its name."""
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


def paper_error(task: Task, labels: int) -> str:
    """Mean ± 2 standard deviations of the same method on the same data set with as many labels."""
    theirs = reported(task.dataset, labels, task.method) if task.split == "test" else None
    return "" if theirs is None else f"{theirs[0]:g} ± {theirs[1]:g} {unit(task.dataset)}"


def _probabilities(run: SavedRun) -> np.ndarray:
    """(n, K): what the model average said of the test images at the end of the run."""
    path = run.folder / PREDICTIONS
    with open_tensors(path) as tensors:
        probabilities = tensors.get_tensor("probabilities").double().numpy()
    if probabilities.shape != (run.summary.test_size, len(run.record.classes)):
        raise BayesganError(f"{path} is not of this run: 'bayesgan train --resume' makes it again.")
    return probabilities


def _certainty(posterior: Posterior, data: LabelledImages, probabilities: np.ndarray) -> Certainty:
    images, classes = data.images, data.images.classes
    entropies = entropy(torch.from_numpy(probabilities)).numpy()
    order = np.argsort(-entropies, kind="stable")
    wrong = (probabilities.argmax(-1) != images.test_labels)[order]
    parts = []
    for share, end in ((LEAST_SURE, 1), (SUREST, -1)):
        number = max(1, round(share * len(wrong)))
        parts.append((share, number, int(wrong[::end][:number].sum())))
    half = (len(order) + 1) // 2  # of few test images none is on both sides
    least, surest = order[:half][:LEAST_SHOWN], order[half:][::-1][:SUREST_SHOWN]
    chosen = np.concatenate([least, surest])
    disagreements = posterior.uncertainty(images.test[chosen].transpose(0, 2, 3, 1)).mutual_information
    cards = []
    for index, disagreement in zip(chosen.tolist(), disagreements.tolist(), strict=True):
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


def _rows(posterior: Posterior, seed: int) -> list[Row]:
    """Every chain of the last sample, then of those before it."""
    chains = posterior.settings.populations.chains("generators")
    drawn = posterior.latest(max(GENERATORS, chains), EACH, seed)
    return [Row(each.iteration, each.chain, each.pictures.numpy()) for each in drawn]


def _planes(posterior: Posterior) -> dict[str, Plane]:
    """Of each side that has networks enough."""
    samples, planes = posterior.samples, dict[str, Plane]()
    for side in SIDES:
        weights = torch.stack([samples.load(iteration, side) for iteration in samples.iterations]).numpy()
        collected, chains, _ = weights.shape
        if collected * chains >= FEWEST:
            paths = posterior.settings.populations.family == "weights"  # draws from a Gaussian follow no path
            planes[side] = Plane(plane_of_weights(weights, paths), chains, samples.iterations)
    return planes
