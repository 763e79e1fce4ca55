r"""Sample any log density with the dynamics of the Bayesian GAN: what they are worth where the answer is known.

The chains go uphill by Adam, hand over to SGHMC (:mod:`bayesgan.sampler.sghmc`), and the warm-up finds three numbers:

- the step η from the largest curvature λ of −log p in the metric of the mass: along it the discretisation inflates the
  variance by (4 − 2α)/(4 − 2α − ηλ), and the noise of mini-batches, if there is any, by 1 + β̂/α; ``inflation`` says
  how much of each is allowed;
- the friction α = 2 √(η/s²), s² the largest variance of a coordinate in that metric: less would let the widest
  direction ring, more would let it creep;
- the iterations between two draws, 4/α.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.base.rng import stream
from bayesgan.sampler import sghmc
from bayesgan.sampler.sghmc import Adam, Chains

LogDensity = Callable[[Tensor], Tensor]  # from (chains, d) to (chains,)

BETAS = (0.9, 0.999)
FASTEST, SLOWER = 0.3, 0.3  # Adam's first rate while it climbs, and times as much from phase to phase
PHASE, PHASES = 500, 20  # iterations, and how many there are at most
EPSILON = 1e-8  # of the largest mass: a coordinate without any gradient has one too
FIRST_WINDOW = 1000  # iterations; every further one is twice as long
WINDOWS = 9
SETTLED = 1.2  # times that the largest variance may still have grown in the last window
PAIRS = 20  # of gradients at the same place, whose differences are the noise of mini-batches
POWERS = 30  # iterations of the power method
LEAST_FRICTION, MOST_FRICTION = 1e-3, 0.5


@dataclass(frozen=True)
class Draws:
    """Of every chain, and how they were made."""

    points: Tensor  # (chains, draws, d)
    mass: Tensor  # (d,) for each chain
    step: float  # η
    friction: float  # α
    thin: int  # iterations between two draws
    curvature: float  # the largest λ of the warm-up, in the metric of the mass
    kinetic_temperature: float  # of ½(v_t + v_{t+1}): 1 for exact gradients of a Gaussian, whatever the step

    @property
    def inflation(self) -> float:
        """Of the variance along the direction of the largest curvature, less 1."""
        return variance_inflation(self.step * self.curvature, self.friction) - 1.0


def variance_inflation(curvature: float, friction: float) -> float:
    """(4 − 2α)/(4 − 2α − ηλ) for ηλ = ``curvature``: of the stationary variance of a Gaussian."""
    return (4.0 - 2.0 * friction) / (4.0 - 2.0 * friction - curvature)


def sample(
    log_density: LogDensity,
    start: Tensor,
    draws: int = 200,
    dynamics: Literal["plain", "frozen"] = "frozen",
    inflation: float = 0.04,
    seed: int = 0,
) -> Draws:
    """Draws from exp(log_density), one row of ``start`` (chains, d) a chain.

    Args:
        log_density: of unconstrained points, up to a constant; one that draws mini-batches has their noise too.
        start: where the chains begin; 16 or more of them cost little more than one.
        draws: of each chain.
        dynamics: with a mass of one, or with Adam's.
        inflation: of the variance along the steepest direction that the step may cause.
        seed: of every random draw.
    """
    if start.dim() != 2 or not start.is_floating_point() or not start.isfinite().all():
        raise BayesganError("Chains start at a tensor (chains, d) of finite numbers.")
    if not (0.0 < inflation < 1.0 and draws > 0):
        raise BayesganError("inflation is between 0 and 1, draws are at least 1.")
    walk = _Walk(log_density, start, seed)
    walk.climb(dynamics)
    walk.warm_up(inflation)
    return walk.draws(draws)


class _Walk:
    """Chains on their way."""

    def __init__(self, log_density: LogDensity, start: Tensor, seed: int) -> None:
        self.log_density = log_density
        self.rng = stream(seed, "density", start.device)
        self.chains = Chains.at(start.clone())
        self.step, self.friction, self.curvature = 0.0, 0.02, 0.0

    def gradient(self) -> Tensor:
        theta = self.chains.theta.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(self.log_density(theta).sum(), theta)
        if not gradient.isfinite().all():
            raise BayesganError("The log density is no finite number where a chain is: start elsewhere.")
        return gradient

    def climb(self, dynamics: Literal["plain", "frozen"]) -> None:
        """Go uphill by Adam, in phases at ever smaller rates until one gains nothing, and hand over."""
        height = -math.inf
        for phase in range(PHASES):
            rate = FASTEST * SLOWER**phase
            self.chains = Chains.at(self.chains.theta)  # what was steep on the way here is forgotten
            for _ in range(PHASE):
                sghmc.adam_step(self.chains, self.gradient(), Adam(rate, BETAS, 0.0, 1))
            before, height = height, float(self.log_density(self.chains.theta).mean())
            if phase > 1 and height - before < self.chains.theta.shape[1]:
                break
        largest = float(sghmc.mass(self.chains, Adam(rate, BETAS, 0.0, 1)).max())
        sghmc.hand_over(self.chains, dynamics, Adam(rate, BETAS, EPSILON * largest, 1))
        if self.chains.preconditioner is not None:  # one mass for all chains
            mass = self.chains.preconditioner.pow(-2).mean(0)
            self.chains.preconditioner = mass.rsqrt().expand_as(self.chains.theta).contiguous()
        self.chains.momentum.zero_()

    def warm_up(self, inflation: float) -> None:
        """Find step and friction, in windows that grow until the widest direction has been seen."""
        widest = 0.0
        for window in range(WINDOWS):
            self.measure_curvature()
            self.step = (1.0 - 1.0 / (1.0 + inflation)) * (4.0 - 2.0 * self.friction) / self.curvature
            self.step *= min(1.0, inflation / max(self.noise(), inflation))
            before, widest = widest, self.widest(FIRST_WINDOW * 2**window)
            self.friction = min(MOST_FRICTION, max(LEAST_FRICTION, 2.0 * math.sqrt(self.step / widest)))
            if window > 1 and widest < SETTLED * before:
                return

    def noise(self) -> float:
        """β̂/α, the largest of a coordinate: what mini-batches add to the temperature; 0 for exact gradients."""
        ratios = []
        for _ in range(PAIRS):
            difference = self.gradient() - self.gradient()
            ratios.append(sghmc.gradient_noise_over_friction(self.chains, difference, self.step, self.friction))
        return float(torch.stack(ratios).mean(0).max())

    def measure_curvature(self) -> None:
        """The largest |λ| of the Hessian in the metric of the mass where the chains are, by the power method."""
        scale = self.chains.preconditioner
        theta = self.chains.theta.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(self.log_density(theta).sum(), theta, create_graph=True)
        direction = torch.randn(theta.shape, generator=self.rng, device=theta.device, dtype=theta.dtype)
        curvature = torch.zeros(len(theta))
        for _ in range(POWERS):
            direction = direction / direction.norm(dim=1, keepdim=True)
            there = direction if scale is None else direction * scale
            (turned,) = torch.autograd.grad(gradient, theta, there, retain_graph=True)
            direction = turned if scale is None else turned * scale
            curvature = direction.norm(dim=1)
        self.curvature = max(self.curvature, float(curvature.max()))

    def widest(self, iterations: int) -> float:
        """The largest variance of a coordinate in the metric of the mass, in the second half of so many iterations."""
        theta = self.chains.theta
        number, total, squares = 0, torch.zeros_like(theta), torch.zeros_like(theta)
        start = theta.mean(0)
        for iteration in range(iterations):
            self.move()
            if 2 * iteration >= iterations:
                number += 1
                total += theta - start
                squares += (theta - start).square()
        mean = total.mean(0) / number
        variance = squares.mean(0) / number - mean.square()
        if self.chains.preconditioner is not None:
            variance = variance / self.chains.preconditioner[0].square()
        return float(variance.max())

    def move(self) -> None:
        """One iteration of SGHMC at temperature 1."""
        sghmc.sghmc_step(self.chains, self.gradient(), self.step, self.friction, 1.0, sghmc.noise_seeds(self.rng, 1))

    def draws(self, number: int) -> Draws:
        """So many of every chain."""
        chains, thin = self.chains, math.ceil(4.0 / self.friction)
        scale = torch.ones_like(chains.theta[0]) if chains.preconditioner is None else chains.preconditioner[0]
        points, energy = [], 0.0
        for _ in range(number):
            for _ in range(thin - 1):
                self.move()
            before = chains.momentum.clone()
            self.move()
            energy += float(((before + chains.momentum) / (2.0 * scale)).square().mean()) / self.step
            points.append(chains.theta.clone())
        return Draws(
            torch.stack(points, 1),
            scale.pow(-2),
            self.step,
            self.friction,
            thin,
            self.curvature,
            energy / number,
        )
