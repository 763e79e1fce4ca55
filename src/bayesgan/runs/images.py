"""Semi-supervised learning on images (Sections 2.2 and 4.2 to 4.5): from data files to a posterior and a test error."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.base.files import write_tensors, write_text
from bayesgan.data import folder as own_folder
from bayesgan.data.contact_sheet import draw_panels
from bayesgan.data.folder import OwnImages
from bayesgan.data.images import Images, load
from bayesgan.data.labels import LabelledImages, LabelledSet, labelled_set
from bayesgan.data.names import ImageSetName
from bayesgan.networks.build import pair
from bayesgan.posterior.posterior import Posterior
from bayesgan.runs.record import RunRecord, read_record
from bayesgan.runs.run import Metrics, Progress, Run
from bayesgan.runs.summary import SUMMARY
from bayesgan.sampler.densities import temperatures
from bayesgan.sampler.distributed import ALONE, Ranks
from bayesgan.sampler.gan import BayesianGAN, Sample
from bayesgan.sampler.minibatches import Labels
from bayesgan.settings.compose import OWN, changes, image_settings
from bayesgan.settings.names import Method, PresetName
from bayesgan.settings.settings import ImageSettings

PREDICTIONS = "predictions.safetensors"  # averaged, of the test images, in the run's folder
SKIPPED = "skipped.txt"  # what is not used of a person's own pictures, and why, in the run's folder
GENERATED = 1000  # images that the fake class is tried on
PANEL_ROWS, PANEL_COLUMNS = 6, 10  # generators in panels.png, and pictures of each


@dataclass(frozen=True)
class Task:
    """A method to train on a data set. ``overrides`` replace values of the preset."""

    dataset: ImageSetName | Literal["own"] = "mnist"
    labels: int | Literal["all"] = 100  # N_s
    subset: int = 0  # which labelled set
    method: Method = "bayesgan"
    preset: PresetName = "fast"
    seed: int = 0
    split: Literal["test", "validation"] = "test"  # the images that errors are counted on
    every: int = 100  # iterations between evaluations
    overrides: dict[str, Any] = field(default_factory=dict)
    own: OwnImages | None = None  # the pictures of the data set "own",
    like: ImageSetName | None = None  # and the image set whose settings suit them

    @property
    def settings(self) -> ImageSettings:
        """Every number of the run."""
        return image_settings(self.preset, self.method, self._kind, **(self._careful | self.overrides))

    @property
    def _kind(self) -> ImageSetName:
        return self.like or self.dataset  # type: ignore[return-value]  # "own" is always like another

    @property
    def changed(self) -> dict[str, Any]:
        """The settings that are not those of the preset."""
        return changes(self.preset, self.method, self._kind, self.settings, **self._careful)

    @property
    def _careful(self) -> dict[str, Any]:
        """What differs for own pictures."""
        return {} if self.own is None else OWN

    @property
    def identity(self) -> dict[str, Any]:
        """Its entries in config.json, beside the settings."""
        return {key: value for key, value in asdict(self).items() if key != "overrides"}


def task_of(record: RunRecord) -> Task:
    """The task of a run, from its config.json."""
    names = ("dataset", "labels", "subset", "method", "preset", "seed", "split", "every", "own", "like")
    return Task(**{name: getattr(record, name) for name in names}, overrides=record.settings.flat())


def data_of_run(folder: Path, data_dir: Path, read: LabelledImages | None = None) -> LabelledImages:
    """The images that the run in ``folder`` was trained and tested on, refused if they have changed since.

    ``read`` are the images of its task, where they have been read already.
    """
    record = read_record(folder)
    task = task_of(record)
    data = read or data_of(task, data_dir)
    labels = len(data.labelled.indices)
    there = (() if labels == 0 else data.images.classes, data.labelled.sha256, hash_of(data.images.test))
    if there != (record.classes, record.labelled_sha256, record.test_sha256):
        where = data_dir / task.dataset if task.own is None else task.own.images
        raise BayesganError(
            f"The pictures in {where} are not those that {folder} was trained on: put them back as they were, or train "
            "again."
        )
    return data


def hash_of(images: np.ndarray) -> str:
    """The sha256 of all pixels."""
    return hashlib.sha256(images.tobytes()).hexdigest()


def data_of(task: Task, data_dir: Path, shape: tuple[int, ...] | None = None) -> LabelledImages:
    """The images of the task, and which of them show their label.

    Own pictures are brought to ``shape``; None: one that is chosen from them.
    """
    if task.own is not None:
        return own_folder.read(task.own, shape)
    images = load(task.dataset, data_dir, task.split)  # type: ignore[arg-type]  # not "own"
    count = len(images.train) if task.labels == "all" else task.labels
    return LabelledImages(images, labelled_set(task.dataset, images.train_labels, count, task.subset))


class Training:
    """One run on images: its data, its networks and what is measured.

    Args:
        task: what to train.
        folder: of the run; gone on with if there is one of the same task.
        data_dir: where the image sets are.
        device: to compute on.
        checkpoint_seconds: at least so long between two checkpoints.
        ranks: the processes that share the chains, if there are several.
        data: the images of the task, where they have been read already.
    """

    def __init__(
        self,
        task: Task,
        folder: Path,
        data_dir: Path,
        device: torch.device,
        checkpoint_seconds: float = 30.0,
        ranks: Ranks = ALONE,
        data: LabelledImages | None = None,
    ) -> None:
        self.task = task
        self.folder = folder
        self.data = data or data_of(task, data_dir)
        self.images, self.labelled = self.data.images, self.data.labelled
        self.test = torch.from_numpy(self.images.test).to(device)
        self.test_labels = torch.from_numpy(self.images.test_labels).to(device)
        self.gan = image_gan(task.settings, self.images, self.labelled, task.seed, device, ranks)
        shape, classes = self.images.train.shape[1:], () if self.gan.labels is None else self.images.classes
        identity = task.identity | {
            "shape": list(shape),
            "classes": list(classes),
            "labelled_sha256": self.labelled.sha256,
            "test_sha256": hash_of(self.images.test),
        }
        self.run = Run(self.gan, folder, identity, checkpoint_seconds)
        self.posterior = Posterior(task.settings, shape, classes, self.run.samples, device)
        self.average = self.posterior.averaging(self.test)

    def train(self, progress: Progress | None = None) -> dict[str, Any]:
        """Run to the end and write what the run folder holds then; the result is ``summary.json``.

        Of several ranks the first does what comes after the last iteration; the others have nothing to report.
        """
        first = self.gan.members.ranks.first
        if self.task.own is not None and first:
            write_text(self.folder / SKIPPED, "".join(f"{words}\n" for words in self.data.skipped))
        metrics = self.run.train(self.evaluate, self.task.every, progress)
        if not first:
            return {}
        self.posterior.include(self.average, self.gan.state.iteration)
        summary = self.summary(metrics)
        predictions = {"probabilities": self.average.probabilities.float()}
        if self.gan.settings.tells_fake:
            predictions["real"] = self.average.real.float()
        write_tensors(self.folder / PREDICTIONS, predictions, {"split": self.task.split})
        if self.gan.settings.populations.generators > 0:
            rows = self.posterior.latest(PANEL_ROWS, PANEL_COLUMNS, self.task.seed)
            draw_panels(torch.stack([each.pictures for each in rows]), self.folder / "panels.png")
        write_text(self.folder / SUMMARY, json.dumps(summary, indent=1) + "\n")
        return summary

    def errors(self, probabilities: Tensor) -> int:
        """How many test images are given a wrong class."""
        return int((probabilities.argmax(-1) != self.test_labels).sum())

    def evaluate(self, gan: BayesianGAN, sample: Sample) -> Metrics:
        """Test error of the present chains and of the model average so far, as fractions."""
        self.posterior.include(self.average, gan.state.iteration)
        probabilities, _ = self.average.predict(sample["discriminators"], sample["discriminator_statistics"])
        size = len(self.test)
        record: Metrics = {"chains_error": None, "average_error": None}
        if gan.labels is not None:
            record["chain_errors"] = [self.errors(each) / size for each in probabilities]
            record["chains_error"] = self.errors(probabilities.mean(0)) / size
            if self.average.included:
                record["average_error"] = self.errors(self.average.probabilities) / size
        return record

    def summary(self, metrics: list[Metrics]) -> dict[str, Any]:
        """The figures of the finished run."""
        task, settings = self.task, self.gan.settings
        errors = None if self.gan.labels is None else self.errors(self.average.probabilities)
        epoch = len(self.images.train) / settings.batches.real_batch  # iterations
        return {
            **task.identity,
            "changed": task.changed,
            "labels": len(self.labelled.indices),
            "labelled_sha256": self.labelled.sha256,
            "iterations": settings.length.iterations,
            "samples": len(self.average.included),
            "networks": len(self.average.included) * settings.populations.chains("discriminators"),
            "train_shape": list(self.images.train.shape),  # N, channels, height, width
            "test_size": len(self.test),
            "test_errors": errors,
            "test_error": None if errors is None else errors / len(self.test),
            "chain_errors": metrics[-1].get("chain_errors"),
            **self.fake_class(),
            "temperatures": temperatures(settings, len(self.images.train), len(self.labelled.indices)),
            "seconds": round(self.run.total_seconds, 1),
            "seconds_per_epoch": round(self.run.seconds / settings.length.iterations * epoch, 1),
            "threads": self.run.environments[-1]["threads"],
            "ranks": self.gan.members.ranks.size,
        }

    def fake_class(self) -> dict[str, float | None]:
        """Does the model average know generated images from real ones? Shares on either side of one half."""
        if not self.gan.settings.tells_fake:
            return {"generated_called_real": None, "test_called_fake": None}
        chains = self.gan.settings.populations.chains("generators")
        rows = self.posterior.latest(chains, -(-GENERATED // chains), self.task.seed)
        generated = torch.cat([each.pictures for each in rows])[:GENERATED].to(self.test.device)
        judged = self.posterior.averaging(generated)
        self.posterior.include(judged)
        return {
            "generated_called_real": (judged.real > 0.5).float().mean().item(),
            "test_called_fake": (self.average.real <= 0.5).float().mean().item(),
        }


def image_gan(
    settings: ImageSettings,
    images: Images,
    labelled: LabelledSet,
    seed: int,
    device: torch.device,
    ranks: Ranks = ALONE,
) -> BayesianGAN:
    """The Bayesian GAN of ``settings`` on ``images``, of which ``labelled`` show their class."""
    labels = None
    if len(labelled.indices) > 0:
        classes = images.train_labels[labelled.indices]
        labels = Labels(_tensor(labelled.indices, device), _tensor(classes, device), len(images.classes))
    data = _tensor(images.train, device)
    generator, discriminator = pair(settings, images.train.shape[1:], 1 if labels is None else labels.number, data)
    return BayesianGAN(settings, generator, discriminator, data, seed, labels, ranks)


def _tensor(array: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(array).to(device)
