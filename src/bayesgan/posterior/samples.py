"""Collected samples: on disk, a safetensors file for each iteration that is read lazily, or in memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from torch import Tensor

from bayesgan.base.files import open_tensors, write_tensors
from bayesgan.sampler.gan import Sample

DIGITS = 8  # of an iteration in a file name, so that names sort as numbers do


class Samples(Protocol):
    """Collected samples, wherever they are."""

    @property
    def iterations(self) -> list[int]:
        """The collected iterations, in order."""

    def load(self, iteration: int, population: str) -> Tensor:
        """The rows of ``population``, one for each chain, at ``iteration``."""


class SampleSet:
    """The weights of both populations after the burn-in, every ``thin`` iterations.

    A file holds ``generators`` and ``discriminators``, each (chains, weights), and the statistics of their
    normalisations, (chains, buffers). Nothing is kept in memory.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, iteration: int) -> Path:
        return self.folder / f"{iteration:0{DIGITS}d}.safetensors"

    def append(self, iteration: int, sample: Sample) -> None:
        """Add both populations as they are after ``iteration``."""
        write_tensors(self._path(iteration), sample, {"iteration": str(iteration)})

    @property
    def iterations(self) -> list[int]:
        """The collected iterations, in order."""
        paths = self.folder.glob(f"{'[0-9]' * DIGITS}.safetensors")
        return sorted(int(path.stem) for path in paths)

    def __len__(self) -> int:
        """The number of collected iterations."""
        return len(self.iterations)

    def load(self, iteration: int, population: str) -> Tensor:
        """The weights (chains, weights) of ``population`` at ``iteration``; only their bytes are read."""
        with open_tensors(self._path(iteration)) as tensors:
            return tensors.get_tensor(population)

    def each(self, population: str) -> Iterator[Tensor]:
        """The weights (chains, weights) of ``population``, one collected iteration after another."""
        for iteration in self.iterations:
            yield self.load(iteration, population)


class Held:
    """Samples in memory."""

    def __init__(self, collected: dict[int, Sample]) -> None:
        self.collected = collected

    @property
    def iterations(self) -> list[int]:
        """The collected iterations, in order."""
        return sorted(self.collected)

    def load(self, iteration: int, population: str) -> Tensor:
        """The rows of ``population``, one for each chain, at ``iteration``."""
        return self.collected[iteration][population]


@dataclass(frozen=True)
class Chosen:
    """Some of the collected iterations."""

    samples: Samples
    iterations: list[int]

    def load(self, iteration: int, population: str) -> Tensor:
        """The rows of ``population``, one for each chain, at ``iteration``."""
        return self.samples.load(iteration, population)
