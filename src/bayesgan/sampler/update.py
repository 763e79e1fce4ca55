"""How one population moves: by Adam, then, from the hand-over on, by SGHMC."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from bayesgan.sampler import sghmc
from bayesgan.sampler.distributed import ALL, Members
from bayesgan.sampler.gradients import Gradient
from bayesgan.sampler.sghmc import Chains
from bayesgan.sampler.state import State
from bayesgan.settings.names import Side
from bayesgan.settings.settings import Settings

STEEP = 0.25  # of the largest step that is stable: it widens the steepest direction's variance by a third


class Motion(NamedTuple):
    """What the last step of each chain was like, (chains,); NaN of a chain that did not move."""

    kinetic: Tensor  # temperatures: of the velocity in the middle of the step,
    configurational: Tensor  # and of where it started
    step: Tensor  # its length, |v|


class Update:
    """Moves the chains of one side. ``measured`` is what the last step was like, where samples are collected.

    Args:
        side: which.
        settings: of the run.
        size: N, the number of data points.
        members: the chains.
        precision: 1/σ² of the prior of each weight; None: flat.
    """

    def __init__(
        self, side: Side, settings: Settings, size: int, members: Members, precision: Tensor | None = None
    ) -> None:
        self.side: Side = side
        self.settings = settings
        self.size = size
        self.precision = precision
        self.gamma = settings.sampler.step_ratio * settings.sampler.friction * settings.sampler.rate(side)  # γ
        self.least = sghmc.least_mass(self.gamma * settings.prior_weight / size, precision)
        self.members = members
        self.clip = settings.sampler.clip if side == "discriminators" else None
        self.measured: Motion | None = None

    def __call__(self, state: State, gradient: Gradient) -> None:
        """Move the chains that ``gradient`` is of, in place."""
        sampler, chains = self.settings.sampler, state.of(self.side)
        sampled = self._samples(state.iteration)
        eta = self.step_size(state) if sampled else 0.0
        seeds = torch.zeros(len(gradient.values))
        temperature = 0.0 if self.settings.length.is_silent(state.iteration) else sampler.temperature
        if sampled and temperature > 0:
            number = self.members.count(self.side, gradient.moving)
            seeds = self.members.own(sghmc.noise_seeds(state.streams["dynamics"], number), self.side)
        collected = sampled and state.iteration in self.settings.length.collected
        found: list[Tensor] = []
        for part, slope, own_seeds in self._parts(chains, gradient, seeds):
            if sampled:
                if sampler.dynamics == "running":
                    sghmc.update_running_mass(part, slope, self._adam())
                step = part, slope, eta, sampler.friction, temperature, own_seeds
                if collected:
                    found.append(_measured(*step))
                else:
                    sghmc.sghmc_step(*step)
            else:
                sghmc.adam_step(part, slope, self._adam(state.iteration))
            if self.clip is not None:
                part.theta.clamp_(-self.clip, self.clip)
            sghmc.update_average(part, self.settings.length.averaging, state.iteration)
        if found:
            self.measured = Motion(*self._of_all(torch.cat(found, 1), chains, gradient.moving))

    def hand_over(self, state: State) -> None:
        """End the burn-in of all chains."""
        if self.settings.sampler.dynamics != "adam":
            sampler = self.settings.sampler
            sghmc.hand_over(state.of(self.side), sampler.dynamics, self._adam(state.iteration), self.precision)

    def step_size(self, state: State) -> float:
        """η of an iteration of SGHMC: with the schedule γ/d, d is the number of unique real points seen so far."""
        sampler = self.settings.sampler
        seen = self.size
        if sampler.schedule == "per-datum":  # the generators move before the first mini-batch is seen
            seen = max(int(state.seen.sum()), min(self.settings.batches.real_batch, self.size))
        progress, cycles = self._progress(state.iteration), self.settings.length.cycles
        pace = state.of(self.side).pace
        eta = sghmc.step_size(sampler.schedule, self.gamma, self.size, seen, progress, cycles)
        return eta if pace is None else eta * float(pace[0])

    def calm_down(self, state: State, noise: float, steepness: float) -> None:
        r"""Shorten all further steps where gradient noise heats the chains by more than ``heating`` allows.

        ``noise`` is :math:`\hat\beta/\alpha` of the present step, the mean over weights. The injected noise has the
        variance :math:`2\alpha\eta T M^{-1}`, that of gradients adds :math:`2\hat\beta\eta M^{-1}`: the chains are at
        :math:`T + \hat\beta/\alpha`, of which the second term is proportional to the step. ``steepness`` is ηλ/M along
        the steepest direction: from 4 − 2α on nothing is stationary, and ``STEEP`` of that is where steps stay.
        """
        sampler, chains = self.settings.sampler, state.of(self.side)
        assert sampler.heating is not None
        allowed = sampler.heating * sampler.temperature
        stable = STEEP * (4.0 - 2.0 * sampler.friction)
        slower = min(1.0, allowed / max(noise, 1e-30), stable / max(steepness, 1e-30))
        before = torch.ones_like(chains.adam_steps) if chains.pace is None else chains.pace
        chains.pace = before * slower

    def _samples(self, iteration: int) -> bool:
        return iteration > self.settings.length.burn_in and self.settings.sampler.dynamics != "adam"

    def _adam(self, iteration: int = 0) -> sghmc.Adam:
        """Adam's settings; its rate may follow the schedule, a cyclical one after the burn-in."""
        sampler, pace = self.settings.sampler, 1.0
        falls = iteration > self.settings.length.burn_in and sampler.schedule == "cyclical"
        if falls or (iteration > 0 and sampler.schedule == "linear"):
            pace = sghmc.step_size(sampler.schedule, 1.0, 1, 1, self._progress(iteration), self.settings.length.cycles)
        rate = sampler.rate(self.side) * pace
        return sghmc.Adam(rate, sampler.adam_betas, sampler.epsilon, self.size, self.least)

    def _progress(self, iteration: int) -> float:
        """The share of the iterations that is done: of those after the burn-in, or of all for linear steps."""
        length = self.settings.length
        if self.settings.sampler.schedule == "linear":
            return (iteration - 0.5) / length.iterations
        return (iteration - length.burn_in - 1) / max(1, length.iterations - length.burn_in)

    def _of_all(self, figures: Tensor, chains: Chains, moving: slice) -> Tensor:
        """Figures (…, moving chains) as those of all chains here."""
        every = figures.new_full((len(figures), len(chains.theta)), torch.nan)
        every.unflatten(1, (self.members.groups, -1))[:, :, moving] = figures.unflatten(1, (self.members.groups, -1))
        return every

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


def _measured(
    chains: Chains, gradient: Tensor, step_size: float, friction: float, temperature: float, seeds: Tensor
) -> Tensor:
    """Take a step of SGHMC, and say what it was like: the fields of :class:`Motion`, (3, chains)."""
    before, configurational = chains.momentum.clone(), sghmc.configurational_temperature(chains.theta, gradient)
    sghmc.sghmc_step(chains, gradient, step_size, friction, temperature, seeds)
    kinetic = sghmc.kinetic_temperature(chains, before, step_size)
    return torch.stack([kinetic, configurational, chains.momentum.norm(dim=1)])
