r"""How a population of weight vectors moves: an Adam burn-in, then stochastic gradient Hamiltonian Monte Carlo.

Algorithm 1's update, velocity first and then weights, with a diagonal mass M (Chen et al. 2014, Eq. 15,
https://arxiv.org/abs/1402.4102):

.. math::
    v &\leftarrow (1-\alpha)\,v + \eta\,M^{-1}\,\nabla\log p(\theta) + n, \qquad
        n \sim \mathcal{N}(0,\ 2\alpha\eta T M^{-1}) \\
    \theta &\leftarrow \theta + v

For a Gaussian target with curvature λ (in the metric of M) the stationary variance of this discretisation is
:math:`\frac{T}{\lambda}\cdot\frac{4-2\alpha}{4-2\alpha-\eta\lambda}`.

``log p`` is the full-data density. The mass is in units of one data point, :math:`M = \sqrt{\hat v}/N + \epsilon`
with :math:`\hat v` Adam's bias-corrected second moment of the full-data gradient; only :math:`\eta M^{-1}` enters
the update, so this choice of units only gives the paper's :math:`\eta = \gamma/d` its meaning: with
:math:`\gamma = \alpha\,\times` Adam's learning rate, α = 1 − β₁ and T = 0 the sampler continues Adam with its
scaling frozen.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.optim.adam import adam

Dynamics = Literal["plain", "frozen", "running", "adam"]
Schedule = Literal["per-datum", "constant", "cyclical"]

NOISE_BLOCKS = 10


class Adam(NamedTuple):
    """The settings of the burn-in. ``epsilon`` is added to the root mean square gradient of one data point."""

    rate: float
    betas: tuple[float, float]
    epsilon: float
    data_size: int


@dataclass
class State:
    """One population: flat (chains, weights) tensors and a counter. Updates work in place.

    ``momentum`` is Adam's first moment (of −∇log p) during the burn-in, the velocity after it.
    ``second_moment`` is Adam's running second moment; after the hand-over it stays as it was (``frozen``) or goes
    on running (``running``).
    """

    theta: Tensor
    momentum: Tensor
    second_moment: Tensor
    adam_steps: Tensor  # a 0-d float tensor, as torch's Adam keeps it
    preconditioner: Tensor | None = None  # M^{-1/2}, None where M = 1

    @classmethod
    def at(cls, theta: Tensor) -> "State":
        """At rest at ``theta``."""
        return cls(theta, torch.zeros_like(theta), torch.zeros_like(theta), torch.zeros((), device=theta.device))

    def repeated(self, copies: int) -> "State":
        """The same population ``copies`` times over: (copies · chains, weights)."""
        if copies == 1:
            return self
        preconditioner = None if self.preconditioner is None else self.preconditioner.repeat(copies, 1)
        return State(
            self.theta.repeat(copies, 1),
            self.momentum.repeat(copies, 1),
            self.second_moment.repeat(copies, 1),
            self.adam_steps,
            preconditioner,
        )


def adam_step(state: State, gradient: Tensor, settings: Adam) -> None:
    """One ascent step of Adam on log p, as torch's Adam would take on the mean loss."""
    adam(
        [state.theta],
        [gradient],
        [state.momentum],
        [state.second_moment],
        [],
        [state.adam_steps],
        fused=True,
        amsgrad=False,
        beta1=settings.betas[0],
        beta2=settings.betas[1],
        lr=settings.rate,
        weight_decay=0.0,
        eps=settings.epsilon * settings.data_size,
        maximize=True,
    )


def mass(state: State, settings: Adam) -> Tensor:
    r"""M = √v̂ / N + ε, the diagonal by which Adam divides, in units of one data point."""
    correction = 1.0 - settings.betas[1] ** state.adam_steps.item()
    return (state.second_moment / correction).sqrt_().div_(settings.data_size).add_(settings.epsilon)


def hand_over(state: State, dynamics: Dynamics, settings: Adam) -> None:
    """End the burn-in: Adam's last displacement becomes the velocity and, unless ``plain``, its scaling the mass.

    Without a burn-in there is nothing to hand over: the chains start at rest.
    """
    if state.adam_steps.item() == 0:
        return
    correction = 1.0 - settings.betas[0] ** state.adam_steps.item()
    adam_mass = mass(state, settings)
    # torch's Adam ascends by descending on −log p: its first moment points downhill.
    state.momentum.mul_(-settings.rate / (correction * settings.data_size)).div_(adam_mass)
    if dynamics != "plain":
        state.preconditioner = adam_mass.rsqrt_()


def white_noise(like: Tensor, deviation: float, rng: torch.Generator) -> Tensor:
    """Normal draws with standard ``deviation`` of the shape of ``like``, (chains, weights).

    On a CPU torch draws with one thread, which would take a quarter of an iteration: there each block of chains has
    a stream of its own, seeded from ``rng``, and blocks are filled side by side. The bits do not depend on the threads.
    """
    noise = torch.empty_like(like)
    if like.device.type != "cpu":
        return noise.normal_(std=deviation, generator=rng)
    blocks = noise.chunk(NOISE_BLOCKS)
    seeds = torch.randint(2**63 - 1, (len(blocks),), generator=rng).tolist()
    streams = [torch.Generator().manual_seed(seed) for seed in seeds]
    with ThreadPoolExecutor(torch.get_num_threads()) as threads:
        list(threads.map(lambda block, stream: block.normal_(std=deviation, generator=stream), blocks, streams))
    return noise


def sghmc_step(
    state: State, gradient: Tensor, step_size: float, friction: float, temperature: float, rng: torch.Generator
) -> None:
    """One update of the velocity and the weights, in place (the module's docstring has the formula)."""
    if temperature > 0:
        push = white_noise(state.theta, math.sqrt(2.0 * friction * step_size * temperature), rng)
    else:
        push = torch.zeros_like(state.theta)
    state.momentum.mul_(1.0 - friction)
    if state.preconditioner is None:
        state.momentum.add_(push.add_(gradient, alpha=step_size))
    else:  # M^{-1/2} (√(2αηT) ξ + η M^{-1/2} ∇log p): both terms with one more pass
        push.addcmul_(state.preconditioner, gradient, value=step_size)
        state.momentum.addcmul_(state.preconditioner, push)
    state.theta.add_(state.momentum)


def update_running_mass(state: State, gradient: Tensor, settings: Adam) -> None:
    """Let the mass follow the gradient (``running``).

    The correction term for a position-dependent mass is left out, as in every RMS-preconditioned sampler in use:
    the stationary law is only approximately the posterior.
    """
    beta2 = settings.betas[1]
    state.second_moment.mul_(beta2).addcmul_(gradient, gradient, value=1.0 - beta2)
    state.adam_steps.add_(1)
    state.preconditioner = mass(state, settings).rsqrt_()


def step_size(schedule: Schedule, gamma: float, data_size: int, seen: int, progress: float, cycles: int) -> float:
    r"""η of one sampling iteration.

    - ``per-datum``: γ/d, d the number of unique data points seen so far (Section 3), so γ/N in the limit;
    - ``constant``: γ/N;
    - ``cyclical``: γ/N times ½(1 + cos π r), r the position within one of ``cycles`` equal cycles
      (Zhang et al. 2020, https://arxiv.org/abs/1902.03932).

    ``progress`` is the share of the sampling iterations already done, in [0, 1).
    """
    if schedule == "per-datum":
        return gamma / seen
    if schedule == "constant":
        return gamma / data_size
    return gamma / data_size * 0.5 * (1.0 + math.cos(math.pi * (progress * cycles % 1.0)))


def gradient_noise_over_friction(
    state: State, difference: Tensor, step_size: float, friction: float
) -> dict[str, float]:
    r"""β̂/α, the mean and the largest over weights: the paper assumes that the friction dominates it.

    ``difference`` is that of two independent stochastic gradients at the same weights: half its square is an unbiased
    estimate of the gradient's variance V. The gradient noise adds η² M⁻² V to the velocity's variance, as a friction
    of :math:`\hat\beta = \eta V / (2M)` would at temperature 1.
    """
    if state.preconditioner is not None:
        difference = difference * state.preconditioner
    ratio = difference.square().mul_(step_size / (4.0 * friction)).mean(0)  # over chains, each an estimate of one
    return {"mean": ratio.mean().item(), "max": ratio.max().item()}
