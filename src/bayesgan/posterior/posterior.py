"""A trained posterior: predictions, their uncertainty, and pictures."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.base.rng import stream
from bayesgan.data.pixels import as_bytes
from bayesgan.networks.build import pair
from bayesgan.posterior.average import ModelAverage, Uncertainty, batches
from bayesgan.posterior.diagnosis import IMAGES, Diagnosis, Logged, diagnosed, spaced
from bayesgan.posterior.samples import Chosen, Samples
from bayesgan.sampler.population import Population
from bayesgan.settings.names import Side
from bayesgan.settings.settings import Settings

GeneratorId = tuple[int, int]  # collected iteration and chain of a generator


class Drawn(NamedTuple):
    """Pictures of one generator, bytes (n, channels, height, width); chains count from 1."""

    iteration: int
    chain: int
    pictures: Tensor


class Posterior:
    """Sampled networks, all of one architecture.

    It is made by :func:`bayesgan.load`; iterating over it gives the posterior of each collected iteration by itself. It
    is not for several threads at once: all chains run through one network, whose weights are put in for each.

    Args:
        settings: of the run.
        shape: of a point: (channels, height, width), or (d,).
        classes: names of the K classes; none for a run without labels.
        samples: the collected weights.
        device: to compute on.
        logged: reads what training logged of the chains, if it did.

    A posterior of a few iterations, on images that are noise:

    >>> import numpy as np
    >>> from bayesgan import BayesGANClassifier
    >>> images = np.random.default_rng(0).integers(0, 256, (40, 8, 8), np.uint8)
    >>> labels = np.array(["left", "right"] * 4 + [-1] * 32, object)
    >>> posterior = BayesGANClassifier(iterations=5, random_state=0).fit(images, labels).posterior_
    >>> posterior.classes
    ('left', 'right')
    >>> posterior.predict_proba(images[:3]).sum(1).round(6).tolist()
    [1.0, 1.0, 1.0]
    >>> found = posterior.uncertainty(images[:3])
    >>> bool((found.mutual_information <= found.total_entropy).all())
    True
    >>> posterior.generate(5, which=posterior.generators[-2:], seed=1).shape
    (5, 8, 8)
    >>> parts = [each.predict_proba(images[:1]) for each in posterior]
    >>> len(parts) == len(posterior)
    True
    """

    def __init__(
        self,
        settings: Settings,
        shape: Sequence[int],
        classes: Sequence[str],
        samples: Samples,
        device: torch.device,
        logged: Callable[[], Sequence[Logged]] = list,
    ) -> None:
        self.settings = settings
        self.shape = tuple(shape)
        self.classes = tuple(classes)
        self.samples = samples
        self.device = device
        self._logged = logged
        generator, discriminator = pair(settings, self.shape, max(1, len(self.classes)))
        self._generator, self._discriminator = Population(generator), Population(discriminator)

    def __iter__(self) -> Iterator["Posterior"]:
        """The same with the networks of one collected iteration, one iteration after another."""
        for iteration in self.samples.iterations:
            only = Chosen(self.samples, [iteration])
            yield Posterior(self.settings, self.shape, self.classes, only, self.device)

    def __len__(self) -> int:
        """The number of collected iterations."""
        return len(self.samples.iterations)

    # Predictions

    @property
    def doubt(self) -> Literal["mutual_information", "total_entropy"]:
        """The field of :class:`Uncertainty` to order points by: mutual information, or the entropy of a single network.

        The mutual information of one network is zero everywhere. Of several networks it tells strange images best, and
        was chosen on validation images (docs/uncertainty.md).
        """
        several = len(self) * self.settings.populations.chains("discriminators") > 1
        return "mutual_information" if several else "total_entropy"

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """Class probabilities (n, K), averaged over all sampled discriminators (Eq. 5).

        ``x`` is (n, height, width) or (n, height, width, channels) of bytes, or (n, d) of numbers.
        """
        return self._average(x).probabilities.cpu().numpy()

    def predict(self, x: np.ndarray) -> list[str]:
        """The likeliest class of each point, by name."""
        return [self.classes[index] for index in self.predict_proba(x).argmax(-1)]

    def uncertainty(self, x: np.ndarray) -> Uncertainty:
        """Entropies, mutual information, and the probability of being unlike the training data."""
        found = self._average(x).uncertainty
        if self.settings.tells_fake:
            return found
        nothing = np.full_like(found.fake, np.nan)
        return Uncertainty(**(vars(found) | {"fake": nothing}))

    def predict_proba_each(self, x: np.ndarray) -> np.ndarray:
        """Class probabilities (networks, n, K) by each sampled discriminator alone."""
        average = self.averaging(self._labelled_points(x))
        parts = []
        for iteration in self.samples.iterations:
            weights = self._loaded(iteration, "discriminators")
            parts.append(average.predict(*weights)[0])
        return torch.cat(parts).cpu().numpy()

    def features(self, x: np.ndarray) -> np.ndarray:
        """Features (n, features) by the first discriminator of the last sample; the points where it has none."""
        points = self._points(x)
        weights, statistics = self._loaded(self.samples.iterations[-1], "discriminators")
        with torch.no_grad():
            parts = [self._discriminator(weights[:1], batch[None], statistics[:1])[0] for batch in batches(points)]
        features = torch.cat(parts)[:, max(1, len(self.classes)) :]
        return (features if features.shape[1] > 0 else points.flatten(1)).cpu().numpy()

    def diagnose(self, images: np.ndarray | None = None) -> Diagnosis:
        """Whether the samples are of a posterior, or of something else (docs/uncertainty.md).

        Predictions of ``images`` are followed (as in :meth:`predict_proba`), best of such as were held out; at most
        200, evenly spaced. None: of generated ones.
        """
        if images is None and self.settings.populations.chains("generators") == 0:
            raise BayesganError("This run has no generators to draw images with: give some.")
        x = self.generate(IMAGES) if images is None else np.asarray(images)
        if len(x) == 0:
            raise BayesganError("There are no images to diagnose a run with: give at least one.")
        average = self.averaging(self._points(spaced(x)))
        populations: dict[Side, Population] = {"generators": self._generator, "discriminators": self._discriminator}
        iterations = self.samples.iterations
        return diagnosed(self.settings, populations, iterations, self._loaded, average, images is None, self._logged())

    def averaging(self, points: Tensor) -> ModelAverage:
        """Start an average over networks, none yet, for ``points`` (n, *point) as the networks take them."""
        return ModelAverage(self._discriminator, max(1, len(self.classes)), points)

    def include(self, average: ModelAverage, upto: int | None = None) -> None:
        """Add the networks collected up to iteration ``upto``, or all, that are not in the average yet."""
        for iteration in self.samples.iterations:
            if (upto is None or iteration <= upto) and iteration not in average.included:
                average.add(iteration, *self._loaded(iteration, "discriminators"))

    def _average(self, x: np.ndarray) -> ModelAverage:
        average = self.averaging(self._labelled_points(x))
        self.include(average)
        return average

    def _labelled_points(self, x: np.ndarray) -> Tensor:
        if not self.classes:
            raise BayesganError("This run was trained without labels: it has no classes to predict.")
        return self._points(x)

    def _points(self, x: np.ndarray) -> Tensor:
        """Check ``x``, and bring it to the form that the networks take."""
        x = np.asarray(x)
        if len(self.shape) == 1:
            if x.ndim != 2 or x.shape[1:] != self.shape or not np.issubdtype(x.dtype, np.number):
                raise BayesganError(
                    f"Points of shape {x.shape[1:]} do not fit: this model takes {self.shape[0]} numbers."
                )
            return torch.tensor(x, dtype=torch.float32, device=self.device)
        channels, height, width = self.shape
        if x.dtype != np.uint8:
            raise BayesganError(f"Images are given as bytes from 0 to 255 (uint8), not as {x.dtype}.")
        if x.ndim == 3:
            x = x[..., None]
        if x.shape[1:] != (height, width, channels):
            raise BayesganError(
                f"Images of shape {x.shape[1:]} do not fit: this model takes height {height}, width {width} and "
                f"{channels} channel{'s' if channels > 1 else ''}."
            )
        return torch.tensor(x.transpose(0, 3, 1, 2).copy(), device=self.device)  # a copy: it may be read-only

    # Pictures

    @property
    def generators(self) -> list[GeneratorId]:
        """Every sampled generator, by collected iteration and chain."""
        chains = range(self.settings.populations.chains("generators"))
        return [(iteration, chain) for iteration in self.samples.iterations for chain in chains]

    def generate(self, n: int, which: Sequence[GeneratorId] | None = None, seed: int = 0) -> np.ndarray:
        """Draw ``n`` new images, bytes (n, height, width[, channels]), or vectors (n, d).

        ``which`` names generators (see :attr:`generators`), all by default; they take turns, image by image.
        """
        if n < 1:
            raise BayesganError(f"{n} images cannot be generated: ask for at least one.")
        return self.draw(self.noise(n, seed), which)

    def noise(self, n: int, seed: int = 0) -> Tensor:
        """White noise (n, noise_dim), the same for the same seed."""
        rng = stream(seed, "generate", self.device)
        return torch.randn(n, self.settings.networks.noise_dim, generator=rng, device=self.device)

    def draw(self, noise: Tensor, which: Sequence[GeneratorId] | None = None) -> np.ndarray:
        """Draw ``noise`` (n, noise_dim) by the generators ``which``, which take turns."""
        chosen = self._named(self.generators if which is None else which)
        pictures = torch.empty(len(noise), *self.shape, device=self.device)
        for number, (iteration, chain) in enumerate(chosen[: len(noise)]):
            weights, statistics = self._loaded(iteration, "generators")
            own = noise[number :: len(chosen)]
            pictures[number :: len(chosen)] = self._picture(weights[chain], statistics[chain], own)
        return self._as_given(pictures)

    def latest(self, generators: int, each: int, seed: int) -> list[Drawn]:
        """Draw pictures by at most ``generators`` generators: the chains of the last sample, then of those before it.

        The same seed gives the same pictures.
        """
        chains, rows = self.settings.populations.chains("generators"), list[Drawn]()
        for iteration in reversed(self.samples.iterations):
            if len(rows) >= generators or chains == 0:
                break
            rng = stream(seed, f"pictures/{iteration}", self.device)
            size = (chains, each, self.settings.networks.noise_dim)
            noise = torch.randn(size, generator=rng, device=self.device)
            rows += self.drawn(iteration, noise)
        return rows[:generators]

    def drawn(self, iteration: int, noise: Tensor) -> list[Drawn]:
        """Draw ``noise`` (chains, n, noise_dim) by the generators of a collected iteration, a row each."""
        weights, statistics = self._loaded(iteration, "generators")
        return [
            Drawn(iteration, chain + 1, as_bytes(self._picture(weights[chain], statistics[chain], own)).cpu())
            for chain, own in enumerate(noise)
        ]

    def between(self, one: GeneratorId, other: GeneratorId, share: float, noise: Tensor) -> np.ndarray:
        """Draw ``noise`` by weights on the straight line from generator ``one`` (share 0) to ``other`` (1)."""
        (first, its), (second, others) = (
            tuple(part[chain] for part in self._loaded(iteration, "generators"))
            for iteration, chain in self._named([one, other])
        )
        return self._as_given(self._picture(first.lerp(second, share), its.lerp(others, share), noise))

    def _named(self, generators: Sequence[GeneratorId]) -> list[GeneratorId]:
        """Refuse ``generators`` that do not exist."""
        chains = self.settings.populations.chains("generators")
        if chains == 0:
            raise BayesganError("This run has no generators: it is made of classifiers alone.")
        if not generators:
            raise BayesganError("No generator is named: give (collected iteration, chain).")
        collected = set(self.samples.iterations)
        chosen = [(iteration, chain) for iteration, chain in generators]
        for iteration, chain in chosen:
            if iteration not in collected or not 0 <= chain < chains:
                raise BayesganError(f"There is no generator {(iteration, chain)}: give (collected iteration, chain).")
        return chosen

    def _picture(self, weights: Tensor, statistics: Tensor, noise: Tensor) -> Tensor:
        """G(z; θ_g) of one generator, (n, *point), each point by itself."""
        with torch.no_grad():
            return self._generator(weights[None], noise[None], statistics[None])[0]

    def _as_given(self, points: Tensor) -> np.ndarray:
        if len(self.shape) == 1:
            return points.cpu().numpy()
        images = as_bytes(points).cpu().numpy().transpose(0, 2, 3, 1)
        return images[..., 0] if images.shape[-1] == 1 else images

    def check(self) -> None:
        """Refuse samples that are not of this architecture, or damaged."""
        for iteration in self.samples.iterations:
            self._loaded(iteration, "generators")
            self._loaded(iteration, "discriminators")

    def _loaded(self, iteration: int, side: Side) -> tuple[Tensor, Tensor]:
        """Read weights and statistics of the networks of one side; refuse what does not fit the settings."""
        population = self._generator if side == "generators" else self._discriminator
        weights = self.samples.load(iteration, side)
        statistics = self.samples.load(iteration, f"{side.removesuffix('s')}_statistics")
        chains = self.settings.populations.chains(side)
        for part, size in ((weights, population.weights), (statistics, population.buffers)):
            if part.shape != (chains, size) or part.dtype != torch.float32:
                raise BayesganError(
                    f"The {side} of iteration {iteration} do not fit the settings of their run: put the right file "
                    "back, or train again."
                )
            if not part.isfinite().all():
                raise BayesganError(
                    f"The {side} of iteration {iteration} have weights that are not finite: put the right file back, "
                    "or train again."
                )
        return weights.to(self.device), statistics.to(self.device)
