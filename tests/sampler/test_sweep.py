"""Sweeps: populations of which a part moves in each iteration, and the law that they sample."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bayesgan.runs.run import STATE_TENSORS
from bayesgan.sampler import sghmc
from bayesgan.sampler.coupling import grouped
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.minibatches import ALL, Chosen
from bayesgan.sampler.sghmc import State
from bayesgan.settings.names import SIDES, Dynamics, Scan, Side
from tests.runs.test_run import StoppedError, content, stop_at, train
from tests.sampler.test_gan import small_gan
from tests.sampler.test_sghmc import (
    SIGMAS,
    assert_covariance,
    correlated_precision,
    equally_often,
    predicted_covariance,
)

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
        seeds = sghmc.noise_seeds(rng, 4)
        sghmc.sghmc_step(rows, -rows.theta @ precision, eta, alpha, temperature, seeds)
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
