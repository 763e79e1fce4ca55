"""How chains move, against formulas written out for one chain at a time."""

import itertools
import math
import statistics
from typing import Any

import pytest
import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.sampler import sghmc
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.gradients import Gradient
from bayesgan.sampler.sghmc import Chains
from bayesgan.sampler.state import State
from bayesgan.settings.names import SIDES, Coupling, Dynamics, Side
from bayesgan.settings.settings import Settings
from tests.helpers.gradients import tensors
from tests.helpers.laws import SIGMAS
from tests.helpers.unlabelled import small_gan

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
        unbiased = self.second / (1 - self.settings.sampler.adam_betas[1] ** self.steps)
        return unbiased.sqrt() / self.data_size + self.settings.sampler.epsilon

    def adam(self, gradient: Tensor) -> None:
        beta1, beta2 = self.settings.sampler.adam_betas
        self.steps += 1
        self.first = beta1 * self.first + (1 - beta1) * gradient
        self.second = beta2 * self.second + (1 - beta2) * gradient**2
        self.theta = self.theta + self._displacement()

    def _displacement(self) -> Tensor:
        unbiased = self.first / (1 - self.settings.sampler.adam_betas[0] ** self.steps)
        return self.rate * unbiased / self.data_size / self._divisor()

    def hand_over(self) -> None:
        """A chain that Adam has not moved is at rest."""
        if self.steps == 0:
            return
        self.velocity = self._displacement()
        if self.settings.sampler.dynamics != "plain":
            self.mass = self._mass()

    def _mass(self) -> Tensor:
        """Adam's divisor, or where it is more, five times what a step does along the prior, N(0, 1)."""
        eta = self.settings.sampler.step_ratio * self.settings.sampler.friction * self.rate / self.data_size
        return self._divisor().clamp(min=5.0 * eta)

    def sghmc(self, gradient: Tensor) -> None:
        alpha = self.settings.sampler.friction
        if self.settings.sampler.dynamics == "running":
            beta2 = self.settings.sampler.adam_betas[1]
            self.steps += 1
            self.second = beta2 * self.second + (1 - beta2) * gradient**2
            self.mass = self._mass()
        eta = self.settings.sampler.step_ratio * alpha * self.rate / self.data_size
        self.velocity = (1 - alpha) * self.velocity + eta * gradient / self.mass
        self.theta = self.theta + self.velocity


class Oracle:
    """Every chain of both sides as one of :class:`OneChain`, moved by the gradients that ``gan`` finds for it."""

    def __init__(self, gan: BayesianGAN) -> None:
        self.gan = gan
        rate, size = gan.settings.sampler.rate, gan.batches.size
        self.chains = {
            side: [OneChain(gan.settings, rate(side), theta, size) for theta in gan.state.of(side).theta]
            for side in SIDES
        }
        self._handed_over = False
        for side in SIDES:
            gan.update[side] = self._watched(side, gan.update[side])

    def _watched(self, side: Side, original: Any) -> Any:
        oracle = self

        class Watching:
            hand_over, step_size = original.hand_over, original.step_size

            def __call__(self, state: State, gradient: Gradient) -> None:
                oracle._follow(side, gradient, state.iteration)
                original(state, gradient)

        return Watching()

    def _follow(self, side: Side, gradient: Gradient, iteration: int) -> None:
        sampling = iteration > self.gan.settings.length.burn_in
        if sampling and not self._handed_over:
            self._handed_over = True
            for chain in itertools.chain(*self.chains.values()):
                chain.hand_over()
            self.compare(velocities=True)
        numbers = self.gan.members.rows(torch.arange(len(self.chains[side])), gradient.moving).tolist()
        for number, row in zip(numbers, gradient.values, strict=True):
            chain = self.chains[side][number]
            chain.sghmc(row) if sampling else chain.adam(row)

    def compare(self, velocities: bool) -> None:
        for side in SIDES:
            state = self.gan.state.of(side)
            chains = self.chains[side]
            close(state.theta, torch.stack([chain.theta for chain in chains]))
            close(state.second_moment, torch.stack([chain.second for chain in chains]))
            assert state.adam_steps.tolist() == [chain.steps for chain in chains]
            if not velocities:
                close(state.momentum, -torch.stack([chain.first for chain in chains]))
                continue
            close(state.momentum, torch.stack([chain.velocity for chain in chains]))
            if self.gan.settings.sampler.dynamics == "frozen":
                assert state.preconditioner is not None
                close(state.preconditioner, torch.stack([chain.mass for chain in chains]).rsqrt())


def close(ours: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["plain", "frozen", "running"])
@pytest.mark.parametrize("coupling", ["algorithm1", "all"])
def test_a_chain_that_moves_makes_the_move_of_a_chain_by_itself(kind: Dynamics, coupling: Coupling) -> None:
    """Through the burn-in, the hand-over and at temperature 0; 13 iterations in parts leave counts that differ."""
    gan = small_gan(
        generators=7,
        discriminators=4,
        replicas=2,
        coupling=coupling,
        chain_batch=3,
        dynamics=kind,
        temperature=0.0,
        schedule="constant",
        generator_rate=0.02,
        discriminator_rate=0.03,
        adam_betas=(0.5, 0.9),
        burn_in=13,
        iterations=30,
    )
    oracle = Oracle(gan)
    for iteration in range(1, 31):
        gan.iterate()
        oracle.compare(velocities=iteration > 13)
        if iteration == 13:
            assert all(len(set(gan.state.of(side).adam_steps.tolist())) > 1 for side in SIDES)


@pytest.mark.parametrize("kind", ["plain", "frozen", "running"])
def test_the_hand_over_of_each_chain_is_that_of_a_population_of_one(kind: Dynamics) -> None:
    """Seven iterations of five parts: generators with two steps of Adam and with one."""
    gan = small_gan(generators=10, discriminators=2, chain_batch=2, burn_in=7, dynamics=kind, iterations=20)
    for _ in range(7):
        gan.iterate()
    assert gan.state.generators.adam_steps.tolist() == [2] * 4 + [1] * 6
    assert gan.state.discriminators.adam_steps.tolist() == [7, 7]
    settings = gan.settings
    rates: dict[Side, float] = {
        "generators": settings.sampler.generator_rate,
        "discriminators": settings.sampler.discriminator_rate,
    }
    for side, rate in rates.items():
        state = gan.state.of(side)
        adam = sghmc.Adam(rate, settings.sampler.adam_betas, settings.sampler.epsilon, gan.batches.size)
        alone = []
        for number in range(len(state.theta)):
            values = {name: tensor[number : number + 1] for name, tensor in tensors(state).items()}
            alone.append(Chains(**values))
            sghmc.hand_over(alone[-1], kind, adam)
        sghmc.hand_over(state, kind, adam)
        assert not torch.equal(state.momentum, torch.zeros_like(state.momentum))
        for name, tensor in tensors(state).items():
            assert torch.equal(tensor, torch.cat([getattr(each, name) for each in alone])), name
        assert (state.preconditioner is None) == (kind == "plain")


@pytest.mark.parametrize("kind", ["plain", "frozen", "running"])
def test_a_burn_in_that_does_not_move_every_chain_is_refused(kind: Dynamics) -> None:
    """Chains that Adam has not moved have no mass."""
    values: dict[str, Any] = {"generators": 10, "discriminators": 2, "chain_batch": 2, "dynamics": kind}
    with pytest.raises(BayesganError, match="A burn-in of 4 iterations does not move every chain, which takes 5"):
        small_gan(**values, burn_in=4, iterations=20)
    small_gan(**values, burn_in=5, iterations=20)


@pytest.mark.parametrize("coupling", ["algorithm1", "all"])
def test_the_noise_of_chains_that_move_is_each_ones_own(coupling: Coupling) -> None:
    """Without a gradient and from rest, the first step is the noise N(0, 2αηT M⁻¹)."""
    values: dict[str, Any] = {"generators": 6, "replicas": 3, "coupling": coupling, "chain_batch": 2, "burn_in": 0}
    gan = small_gan(**values, dynamics="plain", temperature=0.7, schedule="constant")
    for _ in range(gan.settings.populations.turns):
        gan.state.iteration += 1
        found = gan.gradients.of_generators(gan.state, gan.batches.for_generators(gan.state))
        gan.update["generators"](gan.state, found._replace(values=torch.zeros_like(found.values)))
    steps = gan.state.generators.momentum
    assert len(steps.unique(dim=0)) == len(steps) == 18
    eta = gan.settings.sampler.step_ratio * 0.5 * gan.settings.sampler.generator_rate / gan.batches.size
    expected = 2 * 0.5 * eta * 0.7
    error = SIGMAS * math.sqrt(2 / steps.numel())
    assert steps.square().mean().item() == pytest.approx(expected, rel=error)


def test_the_running_mass_of_the_population_is_that_of_its_chains() -> None:
    """What the gradient noise is measured with and what a checkpoint stores."""
    gan = small_gan(generators=4, chain_batch=2, burn_in=5, dynamics="running", iterations=30)
    for _ in range(12):
        gan.iterate()
    settings = gan.settings
    adam = sghmc.Adam(
        settings.sampler.generator_rate, settings.sampler.adam_betas, settings.sampler.epsilon, gan.batches.size
    )
    assert gan.state.generators.preconditioner is not None
    close(gan.state.generators.preconditioner, sghmc.mass(gan.state.generators, adam).rsqrt())


@pytest.mark.parametrize("kind", ["plain", "frozen", "running"])
def test_measuring_leaves_the_bits_as_they_are(kind: Dynamics) -> None:
    """Chains that are collected, and measured, in every iteration, and chains that never are before the end."""
    values: dict[str, Any] = {"generators": 2, "dynamics": kind, "burn_in": 3, "iterations": 20}
    every, once = small_gan(**values, thin=1), small_gan(**values, thin=17)
    for _ in range(19):
        every.iterate()
        once.iterate()
    assert set(every.motion()) == set(SIDES)
    assert once.motion() == {}
    for side in SIDES:
        for name, tensor in tensors(every.state.of(side)).items():
            assert torch.equal(tensor, getattr(once.state.of(side), name)), name


def test_what_is_measured_is_of_the_last_step() -> None:
    """Against the formulas, with the weights and the gradient written down before it; the mass is not 1."""
    gan = small_gan(generators=3, discriminators=2, temperature=0.5, schedule="constant", burn_in=3, thin=2)
    for _ in range(4):
        gan.iterate()
    assert gan.motion() == {}  # nothing is collected yet
    seen: dict[Side, tuple[Tensor, Tensor, Tensor]] = {}
    for side in SIDES:
        gradients_of = getattr(gan.gradients, f"of_{side}")

        def noted(*arguments: Any, side: Side = side, gradients_of: Any = gradients_of) -> Gradient:
            gradient = gradients_of(*arguments)
            chains = gan.state.of(side)
            seen[side] = chains.theta.clone(), chains.momentum.clone(), gradient.values.clone()
            return gradient

        setattr(gan.gradients, f"of_{side}", noted)
    gan.iterate()
    assert gan.collects
    for side in SIDES:
        chains, found = gan.state.of(side), gan.motion()[side]
        theta, before, gradient = seen[side]
        assert chains.preconditioner is not None
        middle = (before + chains.momentum) / 2
        close(found["kinetic"], (middle**2 / chains.preconditioner**2).mean(1) / gan.update[side].step_size(gan.state))
        close(found["configurational"], -(theta * gradient).sum(1) / theta.shape[1])
        close(found["step"], (chains.theta - theta).norm(dim=1))
        close(found["norm"], chains.theta.norm(dim=1))


def test_chains_that_did_not_move_are_not_measured() -> None:
    """Of two groups of four and two of each move: the first two."""
    gan = small_gan(generators=4, replicas=2, chain_batch=2, discriminators=2, burn_in=4, iterations=9, thin=1)
    for _ in range(5):
        gan.iterate()
    still = gan.motion()["generators"]["kinetic"].isnan()
    assert still.tolist() == [False, False, True, True] * 2
    gan.iterate()
    assert gan.motion()["generators"]["kinetic"].isnan().tolist() == [True, True, False, False] * 2
    assert not gan.motion()["generators"]["norm"].isnan().any()


def test_adam_is_not_measured() -> None:
    gan = small_gan(dynamics="adam", temperature=0.0, burn_in=2, iterations=6, thin=1)
    for _ in range(5):
        gan.iterate()
    assert gan.motion() == {}


def test_steps_are_shortened_until_gradient_noise_heats_as_little_as_is_allowed() -> None:
    """The ratio β̂/α is proportional to the step: measured again after the hand-over, it is what was asked for."""
    values: dict[str, Any] = {"burn_in": 40, "iterations": 80, "generators": 2, "dynamics": "frozen"}
    values |= {"generator_rate": 0.05, "discriminator_rate": 0.05, "schedule": "constant", "epsilon": 0.1}
    free, calm = small_gan(**values), small_gan(**values, heating=1e-7)
    for gan in (free, calm):
        for _ in range(41):
            gan.iterate()
    measured = {side: [calm.gradient_noise()[side]["mean"] for _ in range(60)] for side in SIDES}
    for side in SIDES:
        ratio, error = statistics.fmean(measured[side]), statistics.stdev(measured[side]) / math.sqrt(20)
        pace = calm.state.of(side).pace
        assert pace is not None
        assert 0 < float(pace[0]) < 1
        assert calm.update[side].step_size(calm.state) == pytest.approx(
            float(pace[0]) * free.update[side].step_size(free.state)
        )
        assert abs(ratio - 1e-7) <= 5 * error  # of the twenty pairs at the hand-over
    assert free.state.generators.pace is None


def test_where_gradients_are_calm_steps_stay_as_they_are() -> None:
    gan = small_gan(burn_in=5, iterations=8, heating=1e6)
    for _ in range(7):
        gan.iterate()
    assert gan.state.discriminators.pace is not None
    assert (gan.state.discriminators.pace == 1).all()


def test_at_the_start_of_each_cycle_chains_move_without_noise() -> None:
    """Four cycles of ten iterations, six of each silent: noise comes from a stream that stands still there."""
    gan = small_gan(burn_in=5, iterations=45, thin=1, schedule="cyclical", cycles=4, silent=0.6)
    drawn = []
    for iteration in range(1, 46):
        before = gan.state.streams["dynamics"].get_state()
        gan.iterate()
        if not torch.equal(before, gan.state.streams["dynamics"].get_state()):
            drawn.append(iteration)
    expected = [6 + 10 * cycle + place for cycle in range(4) for place in range(6, 10)]
    assert drawn == expected == list(gan.settings.length.collected)
