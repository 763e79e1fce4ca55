"""Finished runs read back for figures: from the run folder alone, without the images that it was trained on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, Field
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.base.files import parsed, read_text
from bayesgan.base.rng import stream
from bayesgan.data.contact_sheet import pictures
from bayesgan.data.images import NAMES
from bayesgan.networks.dcgan import Generator
from bayesgan.posterior.samples import SampleSet
from bayesgan.runs.record import read_config
from bayesgan.runs.run import METRICS
from bayesgan.runs.summary import SUMMARY, Summary, read_summary
from bayesgan.sampler.population import Population
from bayesgan.settings.methods import IMAGE_METHODS
from bayesgan.settings.presets import changes
from bayesgan.settings.settings import ImageSettings
from bayesgan.settings.systems import System, system_of

CPU = torch.device("cpu")


class Evaluation(BaseModel):
    """What figures need of a line of metrics.jsonl; errors are shares of the test images."""

    iteration: int
    seconds: float = Field(allow_inf_nan=False)
    chains_error: float | None
    average_error: float | None


@dataclass(frozen=True)
class SavedRun:
    """A finished run."""

    folder: Path
    summary: Summary
    settings: ImageSettings
    evaluations: list[Evaluation]

    @property
    def changed(self) -> dict[str, Any]:
        """The settings that are not those of the preset as it is now, which may not be as it was at the time."""
        it = self.summary
        assert it.dataset != "own"  # read_run refuses it
        return changes(it.preset, it.method, it.dataset, self.settings)

    @property
    def system(self) -> System:
        """What it is called in Table 1."""
        return system_of(self.summary.method, self.changed)[0]

    @property
    def chains(self) -> int:
        """Generators in each collected sample."""
        return self.settings.chains("generators")

    @property
    def collected(self) -> list[int]:
        """The iterations whose samples were kept."""
        settings = self.settings
        return list(range(settings.burn_in + settings.thin, settings.iterations + 1, settings.thin))

    @property
    def has_samples(self) -> bool:
        """Whether the weights are there: a run may be kept without them, for its errors alone."""
        return len(SampleSet(self.folder / "samples")) > 0

    def noise(self, iteration: int, each: int) -> Tensor:
        """(chains, each, noise_dim), the same whenever it is asked for; what ``panels.png`` was drawn from."""
        rng = stream(self.summary.seed, f"pictures/{iteration}", CPU)
        return torch.randn(self.chains, each, self.settings.noise_dim, generator=rng)

    def pictures(self, iteration: int, noise: Tensor) -> Tensor:
        """What :func:`bayesgan.data.contact_sheet.pictures` makes of the sample at ``iteration``."""
        settings = self.settings
        shape = self.summary.train_shape[1:]
        network = Generator(settings.noise_dim, shape, settings.generator_width, settings.normalisation)
        return pictures(Population(network), SampleSet(self.folder / "samples"), iteration, noise)


@dataclass(frozen=True)
class Drawn:
    """Pictures (n, channels, height, width) of one generator; chains count from 1."""

    iteration: int
    chain: int
    pictures: Tensor


def latest(run: SavedRun, generators: int, each: int) -> list[Drawn]:
    """At most ``generators`` generators: the chains of the last sample, then of those before it."""
    found: list[Drawn] = []
    for iteration in reversed(run.collected):
        if len(found) >= generators:
            break
        rows = run.pictures(iteration, run.noise(iteration, each))
        found += [Drawn(iteration, chain, row) for chain, row in enumerate(rows, start=1)]
    return found[:generators]


def find_runs(paths: Sequence[Path]) -> tuple[list[SavedRun], int]:
    """The finished runs in and below ``paths``, in the order of figures, and how many are not finished."""
    folders: dict[Path, Path] = {}
    for path in paths:
        if not path.is_dir():
            raise BayesganError(f"{path} is not a folder: name run folders, or folders that hold some.")
        folders |= {config.parent.resolve(): config.parent for config in path.rglob("config.json")}
    where = ", ".join(map(str, paths))
    if not folders:
        raise BayesganError(f"There is no run in {where}: a run folder, made by 'bayesgan train', has a config.json.")
    finished = [folder for folder in folders.values() if (folder / SUMMARY).exists()]
    if not finished:
        raise BayesganError(f"No run in {where} is finished: 'bayesgan train --resume FOLDER' goes on with one.")
    return sorted(map(read_run, finished), key=_order), len(folders) - len(finished)


def read_run(folder: Path) -> SavedRun:
    """The finished run in ``folder``."""
    config = read_config(folder)
    metrics, remedy = folder / METRICS, f"leave out {folder}"
    summary = read_summary(folder, remedy)
    if config.own is not None or summary.dataset == "own":
        raise BayesganError(f"{folder} is of your own pictures: 'bayesgan report {folder}' draws its figures.")
    evaluations = [parsed(Evaluation, line, metrics, remedy) for line in read_text(metrics).splitlines()]
    if not evaluations:
        raise BayesganError(f"{metrics} is damaged (it is empty): {remedy}.")
    return SavedRun(folder, summary, config.settings, evaluations)


def _order(run: SavedRun) -> tuple[int, int, int, int, int, int, str]:
    """Systems as they are before others that were changed."""
    it = run.summary
    method, dataset = IMAGE_METHODS.index(it.method), NAMES.index(it.dataset)
    return dataset, it.labels, method, len(run.changed), it.subset, it.seed, str(run.folder)
