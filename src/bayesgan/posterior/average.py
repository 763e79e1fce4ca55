"""Predictions averaged over the posterior (Eq. 5): over all collected samples and all of their chains."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bayesgan.data.pixels import as_numbers
from bayesgan.sampler.densities import reality
from bayesgan.sampler.population import Population

BATCH = 500  # points in memory at once


@dataclass(frozen=True)
class Uncertainty:
    r"""The uncertainty of a model average about n points, in nats.

    The entropy of the averaged prediction is the sum of two parts: the mean entropy of the networks, and how much they
    contradict each other,

    .. math:: H\Big[\frac{1}{T}\sum_t p_t\Big] = \frac{1}{T}\sum_t H[p_t] + I(y, \theta).
    """

    probabilities: np.ndarray  # (n, K), averaged (Eq. 5)
    total_entropy: np.ndarray  # (n,)
    expected_entropy: np.ndarray  # (n,): the mean entropy of the networks
    mutual_information: np.ndarray  # (n,): the difference, how much the networks disagree
    fake: np.ndarray  # (n,): probability of not being like the training data; NaN where networks do not say


class ModelAverage:
    r"""The posterior predictive of a set of images, one collected sample after another.

    .. math:: p(y_* | x_*, D) = \frac{1}{T}\sum_t \frac{D(x_* = y_*;\theta_d^{(t)})}{1 - D(x_* = 0;\theta_d^{(t)})}

    For each sample the fake class is removed and the rest renormalised, then the average is taken. The probability of
    being real and the entropies are averaged beside it.

    Args:
        discriminator: the architecture of the samples.
        classes: K.
        points: (n, *point), on the device to compute on; images are bytes.
    """

    def __init__(self, discriminator: Population, classes: int, points: Tensor) -> None:
        self._discriminator = discriminator
        self._classes = classes
        self._points = points
        self._sum = torch.zeros(len(points), classes, dtype=torch.float64, device=points.device)
        self._real = torch.zeros(len(points), dtype=torch.float64, device=points.device)
        self._entropy = torch.zeros(len(points), dtype=torch.float64, device=points.device)
        self._networks = 0
        self.included: set[int] = set()

    def add(self, iteration: int, theta: Tensor, statistics: Tensor) -> None:
        """Add the population (chains, weights) that was collected at ``iteration``, with its statistics."""
        for chain in range(len(theta)):
            row = slice(chain, chain + 1)
            probabilities, real = self.predict(theta[row], statistics[row])
            self._sum += probabilities[0]
            self._real += real[0]
            self._entropy += entropy(probabilities[0])
            self._networks += 1
        self.included.add(iteration)

    def predict(self, theta: Tensor, statistics: Tensor) -> tuple[Tensor, Tensor]:
        """Class probabilities (chains, n, K) and those of being real (chains, n) by each chain alone."""
        theta, statistics = theta.to(self._points.device), statistics.to(self._points.device)
        parts = []
        with torch.no_grad():
            for batch in batches(self._points):
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

    @property
    def uncertainty(self) -> Uncertainty:
        """Entropies of the average and of its networks, and how unlike the training data the points are."""
        total, expected = entropy(self.probabilities), self._entropy / self._networks
        return Uncertainty(
            probabilities=self.probabilities.cpu().numpy(),
            total_entropy=total.cpu().numpy(),
            expected_entropy=expected.cpu().numpy(),
            mutual_information=(total - expected).clamp_min(0.0).cpu().numpy(),  # concave: below 0 by rounding only
            fake=(1.0 - self.real).cpu().numpy(),
        )


def entropy(probabilities: Tensor) -> Tensor:
    """−Σ p log p over the last dimension, in nats."""
    return torch.special.entr(probabilities).sum(-1)


def batches(points: Tensor) -> Iterator[Tensor]:
    """Give the points as numbers, a few at a time."""
    for part in points.split(BATCH):
        yield part if part.is_floating_point() else as_numbers(part)
