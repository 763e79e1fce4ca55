"""What an iteration draws: noise, mini-batches of data, of labels and of chains."""

from dataclasses import dataclass

import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.base.rng import stream
from bayesgan.data.augment import CHANGES, Strengths, augmented
from bayesgan.data.pixels import as_numbers
from bayesgan.sampler.distributed import ALL, Chosen, Members, rows_of
from bayesgan.sampler.state import State, Streams
from bayesgan.settings.names import Side
from bayesgan.settings.settings import DRAWINGS, Settings

CALIBRATION = 500  # points that the statistics of normalisations are taken from
IMAGES = 4  # dimensions of (n, channels, height, width)


def strengths_of(settings: Settings) -> Strengths:
    """How much images are changed."""
    batches = settings.batches
    return Strengths(batches.jitter, batches.brightness, batches.cut, batches.flip)


@dataclass(frozen=True)
class Labels:
    """The labelled points D_s: ``indices`` (N_s,) into the data, ``classes`` (N_s,) in 0 … K−1, and K itself."""

    indices: Tensor
    classes: Tensor
    number: int


@dataclass(frozen=True)
class GeneratorBatch:
    """The draws for one stochastic gradient of the generators."""

    moving: slice  # of the generators of each group
    faced: Chosen  # of the discriminators of each group
    noise: Tensor  # (moving generators here, noise batches · n_g, noise_dim)
    real: Tensor | None = None  # (faced discriminators here, n_d, *point), for feature matching
    changes: Tensor | None = None  # (moving generators here, noise batches · n_g, numbers) of what is generated


@dataclass(frozen=True)
class DiscriminatorBatch:
    """The draws for one stochastic gradient of the discriminators; where labels alone teach, there are no others."""

    moving: slice  # of the discriminators of each group
    indices: Tensor  # (moving discriminators on all ranks, n_d) of the real points
    faced: Chosen | None = None  # of the generators of each group
    noise: Tensor | None = None  # (faced generators here, noise batches · n_g, noise_dim)
    changes: Tensor | None = None  # of what is generated, as in GeneratorBatch
    real: Tensor | None = None  # (moving discriminators here, n_d, *point), as each sees them
    plain: Tensor | None = None  # the same as they are, where the chains label those
    labelled: tuple[Tensor, Tensor] | None = None  # points (moving discriminators here, n_s, *point) and classes
    consensus: float = 0.0  # times each real point counts with the label that all chains together give it
    stood_for: Tensor | None = None  # (moving discriminators here, noise batches · n_g, *point) of a committee


class MiniBatches:
    """Draws from the data, for all chains.

    Args:
        settings: of the run.
        data: the training points X, (N, *point); bytes stand for [−1, 1].
        labels: of some of the points.
        seed: of what is drawn once.
        members: the chains to draw for.
    """

    def __init__(self, settings: Settings, data: Tensor, labels: Labels | None, seed: int, members: Members) -> None:
        self.strengths = strengths_of(settings)
        if any(self.strengths) and data.dim() != IMAGES:
            raise BayesganError("Only images can be changed: set jitter, brightness and cut to 0 and flip to false.")
        self.settings = settings
        self.data = data
        self.size = len(data)  # N
        self.labels = labels
        self.members = members
        self.consensus = 0.0 if labels is None else settings.densities.consensus  # without labels there is one class
        self._subsets = self._draw_subsets(stream(seed, "subsets", data.device))
        self._calibration = self._draw_calibration(stream(seed, "calibration", data.device))

    @property
    def dtype(self) -> torch.dtype:
        """Of weights and computations."""
        return self.data.dtype if self.data.is_floating_point() else torch.float32

    def for_generators(self, state: State, everybody: bool = False) -> GeneratorBatch:
        """z^(1), …, z^(J) for each generator that moves, and who faces them; for a measurement ``everybody`` moves."""
        streams = state.streams
        moving = ALL if everybody else self.moving("generators", state.iteration)
        faced = self.faced("discriminators", streams)
        noise, real = self.noise(streams, moving), None
        if self.settings.densities.feature_matching:
            real = self.augmented(streams, self.indices(streams, faced, "noise"))
        return GeneratorBatch(moving, faced, noise, real, self._changes_of_generated(streams, moving))

    def labels_alone(self, iteration: int) -> bool:
        """Whether labels alone teach in this iteration: there is nothing else, or it is one of the first."""
        nothing_else = self.settings.populations.generators == 0 and self.consensus == 0
        return nothing_else or 0 < iteration <= self._first

    def for_discriminators(self, state: State, everybody: bool = False) -> DiscriminatorBatch:
        """Noise for the generators that are faced, and n_d points x with n_s labels for each that moves."""
        settings, streams = self.settings, state.streams
        moving = ALL if everybody else self.moving("discriminators", state.iteration)
        indices = self.indices(streams, moving, taught=not self.stands(state.iteration))
        if self.labels_alone(state.iteration):
            return DiscriminatorBatch(moving, indices, labelled=self.labelled(streams, moving))
        faced, noise, changes, plain = None, None, None, None
        if self.stands(state.iteration):
            return self._before_a_committee(state, moving, indices)
        if settings.populations.generators > 0:
            faced = self.faced("generators", streams)
            noise, changes = self.noise(streams, faced), self._changes_of_generated(streams, faced)
        real = self.augmented(streams, indices)
        if self.consensus > 0 and settings.densities.consensus_on == "plain":
            plain = self.points(self.members.own(indices, "discriminators"))
        labelled = self.labelled(streams, moving)
        return DiscriminatorBatch(
            moving, indices, faced, noise, changes, real, plain, labelled, self.consensus * self._share(state.iteration)
        )

    def stands(self, iteration: int) -> bool:
        """Whether a committee stands for the generators in this iteration."""
        return self.settings.populations.committee is not None and iteration > self.settings.length.burn_in

    def committee_grows(self, iteration: int) -> int:
        """How many images the generators add to the committee after this iteration."""
        size, end = self.settings.populations.committee, self.settings.length.burn_in
        if size is None:
            return 0
        times = [end - round(number * end / (2 * DRAWINGS)) for number in range(DRAWINGS)]  # some coincide if few
        before, after = (sum(time <= last for time in times) for last in (iteration - 1, iteration))
        return after * size // DRAWINGS - before * size // DRAWINGS

    def _before_a_committee(self, state: State, moving: slice, indices: Tensor) -> DiscriminatorBatch:
        """Points of p(θ_d | X, D_s, θ_g) for a θ_g that stands still: nobody teaches anybody."""
        assert state.committee is not None
        streams, batches = state.streams, self.settings.batches
        chains = self.members.count("discriminators", moving)
        size = batches.noise_batches * batches.fake_batch
        drawn = self._integers(len(state.committee), (chains, size), streams["noise"])
        fakes = state.committee[self.members.own(drawn, "discriminators")]
        if batches.change_generated and any(self.strengths):
            changes = self._changes(streams, chains, size)
            fakes = augmented(fakes, self.members.own(changes, "discriminators"), self.strengths)
        real, labelled = self.augmented(streams, indices), self.labelled(streams, moving)
        return DiscriminatorBatch(moving, indices, stood_for=fakes, real=real, labelled=labelled)

    @property
    def _first(self) -> int:
        """The iterations in which labels alone teach."""
        share = 0.0 if self.labels is None else self.settings.length.labels_first
        return round(share * self.settings.length.burn_in)

    def _share(self, iteration: int) -> float:
        """Of the consensus: it grows in half of what is left of the burn-in; what is sampled stands still."""
        grows = (self.settings.length.burn_in - self._first) / 2
        return min(1.0, max(0.0, (iteration - self._first) / max(0.5, grows)))

    # Chains

    def moving(self, side: Side, iteration: int) -> slice:
        """The chains of each group that move: with a ``chain_batch`` one part of them after the other."""
        chains, batch = getattr(self.members.everyone, side), self.settings.populations.chain_batch
        if batch is None or batch >= chains:
            return ALL
        parts = -(-chains // batch)
        part = (iteration - 1) % parts
        return slice(part * chains // parts, (part + 1) * chains // parts)

    def faced(self, side: Side, streams: Streams) -> Chosen:
        """The chains of each group that the other side faces: with a ``chain_batch`` so many, drawn at random."""
        chains, batch = getattr(self.members.everyone, side), self.settings.populations.chain_batch
        if batch is None or batch >= chains:
            return ALL
        return torch.randperm(chains, generator=streams["facing"], device=self.data.device)[:batch]

    # Noise and data

    def noise(self, streams: Streams, chosen: Chosen = ALL) -> Tensor:
        """White noise z ~ N(0, I), (chosen generators here, noise batches · n_g, noise_dim)."""
        batches = self.settings.batches
        shape = (self.members.count("generators", chosen), batches.noise_batches * batches.fake_batch)
        drawn = torch.randn(
            *shape,
            self.settings.networks.noise_dim,
            generator=streams["noise"],
            device=self.data.device,
            dtype=self.dtype,
        )
        return self.members.own(drawn, "generators")

    def indices(self, streams: Streams, chosen: Chosen = ALL, name: str = "data", taught: bool = True) -> Tensor:
        """Of n_d points for each of the chosen discriminators on all ranks, independent: white gradient noise.

        Where a consensus teaches all discriminators have the same ones.
        """
        shape = (self.members.count("discriminators", chosen), self.settings.batches.real_batch)
        if self.consensus > 0 and taught:
            return self._integers(self.size, shape[1:], streams[name]).expand(shape)
        if self._subsets is None:
            return self._integers(self.size, shape, streams[name])
        subsets = rows_of(self._subsets, chosen, self.members.everyone.number)
        return subsets.gather(1, self._integers(subsets.shape[1], shape, streams[name]))

    def labelled(self, streams: Streams, chosen: Chosen = ALL) -> tuple[Tensor, Tensor] | None:
        """Points and classes for each of the chosen discriminators here: all, or each one's own n_s."""
        if self.labels is None:
            return None
        chains, size = self.members.count("discriminators", chosen), len(self.labels.indices)
        if size <= self.settings.batches.label_batch:
            drawn = torch.arange(size, device=self.data.device).expand(chains, -1)
        else:
            drawn = self._integers(size, (chains, self.settings.batches.label_batch), streams["labels"])
        classes = self.labels.classes[self.members.own(drawn, "discriminators")]
        return self.augmented(streams, self.labels.indices[drawn]), classes

    def points(self, indices: Tensor) -> Tensor:
        """The data at ``indices`` (...), as numbers (..., *point)."""
        points = self.data[indices]
        return points if points.is_floating_point() else as_numbers(points)

    def augmented(self, streams: Streams, indices: Tensor) -> Tensor:
        """The data at ``indices`` (discriminators on all ranks, n) as those here see them this time."""
        points = self.points(self.members.own(indices, "discriminators"))
        if not any(self.strengths):
            return points
        changes = self._changes(streams, *indices.shape)
        return augmented(points, self.members.own(changes, "discriminators"), self.strengths)

    def calibration(self) -> tuple[Tensor, Tensor]:
        """Points (discriminators here, n, *point) and noise (generators here, n, noise_dim): always the same ones.

        A discriminator that has a share of the points sees points of its share.
        """
        indices, noise = self._calibration
        noise = noise.expand(self.members.here("generators"), -1, -1)
        if self._subsets is not None:
            return self.points(self.members.own(self._subsets[:, :CALIBRATION], "discriminators")), noise
        points = self.points(indices)
        return points.expand(self.members.here("discriminators"), *points.shape), noise

    def _changes_of_generated(self, streams: Streams, chosen: Chosen) -> Tensor | None:
        """What is done to the images of each of the chosen generators here, if anything."""
        batches = self.settings.batches
        if not (batches.change_generated and any(self.strengths)):
            return None
        chains = self.members.count("generators", chosen)
        return self.members.own(
            self._changes(streams, chains, batches.noise_batches * batches.fake_batch), "generators"
        )

    def _changes(self, streams: Streams, *shape: int) -> Tensor:
        return torch.rand(*shape, CHANGES, generator=streams["jitter"], device=self.data.device)

    def _integers(self, below: int, shape: tuple[int, ...], rng: torch.Generator) -> Tensor:
        return torch.randint(below, shape, generator=rng, device=self.data.device)

    def _draw_subsets(self, rng: torch.Generator) -> Tensor | None:
        """The points (discriminator chains, share · N) that each discriminator sees; None: all of them."""
        share = self.settings.populations.data_share
        if share == 1.0:
            return None
        size = max(1, round(share * self.size))
        chains = range(self.members.count("discriminators"))
        drawn = [torch.randperm(self.size, generator=rng, device=rng.device)[:size] for _ in chains]
        return torch.stack(drawn)

    def _draw_calibration(self, rng: torch.Generator) -> tuple[Tensor, Tensor]:
        """Indices of training points, and noise."""
        indices = torch.randperm(self.size, generator=rng, device=rng.device)[:CALIBRATION]
        shape = (CALIBRATION, self.settings.networks.noise_dim)
        return indices, torch.randn(shape, generator=rng, device=rng.device, dtype=self.dtype)
