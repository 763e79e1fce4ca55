"""Algorithm 1 of the paper, for one run: the iteration that moves both populations, and what is collected."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.base.rng import stream
from bayesgan.posterior.samples import Sample
from bayesgan.sampler import sghmc
from bayesgan.sampler.gradients import Conditionals
from bayesgan.sampler.minibatches import ALL
from bayesgan.sampler.sghmc import State
from bayesgan.settings.names import SIDES, Side


@dataclass
class LogPosteriors:
    """The log posterior of every chain here that has moved, before it did (full-data, up to a constant)."""

    generators: Tensor
    discriminators: Tensor


class BayesianGAN(Conditionals):
    """The sampler of both posteriors; :class:`bayesgan.sampler.gradients.Conditionals` says what it is made with."""

    def iterate(self) -> LogPosteriors:
        """One iteration of Algorithm 1: every generator chain (or a part of them), then every discriminator chain."""
        settings = self.settings
        if self.iteration == settings.burn_in:
            self._end_burn_in()
        self.iteration += 1
        log_p_generators = self.data.new_zeros(0)
        if settings.generators > 0:
            moving = self.moving("generators")
            gradient, log_p_generators = self.generator_gradient(moving=moving)
            self._move("generators", moving, gradient)
        moving = self.moving("discriminators")
        for _ in range(settings.discriminator_steps):
            indices = self.mini_batches(chosen=moving)
            self.seen[indices] = True
            gradient, log_p_discriminators = self.discriminator_gradient(indices, moving=moving)
            self._move("discriminators", moving, gradient)
        self._stop_if_diverged()
        return LogPosteriors(log_p_generators, log_p_discriminators)

    def _end_burn_in(self) -> None:
        settings = self.settings
        if settings.dynamics != "adam":
            sghmc.hand_over(self.generators, settings.dynamics, self._adam(settings.generator_rate))
            sghmc.hand_over(self.discriminators, settings.dynamics, self._adam(settings.discriminator_rate))
        self.branch()

    def branch(self) -> None:
        """Let every group of chains go on as ``branches`` copies, each with noise of its own."""
        copies = self.settings.branches
        self.share_out(self.everyone._replace(number=self.everyone.number * copies))
        self.generators = self.generators.repeated(copies)
        self.discriminators = self.discriminators.repeated(copies)
        if self._subsets is not None:
            self._subsets = self._subsets.repeat(copies, 1)

    @torch.no_grad()
    def sample(self) -> Sample:
        """What is collected: the weights of every chain, on all ranks, and the statistics of its normalisations.

        A discriminator's are those of ``CALIBRATION`` training points, without their labels, a generator's of as much
        noise, seen as one batch by the weights as they are now.
        """
        points, noise = self.calibration()
        rng = stream(self.seed, f"sample/{self.iteration}", self.data.device)
        generators = self.generator.drawn(self.generators.theta, rng)
        discriminators = self.discriminator.drawn(self.discriminators.theta, rng)
        # Noise on layers is part of what the weights were trained to normalise.
        self.draw_layer_noise_from(rng)
        statistics = self.discriminator.statistics(discriminators, points)
        self.draw_layer_noise_from(self.rng["layers"])
        return {
            "generators": self.everyones(generators, "generators"),
            "generator_statistics": self.everyones(self.generator.statistics(generators, noise), "generators"),
            "discriminators": self.everyones(discriminators, "discriminators"),
            "discriminator_statistics": self.everyones(statistics, "discriminators"),
        }

    @property
    def sampling(self) -> bool:
        """Whether the last iteration was one of SGHMC rather than of the burn-in."""
        return self.iteration > self.settings.burn_in

    def _adam(self, rate: float) -> sghmc.Adam:
        return sghmc.Adam(rate, self.settings.adam_betas, self.settings.epsilon, self.data_size)

    @property
    def progress(self) -> float:
        """The share of the iterations after the burn-in that is done."""
        sampled = self.iteration - self.settings.burn_in - 1
        return sampled / max(1, self.settings.iterations - self.settings.burn_in)

    def step_size(self, rate: float) -> float:
        """η of this iteration of SGHMC, for a population that Adam moved at ``rate``."""
        settings = self.settings
        gamma = settings.step_ratio * settings.friction * rate
        # The generators move before the first mini-batch is seen.
        seen = max(int(self.seen.sum()), min(settings.real_batch, self.data_size))
        return sghmc.step_size(settings.schedule, gamma, self.data_size, seen, self.progress, settings.cycles)

    @property
    def _pace(self) -> float:
        """What the schedule makes of Adam's rate, where Adam goes on after the burn-in."""
        settings = self.settings
        if not self.sampling or settings.schedule != "cyclical":
            return 1.0
        return sghmc.step_size("cyclical", 1.0, 1, 1, self.progress, settings.cycles)

    def _move(self, side: Side, moving: slice, gradient: Tensor) -> None:
        settings = self.settings
        rate = settings.generator_rate if side == "generators" else settings.discriminator_rate
        sampled = self.sampling and settings.dynamics != "adam"
        seeds = torch.zeros(len(gradient))
        if sampled and settings.temperature > 0:
            seeds = self.own(sghmc.noise_seeds(self.rng["dynamics"], self.number(side, moving)), side)
        for state, part, own_seeds in self._groups(getattr(self, side), moving, gradient, seeds):
            if sampled:
                if settings.dynamics == "running":
                    sghmc.update_running_mass(state, part, self._adam(rate))
                eta = self.step_size(rate)
                sghmc.sghmc_step(state, part, eta, settings.friction, settings.temperature, own_seeds)
            else:
                sghmc.adam_step(state, part, self._adam(rate * self._pace))
            if side == "discriminators" and settings.clip is not None:
                state.theta.clamp_(-settings.clip, settings.clip)

    def _groups(
        self, state: State, moving: slice, gradient: Tensor, seeds: Tensor
    ) -> Iterator[tuple[State, Tensor, Tensor]]:
        """What moves, in parts that lie side by side in memory: all at once, or those of one group after another."""
        if moving == ALL:
            yield state, gradient, seeds
            return
        chains = len(state.theta) // self.groups
        parts = zip(gradient.chunk(self.groups), seeds.chunk(self.groups), strict=True)
        for group, part in enumerate(parts):
            yield state.rows(slice(group * chains + moving.start, group * chains + moving.stop)), *part

    def gradient_noise(self) -> dict[str, dict[str, float]]:
        """β̂/α of both populations, the mean and the largest over weights (sghmc.gradient_noise_over_friction)."""
        settings, stream = self.settings, "diagnostics"
        self.draw_layer_noise_from(self.rng[stream])
        ratios = {}
        if settings.generators > 0:
            difference = self.generator_gradient(stream)[0] - self.generator_gradient(stream)[0]
            ratios["generators"] = self._ratio(self.generators, difference, settings.generator_rate)
        first, second = (self.discriminator_gradient(self.mini_batches(stream), stream)[0] for _ in ("one", "two"))
        ratios["discriminators"] = self._ratio(self.discriminators, first - second, settings.discriminator_rate)
        self.draw_layer_noise_from(self.rng["layers"])
        return ratios

    def _ratio(self, state: State, difference: Tensor, rate: float) -> dict[str, float]:
        settings = self.settings
        here = sghmc.gradient_noise_over_friction(state, difference, self.step_size(rate), settings.friction)
        ratio = self.ranks.total(here * len(difference)) / self.ranks.total(here.new_tensor(len(difference)))
        return {"mean": ratio.mean().item(), "max": ratio.max().item()}

    def _stop_if_diverged(self) -> None:
        """Name the first chain whose weights are no longer finite numbers."""
        for side in SIDES:
            finite = torch.isfinite(getattr(self, side).theta.sum(1))  # a sum is not if one of its terms is not
            if not finite.all():
                kind, numbers = side.removesuffix("s"), self.own(torch.arange(self.number(side)), side)
                chain = int(numbers[torch.nonzero(~finite.cpu())[0]])
                pace = "step_ratio or the temperature" if self.sampling else "the learning rates"
                raise BayesganError(
                    f"The weights of {kind} chain {chain} are no longer finite at iteration {self.iteration}: "
                    f"lower {pace}; everything written so far is kept."
                )
