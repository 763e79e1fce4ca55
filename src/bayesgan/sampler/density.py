r"""Sample any log density with the dynamics of the Bayesian GAN: what they are worth where the answer is known.

The chains go uphill by Adam, coordinate by coordinate in units of the local curvature, and then move by SGHMC
(:mod:`bayesgan.sampler.sghmc`) at temperature 1. Windows of a warm-up, each twice as long as the one before, measure

- the mass of ``frozen`` dynamics, :math:`\mathbb{E}[g^2]` of each coordinate of the gradient g, which is Adam's second
  moment and on average the curvature: the units of a coordinate drop out. Its root, by which Adam divides, would
  leave half of their orders of magnitude;
- λ, the largest curvature of −log p in the metric of the mass: along it a step η inflates the variance by
  (4 − 2α)/(4 − 2α − ηλ), and ``inflation`` says by how much it may;
- w, the largest variance of the noise of mini-batches in that metric. It raises the temperature by at most
  β̂/α = ηw/(2α), and ``inflation`` bounds this, too;
- s², the largest variance of a direction: the friction α = 2 √(η/s²) damps it critically. Less would let it ring,
  more would let it creep.

A draw comes every 8/α iterations. In the widest direction it correlates with the draw before by (1 + 4) exp(−4) = 0.09.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.base.rng import stream
from bayesgan.sampler import sghmc
from bayesgan.sampler.sghmc import Adam, Chains

LogDensity = Callable[[Tensor], Tensor]  # from (chains, d) to (chains,)
Mass = Literal["plain", "frozen"]

ADAM = Adam(rate=1.0, betas=(0.9, 0.99), epsilon=1e-30, data_size=1)  # the unit is that of the coordinate
PHASE, PHASES, FAILURES = 100, 100, 5  # iterations; how many of them; at most so many in which a chain gains nothing
FASTER, SLOWER = 4.0, 0.1  # times the last unit, after a phase that gained and after one that did not
ENDLESS = 1e30  # chains do not come back from there
FAR = 100.0  # nats that a coordinate may gain in one unit, to first order
FIRST_WINDOW, WINDOWS = 250, 10  # iterations; how many windows
SNAPSHOTS = 100  # in the second half of a window; the Hessian and the noise are measured at every tenth
SETTLED = 1.2  # times that the largest variance may have changed since the last window
MEMORY = 10.0  # 1/α that the last window lasts at least
RETREATS, RETREAT = 40, 16.0  # how often windows that diverge are repeated; by how much the step is then shorter
PAIRS = 10  # of gradients at the same place, whose differences are the noise of mini-batches
POWERS = 30  # iterations of the power method
MOST_FRICTION = 0.5
APART = 8.0  # 1/α between two draws


@dataclass(frozen=True)
class Draws:
    """Of every chain, and how they were made."""

    points: Tensor  # (chains, draws, d)
    mass: Tensor  # (d,), the same for each chain
    step: float  # η
    friction: float  # α
    thin: int  # iterations between two draws
    curvature: float  # the largest λ where the chains were in the warm-up, in the metric of the mass
    heat: float  # β̂/α: by how much mini-batches raise the temperature, at most; 0 for exact gradients
    kinetic_temperature: float  # of ½(v_t + v_{t+1}): 1 for exact gradients of a Gaussian, whatever the step

    @property
    def inflation(self) -> float:
        """Of the variance along the direction of the largest curvature, less 1, by the step."""
        bound = 4.0 - 2.0 * self.friction
        return bound / (bound - self.step * self.curvature) - 1.0


def sample_density(
    log_density: LogDensity,
    start: Tensor,
    draws: int = 500,
    dynamics: Mass = "frozen",
    inflation: float = 0.02,
    seed: int = 0,
) -> Draws:
    """Draws from exp(log_density), one row of ``start`` a chain.

    Chains move together: a hundred cost little more than one.

    Args:
        log_density: from (chains, d) unconstrained numbers to (chains,), up to a constant, by torch operations; each
            chain by itself. One that draws mini-batches is sampled with their noise.
        start: (chains, d), where the log density is finite; better in double precision.
        draws: of each chain.
        dynamics: with a mass of one (``plain``), or with one that the warm-up measures and freezes (``frozen``).
        inflation: of the variance along the steepest direction that the step may cause; and the noise again.
        seed: of every random draw.

    >>> import torch
    >>> from bayesgan import sample_density
    >>> def log_density(theta):  # two normal variables, with standard deviations 1 and 1000
    ...     return -0.5 * (theta / torch.tensor([1.0, 1000.0])).square().sum(1)
    >>> found = sample_density(log_density, torch.zeros(100, 2), draws=50)
    >>> found.points.shape
    torch.Size([100, 50, 2])
    >>> bool((found.points.std((0, 1)) / torch.tensor([1.0, 1000.0]) - 1).abs().max() < 0.05)
    True
    """
    if not isinstance(start, Tensor) or start.dim() != 2 or not start.is_floating_point() or not start.numel():
        raise BayesganError("start is a tensor (chains, d) of floating-point numbers.")
    if not (isinstance(draws, int) and draws > 0 and 0.0 < inflation < 1.0):
        raise BayesganError("inflation is between 0 and 1, and draws are a whole number, at least 1.")
    if dynamics not in get_args(Mass):
        raise BayesganError(f"dynamics is one of {', '.join(get_args(Mass))}.")
    _check(log_density, start)
    walk = _Walk(log_density, start, dynamics, inflation, seed)
    walk.climb()
    walk.warm_up()
    return walk.draws(draws)


def _check(log_density: LogDensity, start: Tensor) -> None:
    theta = start.detach().clone().requires_grad_()
    height = log_density(theta)
    if not isinstance(height, Tensor) or height.shape != start.shape[:1]:
        shape = tuple(height.shape) if isinstance(height, Tensor) else type(height).__name__
        raise BayesganError(f"log_density returns one number a chain, ({len(start)},), not {shape}.")
    if not height.requires_grad:
        raise BayesganError("log_density has no gradient: use torch operations on its argument alone.")
    (gradient,) = torch.autograd.grad(height.sum(), theta, materialize_grads=True)
    lost = ~(start.isfinite() & gradient.isfinite()).all(1) | ~height.isfinite()
    if lost.any():
        chain = int(lost.nonzero()[0])
        raise BayesganError(f"The log density or its gradient is not finite where chain {chain} starts: move it.")


class _Walk:
    """Chains on their way."""

    def __init__(self, log_density: LogDensity, start: Tensor, dynamics: Mass, inflation: float, seed: int) -> None:
        self.log_density = log_density
        self.frozen, self.inflation = dynamics == "frozen", inflation
        self.rng = stream(seed, "density", start.device)
        self.chains = Chains.at(start.detach().clone())
        self.mass = torch.ones_like(start[0])
        self.step, self.friction, self.curvature, self.heat = 0.0, MOST_FRICTION, 0.0, 0.0
        self.widest, self.retreats = 1.0, 0  # s²; how often a window diverged

    def normal(self) -> Tensor:
        """As many normal draws as coordinates of chains."""
        theta = self.chains.theta
        return torch.randn(theta.shape, generator=self.rng, device=theta.device, dtype=theta.dtype)

    def gradient(self, theta: Tensor) -> Tensor:
        theta = theta.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(self.log_density(theta).sum(), theta)
        return gradient

    def hessian(self, theta: Tensor) -> Callable[[Tensor], Tensor]:
        """What multiplies directions by the Hessian of the log density, chain by chain."""
        theta = theta.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(self.log_density(theta).sum(), theta, create_graph=True)
        if not gradient.requires_grad:  # linear
            return torch.zeros_like
        return lambda direction: torch.autograd.grad(
            gradient, theta, direction, retain_graph=True, materialize_grads=True
        )[0]

    def steepness(self) -> Tensor:
        """|∂²log p| of each coordinate, or its squared slope where that is far too steep for it: (chains, d)."""
        theta = self.chains.theta
        product, each = self.hessian(theta), torch.eye(theta.shape[1], dtype=theta.dtype, device=theta.device)
        diagonal = torch.stack([product(one.expand_as(theta))[:, i] for i, one in enumerate(each)], 1)
        return _positive(diagonal.abs().maximum((self.gradient(theta) / FAR).square()))

    def climb(self) -> None:
        """Go uphill by Adam, each chain in units of its own that grow as long as it gains, until none does.

        In turn these are the same for all coordinates, and as long as each is curved: neither gets out everywhere.
        """
        rates = self.mass.new_ones(2, len(self.chains.theta))
        failures = torch.zeros_like(rates)
        for phase in range(PHASES):
            theta, rate = self.chains.theta, rates[phase % 2]
            unit = rate.unsqueeze(1) * (self.steepness().rsqrt() if phase % 2 else torch.ones_like(theta))
            walked = Chains.at(torch.zeros_like(theta))
            for _ in range(PHASE):
                sghmc.adam_step(walked, unit * self.gradient(theta + unit * walked.theta), ADAM)
            there = theta + unit * walked.theta
            height, again, gain = (self.log_density(each).detach() for each in (theta, theta, there))
            gain -= height
            self.chains.theta = torch.where((gain > 0.0).unsqueeze(1), there, theta)  # not where it is NaN
            gained = gain > 1.0 + 3.0 * (again - height).abs().mean()  # more than mini-batches feign
            rate *= torch.where(gained, FASTER, SLOWER)
            failures[phase % 2] = torch.where(gained, 0.0, failures[phase % 2] + 1.0)
            if (failures >= FAILURES).all():
                return
            if not (self.chains.theta.abs() < ENDLESS).all():
                raise BayesganError("The log density grows without end: see whether it can be integrated.")

    def warm_up(self) -> None:
        """Measure mass, step and friction in windows that grow until the widest direction has been seen."""
        theta, steepness = self.chains.theta, self.steepness().mean(0)
        self.mass = steepness if self.frozen else self.mass
        self.widest = float((self.mass / steepness).max())
        self.adapt(theta.unsqueeze(0), steepness, FIRST_WINDOW)
        for window in range(WINDOWS):
            iterations = FIRST_WINDOW * 2**window
            places, slopes = self.window(iterations)
            square = _positive(slopes.square().mean((0, 1)))
            self.mass = square if self.frozen else self.mass
            spread = (places - places.mean((0, 1))) * self.mass.sqrt()
            before, self.widest = self.widest, _largest(spread.flatten(0, 1))
            self.adapt(places[:: SNAPSHOTS // 10], square, iterations)
            seen = iterations * self.friction > MEMORY
            if window > 1 and seen and before / SETTLED < self.widest < before * SETTLED:
                return
        raise BayesganError(
            f"The chains have not settled after {FIRST_WINDOW * (2**WINDOWS - 1):,} iterations: give the parameters "
            "similar scales and little correlation, transform bounded ones, or see whether the density has a finite "
            "variance."
        )

    def adapt(self, places: Tensor, square: Tensor, iterations: int) -> None:
        """Step and friction, from the Hessian and the noise at places; curvature is on average a slope's square.

        Less friction than so many iterations can show is not believed: chains that fall from afar would not calm down.
        """
        self.curvature = max(float((square / self.mass).max()), *(self.steepest(theta) for theta in places))
        share = self.inflation / (1.0 + self.inflation)  # of the largest step that has a stationary law
        noise = _largest(torch.cat([self.differences(theta) for theta in places]) * self.mass.rsqrt()) / 2.0
        step = share * 4.0 / self.curvature
        if noise > 0.0:  # α is 2 √(η/s²), or the largest
            critical = (4.0 * self.inflation / noise) ** 2 / self.widest
            step = min(step, critical, 2.0 * MOST_FRICTION * self.inflation / noise)
        critical_friction = 2.0 * math.sqrt(step / self.widest)
        self.friction = min(MOST_FRICTION, max(critical_friction, MEMORY / 4.0 / iterations))
        self.step = min(step, share * (4.0 - 2.0 * self.friction) / self.curvature)
        self.heat = self.step * noise / (2.0 * self.friction)
        self.chains.preconditioner = self.mass.rsqrt() if self.frozen else None
        self.chains.momentum = self.normal() * (self.step / self.mass).sqrt()  # as in equilibrium

    def steepest(self, theta: Tensor) -> float:
        """The largest |λ| of the Hessian in the metric of the mass, by the power method."""
        product, scale = self.hessian(theta), self.mass.rsqrt()
        direction = self.normal()
        for _ in range(POWERS):
            direction = torch.nn.functional.normalize(direction, dim=1, eps=1e-300)
            direction = product(direction * scale) * scale
        return float(direction.norm(dim=1).max())

    def differences(self, theta: Tensor) -> Tensor:
        """Of gradients at the same place: all 0 where they are exact."""
        first = self.gradient(theta) - self.gradient(theta)
        if not first.any():
            return first
        return torch.cat([first, *(self.gradient(theta) - self.gradient(theta) for _ in range(PAIRS - 1))])

    def window(self, iterations: int) -> tuple[Tensor, Tensor]:
        """Where the chains were in its second half, and the slopes there: (snapshots, chains, d)."""
        start, every = self.chains.theta.clone(), max(1, iterations // (2 * SNAPSHOTS))
        while self.retreats < RETREATS:
            seen = []
            for iteration in range(iterations):
                place = self.chains.theta.clone()
                slope = self.move()
                if iteration % every == 0:
                    if not ((place.abs() < ENDLESS) & slope.isfinite()).all():
                        break
                    seen.append((place, slope))
            else:
                places, slopes = zip(*seen[len(seen) // 2 :], strict=True)
                return torch.stack(places), torch.stack(slopes)
            self.retreats += 1
            self.step /= RETREAT
            self.chains.theta, self.chains.momentum = start.clone(), torch.zeros_like(start)
        raise BayesganError("The chains leave where the log density is finite: it has to be so for all numbers.")

    def move(self) -> Tensor:
        """One iteration of SGHMC at temperature 1, and the gradient that it took."""
        gradient = self.gradient(self.chains.theta)
        sghmc.sghmc_step(self.chains, gradient, self.step, self.friction, 1.0, sghmc.noise_seeds(self.rng, 1))
        return gradient

    def draws(self, number: int) -> Draws:
        """So many of every chain."""
        chains, thin = self.chains, math.ceil(APART / self.friction)
        points, energy = [], 0.0
        for _ in range(number):
            for _ in range(thin - 1):
                self.move()
            before = chains.momentum.clone()
            self.move()
            if not (chains.theta.abs() < ENDLESS).all():
                raise BayesganError("A chain has diverged: choose a smaller inflation.")
            energy += float(sghmc.kinetic_temperature(chains, before, self.step).mean())
            points.append(chains.theta.clone())
        measured = self.curvature, self.heat, energy / number
        return Draws(torch.stack(points, 1), self.mass, self.step, self.friction, thin, *measured)


def _largest(vectors: Tensor) -> float:
    """The largest eigenvalue of the mean of v vᵀ over vectors (n, d)."""
    return float(torch.linalg.matrix_norm(vectors, 2)) ** 2 / len(vectors)


def _positive(values: Tensor) -> Tensor:
    """What is 0 becomes as large as the largest, or 1: a coordinate without slope or curvature waits for the others."""
    largest = values.max()
    return values.where(values > 0.0, largest if largest > 0.0 else torch.ones_like(largest))
