"""What an iteration draws: mini-batches of data, labels and chains, and noise.

Everything is drawn for the chains of all ranks, by each of them alike, and each takes its own part: a run does not
depend on how many ranks share its chains.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.base.rng import stream
from bayesgan.data.augment import CHANGES, jittered
from bayesgan.data.pixels import as_numbers
from bayesgan.sampler.coupling import Groups, grouped
from bayesgan.sampler.distributed import Ranks
from bayesgan.sampler.sghmc import noise_seeds
from bayesgan.settings.names import Side
from bayesgan.settings.settings import Settings

CALIBRATION = 500
IMAGES = 4  # dimensions of (n, channels, height, width)
STREAMS = (
    *("initial", "noise", "data", "labels", "jitter", "weights", "layers", "dynamics", "facing", "scan"),
    *("evaluation", "diagnostics"),
)

Chosen = slice | Tensor  # of the chains of each group, numbered from 0
ALL = slice(None)


@dataclass(frozen=True)
class Labels:
    """The labelled points D_s: ``indices`` (N_s,) into the data, ``classes`` (N_s,) in 0 … K−1, and K itself."""

    indices: Tensor
    classes: Tensor
    number: int


class Draws:
    """The data, the random streams, and which chains of which groups are here.

    A draw has a row for each chain, group by group; :meth:`own` takes those of the chains that this rank has.

    Args:
        settings: every number of the run.
        data: the training points X, (N, *point), already on the device to compute on; bytes stand for [−1, 1].
        seed: of every random draw.
        labels: of some of the points.
        ranks: the processes that share the chains.
    """

    def __init__(self, settings: Settings, data: Tensor, seed: int, labels: Labels | None, ranks: Ranks) -> None:
        if settings.jitter > 0 and data.dim() != IMAGES:
            raise BayesganError("Only images can be turned and moved: set jitter to 0.")
        self.settings = settings
        self.seed = seed
        self.data = data
        self.data_size = len(data)
        self.labels = labels
        # Without labels there is one class; without generators unlabelled points are not looked at.
        self.consensus = settings.consensus if labels is not None and settings.generators > 0 else 0.0
        self.ranks = ranks
        self.iteration = 0
        self.rng = {name: stream(seed, name, data.device) for name in STREAMS}
        self.seen = torch.zeros(self.data_size, dtype=torch.bool, device=data.device)
        self.share_out(grouped(settings.coupling, settings.generators, settings.discriminators, settings.replicas))
        self._subsets = self._draw_subsets(stream(seed, "subsets", data.device))
        self._calibration = self._draw_calibration(stream(seed, "calibration", data.device))

    def share_out(self, everyone: Groups) -> None:
        """Say who faces whom, on all ranks, and thereby what this one has of it."""
        self.everyone = everyone
        self.shares = self.ranks.shares(everyone)
        self.share = self.shares[self.ranks.rank]
        self.groups = len(self.share.groups)
        self.split = self.ranks.size > 1 and everyone.number == 1  # the only group lives on several ranks

    @property
    def dtype(self) -> torch.dtype:
        """Of weights and computations."""
        return self.data.dtype if self.data.is_floating_point() else torch.float32

    def _draw_subsets(self, rng: torch.Generator) -> Tensor | None:
        """The points (discriminator chains, share · N) that each discriminator sees; None: all of them."""
        if self.settings.data_share == 1.0:
            return None
        size = max(1, round(self.settings.data_share * self.data_size))
        chains = range(self.everyone.number * self.everyone.discriminators)
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

    def shown(self, indices: Tensor, stream: str | None = None) -> Tensor:
        """The data at ``indices`` (discriminators on all ranks, n) as those here see them this time (``jitter``)."""
        points, strength = self.points(self.own(indices, "discriminators")), self.settings.jitter
        if strength == 0:
            return points
        rng = self.rng[stream or "jitter"]
        changes = 2.0 * torch.rand(*indices.shape, CHANGES, generator=rng, device=rng.device) - 1.0
        return jittered(points, self.own(changes, "discriminators"), strength)

    # Rows and ranks

    def own(self, drawn: Tensor, side: Side) -> Tensor:
        """Of a draw for all ranks, (all groups · chains of a group, …), the rows of the chains that are here."""
        if self.ranks.size == 1:
            return drawn
        groups, chains = self.share.groups, getattr(self.share, side)
        rows = drawn.unflatten(0, (self.everyone.number, -1))
        return rows[groups.start : groups.stop, chains.start : chains.stop].flatten(0, 1)

    def everyones(self, own: Tensor, side: Side) -> Tensor:
        """The rows of all ranks' chains, of which ``own`` are here."""
        sizes = [len(share.groups) * len(getattr(share, side)) for share in self.shares]
        return self.ranks.gathered(own, sizes)

    def rows(self, tensor: Tensor, chosen: Chosen, groups: int | None = None) -> Tensor:
        """The rows of the ``chosen`` chains of each group: a view where they all lie side by side."""
        if chosen is ALL:
            return tensor
        return tensor.unflatten(0, (groups or self.groups, -1))[:, chosen].flatten(0, 1)

    def number(self, side: Side, chosen: Chosen = ALL) -> int:
        """How many chains are chosen on all ranks together."""
        chains = range(getattr(self.everyone, side))
        return self.everyone.number * len(chains[chosen] if isinstance(chosen, slice) else chosen)

    # Mini-batches

    def moving(self, side: Side) -> slice:
        """The chains of each group that move in this iteration: one of the parts that a sweep cuts them into."""
        chains = getattr(self.everyone, side)
        parts = min(self.settings.sweep, chains)
        if parts == 1:
            return ALL
        if self.settings.scan == "random" and self.iteration > self.settings.burn_in:  # Adam has no law to keep
            part = int(torch.randint(parts, (), generator=self.rng["scan"], device=self.data.device))
        else:
            part = (self.iteration - 1) % parts
        return slice(part * chains // parts, (part + 1) * chains // parts)

    def faced(self, side: Side, stream: str | None = None) -> Chosen:
        """The chains of each group that the other side faces this time."""
        chains, faced = getattr(self.everyone, side), self.settings.faced
        if faced is None or faced >= chains:
            return ALL
        return torch.randperm(chains, generator=self.rng[stream or "facing"], device=self.data.device)[:faced]

    def noise(self, chains: int, points: int, stream: str = "noise") -> Tensor:
        """White noise z ~ N(0, I), (chains, points, noise_dim)."""
        shape = (chains, points, self.settings.noise_dim)
        return torch.randn(shape, generator=self.rng[stream], device=self.data.device, dtype=self.dtype)

    def mini_batches(self, stream: str = "data", chosen: Chosen = ALL) -> Tensor:
        """Indices (chosen discriminators, n_d), drawn independently: the gradient noise is white in time.

        For a consensus all discriminators have the same ones.
        """
        shape = (self.number("discriminators", chosen), self.settings.real_batch)
        if self.consensus > 0:
            drawn = torch.randint(self.data_size, shape[1:], generator=self.rng[stream], device=self.data.device)
            return drawn.expand(shape)
        if self._subsets is None:
            return torch.randint(self.data_size, shape, generator=self.rng[stream], device=self.data.device)
        subsets = self.rows(self._subsets, chosen, self.everyone.number)
        size = subsets.shape[1]
        return subsets.gather(1, torch.randint(size, shape, generator=self.rng[stream], device=self.data.device))

    def labelled_batches(self, stream: str | None = None, chosen: Chosen = ALL) -> tuple[Tensor, Tensor] | None:
        """Labelled points (chosen discriminators here, n_s, *point) and classes: all, or each one's mini-batch."""
        if self.labels is None:
            return None
        chains, size = self.number("discriminators", chosen), len(self.labels.indices)
        if size <= self.settings.label_batch:
            drawn = torch.arange(size, device=self.data.device).expand(chains, -1)
        else:
            shape = (chains, self.settings.label_batch)
            drawn = torch.randint(size, shape, generator=self.rng[stream or "labels"], device=self.data.device)
        classes = self.labels.classes[self.own(drawn, "discriminators")]
        return self.shown(self.labels.indices[drawn], stream), classes

    def calibration(self) -> tuple[Tensor, Tensor]:
        """Points (discriminators here, n, *point) and noise (generators here, n, noise_dim): always the same ones.

        A discriminator that has a share of the points sees points of its share.
        """
        indices, noise = self._calibration
        generators = self.groups * len(self.share.generators)
        if self._subsets is not None:
            own = self.own(self._subsets[:, :CALIBRATION], "discriminators")
            return self.points(own), noise.expand(generators, -1, -1)
        points = self.points(indices)
        discriminators = self.groups * len(self.share.discriminators)
        return points.expand(discriminators, *points.shape), noise.expand(generators, -1, -1)

    def layer_seeds(self, rng: torch.Generator, chains: int) -> Tensor:
        """Seeds of the noise on the layers of ``chains`` discriminators here."""
        of_all = self.everyone.discriminators if self.split else chains // self.groups * self.everyone.number
        return self.own(noise_seeds(rng, of_all), "discriminators")
