"""How chains of a sweep move, against formulas written out for one chain at a time."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.sampler import sghmc
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.minibatches import ALL, Chosen
from bayesgan.sampler.sghmc import State
from bayesgan.settings.names import SIDES, Coupling, Dynamics, Scan, Side
from bayesgan.settings.settings import Settings
from tests.sampler.test_gan import small_gan
from tests.sampler.test_sghmc import SIGMAS
from tests.sampler.test_sweep import state_of, tensors

Gradient = Callable[..., tuple[Tensor, Tensor]]

pytestmark = pytest.mark.usefixtures("one_thread")


class OneChain:
    """A chain by itself: Adam on −log p with a count of its own, then SGHMC at temperature 0."""

    def __init__(self, settings: Settings, rate: float, theta: Tensor, data_size: int) -> None:
        self.settings, self.rate, self.data_size = settings, rate, data_size
        self.theta = theta.clone()
        self.first, self.second, self.steps = torch.zeros_like(theta), torch.zeros_like(theta), 0
        self.velocity = torch.zeros_like(theta)
        self.mass = torch.ones_like(theta)

    def _divisor(self) -> Tensor:
        """Of the gradient of one data point."""
        unbiased = self.second / (1 - self.settings.adam_betas[1] ** self.steps)
        return unbiased.sqrt() / self.data_size + self.settings.epsilon

    def adam(self, gradient: Tensor) -> None:
        beta1, beta2 = self.settings.adam_betas
        self.steps += 1
        self.first = beta1 * self.first + (1 - beta1) * gradient
        self.second = beta2 * self.second + (1 - beta2) * gradient**2
        self.theta = self.theta + self._displacement()

    def _displacement(self) -> Tensor:
        unbiased = self.first / (1 - self.settings.adam_betas[0] ** self.steps)
        return self.rate * unbiased / self.data_size / self._divisor()

    def hand_over(self) -> None:
        """A chain that Adam has not moved is at rest."""
        if self.steps == 0:
            return
        self.velocity = self._displacement()
        if self.settings.dynamics != "plain":
            self.mass = self._divisor()

    def sghmc(self, gradient: Tensor) -> None:
        alpha = self.settings.friction
        if self.settings.dynamics == "running":
            beta2 = self.settings.adam_betas[1]
            self.steps += 1
            self.second = beta2 * self.second + (1 - beta2) * gradient**2
            self.mass = self._divisor()
        eta = self.settings.step_ratio * alpha * self.rate / self.data_size
        self.velocity = (1 - alpha) * self.velocity + eta * gradient / self.mass
        self.theta = self.theta + self.velocity


class Oracle:
    """Every chain of both sides as one of :class:`OneChain`, moved by the gradients that ``gan`` finds for it."""

    def __init__(self, gan: BayesianGAN, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gan = gan
        settings = gan.settings
        rates: dict[Side, float] = {
            "generators": settings.generator_rate,
            "discriminators": settings.discriminator_rate,
        }
        self.chains = {
            side: [OneChain(settings, rates[side], theta, gan.data_size) for theta in state_of(gan, side).theta]
            for side in SIDES
        }
        self._handed_over = False
        names: dict[Side, str] = {"generators": "generator_gradient", "discriminators": "discriminator_gradient"}
        for side, name in names.items():
            monkeypatch.setattr(gan, name, self._watched(side, getattr(gan, name)))

    def _watched(self, side: Side, original: Gradient) -> Gradient:
        def watch(*arguments: Any, moving: Chosen = ALL) -> tuple[Tensor, Tensor]:
            sampling = self.gan.iteration > self.gan.settings.burn_in
            if sampling and not self._handed_over:
                self._handed_over = True
                for chain in itertools.chain(*self.chains.values()):
                    chain.hand_over()
                self.compare(velocities=True)
            gradient, log_p = original(*arguments, moving=moving)
            numbers = self.gan.rows(torch.arange(len(self.chains[side])), moving).tolist()
            for number, row in zip(numbers, gradient, strict=True):
                chain = self.chains[side][number]
                chain.sghmc(row) if sampling else chain.adam(row)
            return gradient, log_p

        return watch

    def compare(self, velocities: bool) -> None:
        for side in SIDES:
            state = state_of(self.gan, side)
            chains = self.chains[side]
            close(state.theta, torch.stack([chain.theta for chain in chains]))
            close(state.second_moment, torch.stack([chain.second for chain in chains]))
            assert state.adam_steps.tolist() == [chain.steps for chain in chains]
            if not velocities:
                close(state.momentum, -torch.stack([chain.first for chain in chains]))
                continue
            close(state.momentum, torch.stack([chain.velocity for chain in chains]))
            if self.gan.settings.dynamics == "frozen":
                assert state.preconditioner is not None
                close(state.preconditioner, torch.stack([chain.mass for chain in chains]).rsqrt())


def close(ours: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["plain", "frozen", "running"])
@pytest.mark.parametrize("scan", ["in-turn", "random"])
@pytest.mark.parametrize("coupling", ["algorithm1", "all"])
def test_a_chain_that_moves_makes_the_move_of_a_chain_by_itself(
    kind: Dynamics, scan: Scan, coupling: Coupling, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the burn-in, the hand-over and at temperature 0; 14 iterations in parts of 3 leave counts that differ."""
    gan = small_gan(
        generators=7,
        discriminators=4,
        replicas=2,
        coupling=coupling,
        sweep=3,
        scan=scan,
        faced=2,
        dynamics=kind,
        temperature=0.0,
        schedule="constant",
        generator_rate=0.02,
        discriminator_rate=0.03,
        adam_betas=(0.5, 0.9),
        burn_in=14,
        iterations=30,
    )
    oracle = Oracle(gan, monkeypatch)
    for iteration in range(1, 31):
        gan.iterate()
        oracle.compare(velocities=iteration > 14)
        if iteration == 14:
            assert all(len(set(state_of(gan, side).adam_steps.tolist())) > 1 for side in SIDES)


@pytest.mark.parametrize("kind", ["plain", "frozen", "running"])
def test_the_hand_over_of_each_chain_is_that_of_a_population_of_one(kind: Dynamics) -> None:
    """Seven iterations of a sweep of five: generators with two steps of Adam and with one."""
    gan = small_gan(generators=10, discriminators=2, sweep=5, burn_in=7, dynamics=kind, iterations=20)
    for _ in range(7):
        gan.iterate()
    assert gan.generators.adam_steps.tolist() == [2] * 4 + [1] * 6
    assert gan.discriminators.adam_steps.tolist() == [4, 3]
    settings = gan.settings
    rates: dict[Side, float] = {"generators": settings.generator_rate, "discriminators": settings.discriminator_rate}
    for side, rate in rates.items():
        state = state_of(gan, side)
        adam = sghmc.Adam(rate, settings.adam_betas, settings.epsilon, gan.data_size)
        alone = []
        for number in range(len(state.theta)):
            values = {name: tensor[number : number + 1] for name, tensor in tensors(state).items()}
            alone.append(State(**values))
            sghmc.hand_over(alone[-1], kind, adam)
        sghmc.hand_over(state, kind, adam)
        assert not torch.equal(state.momentum, torch.zeros_like(state.momentum))
        for name, tensor in tensors(state).items():
            assert torch.equal(tensor, torch.cat([getattr(each, name) for each in alone])), name
        assert (state.preconditioner is None) == (kind == "plain")


@pytest.mark.parametrize("kind", ["plain", "frozen", "running"])
def test_a_burn_in_shorter_than_the_sweep_is_refused_or_handed_over_chain_by_chain(
    kind: Dynamics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chains that Adam has not moved have no mass; those that it has moved must not keep its moments for a velocity."""
    values: dict[str, Any] = {"generators": 10, "discriminators": 2, "sweep": 5, "burn_in": 3, "iterations": 20}
    try:
        gan = small_gan(**values, dynamics=kind, temperature=0.0, schedule="constant")
        oracle = Oracle(gan, monkeypatch)
        for _ in range(5):
            gan.iterate()
    except BayesganError:
        return
    settings, chains = gan.settings, oracle.chains["generators"]
    assert settings.dynamics == "plain"  # nothing else has a mass to give to a chain that has not moved
    oracle.compare(velocities=True)
    assert [chain.steps for chain in chains] == [1] * 6 + [0] * 4


def test_a_random_scan_that_has_left_out_a_chain_is_refused_or_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing forbids that a part is not drawn in the whole burn-in."""
    gan = small_gan(generators=4, discriminators=4, sweep=4, scan="random", burn_in=8, iterations=20)
    parts = iter([0, 1] * 8)  # of four
    rest = itertools.repeat(slice(3, 4))

    def moving(side: Side) -> Chosen:
        part = next(parts, None)
        return next(rest) if part is None else slice(part, part + 1)

    monkeypatch.setattr(gan, "moving", moving)
    for _ in range(8):
        gan.iterate()
    before = tensors(gan.generators)
    assert before["adam_steps"].tolist() == [8, 0, 0, 0]
    try:
        gan.iterate()
    except BayesganError:
        return
    adam = sghmc.Adam(gan.settings.generator_rate, gan.settings.adam_betas, gan.settings.epsilon, gan.data_size)
    alone = State(**{name: tensor[:1] for name, tensor in before.items()})
    sghmc.hand_over(alone, "frozen", adam)
    close(gan.generators.momentum[:1], alone.momentum)


@pytest.mark.parametrize("coupling", ["algorithm1", "all"])
def test_the_noise_of_chains_that_move_is_each_ones_own(coupling: Coupling, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a gradient and from rest, the first step is the noise N(0, 2αηT M⁻¹)."""
    values: dict[str, Any] = {"generators": 6, "replicas": 3, "coupling": coupling, "sweep": 3, "burn_in": 0}
    gan = small_gan(**values, dynamics="plain", temperature=0.7, schedule="constant")
    gradient = torch.zeros_like(gan.generators.theta)
    monkeypatch.setattr(
        gan, "generator_gradient", lambda moving: (gan.rows(gradient, moving), gan.rows(gradient[:, 0], moving))
    )
    for _ in range(3):
        gan.iterate()
    steps = gan.generators.momentum
    assert len(steps.unique(dim=0)) == len(steps) == 18
    eta = gan.settings.step_ratio * 0.5 * gan.settings.generator_rate / gan.data_size
    expected = 2 * 0.5 * eta * 0.7
    error = SIGMAS * math.sqrt(2 / steps.numel())
    assert steps.square().mean().item() == pytest.approx(expected, rel=error)


def test_the_running_mass_of_the_population_is_that_of_its_chains() -> None:
    """What the gradient noise is measured with and what a checkpoint stores."""
    gan = small_gan(generators=4, sweep=2, burn_in=5, dynamics="running", iterations=30)
    for _ in range(12):
        gan.iterate()
    settings = gan.settings
    adam = sghmc.Adam(settings.generator_rate, settings.adam_betas, settings.epsilon, gan.data_size)
    assert gan.generators.preconditioner is not None
    close(gan.generators.preconditioner, sghmc.mass(gan.generators, adam).rsqrt())
