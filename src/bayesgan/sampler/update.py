"""How one population moves: by Adam, then, from the hand-over on, by SGHMC."""

from collections.abc import Iterator

import torch
from torch import Tensor

from bayesgan.sampler import sghmc
from bayesgan.sampler.distributed import ALL, Members
from bayesgan.sampler.gradients import Gradient
from bayesgan.sampler.minibatches import Streams
from bayesgan.sampler.sghmc import Chains
from bayesgan.settings.names import Side
from bayesgan.settings.settings import Settings


class Update:
    """Moves the chains of one side.

    Args:
        side: which.
        settings: of the run.
        size: N, the number of data points.
        streams: random streams; the seeds of the sampler's noise come from "dynamics".
        members: the chains.
    """

    def __init__(self, side: Side, settings: Settings, size: int, streams: Streams, members: Members) -> None:
        self.side: Side = side
        self.settings = settings
        self.size = size
        self.streams = streams
        self.members = members
        self.clip = settings.sampler.clip if side == "discriminators" else None

    def __call__(self, chains: Chains, gradient: Gradient, iteration: int, seen: int) -> None:
        """Move the chains that ``gradient`` is of, in place.

        ``seen`` is d, the number of unique real points seen so far.
        """
        sampler = self.settings.sampler
        sampled = self._samples(iteration)
        seeds = torch.zeros(len(gradient.values))
        if sampled and sampler.temperature > 0:
            number = self.members.count(self.side, gradient.moving)
            seeds = self.members.own(sghmc.noise_seeds(self.streams["dynamics"], number), self.side)
        for part, slope, own_seeds in self._parts(chains, gradient, seeds):
            if sampled:
                if sampler.dynamics == "running":
                    sghmc.update_running_mass(part, slope, self._adam())
                eta = self.step_size(iteration, seen)
                sghmc.sghmc_step(part, slope, eta, sampler.friction, sampler.temperature, own_seeds)
            else:
                sghmc.adam_step(part, slope, self._adam(iteration))
            if self.clip is not None:
                part.theta.clamp_(-self.clip, self.clip)

    def hand_over(self, chains: Chains) -> None:
        """End the burn-in of all chains."""
        if self.settings.sampler.dynamics != "adam":
            sghmc.hand_over(chains, self.settings.sampler.dynamics, self._adam())

    def step_size(self, iteration: int, seen: int) -> float:
        """η of an iteration of SGHMC."""
        sampler = self.settings.sampler
        gamma = sampler.step_ratio * sampler.friction * sampler.rate(self.side)
        # The generators move before the first mini-batch is seen.
        seen = max(seen, min(self.settings.batches.real_batch, self.size))
        progress = self._progress(iteration)
        return sghmc.step_size(sampler.schedule, gamma, self.size, seen, progress, sampler.cycles)

    def _samples(self, iteration: int) -> bool:
        return iteration > self.settings.length.burn_in and self.settings.sampler.dynamics != "adam"

    def _adam(self, iteration: int = 0) -> sghmc.Adam:
        """Adam's settings; after the burn-in its rate may follow the schedule."""
        sampler, pace = self.settings.sampler, 1.0
        if iteration > self.settings.length.burn_in and sampler.schedule == "cyclical":
            pace = sghmc.step_size("cyclical", 1.0, 1, 1, self._progress(iteration), sampler.cycles)
        return sghmc.Adam(sampler.rate(self.side) * pace, sampler.adam_betas, sampler.epsilon, self.size)

    def _progress(self, iteration: int) -> float:
        """The share of the iterations after the burn-in that is done."""
        length = self.settings.length
        return (iteration - length.burn_in - 1) / max(1, length.iterations - length.burn_in)

    def _parts(self, chains: Chains, gradient: Gradient, seeds: Tensor) -> Iterator[tuple[Chains, Tensor, Tensor]]:
        """Yield the moving chains in parts that are contiguous in memory: all at once, or one group after another."""
        moving, groups = gradient.moving, self.members.groups
        if moving == ALL:
            yield chains, gradient.values, seeds
            return
        each = len(chains.theta) // groups
        slopes = zip(gradient.values.chunk(groups), seeds.chunk(groups), strict=True)
        for group, (slope, own_seeds) in enumerate(slopes):
            yield chains.rows(slice(group * each + moving.start, group * each + moving.stop)), slope, own_seeds
