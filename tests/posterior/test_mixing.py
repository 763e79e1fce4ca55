"""R-hat and effective sample sizes on chains of known behaviour."""

import numpy as np
import pytest
from arviz_stats.base.array import array_stats

from bayesgan.posterior.mixing import LEAST_DRAWS, between_chains, mixing, sizes, within_chains
from tests.helpers.chains import SHAPE, autoregressive


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_the_effective_size_of_autoregressive_chains_is_the_known_one(correlation: float) -> None:
    """An estimate of one of 200 quantities is off by some 20 %, their median by 2; cutting the sum adds a few."""
    found = mixing(autoregressive(correlation))
    known = SHAPE[1] * SHAPE[2] * (1 - correlation) / (1 + correlation)
    assert found.bulk == pytest.approx(known, rel=0.1)
    assert found.alone == pytest.approx(known, rel=0.15)
    assert found.within.median < found.within.high < 1.1
    assert found.between.high < 1.05


def test_the_tail_is_that_of_the_worse_of_two_quantiles() -> None:
    draws = autoregressive(0.5)
    worse = np.minimum(*(array_stats.ess(draws, method="quantile", prob=prob) for prob in (0.05, 0.95)))
    np.testing.assert_allclose(sizes(draws, "tail"), worse)


def test_between_chains_is_arviz_own() -> None:
    for draws in (40, 41):
        chains = autoregressive(0.5, (5, 3, draws))
        np.testing.assert_allclose(between_chains(chains), array_stats.rhat(chains, method="rank"))


def test_within_chains_is_that_of_two_halves_of_one() -> None:
    """By the formula of Gelman and Rubin on normal scores: here the halves differ by location alone."""
    chains = autoregressive(0.0, (1, 2, 400))
    chains[0, 0, 200:] += 2.0
    moved, still = within_chains(chains)[0]
    assert still < 1.03
    # Before ranks are taken: W = 1, B/n = ½ (2.0)², so R² = 1 + 2 to sampling error; normal scores change it a little.
    assert moved == pytest.approx(3**0.5, rel=0.1)


def test_random_walks_do_not_mix() -> None:
    """A walk's halves are about as far apart as each is wide."""
    found = mixing(np.cumsum(np.random.default_rng(0).normal(size=(200, 3, 100)), -1))
    assert found.within.median > 1.3
    assert found.bulk < 10


def test_a_drift_does_not_mix() -> None:
    drift = autoregressive(0.0, (20, 3, 100)) + np.linspace(0, 5, 100)
    assert mixing(drift).within.median > 1.5


def test_chains_in_different_modes_mix_within_them_and_disagree() -> None:
    modes = autoregressive(0.5) + np.array([-5.0, 0.0, 5.0])[:, None]
    found = mixing(modes)
    assert found.within.high < 1.1
    assert found.between.median > 2
    assert found.bulk < 10
    assert found.alone == pytest.approx(3 * 400 / 3, rel=0.15)


def test_a_chain_of_another_width_is_seen_by_folding() -> None:
    chains = autoregressive(0.0)
    chains[:, 0] *= 5
    assert mixing(chains).between.median > 1.1


def test_what_never_changes_is_left_out() -> None:
    draws = np.concatenate([autoregressive(0.0, (3, 2, 50)), np.ones((4, 2, 50))])
    found = mixing(draws)
    assert found.quantities == 3
    assert found == mixing(draws[:3])
    nothing = mixing(draws[3:])
    assert nothing.quantities == 0
    assert np.isnan([nothing.bulk, nothing.within.median, nothing.between.worst]).all()


def test_halves_that_stand_still_apart_are_far_beyond_all_bounds() -> None:
    steps = np.repeat([[[0.0, 1.0]]], 20, axis=-1)
    assert within_chains(steps)[0, 0] > 1e6


@pytest.mark.parametrize("draws", [1, 2, 3, LEAST_DRAWS - 1])
def test_of_too_few_draws_there_are_no_figures(draws: int) -> None:
    found = mixing(autoregressive(0.0, (3, 2, draws)))
    assert np.isnan([found.within.median, found.between.median, found.bulk]).all()
    assert not np.isnan(mixing(autoregressive(0.0, (3, 2, LEAST_DRAWS))).bulk)
