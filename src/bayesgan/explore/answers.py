"""Answers to the questions that the page asks of a trained posterior, as HTML."""

import math
from collections.abc import Sequence
from functools import cached_property
from html import escape
from pathlib import Path

import numpy as np
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.data.decode import decoded
from bayesgan.data.labels import LabelledImages
from bayesgan.explore import html
from bayesgan.explore.drawings import Paper, as_trained, paper_of
from bayesgan.posterior.average import Uncertainty
from bayesgan.posterior.posterior import Posterior
from bayesgan.posterior.suggest import suggested

MOST = 2000  # images that all networks look at while somebody waits
NOTHING = "Draw something, or upload a picture."
STEPS = 8  # pictures on a walk
ORDERS = {  # scores by their names on the page, and the fields of Uncertainty
    "entropy": "total_entropy",
    "mutual information": "mutual_information",
    "fake": "fake",
}


class Explorer:
    """A posterior with the images of its run.

    Args:
        posterior: the trained networks.
        data: the images of the run, or the error that says why they are missing.
    """

    def __init__(self, posterior: Posterior, data: LabelledImages | BayesganError) -> None:
        self.posterior = posterior
        self.data = data
        grey = posterior.shape[0] == 1 and isinstance(data, LabelledImages)
        self.paper = paper_of(data.images.train) if grey and isinstance(data, LabelledImages) else Paper()

    # What the run cannot do

    @property
    def no_pictures(self) -> str | None:
        """Why the run cannot draw pictures; None if it can."""
        return None if self.posterior.generators else "This run has no generators: it is made of classifiers alone."

    @property
    def no_classes(self) -> str | None:
        """Why the run cannot predict classes; None if it can."""
        if self.posterior.classes:
            return None
        return "This run was trained without labels: it has no classes to predict."

    @property
    def no_images(self) -> str | None:
        """Why the run cannot predict the classes of its own images; None if it can."""
        return self.no_classes or (str(self.data) if isinstance(self.data, BayesganError) else None)

    # Pictures

    @property
    def names(self) -> list[str]:
        """Names of all sampled generators, newest first; questions give their places in this list."""
        return [f"iteration {iteration}, chain {chain + 1}" for iteration, chain in self._generators]

    @property
    def newest(self) -> list[int]:
        """Numbers of the generators of the last sample."""
        last = self._generators[0][0]
        return [number for number, (iteration, _) in enumerate(self._generators) if iteration == last]

    @cached_property
    def _generators(self) -> list[tuple[int, int]]:
        return sorted(self.posterior.generators, key=lambda each: (-each[0], each[1]))

    def generated(self, which: Sequence[int], number: int, seed: int) -> str:
        """Draw the same ``number`` noise vectors by each of the generators ``which``, a row for each."""
        if not which:
            raise BayesganError("Choose at least one generator.")
        noise = self.posterior.noise(number, _whole(seed))
        return "".join(
            html.named_row(self.names[each], html.pictures(self.posterior.draw(noise, [self._generators[each]])))
            for each in which
        )

    def walked(self, one: int, other: int, weights_share: float, seed: int, other_seed: int, noise_share: float) -> str:
        """Draw one point between two generators and two noise vectors, and the two walks that cross there."""
        first, second = self._generators[one], self._generators[other]
        start, end = (self.posterior.noise(1, _whole(each)) for each in (seed, other_seed))
        here = between_noise(start, end, noise_share)
        shares = np.linspace(0.0, 1.0, STEPS).tolist()
        point = self.posterior.between(first, second, weights_share, here)
        by_weights = [self.posterior.between(first, second, share, here) for share in shares]
        by_noise = [
            self.posterior.between(first, second, weights_share, between_noise(start, end, share)) for share in shares
        ]
        return (
            html.pictures(point, side=html.LARGE)
            + html.named_row("All the way between the noise vectors", html.pictures(np.concatenate(by_noise)))
            + html.named_row("All the way between the generators", html.pictures(np.concatenate(by_weights)))
        )

    # Predictions

    def judged_drawing(self, drawing: np.ndarray | None) -> str:
        """Predict the class of a drawing (height, width, 4)."""
        picture = None if drawing is None else as_trained(drawing, self.posterior.shape, self.paper)
        if picture is None:
            raise BayesganError(NOTHING)
        return self._judged(picture)

    def judged_file(self, path: str | None) -> str:
        """Predict the class of an uploaded picture."""
        if path is None:
            raise BayesganError(NOTHING)
        found, (reason,) = decoded([Path(path)], self.posterior.shape)
        if reason is not None:
            raise BayesganError(f"{Path(path).name} cannot be read as a picture: {reason}.")
        return self._judged(found[0])

    def _judged(self, picture: np.ndarray) -> str:
        x = _seen(picture[None])
        each = self.posterior.predict_proba_each(x)[:, 0]
        return html.verdict(x[0], each, self.posterior.uncertainty(x), self.posterior.classes)

    # The run's own images

    @property
    def _images(self) -> LabelledImages:
        if isinstance(self.data, BayesganError):
            raise self.data
        return self.data

    @property
    def orders(self) -> list[str]:
        """Names of the scores that test images can be ordered by."""
        says_fake = self.posterior.settings.tells_fake
        return [name for name in ORDERS if name != "fake" or says_fake]

    @cached_property
    def _tested(self) -> tuple[np.ndarray, Uncertainty]:
        """Indices of at most ``MOST`` test images, and their uncertainty."""
        indices = _some(np.arange(len(self._images.images.test)), 0)
        return indices, self.posterior.uncertainty(_seen(self._images.images.test[indices]))

    def least_sure(self, number: int, by: str) -> str:
        """Show the test images that the average is least sure of."""
        images = self._images.images
        indices, found = self._tested
        order = np.argsort(-getattr(found, ORDERS[by]), kind="stable")[:number]
        captions = []
        for row in order:
            true = int(images.test_labels[indices[row]])
            wrong = ' class="wrong"' if found.probabilities[row].argmax() != true else ""
            figure = f"{by.split()[-1]} {getattr(found, ORDERS[by])[row]:.2f}"
            captions.append(
                f"<span{wrong}>{self._said(found, row)}</span><br>is {escape(images.classes[true])}<br>{figure}"
            )
        among = _among(len(indices), len(images.test), "test images")
        return html.named_row(among, html.pictures(_seen(images.test[indices[order]]), captions))

    def to_label(self, budget: int, seed: int) -> str:
        """Show the unlabelled training images that are most worth a label."""
        data = self._images
        unlabelled = data.unlabelled
        if len(unlabelled) == 0:
            raise BayesganError("Every training picture has a label already.")
        indices = _some(unlabelled, _whole(seed))
        x = _seen(data.images.train[indices])
        chosen = suggested(self.posterior, x, budget, _whole(seed))
        found, doubt = self.posterior.uncertainty(x[chosen]), self.posterior.doubt
        captions = [
            f"{escape(data.files[index] if data.files else f'image {index}')}<br>{self._said(found, row)}<br>"
            f"{doubt.split('_')[-1]} {getattr(found, doubt)[row]:.2f}"
            for row, index in enumerate(indices[chosen])
        ]
        among = _among(len(indices), len(unlabelled), "unlabelled training images")
        return html.named_row(among, html.pictures(x[chosen], captions))

    def _said(self, found: Uncertainty, row: int) -> str:
        best = int(found.probabilities[row].argmax())
        return f"says {escape(self.posterior.classes[best])} ({found.probabilities[row, best]:.2f})"


def between_noise(one: Tensor, other: Tensor, share: float) -> Tensor:
    """A point on the arc from ``one`` (share 0) to ``other`` (1): on the straight line noise would lose its length."""
    cosine = float((one * other).sum() / (one.norm() * other.norm()))
    angle = math.acos(min(1.0, max(-1.0, cosine)))
    if math.sin(angle) < 1e-4:
        return one.lerp(other, share)
    return (math.sin((1.0 - share) * angle) * one + math.sin(share * angle) * other) / math.sin(angle)


def _seen(pictures: np.ndarray) -> np.ndarray:
    """Bytes (n, channels, height, width) as the posterior and the page take them."""
    return pictures[:, 0] if pictures.shape[1] == 1 else np.ascontiguousarray(pictures.transpose(0, 2, 3, 1))


def _some(indices: np.ndarray, seed: int) -> np.ndarray:
    if len(indices) <= MOST:
        return indices
    return np.sort(np.random.default_rng(seed).choice(indices, MOST, replace=False))


def _among(number: int, everything: int, what: str) -> str:
    return f"Among all {number:,} {what}" if number == everything else f"Among {number:,} of {everything:,} {what}"


def _whole(seed: int | None) -> int:
    if seed is None:
        raise BayesganError("Give a whole number as the seed.")
    return int(seed)
