r"""How a population of weight vectors moves: an Adam burn-in, then stochastic gradient Hamiltonian Monte Carlo.

Algorithm 1's update, velocity first and then weights, with a diagonal mass M (Chen et al. 2014, Eq. 15,
https://arxiv.org/abs/1402.4102):

.. math::
    v &\leftarrow (1-\alpha)\,v + \eta\,M^{-1}\,\nabla\log p(\theta) + n, \qquad
        n \sim \mathcal{N}(0,\ 2\alpha\eta T M^{-1}) \\
    \theta &\leftarrow \theta + v

For a Gaussian target with curvature λ (in the metric of M) the stationary variance of this discretisation is
:math:`\frac{T}{\lambda}\cdot\frac{4-2\alpha}{4-2\alpha-\eta\lambda}`. What its temperatures read:
:func:`kinetic_temperature`, :func:`configurational_temperature`.

``log p`` is the full-data density. The mass is in units of one data point, :math:`M = \sqrt{\hat v}/N + \epsilon`
with :math:`\hat v` Adam's bias-corrected second moment of the full-data gradient; only :math:`\eta M^{-1}` enters
the update, so this choice of units only gives the paper's :math:`\eta = \gamma/d` its meaning: with
:math:`\gamma = \alpha\,\times` Adam's learning rate, α = 1 − β₁ and T = 0 the sampler continues Adam with its
scaling frozen.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.optim.adam import adam

from bayesgan.base.errors import BayesganError
from bayesgan.settings.names import Dynamics, Schedule

WARM_UP = 0.1  # of all iterations, in which linear steps rise
CALM = 0.2  # ηλ/M along the prior, at most: it widens the prior by 5 to 7 %
YOUNG = 10  # steps: a moving average over fewer of them is of all there are


class Adam(NamedTuple):
    """The settings of the burn-in. ``epsilon`` is added to the root mean square gradient of one data point."""

    rate: float
    betas: tuple[float, float]
    epsilon: float
    data_size: int
    least_mass: Tensor | float = 0.0  # of each weight, once it is sampled


@dataclass
class Chains:
    """One population: flat (chains, weights) tensors and a counter. Updates work in place.

    ``momentum`` is Adam's first moment (of −∇log p) during the burn-in, the velocity after it.
    ``second_moment`` is Adam's running second moment; after the hand-over it stays as it was (``frozen``) or goes
    on running (``running``).
    """

    theta: Tensor
    momentum: Tensor
    second_moment: Tensor
    adam_steps: Tensor  # (chains,)
    preconditioner: Tensor | None = None  # M^{-1/2}, None where M = 1
    average: Tensor | None = None  # of the weights along the way, moving; None where it is not kept
    pace: Tensor | None = None  # (chains,): times the step of the settings, found at the hand-over; None: once

    @classmethod
    def at(cls, theta: Tensor, averaged: bool = False) -> "Chains":
        """At rest at ``theta``."""
        steps, average = torch.zeros(len(theta), device=theta.device), theta.clone() if averaged else None
        return cls(theta, torch.zeros_like(theta), torch.zeros_like(theta), steps, average=average)

    def rows(self, chosen: slice) -> "Chains":
        """Some of the chains, as views: what moves them moves the population."""
        others = (None if each is None else each[chosen] for each in (self.preconditioner, self.average, self.pace))
        moments = self.momentum[chosen], self.second_moment[chosen]
        return Chains(self.theta[chosen], *moments, self.adam_steps[chosen], *others)


def adam_step(chains: Chains, gradient: Tensor, settings: Adam) -> None:
    """One ascent step of Adam on log p, as torch's Adam would take on the mean loss.

    All chains of ``chains`` have taken the same number of steps.
    """
    steps = chains.adam_steps[0].clone()
    adam(
        [chains.theta],
        [gradient],
        [chains.momentum],
        [chains.second_moment],
        [],
        [steps],
        fused=True,
        amsgrad=False,
        beta1=settings.betas[0],
        beta2=settings.betas[1],
        lr=settings.rate,
        weight_decay=0.0,
        eps=settings.epsilon * settings.data_size,
        maximize=True,
    )
    chains.adam_steps.fill_(steps)


def update_average(chains: Chains, decay: float, step: int) -> None:
    r"""Let the average follow the weights, :math:`\bar\theta \leftarrow \beta\bar\theta + (1-\beta)\theta`.

    At the start β is smaller, (1 + step)/(10 + step), ``step`` the iteration: the first weights are soon forgotten.
    """
    if chains.average is not None:
        chains.average.lerp_(chains.theta, 1.0 - min(decay, (1 + step) / (YOUNG + step)))


def _correction(chains: Chains, beta: float) -> Tensor:
    """1 − βᵗ of each chain, (chains, 1), in double precision: what makes a running mean over its t steps unbiased."""
    return (1.0 - beta ** chains.adam_steps.double()).unsqueeze(1)


def mass(chains: Chains, settings: Adam) -> Tensor:
    r"""M = √v̂ / N + ε, the diagonal by which Adam divides, in units of one data point."""
    correction = _correction(chains, settings.betas[1]).to(chains.theta.dtype)
    return (chains.second_moment / correction).sqrt_().div_(settings.data_size).add_(settings.epsilon)


def least_mass(step_size: float, precision: Tensor | None) -> Tensor | float:
    r"""The mass with which ηλ/M stays at ``CALM`` along a prior of curvature λ, its ``precision``; η is ``step_size``.

    Adam's mass knows how steep the likelihood is. Where a prior is steeper, a step without this would pass the bound
    ηλ/M < 4 − 2α beyond which the discretisation has no stationary law.
    """
    return 0.0 if precision is None else precision * (step_size / CALM)


def hand_over(chains: Chains, dynamics: Dynamics, settings: Adam, precision: Tensor | None = None) -> None:
    """End the burn-in: Adam's last displacement becomes the velocity and its scaling the mass.

    With ``plain`` dynamics the mass is 1, with ``prior`` that of the prior, its ``precision`` for each data point.
    Without a burn-in there is nothing to hand over: the chains start at rest.
    """
    if dynamics == "prior" and precision is not None and len(chains.theta) > 0:
        chains.preconditioner = (precision / settings.data_size).rsqrt().expand_as(chains.theta).contiguous()
    moved = chains.adam_steps > 0
    if not moved.any():
        return
    if not moved.all():
        raise BayesganError("A chain has not moved in the whole burn-in: raise burn_in or chain_batch.")
    correction = _correction(chains, settings.betas[0])
    adam_mass = mass(chains, settings)
    # torch's Adam ascends by descending on −log p: its first moment points downhill.
    scale = -settings.rate / (correction * settings.data_size)
    chains.momentum.mul_(scale.to(chains.theta.dtype)).div_(adam_mass)
    if dynamics in ("frozen", "running"):
        chains.preconditioner = adam_mass.clamp_(min=settings.least_mass).rsqrt_()


def noise_seeds(rng: torch.Generator, number: int) -> Tensor:
    """Seeds for :func:`white_noise`."""
    return torch.randint(2**63 - 1, (number,), generator=rng, device=rng.device)


def white_noise(like: Tensor, deviation: float, seeds: Tensor) -> Tensor:
    """Normal draws with standard ``deviation`` of the shape of ``like``, (chains, weights).

    The chains are cut into as many parts as there are seeds. On a CPU torch draws with one thread, which would take a
    quarter of an iteration: here the parts are filled side by side. With a seed for each chain the bits depend neither
    on the threads nor on which chains are drawn together.
    """
    noise = torch.empty_like(like)
    parts = noise.tensor_split(len(seeds))
    streams = [torch.Generator(like.device).manual_seed(seed) for seed in seeds.tolist()]
    if len(streams) == 1 or torch.get_num_threads() == 1:  # a pool of threads would cost more than it gives
        for part, each in zip(parts, streams, strict=True):
            part.normal_(std=deviation, generator=each)
        return noise
    with ThreadPoolExecutor(torch.get_num_threads()) as threads:
        list(threads.map(lambda part, each: part.normal_(std=deviation, generator=each), parts, streams))
    return noise


def sghmc_step(
    chains: Chains, gradient: Tensor, step_size: float, friction: float, temperature: float, seeds: Tensor
) -> None:
    """One update of the velocity and the weights, in place (the module's docstring has the formula).

    ``seeds`` are those of the noise (:func:`white_noise`).
    """
    if temperature > 0:
        push = white_noise(chains.theta, math.sqrt(2.0 * friction * step_size * temperature), seeds)
    else:
        push = torch.zeros_like(chains.theta)
    chains.momentum.mul_(1.0 - friction)
    if chains.preconditioner is None:
        chains.momentum.add_(push.add_(gradient, alpha=step_size))
    else:  # M^{-1/2} (√(2αηT) ξ + η M^{-1/2} ∇log p): both terms with one more pass
        push.addcmul_(chains.preconditioner, gradient, value=step_size)
        chains.momentum.addcmul_(chains.preconditioner, push)
    chains.theta.add_(chains.momentum)


def kinetic_temperature(chains: Chains, before: Tensor, step_size: float) -> Tensor:
    r"""The temperature that each chain moves with, (chains,): the mean over weights of :math:`M\bar v^2/\eta`.

    :math:`\bar v = (v_t + v_{t+1})/2` is the velocity in the middle of the last step, which ``before`` (v_t) comes to.
    For a Gaussian target with :math:`k = \eta\lambda/M`, the second moments of :math:`(\theta_t, v_t)` that the update
    leaves as they are, in units of :math:`\eta T/M`, are

    .. math::
        \mathrm{E}\,v^2 = \frac{4}{4-2\alpha-k}, \qquad
        \mathrm{E}\,v_t v_{t+1} = \Big(1-\alpha-\frac{k}{2}\Big)\,\mathrm{E}\,v^2, \qquad
        \mathrm{E}\,\bar v^2 = \frac{4-2\alpha-k}{4}\,\mathrm{E}\,v^2 = 1.

    So it is T for every step, curvature and friction (at either end of a step it is not). Gradient noise adds the mean
    of β̂/α (:func:`gradient_noise_over_friction`). η is that of the step: where η changes by much from one step to the
    next, as in the very last of linear ones, the figure is off.
    """
    middle = before + chains.momentum
    if chains.preconditioner is not None:
        middle.div_(chains.preconditioner)
    return middle.square_().mean(1) / (4.0 * step_size)


def configurational_temperature(theta: Tensor, gradient: Tensor) -> Tensor:
    r"""The temperature of where each chain is, (chains,): :math:`-\theta\cdot\nabla\log p(\theta)/d`.

    Integration by parts: under :math:`\exp(\log p/T)` its expectation is T, whatever the density, and a stochastic
    ``gradient`` leaves it unbiased. It is negative where weights are driven outwards. Of a Gaussian target the
    discretised dynamics read :math:`T\,\frac{4-2\alpha}{4-2\alpha-k}`, :math:`k = \eta\lambda/M`.
    """
    return torch.linalg.vecdot(theta, gradient) / -theta.shape[1]


def update_running_mass(chains: Chains, gradient: Tensor, settings: Adam) -> None:
    """Let the mass follow the gradient (``running``).

    The correction term for a position-dependent mass is left out, as in every RMS-preconditioned sampler in use:
    the stationary law is only approximately the posterior.
    """
    beta2 = settings.betas[1]
    chains.second_moment.mul_(beta2).addcmul_(gradient, gradient, value=1.0 - beta2)
    chains.adam_steps.add_(1)
    preconditioner = mass(chains, settings).clamp_(min=settings.least_mass).rsqrt_()
    if chains.preconditioner is None:
        chains.preconditioner = preconditioner
    else:  # in place: the chains may be a view of some chains
        chains.preconditioner.copy_(preconditioner)


def step_size(schedule: Schedule, gamma: float, data_size: int, seen: int, progress: float, cycles: int) -> float:
    r"""η of one sampling iteration.

    - ``per-datum``: γ/d, d the number of unique data points seen so far (Section 3), so γ/N in the limit;
    - ``constant``: γ/N;
    - ``cyclical``: γ/N times ½(1 + cos π r), r the position within one of ``cycles`` equal cycles
      (Zhang et al. 2020, https://arxiv.org/abs/1902.03932);
    - ``linear``: γ/N times a factor that rises from 0 to 1 in the first tenth and falls back to 0 in the rest.

    ``progress`` is the share of the sampling iterations already done, in [0, 1); ``linear``: of all iterations.
    """
    if schedule == "per-datum":
        return gamma / seen
    if schedule == "constant":
        return gamma / data_size
    if schedule == "linear":
        return gamma / data_size * min(progress / WARM_UP, (1.0 - progress) / (1.0 - WARM_UP))
    return gamma / data_size * 0.5 * (1.0 + math.cos(math.pi * (progress * cycles % 1.0)))


def gradient_noise_over_friction(chains: Chains, difference: Tensor, step_size: float, friction: float) -> Tensor:
    r"""β̂/α of each weight, (weights,), the mean over chains: the paper assumes that the friction dominates it.

    ``difference`` is that of two independent stochastic gradients at the same weights: half its square is an unbiased
    estimate of the gradient's variance V. The gradient noise adds η² M⁻² V to the velocity's variance, as a friction
    of :math:`\hat\beta = \eta V / (2M)` would at temperature 1.
    """
    if chains.preconditioner is not None:
        difference = difference * chains.preconditioner
    return difference.square().mul_(step_size / (4.0 * friction)).mean(0)  # over chains, each an estimate of one
