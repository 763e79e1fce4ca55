"""Algorithm 1 of the paper, for one run: two populations of chains and the iteration that moves them."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from bayesgan import dynamics
from bayesgan.chains import Population
from bayesgan.coupling import grouped
from bayesgan.dynamics import State
from bayesgan.errors import BayesganError
from bayesgan.posterior import (
    GAMES,
    discriminator_log_posterior,
    generator_log_posterior,
    log_prior,
    marginalise,
)
from bayesgan.rng import stream
from bayesgan.settings import Settings

STREAMS = ("initial", "noise", "data", "dynamics", "evaluation", "diagnostics")


@dataclass
class LogPosteriors:
    """The log posterior of every chain before its last update (full-data, up to a constant)."""

    generators: Tensor
    discriminators: Tensor


class BayesianGAN:
    """Posterior samples {θ_g^{j,m}}, {θ_d^{j,m}} and the data they are conditioned on.

    Args:
        settings: every number of the run.
        generator: architecture of one generator, from (n, noise_dim) to (n, *point).
        discriminator: architecture of one discriminator, from (n, *point) to (n, 1) logits.
        data: the training points X, (N, *point), already on the device to compute on.
        seed: of every random draw.
    """

    def __init__(
        self, settings: Settings, generator: nn.Module, discriminator: nn.Module, data: Tensor, seed: int
    ) -> None:
        self.settings = settings
        self.data = data
        self.data_size = len(data)
        self.iteration = 0
        self.groups = grouped(settings.coupling, settings.generators, settings.discriminators, settings.replicas)
        self.game = GAMES[settings.game]
        self.rng = {name: stream(seed, name, data.device) for name in STREAMS}
        self.seen = torch.zeros(self.data_size, dtype=torch.bool, device=data.device)
        self.generator = Population(generator)
        self.discriminator = Population(discriminator)
        self.generators = self._initial(self.generator, settings.generators * settings.replicas)
        self.discriminators = self._initial(self.discriminator, settings.discriminators * settings.replicas)

    def _initial(self, population: Population, chains: int) -> State:
        return State.at(population.initial(chains, self.rng["initial"], self.data.dtype))

    # The posteriors of every chain, with z and the other population marginalised

    def fakes(self, theta_g: Tensor, noise: Tensor) -> Tensor:
        """G(z; θ_g): (generator chains, noise batches · n_g, *point)."""
        return self.generator(theta_g, noise)

    def fake_logits(self, theta_d: Tensor, fakes: Tensor) -> Tensor:
        """Each discriminator on the points of each generator of its group.

        (groups, discriminators, generators, noise batches, n_g).
        """
        groups, generators, discriminators = self.groups
        facing = fakes.reshape(groups, 1, -1, *fakes.shape[2:]).expand(-1, discriminators, *[-1] * (fakes.dim() - 1))
        logits = self.discriminator(theta_d, facing.flatten(0, 1))
        return logits.view(groups, discriminators, generators, self.settings.noise_batches, self.settings.fake_batch)

    def generator_log_posterior(self, theta_g: Tensor, theta_d: Tensor, noise: Tensor) -> Tensor:
        """log p(θ_g | θ_d) of every generator chain: Eq. 1 joined over noise batches and discriminators."""
        groups, generators, _ = self.groups
        logits = self.fake_logits(theta_d, self.fakes(theta_g, noise))
        prior = log_prior(theta_g, self.settings.prior_variance).view(groups, 1, generators, 1)
        log_p = generator_log_posterior(logits, prior, self.data_size, self.game)
        return marginalise(log_p, (1, 3), self.settings.marginal).flatten()

    def discriminator_log_posterior(self, theta_d: Tensor, fakes: Tensor, real: Tensor) -> Tensor:
        """log p(θ_d | X, θ_g) of every discriminator chain: Eq. 2 joined over noise batches and generators.

        ``real`` is (discriminator chains, n_d, *point): each chain has its own mini-batch.
        """
        groups, _, discriminators = self.groups
        real_logits = self.discriminator(theta_d, real).view(groups, discriminators, 1, 1, -1)
        prior = log_prior(theta_d, self.settings.prior_variance).view(groups, discriminators, 1, 1)
        fake_logits = self.fake_logits(theta_d, fakes)
        log_p = discriminator_log_posterior(real_logits, fake_logits, prior, self.data_size, self.game)
        return marginalise(log_p, (2, 3), self.settings.marginal).flatten()

    # Their stochastic gradients

    def noise(self, chains: int, points: int, stream: str = "noise") -> Tensor:
        """White noise z ~ N(0, I), (chains, points, noise_dim)."""
        shape = (chains, points, self.settings.noise_dim)
        return torch.randn(shape, generator=self.rng[stream], device=self.data.device, dtype=self.data.dtype)

    def mini_batches(self, stream: str = "data") -> Tensor:
        """Indices (discriminator chains, n_d), drawn independently: the gradient noise is white in time."""
        shape = (len(self.discriminators.theta), self.settings.real_batch)
        return torch.randint(self.data_size, shape, generator=self.rng[stream], device=self.data.device)

    def _noise_batches(self, stream: str) -> Tensor:
        points = self.settings.noise_batches * self.settings.fake_batch
        return self.noise(len(self.generators.theta), points, stream)

    def generator_gradient(self, stream: str = "noise") -> tuple[Tensor, Tensor]:
        """∂ log p(θ_g | θ_d)/∂θ_g and log p(θ_g | θ_d), on fresh noise."""
        theta = self.generators.theta.requires_grad_()
        log_p = self.generator_log_posterior(theta, self.discriminators.theta, self._noise_batches(stream))
        (gradient,) = torch.autograd.grad(log_p.sum(), theta)
        theta.requires_grad_(False)
        return gradient, log_p.detach()

    def discriminator_gradient(self, indices: Tensor, stream: str = "noise") -> tuple[Tensor, Tensor]:
        """∂ log p(θ_d | X, θ_g)/∂θ_d and log p(θ_d | X, θ_g), on fresh noise and the points of ``indices``."""
        with torch.no_grad():
            fakes = self.fakes(self.generators.theta, self._noise_batches(stream))
        theta = self.discriminators.theta.requires_grad_()
        log_p = self.discriminator_log_posterior(theta, fakes, self.data[indices])
        (gradient,) = torch.autograd.grad(log_p.sum(), theta)
        theta.requires_grad_(False)
        return gradient, log_p.detach()

    # Algorithm 1

    def iterate(self) -> LogPosteriors:
        """One iteration of Algorithm 1: every generator chain, then every discriminator chain."""
        settings = self.settings
        if self.iteration == settings.burn_in:
            dynamics.hand_over(self.generators, settings.dynamics, self._adam(settings.generator_rate))
            dynamics.hand_over(self.discriminators, settings.dynamics, self._adam(settings.discriminator_rate))
        self.iteration += 1
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
        if not self.sampling:
            dynamics.adam_step(state, gradient, self._adam(rate))
            return
        if settings.dynamics == "running":
            dynamics.update_running_mass(state, gradient, self._adam(rate))
        dynamics.sghmc_step(
            state, gradient, self.step_size(rate), settings.friction, settings.temperature, self.rng["dynamics"]
        )

    def gradient_noise(self) -> dict[str, dict[str, float]]:
        """β̂/α of both populations at their present weights (see :func:`dynamics.gradient_noise_over_friction`)."""
        stream = "diagnostics"
        difference_g = self.generator_gradient(stream)[0] - self.generator_gradient(stream)[0]
        difference_d = (
            self.discriminator_gradient(self.mini_batches(stream), stream)[0]
            - self.discriminator_gradient(self.mini_batches(stream), stream)[0]
        )
        settings = self.settings
        step_g, step_d = self.step_size(settings.generator_rate), self.step_size(settings.discriminator_rate)
        ratio = dynamics.gradient_noise_over_friction
        return {
            "generators": ratio(self.generators, difference_g, step_g, settings.friction),
            "discriminators": ratio(self.discriminators, difference_d, step_d, settings.friction),
        }

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
