"""Sweeps: populations of which a part moves in each iteration, and the law that they sample."""

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bayesgan import dynamics
from bayesgan.coupling import Coupling, grouped
from bayesgan.draws import ALL, SIDES, Chosen, Side
from bayesgan.dynamics import Dynamics, State
from bayesgan.errors import BayesganError
from bayesgan.gan import BayesianGAN
from bayesgan.settings import Scan, Settings
from bayesgan.training import STATE_TENSORS
from tests.test_dynamics import SIGMAS, assert_covariance, correlated_precision, equally_often, predicted_covariance
from tests.test_gan import small_gan
from tests.test_training import StoppedError, content, stop_at, train

Gradient = Callable[..., tuple[Tensor, Tensor]]


pytestmark = pytest.mark.usefixtures("one_thread")


def state_of(gan: BayesianGAN, side: Side) -> State:
    state = getattr(gan, side)
    assert isinstance(state, State)
    return state


def tensors(state: State) -> dict[str, Tensor]:
    values = {name: getattr(state, name) for name in STATE_TENSORS}
    return {name: value.clone() for name, value in values.items() if value is not None}


class Watched:
    """Who moved in each iteration, with a check that nothing of a chain that did not move has changed."""

    def __init__(self, gan: BayesianGAN, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gan = gan
        self.moved: dict[Side, list[Tensor]] = {side: [] for side in SIDES}
        self._before: dict[Side, dict[str, Tensor]] = {}
        original = gan.generator_gradient

        def watch(stream: str | None = None, moving: Chosen = ALL) -> tuple[Tensor, Tensor]:
            # After the hand-over, if there is one: it concerns every chain.
            self._before = {side: tensors(state_of(gan, side)) for side in SIDES}
            return original(stream, moving)

        monkeypatch.setattr(gan, "generator_gradient", watch)

    def iterate(self) -> None:
        self.gan.iterate()
        for side in SIDES:
            before, after = self._before[side], tensors(state_of(self.gan, side))
            moved = (before["theta"] != after["theta"]).any(1)
            for name, tensor in after.items():
                assert torch.equal(before[name][~moved], tensor[~moved]), f"{name} of {side}"
            assert (before["momentum"] != after["momentum"]).any(1)[moved].all()
            self.moved[side].append(moved)

    def moves(self, side: Side) -> Tensor:
        """(iterations, chains)"""
        return torch.stack(self.moved[side])


POPULATIONS = [
    pytest.param({"generators": 10, "discriminators": 2}, 5, id="ten and two"),
    pytest.param({"generators": 10, "discriminators": 2, "coupling": "all"}, 5, id="ten and two, all"),
    pytest.param({"generators": 5, "discriminators": 3, "replicas": 2}, 5, id="replicas"),
    pytest.param({"generators": 4, "discriminators": 2, "replicas": 2, "coupling": "all"}, 8, id="replicas, all"),
    pytest.param({"generators": 7, "discriminators": 4}, 3, id="seven in three parts"),
    pytest.param({"generators": 7, "discriminators": 7, "replicas": 3}, 3, id="seven in three parts, replicas"),
    pytest.param({"generators": 3, "discriminators": 3, "replicas": 2, "coupling": "pairs"}, 5, id="pairs"),
]


@pytest.mark.parametrize("dynamics", ["frozen", "adam"])
@pytest.mark.parametrize(("population", "sweep"), POPULATIONS)
def test_in_turn_every_chain_moves_once_in_a_sweep_and_otherwise_keeps_all_it_has(
    population: dict[str, Any], sweep: int, dynamics: Dynamics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of fewer chains, each moves once in as many iterations as there are of them in a group."""
    temperature, burn_in = 0.0 if dynamics == "adam" else 1.0, 2 * sweep + 1
    values = population | {"sweep": sweep, "dynamics": dynamics, "temperature": temperature, "burn_in": burn_in}
    gan = small_gan(**values, iterations=100)
    settings = gan.settings
    groups = grouped(settings.coupling, settings.generators, settings.discriminators, settings.replicas)
    sizes: dict[Side, int] = {"generators": groups.generators, "discriminators": groups.discriminators}
    watched = Watched(gan, monkeypatch)
    for iteration in range(1, 5 * sweep + 3):
        watched.iterate()
        for side in SIDES:
            moves = watched.moves(side)
            adam_moves = moves if dynamics == "adam" else moves[:burn_in]
            assert state_of(gan, side).adam_steps.tolist() == adam_moves.sum(0).tolist(), f"iteration {iteration}"
    for side in SIDES:
        moves, parts = watched.moves(side), min(sweep, sizes[side])
        windows = moves.unfold(0, parts, 1).sum(-1)
        assert (windows == 1).all()
        assert (moves.unfold(0, sweep, 1).sum(-1) >= 1).all()
        # In each group as many as in any other, in parts that differ by one at most.
        of_groups = moves.unflatten(1, (groups.number, -1)).sum(2)
        assert (of_groups == of_groups[:, :1]).all()
        assert int(of_groups.max() - of_groups.min()) <= (sizes[side] % parts > 0)


def test_several_discriminator_steps_are_all_of_the_same_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    gan = small_gan(generators=2, discriminators=4, sweep=4, discriminator_steps=3, burn_in=20, iterations=30)
    watched = Watched(gan, monkeypatch)
    for _ in range(6):
        watched.iterate()
    assert watched.moves("discriminators").sum(1).tolist() == [1] * 6
    assert gan.discriminators.adam_steps.tolist() == [6, 6, 3, 3]


def test_a_sweep_of_one_is_everything_bit_for_bit() -> None:
    plain, swept = (small_gan(generators=4, discriminators=2, sweep=1, scan=scan) for scan in ("in-turn", "random"))
    for _ in range(8):
        swept.iterate()
        plain.iterate()
    for side in SIDES:
        assert torch.equal(state_of(swept, side).theta, state_of(plain, side).theta)


def test_at_random_each_part_moves_equally_often_and_the_two_sides_do_not_depend_on_each_other() -> None:
    draws, sweep = 4000, 3
    gan = small_gan(generators=7, discriminators=5, replicas=2, sweep=sweep, scan="random", burn_in=0, dynamics="plain")
    gan.iterate()  # where the scan is of samples
    parts: dict[Side, list[int]] = {side: [0] * sweep for side in SIDES}
    both = [0] * sweep**2
    bounds: dict[Side, list[int]] = {"generators": [0, 2, 4, 7], "discriminators": [0, 1, 3, 5]}
    for _ in range(draws):
        numbers = []
        for side in SIDES:
            chosen = gan.moving(side)
            assert isinstance(chosen, slice)
            part = bounds[side].index(chosen.start)
            assert chosen == slice(*bounds[side][part : part + 2])
            parts[side][part] += 1
            numbers.append(part)
        both[numbers[0] * sweep + numbers[1]] += 1
    assert all(equally_often(counts, draws) for counts in parts.values())
    assert equally_often(both, draws)


def test_at_random_whole_parts_move_and_the_rest_keeps_all_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the burn-in a part is followed by another one two times in three."""
    burn_in, samples = 30, 60
    values: dict[str, Any] = {"generators": 7, "replicas": 2, "sweep": 3, "scan": "random"}
    gan = small_gan(**values, burn_in=burn_in, iterations=burn_in + samples)
    watched = Watched(gan, monkeypatch)
    for _ in range(burn_in + samples):
        watched.iterate()
    moves = watched.moves("generators")
    assert gan.generators.adam_steps.tolist() == moves[:burn_in].sum(0).tolist()
    rows = {tuple(row) for row in moves.int().tolist()}
    parts = ([1, 1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1])
    assert rows == {tuple(part * 2) for part in parts}
    sampled = moves[burn_in:]
    other = (sampled[1:] != sampled[:-1]).any(1).double().mean().item()
    assert abs(other - 2 / 3) <= SIGMAS * math.sqrt(2 / 9 / (samples - 1))


# How they move, against formulas written out for one chain at a time


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
        adam = dynamics.Adam(rate, settings.adam_betas, settings.epsilon, gan.data_size)
        alone = []
        for number in range(len(state.theta)):
            values = {name: tensor[number : number + 1] for name, tensor in tensors(state).items()}
            alone.append(State(**values))
            dynamics.hand_over(alone[-1], kind, adam)
        dynamics.hand_over(state, kind, adam)
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
    adam = dynamics.Adam(gan.settings.generator_rate, gan.settings.adam_betas, gan.settings.epsilon, gan.data_size)
    alone = State(**{name: tensor[:1] for name, tensor in before.items()})
    dynamics.hand_over(alone, "frozen", adam)
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
    adam = dynamics.Adam(settings.generator_rate, settings.adam_betas, settings.epsilon, gan.data_size)
    assert gan.generators.preconditioner is not None
    close(gan.generators.preconditioner, dynamics.mass(gan.generators, adam).rsqrt())


# The stationary law


@pytest.mark.parametrize("kind", ["plain", "frozen"])
def test_the_law_of_chains_that_move_in_random_parts_is_that_of_chains_that_all_move(kind: str) -> None:
    """Which part moves does not depend on where the chains are: each makes the same moves, only at other times.

    Independent chains in four parts; in 1000 steps each part moves 250 times, give or take 14, and the slowest
    direction forgets where it started in about 15 moves.
    """
    chains, dim, parts, steps = 20_000, 5, 4, 1000
    eta, alpha, temperature = 0.4, 0.5, 0.8
    precision = correlated_precision(dim)
    mass = torch.linspace(0.6, 2.0, dim, dtype=torch.double) if kind == "frozen" else torch.ones(dim).double()
    rng = torch.Generator().manual_seed(11)
    state = State.at(torch.zeros(chains, dim, dtype=torch.double))
    if kind == "frozen":
        state.preconditioner = mass.rsqrt().repeat(chains, 1)
    for part in torch.randint(parts, (steps,), generator=rng).tolist():
        rows = state.rows(slice(part * chains // parts, (part + 1) * chains // parts))
        seeds = dynamics.noise_seeds(rng, 4)
        dynamics.sghmc_step(rows, -rows.theta @ precision, eta, alpha, temperature, seeds)
    expected = predicted_covariance(precision, mass, eta, alpha, temperature)
    assert_covariance(state.theta, expected)
    for part_of_all in state.theta.chunk(parts):
        assert_covariance(part_of_all, expected)


# Runs


@pytest.mark.parametrize("scan", ["in-turn", "random"])
@pytest.mark.parametrize("kind", ["frozen", "running"])
def test_a_stopped_run_of_chain_batches_goes_on_bit_for_bit(tmp_path: Path, scan: Scan, kind: Dynamics) -> None:
    settings: dict[str, Any] = {"generators": 4, "discriminators": 3, "replicas": 2, "sweep": 3, "faced": 2}
    settings |= {"scan": scan, "dynamics": kind, "marginal": "sum"}
    through = train(tmp_path / "through", settings=settings)
    for stop in (4, 10, 11, 12, 33):  # in the burn-in, at the hand-over, just after it, while sampling
        with pytest.raises(StoppedError):
            train(tmp_path / "resumed", settings=settings, progress=stop_at(stop))
    resumed = train(tmp_path / "resumed", settings=settings)
    for side in SIDES:
        ours, expected = tensors(state_of(resumed.gan, side)), tensors(state_of(through.gan, side))
        assert ours.keys() == expected.keys()
        assert all(torch.equal(ours[name], expected[name]) for name in ours)
    assert len(set(through.gan.generators.adam_steps.tolist())) > 1  # else nothing could have been mixed up
    assert content(tmp_path / "through") == content(tmp_path / "resumed")
