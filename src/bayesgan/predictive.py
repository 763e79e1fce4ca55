"""Predictions averaged over the posterior (Eq. 5): over all collected samples and all of their chains."""

from collections.abc import Iterator

import torch
from torch import Tensor

from bayesgan.chains import Population
from bayesgan.draws import as_numbers
from bayesgan.posterior import reality
from bayesgan.samples import SampleSet

BATCH = 500  # images in memory at once


class ModelAverage:
    r"""The posterior predictive of a set of images, one collected sample after another.

    .. math:: p(y_* | x_*, D) = \frac{1}{T}\sum_t \frac{D(x_* = y_*;\theta_d^{(t)})}{1 - D(x_* = 0;\theta_d^{(t)})}

    For each sample the fake class is removed and the rest renormalised, then the average is taken. The probability of
    being real is averaged beside it.

    Args:
        discriminator: the architecture of the samples.
        classes: K.
        images: bytes (n, channels, height, width), on the device to compute on.
    """

    def __init__(self, discriminator: Population, classes: int, images: Tensor) -> None:
        self._discriminator = discriminator
        self._classes = classes
        self._images = images
        self._sum = torch.zeros(len(images), classes, dtype=torch.float64, device=images.device)
        self._real = torch.zeros(len(images), dtype=torch.float64, device=images.device)
        self._networks = 0
        self.included: set[int] = set()

    def update(self, samples: SampleSet, upto: int) -> None:
        """Add the samples collected up to iteration ``upto`` that are not in the average yet."""
        for iteration in samples.iterations:
            if iteration <= upto and iteration not in self.included:
                self.add(samples.load(iteration, "discriminators"), samples.load(iteration, "discriminator_statistics"))
                self.included.add(iteration)

    def add(self, theta: Tensor, statistics: Tensor) -> None:
        """Add a population (chains, weights) with its statistics (chains, buffers)."""
        for chain in range(len(theta)):
            row = slice(chain, chain + 1)
            probabilities, real = self.predict(theta[row], statistics[row])
            self._sum += probabilities[0]
            self._real += real[0]
            self._networks += 1

    def predict(self, theta: Tensor, statistics: Tensor) -> tuple[Tensor, Tensor]:
        """Class probabilities (chains, n, K) and those of being real (chains, n) by each chain alone."""
        theta, statistics = theta.to(self._images.device), statistics.to(self._images.device)
        parts = []
        with torch.no_grad():
            for batch in batches(self._images):
                facing = batch.expand(len(theta), *batch.shape)
                parts.append(self._discriminator(theta, facing, statistics)[..., : self._classes])
        logits = torch.cat(parts, 1).double()
        return logits.softmax(-1), reality(logits).sigmoid()

    @property
    def probabilities(self) -> Tensor:
        """(n, K): the averaged class probabilities."""
        return self._sum / self._networks

    @property
    def real(self) -> Tensor:
        """(n,): the averaged probability of being real."""
        return self._real / self._networks


def batches(images: Tensor) -> Iterator[Tensor]:
    """The images as numbers, a few at a time."""
    for part in images.split(BATCH):
        yield as_numbers(part)
