"""Mini-batches of the chains that are faced: the same gradient on average."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.minibatches import ALL, Chosen
from bayesgan.settings.names import SIDES, Coupling, Marginal, Side
from bayesgan.settings.settings import Settings, parse_settings
from tests.helpers.labelled import small_gan as labelled_gan
from tests.sampler.test_gan import small_gan
from tests.sampler.test_sghmc import equally_often
from tests.sampler.test_sweep import state_of, tensors

pytestmark = pytest.mark.usefixtures("one_thread")


def hold(gan: BayesianGAN, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every chain keep the noise and the points that it has now, whoever else is drawn with it."""
    noise, points = gan._noise_batches(None, ALL), gan.mini_batches("noise")
    monkeypatch.setattr(gan, "_noise_batches", lambda stream, chosen: gan.rows(noise, chosen))
    monkeypatch.setattr(gan, "mini_batches", lambda stream, chosen=ALL: gan.rows(points, chosen))


@pytest.mark.parametrize(
    ("make", "matching"),
    [
        pytest.param(small_gan, False, id="unlabelled"),
        pytest.param(labelled_gan, False, id="labelled"),
        pytest.param(labelled_gan, True, id="labelled, matching features"),
    ],
)
@pytest.mark.parametrize("marginal", ["mean", "sum"])
@pytest.mark.parametrize("coupling", ["algorithm1", "all"])
@pytest.mark.parametrize("faced", [1, 2])
def test_averaged_over_all_draws_of_faced_chains_gradients_are_those_of_all(
    make: Callable[..., BayesianGAN],
    matching: bool,
    marginal: Marginal,
    coupling: Coupling,
    faced: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every draw enumerated, in double precision: nothing is left but rounding."""
    values: dict[str, Any] = {"generators": 4, "discriminators": 3, "replicas": 2, "noise_batches": 2}
    values |= {"coupling": coupling, "marginal": marginal, "prior_variance": 0.5, "feature_matching": matching}
    values |= {"label_batch": 100}  # all of them: nothing is drawn
    exact, batched = make(**values), make(**values, faced=faced)
    indices = exact.mini_batches()
    present: list[Chosen] = [ALL]
    monkeypatch.setattr(batched, "faced", lambda side, stream=None: present[0])
    for gan in (exact, batched):
        hold(gan, monkeypatch)

    def generators(gan: BayesianGAN) -> tuple[Tensor, Tensor]:
        return gan.generator_gradient()

    def discriminators(gan: BayesianGAN) -> tuple[Tensor, Tensor]:
        return gan.discriminator_gradient(indices)

    for gradients, others in ((generators, exact.everyone.discriminators), (discriminators, exact.everyone.generators)):
        found = []
        for draw in itertools.combinations(range(others), faced):
            present[0] = torch.tensor(draw)
            gradient, log_p = gradients(batched)
            found.append(torch.cat([log_p[:, None], gradient], 1))
        gradient, log_p = gradients(exact)
        expected = torch.cat([log_p[:, None], gradient], 1)
        assert len(found) == math.comb(others, faced)
        # No draw gives it by itself.
        assert all((each[:, 1:] - gradient).norm() > 1e-3 * gradient.norm() for each in found)
        torch.testing.assert_close(torch.stack(found).mean(0), expected, rtol=1e-10, atol=1e-10)


def test_the_draws_of_faced_chains_do_not_depend_on_the_order() -> None:
    """So that combinations above stand for all draws."""
    gan = small_gan(generators=4, discriminators=3, replicas=2, faced=2, marginal="sum")
    noise = gan.noise(8, 2)
    for draw in ([0, 2], [1, 3]):
        found = []
        for order in (draw, draw[::-1]):
            chosen = torch.tensor(order)
            fakes = gan.fakes(gan.rows(gan.generators.theta, chosen), gan.rows(noise, chosen))
            found.append(gan.discriminator_log_posterior(gan.discriminators.theta, fakes, gan.data[:3].expand(6, 3, 3)))
        torch.testing.assert_close(*found, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("faced", [1, 3])
def test_every_chain_is_faced_equally_often_and_never_twice_at_once(faced: int) -> None:
    draws = 3000
    gan = small_gan(generators=7, discriminators=5, replicas=2, faced=faced)
    sides: dict[Side, int] = {"generators": 7, "discriminators": 5}
    for side, chains in sides.items():
        counts, pairs = [0] * chains, [0] * math.comb(chains, 2)
        for _ in range(draws):
            drawn = gan.faced(side)
            assert isinstance(drawn, Tensor)
            chosen = sorted(drawn.tolist())
            assert len(set(chosen)) == len(chosen) == faced
            for chain in chosen:
                counts[chain] += 1
            for number, pair in enumerate(itertools.combinations(range(chains), 2)):
                pairs[number] += set(pair) <= set(chosen)
        assert sum(counts) == faced * draws
        assert equally_often(counts, draws)
        if faced > 1:
            assert equally_often(pairs, draws)


def test_each_side_faces_chains_of_the_other_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    gan = small_gan(generators=9, discriminators=8, faced=4, burn_in=3)
    original, asked = gan.faced, []

    def watch(side: Side, stream: str | None = None) -> Chosen:
        asked.append((side, original(side, stream)))
        return asked[-1][1]

    monkeypatch.setattr(gan, "faced", watch)
    for _ in range(8):
        gan.iterate()
    assert [side for side, _ in asked] == ["discriminators", "generators"] * 8
    drawn = {tuple(chosen.tolist()) for _, chosen in asked if isinstance(chosen, Tensor)}
    assert len(drawn) > 12  # of 16; there are thousands of draws


def test_the_density_over_a_part_of_the_chains_is_refused() -> None:
    with pytest.raises(BayesganError, match="no unbiased estimate from a part of them: leave out faced"):
        parse_settings(Settings, marginal="density", faced=2)
    parse_settings(Settings, marginal="density")


@pytest.mark.parametrize(
    ("coupling", "faced"), [("algorithm1", 3), ("algorithm1", 100), ("all", 6), ("all", 100), ("pairs", 1)]
)
def test_as_many_faced_as_there_are_is_the_exact_gradient_bit_for_bit(coupling: Coupling, faced: int) -> None:
    values: dict[str, Any] = {"generators": 3, "discriminators": 3, "replicas": 2, "coupling": coupling}
    exact, batched = (labelled_gan(**values, marginal="sum", faced=number) for number in (None, faced))
    for _ in range(8):
        ours, expected = batched.iterate(), exact.iterate()
        assert torch.equal(ours.generators, expected.generators)
        assert torch.equal(ours.discriminators, expected.discriminators)
    for side in SIDES:
        ours_now, expected_now = tensors(state_of(batched, side)), tensors(state_of(exact, side))
        assert ours_now.keys() == expected_now.keys()
        assert all(torch.equal(ours_now[name], expected_now[name]) for name in ours_now)


@pytest.mark.parametrize("coupling", ["algorithm1", "all"])
def test_the_gradient_of_chains_that_move_does_not_depend_on_those_that_do_not(
    coupling: Coupling, monkeypatch: pytest.MonkeyPatch
) -> None:
    gan = labelled_gan(generators=4, discriminators=3, replicas=2, coupling=coupling, label_batch=100)
    indices = gan.mini_batches()
    hold(gan, monkeypatch)
    all_g, all_d = gan.generator_gradient(), gan.discriminator_gradient(indices)
    for moving in (slice(0, 1), slice(1, 3), slice(2, 3)):
        some_g = gan.generator_gradient(moving=moving)
        some_d = gan.discriminator_gradient(gan.rows(indices, moving), moving=moving)
        for some, whole in zip((*some_g, *some_d), (*all_g, *all_d), strict=True):
            torch.testing.assert_close(some, gan.rows(whole, moving), rtol=1e-10, atol=1e-12)
