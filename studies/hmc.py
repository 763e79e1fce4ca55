r"""Hamiltonian Monte Carlo with all data and a Metropolis correction: an oracle that shares nothing with the package.

It leaves exp(log_density) invariant whatever its step (Neal 2011, https://arxiv.org/abs/1206.1901). With momentum
p ~ N(0, I) each iteration follows the leapfrog

.. math::
    p \leftarrow p + \tfrac{\epsilon}{2}\nabla\log p(\theta),\quad \theta \leftarrow \theta + \epsilon p,\quad
    p \leftarrow p + \tfrac{\epsilon}{2}\nabla\log p(\theta)

for a drawn number of steps and accepts the end with probability min(1, exp(−ΔH)).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

LogDensity = Callable[[Tensor], Tensor]  # from (chains, d) to (chains,)

STEPS = (40, 60)  # leapfrog steps of an iteration, at least and at most, by default
ACCEPTANCE = 0.8  # wanted, while the step is found
FIRST_STEP = 0.01
SPREAD = 0.1  # of the step from iteration to iteration, so that no orbit closes


@dataclass(frozen=True)
class Found:
    """What HMC drew."""

    draws: Tensor  # (chains, draws, d)
    acceptance: float  # after the warm-up
    step: float


def hmc(
    log_density: LogDensity, start: Tensor, warm_up: int, draws: int, seed: int = 0, steps: tuple[int, int] = STEPS
) -> Found:
    """So many draws of each chain of ``start`` (chains, d), after a warm-up that finds the step."""
    rng = torch.Generator().manual_seed(seed)
    theta = start.clone()
    height, slope = _value_and_slope(log_density, theta)
    step, kept, accepted = FIRST_STEP, [], 0.0
    for iteration in range(warm_up + draws):
        own_step = step * (1.0 + SPREAD * (2.0 * float(torch.rand(1, generator=rng)) - 1.0))
        number = int(torch.randint(steps[0], steps[1] + 1, (1,), generator=rng))
        momentum = torch.randn(theta.shape, generator=rng, dtype=theta.dtype)
        energy = momentum.double().square().sum(1) / 2 - height
        place, force = theta, slope
        for _ in range(number):
            momentum = momentum + own_step / 2 * force
            place = place + own_step * momentum
            there, force = _value_and_slope(log_density, place)
            momentum = momentum + own_step / 2 * force
        gain = energy - (momentum.double().square().sum(1) / 2 - there)
        chance = torch.nan_to_num(gain, nan=-torch.inf).clamp(max=0.0).exp()
        takes = torch.rand(len(theta), generator=rng, dtype=torch.float64) < chance
        theta = torch.where(takes.unsqueeze(1), place, theta)
        slope = torch.where(takes.unsqueeze(1), force, slope)
        height = torch.where(takes, there, height)
        if iteration < warm_up:
            step *= math.exp((float(chance.mean()) - ACCEPTANCE) / math.sqrt(1 + iteration))
        else:
            accepted += float(chance.mean()) / draws
            kept.append(theta)
    return Found(torch.stack(kept, 1), accepted, step)


def _value_and_slope(log_density: LogDensity, theta: Tensor) -> tuple[Tensor, Tensor]:
    theta = theta.detach().requires_grad_()
    values = log_density(theta)
    (slope,) = torch.autograd.grad(values.sum(), theta)
    return values.detach().double(), slope
