"""The conditional posteriors of every chain given the data and the other population, and their stochastic gradients."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bayesgan.chains import MeanField, Population
from bayesgan.coupling import grouped
from bayesgan.dynamics import State
from bayesgan.errors import BayesganError
from bayesgan.posterior import (
    GAMES,
    discriminator_log_posterior,
    generator_log_posterior,
    labelled_log_likelihood,
    marginalise,
    matching_log_posterior,
    reality,
)
from bayesgan.rng import stream
from bayesgan.settings import Settings

CALIBRATION = 500
STREAMS = ("initial", "noise", "data", "labels", "weights", "layers", "dynamics", "evaluation", "diagnostics")


@dataclass(frozen=True)
class Labels:
    """The labelled points D_s: ``indices`` (N_s,) into the data, ``classes`` (N_s,) in 0 … K−1, and K itself."""

    indices: Tensor
    classes: Tensor
    number: int


class Conditionals:
    """Two populations of chains, {θ_g^{j,m}} and {θ_d^{j,m}}, and the data they are conditioned on.

    Args:
        settings: every number of the run.
        generator: architecture of one generator, from (n, noise_dim) to (n, *point).
        discriminator: architecture of one discriminator, from (n, *point) to (n, K + features): class logits (K = 1
            without labels), then what feature matching compares.
        data: the training points X, (N, *point), already on the device to compute on; bytes stand for [−1, 1].
        seed: of every random draw.
        labels: of some of the points; None is the unsupervised GAN.
    """

    def __init__(
        self,
        settings: Settings,
        generator: nn.Module,
        discriminator: nn.Module,
        data: Tensor,
        seed: int,
        labels: Labels | None = None,
    ) -> None:
        self.settings = settings
        if settings.generators == 0 and labels is None:
            raise BayesganError("Without generators and without labels there is nothing to learn from: give labels.")
        self.seed = seed
        self.data = data
        self.data_size = len(data)
        self.labels = labels
        self.classes = labels.number if labels is not None else 1
        self.iteration = 0
        self.log_likelihood: dict[str, Tensor] = {}  # of the last iteration, for one data point, mean over chains
        self.groups = grouped(settings.coupling, settings.generators, settings.discriminators, settings.replicas)
        self.game = GAMES[settings.game]
        self.rng = {name: stream(seed, name, data.device) for name in STREAMS}
        self.seen = torch.zeros(self.data_size, dtype=torch.bool, device=data.device)
        family = MeanField if settings.family == "mean-field" else Population
        self.generator = family(generator)
        self.discriminator = family(discriminator)
        self.discriminator.draw_noise_from(self.rng["layers"])
        self.generators = self._initial(self.generator, settings.generators * settings.replicas)
        self.discriminators = self._initial(self.discriminator, settings.discriminators * settings.replicas)
        self._subsets = self._draw_subsets(stream(seed, "subsets", data.device))
        self._calibration = self._draw_calibration(stream(seed, "calibration", data.device))

    def _initial(self, population: Population, chains: int) -> State:
        return State.at(population.initial(chains, self.rng["initial"], self.dtype))

    @property
    def dtype(self) -> torch.dtype:
        """Of weights and computations."""
        return self.data.dtype if self.data.is_floating_point() else torch.float32

    def _draw_subsets(self, rng: torch.Generator) -> Tensor | None:
        """The points (discriminator chains, share · N) that each discriminator sees; None: all of them."""
        if self.settings.data_share == 1.0:
            return None
        size = max(1, round(self.settings.data_share * self.data_size))
        chains = range(len(self.discriminators.theta))
        drawn = [torch.randperm(self.data_size, generator=rng, device=rng.device)[:size] for _ in chains]
        return torch.stack(drawn)

    def _draw_calibration(self, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        """Indices of training points and noise that statistics are taken from."""
        indices = torch.randperm(self.data_size, generator=rng, device=rng.device)[:CALIBRATION]
        noise = torch.randn(CALIBRATION, self.settings.noise_dim, generator=rng, device=rng.device, dtype=self.dtype)
        return indices, noise

    def points(self, indices: Tensor) -> Tensor:
        """The data at ``indices`` (...), as numbers (..., *point)."""
        points = self.data[indices]
        return points if points.is_floating_point() else as_numbers(points)

    # The posteriors of every chain, with z and the other population marginalised

    def fakes(self, theta_g: Tensor, noise: Tensor) -> Tensor:
        """G(z; θ_g): (generator chains, noise batches · n_g, *point)."""
        return self.generator(self.generator.drawn(theta_g, self.rng["weights"]), noise)

    def facing(self, weights_d: Tensor, fakes: Tensor) -> Tensor:
        """Each discriminator on the points of each generator of its group.

        (groups, discriminators, generators, noise batches, n_g, K + features).
        """
        groups, generators, discriminators = self.groups
        facing = fakes.reshape(groups, 1, -1, *fakes.shape[2:]).expand(-1, discriminators, *[-1] * (fakes.dim() - 1))
        outputs = self.discriminator(weights_d, facing.flatten(0, 1))
        batches = (self.settings.noise_batches, self.settings.fake_batch)
        return outputs.view(groups, discriminators, generators, *batches, -1)

    def generator_log_posterior(
        self, theta_g: Tensor, theta_d: Tensor, noise: Tensor, real: Tensor | None = None
    ) -> Tensor:
        """log p(θ_g | θ_d) of every generator chain: Eq. 1 or 3 joined over noise batches and discriminators.

        ``real``, (discriminator chains, n_d, *point), is what feature matching compares with.
        """
        groups, generators, discriminators = self.groups
        weights_d = self.discriminator.drawn(theta_d, self.rng["weights"])
        outputs = self.facing(weights_d, self.fakes(theta_g, noise))
        prior = self.generator.log_prior(theta_g, self.settings.prior_variance).view(groups, 1, generators, 1)
        if real is None:
            logits = reality(outputs[..., : self.classes])
            log_p = generator_log_posterior(logits, prior, self.data_size, self.game)
        else:
            if outputs.shape[-1] == self.classes:
                raise BayesganError("This discriminator has no features to match: set feature_matching to false.")
            with torch.no_grad():
                features = self.discriminator(weights_d, real)[..., self.classes :]
            features = features.view(groups, discriminators, 1, 1, *features.shape[1:])
            log_p = matching_log_posterior(outputs[..., self.classes :], features, prior, self.data_size)
        self._remember("generators", log_p - prior)
        return marginalise(log_p, (1, 3), self.settings.marginal).flatten()

    def discriminator_log_posterior(
        self,
        theta_d: Tensor,
        fakes: Tensor | None,
        real: Tensor | None,
        labelled: tuple[Tensor, Tensor] | None = None,
    ) -> Tensor:
        """log p(θ_d | X, θ_g) of every discriminator chain: Eq. 2 or 4 joined over noise batches and generators.

        ``real`` is (discriminator chains, n_d, *point): each chain has its own mini-batch. ``labelled`` are points
        (discriminator chains, n_s, *point) and their classes. Without ``fakes`` and ``real`` there are only labels.
        """
        settings = self.settings
        groups, _, discriminators = self.groups
        weights = self.discriminator.drawn(theta_d, self.rng["weights"])
        prior = self.discriminator.log_prior(theta_d, settings.prior_variance).view(groups, discriminators, 1, 1)
        log_p = prior
        # Real, generated and labelled points are three batches: normalised together with the labelled ones, which come
        # back in every iteration, real points soon look generated without them (docs/choices.md).
        if fakes is not None and real is not None:
            real_logits = reality(self.discriminator(weights, real)[..., : self.classes])
            fake_logits = reality(self.facing(weights, fakes)[..., : self.classes])
            log_p = discriminator_log_posterior(
                real_logits.view(groups, discriminators, 1, 1, -1),
                fake_logits,
                prior,
                self.data_size,
                self.game,
                settings.real_target,
            )
        if labelled is not None and self.labels is not None:
            points, classes = labelled
            logits = self.discriminator(weights, points)[..., : self.classes]
            size = len(self.labels.indices)
            weight = self.data_size / size if settings.label_weight is None else settings.label_weight
            log_likelihood = labelled_log_likelihood(logits, classes, size, weight, self.game)
            log_p = log_p + log_likelihood.view(groups, discriminators, 1, 1)
        self._remember("discriminators", log_p - prior)
        return marginalise(log_p, (2, 3), settings.marginal).flatten()

    def _remember(self, population: str, log_likelihood: Tensor) -> None:
        self.log_likelihood[population] = log_likelihood.detach().mean() / self.data_size

    # Their stochastic gradients

    def noise(self, chains: int, points: int, stream: str = "noise") -> Tensor:
        """White noise z ~ N(0, I), (chains, points, noise_dim)."""
        shape = (chains, points, self.settings.noise_dim)
        return torch.randn(shape, generator=self.rng[stream], device=self.data.device, dtype=self.dtype)

    def mini_batches(self, stream: str = "data") -> Tensor:
        """Indices (discriminator chains, n_d), drawn independently: the gradient noise is white in time."""
        shape = (len(self.discriminators.theta), self.settings.real_batch)
        if self._subsets is None:
            return torch.randint(self.data_size, shape, generator=self.rng[stream], device=self.data.device)
        size = self._subsets.shape[1]
        return self._subsets.gather(1, torch.randint(size, shape, generator=self.rng[stream], device=self.data.device))

    def labelled_batches(self, stream: str = "labels") -> tuple[Tensor, Tensor] | None:
        """Labelled points (discriminator chains, n_s, *point) and their classes: all, or each chain's mini-batch."""
        if self.labels is None:
            return None
        chains, size = len(self.discriminators.theta), len(self.labels.indices)
        if size <= self.settings.label_batch:
            chosen = torch.arange(size, device=self.data.device).expand(chains, -1)
        else:
            shape = (chains, self.settings.label_batch)
            chosen = torch.randint(size, shape, generator=self.rng[stream], device=self.data.device)
        return self.points(self.labels.indices[chosen]), self.labels.classes[chosen]

    def _noise_batches(self, stream: str) -> Tensor:
        points = self.settings.noise_batches * self.settings.fake_batch
        return self.noise(len(self.generators.theta), points, stream)

    def generator_gradient(self, stream: str = "noise") -> tuple[Tensor, Tensor]:
        """∂ log p(θ_g | θ_d)/∂θ_g and log p(θ_g | θ_d), on fresh noise."""
        noise = self._noise_batches(stream)
        real = self.points(self.mini_batches(stream)) if self.settings.feature_matching else None
        theta = self.generators.theta.requires_grad_()
        log_p = self.generator_log_posterior(theta, self.discriminators.theta, noise, real)
        return _gradient(log_p, theta), log_p.detach()

    def discriminator_gradient(
        self, indices: Tensor, stream: str = "noise", label_stream: str = "labels"
    ) -> tuple[Tensor, Tensor]:
        """∂ log p(θ_d | X, θ_g)/∂θ_d and log p(θ_d | X, θ_g), on fresh noise and the points of ``indices``."""
        fakes = None
        if self.settings.generators > 0:
            with torch.no_grad():
                fakes = self.fakes(self.generators.theta, self._noise_batches(stream))
        labelled = self.labelled_batches(label_stream)
        theta = self.discriminators.theta.requires_grad_()
        real = self.points(indices) if fakes is not None else None
        log_p = self.discriminator_log_posterior(theta, fakes, real, labelled)
        return _gradient(log_p, theta), log_p.detach()


def as_numbers(pixels: Tensor) -> Tensor:
    """Bytes 0 … 255 as numbers from −1 to 1, the range of the generator's tanh."""
    return pixels.to(torch.float32).div_(127.5).sub_(1.0)


def _gradient(log_p: Tensor, theta: Tensor) -> Tensor:
    (gradient,) = torch.autograd.grad(log_p.sum(), theta)
    theta.requires_grad_(False)
    return gradient
