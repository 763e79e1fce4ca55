"""Algorithm 1 of the paper, for one run: the iteration that moves both populations, and what is collected."""

from dataclasses import dataclass

import torch
from torch import Tensor

from bayesgan import dynamics
from bayesgan.conditionals import CALIBRATION, Conditionals
from bayesgan.dynamics import State
from bayesgan.errors import BayesganError
from bayesgan.rng import stream
from bayesgan.samples import Sample


@dataclass
class LogPosteriors:
    """The log posterior of every chain before its last update (full-data, up to a constant)."""

    generators: Tensor
    discriminators: Tensor


class BayesianGAN(Conditionals):
    """The sampler of both posteriors; :class:`bayesgan.conditionals.Conditionals` says what it is made with."""

    def iterate(self) -> LogPosteriors:
        """One iteration of Algorithm 1: every generator chain, then every discriminator chain."""
        settings = self.settings
        if self.iteration == settings.burn_in:
            self._end_burn_in()
        self.iteration += 1
        log_p_generators = self.data.new_zeros(0)
        if settings.generators > 0:
            gradient, log_p_generators = self.generator_gradient()
            self._move(self.generators, gradient, settings.generator_rate)
        for _ in range(settings.discriminator_steps):
            indices = self.mini_batches()
            self.seen[indices] = True
            gradient, log_p_discriminators = self.discriminator_gradient(indices)
            self._move(self.discriminators, gradient, settings.discriminator_rate)
            if settings.clip is not None:
                self.discriminators.theta.clamp_(-settings.clip, settings.clip)
        self._stop_if_diverged()
        return LogPosteriors(log_p_generators, log_p_discriminators)

    def _end_burn_in(self) -> None:
        settings = self.settings
        if settings.dynamics != "adam":
            dynamics.hand_over(self.generators, settings.dynamics, self._adam(settings.generator_rate))
            dynamics.hand_over(self.discriminators, settings.dynamics, self._adam(settings.discriminator_rate))
        self.branch()

    def branch(self) -> None:
        """Let every group of chains go on as ``branches`` copies, each with noise and mini-batches of its own."""
        copies = self.settings.branches
        self.groups = self.groups._replace(number=self.groups.number * copies)
        self.generators = self.generators.repeated(copies)
        self.discriminators = self.discriminators.repeated(copies)
        if self._subsets is not None:
            self._subsets = self._subsets.repeat(copies, 1)

    @torch.no_grad()
    def sample(self) -> Sample:
        """What is collected: the weights of every chain and the statistics of its normalisations.

        A discriminator's are those of ``CALIBRATION`` training points, without their labels, of its own share where it
        has one, a generator's of as much noise: always the same ones, seen as one batch by the weights as they are now.
        """
        indices, noise = self._calibration
        rng = stream(self.seed, f"sample/{self.iteration}", self.data.device)
        generators = self.generator.drawn(self.generators.theta, rng)
        discriminators = self.discriminator.drawn(self.discriminators.theta, rng)
        if self._subsets is None:
            points = self.points(indices)
            points = points.expand(len(discriminators), *points.shape)
        else:
            points = self.points(self._subsets[:, :CALIBRATION])
        # Noise on layers is part of what the weights were trained to normalise.
        self.discriminator.draw_noise_from(rng)
        statistics = self.discriminator.statistics(discriminators, points)
        self.discriminator.draw_noise_from(self.rng["layers"])
        return {
            "generators": generators,
            "generator_statistics": self.generator.statistics(generators, noise.expand(len(generators), -1, -1)),
            "discriminators": discriminators,
            "discriminator_statistics": statistics,
        }

    @property
    def sampling(self) -> bool:
        """Whether the last iteration was one of SGHMC rather than of the burn-in."""
        return self.iteration > self.settings.burn_in

    def _adam(self, rate: float) -> dynamics.Adam:
        return dynamics.Adam(rate, self.settings.adam_betas, self.settings.epsilon, self.data_size)

    def step_size(self, rate: float) -> float:
        """η of this iteration of SGHMC, for a population that Adam moved at ``rate``."""
        settings = self.settings
        gamma = settings.step_ratio * settings.friction * rate
        sampled = self.iteration - settings.burn_in - 1
        progress = sampled / max(1, settings.iterations - settings.burn_in)
        # The generators move before the first mini-batch is seen.
        seen = max(int(self.seen.sum()), min(settings.real_batch, self.data_size))
        return dynamics.step_size(settings.schedule, gamma, self.data_size, seen, progress, settings.cycles)

    def _move(self, state: State, gradient: Tensor, rate: float) -> None:
        settings = self.settings
        if not self.sampling or settings.dynamics == "adam":
            dynamics.adam_step(state, gradient, self._adam(rate))
            return
        if settings.dynamics == "running":
            dynamics.update_running_mass(state, gradient, self._adam(rate))
        dynamics.sghmc_step(
            state, gradient, self.step_size(rate), settings.friction, settings.temperature, self.rng["dynamics"]
        )

    def gradient_noise(self) -> dict[str, dict[str, float]]:
        """β̂/α of both populations at their present weights (see :func:`dynamics.gradient_noise_over_friction`)."""
        settings, stream = self.settings, "diagnostics"
        self.discriminator.draw_noise_from(self.rng[stream])
        ratio = dynamics.gradient_noise_over_friction
        ratios = {}
        if settings.generators > 0:
            difference = self.generator_gradient(stream)[0] - self.generator_gradient(stream)[0]
            step = self.step_size(settings.generator_rate)
            ratios["generators"] = ratio(self.generators, difference, step, settings.friction)
        first, second = (
            self.discriminator_gradient(self.mini_batches(stream), stream, stream)[0] for _ in ("one", "two")
        )
        step = self.step_size(settings.discriminator_rate)
        ratios["discriminators"] = ratio(self.discriminators, first - second, step, settings.friction)
        self.discriminator.draw_noise_from(self.rng["layers"])
        return ratios

    def _stop_if_diverged(self) -> None:
        """Name the first chain whose weights are no longer finite numbers."""
        for kind, state in (("generator", self.generators), ("discriminator", self.discriminators)):
            finite = torch.isfinite(state.theta.sum(1))  # a sum is not finite if one of its terms is not
            if not finite.all():
                chain = int(torch.nonzero(~finite)[0])
                pace = "step_ratio or the temperature" if self.sampling else "the learning rates"
                raise BayesganError(
                    f"The weights of {kind} chain {chain} are no longer finite at iteration {self.iteration}: "
                    f"lower {pace}; everything written so far is kept."
                )
