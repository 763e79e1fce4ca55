"""Verdicts on figures, one after another made bad."""

from dataclasses import replace

import numpy as np
import pytest

from bayesgan.posterior.mixing import Mixing, Spread, mixing
from bayesgan.posterior.verdict import FEWEST, Figures, Kind, not_eq_4, verdicts
from bayesgan.settings.compose import image_settings
from bayesgan.settings.settings import ImageSettings
from tests.helpers.chains import autoregressive

GOOD = Figures(
    chains=3,
    draws=400,
    mixing={"predictions": mixing(autoregressive(0.5)), "projections": mixing(autoregressive(0.8))},
    moved=1.2,
    furthest=1.3,
    norm_first=80.0,
    norm_last=82.0,
    norm_highest=90.0,
    trend=0.1,
    radius=82.0,
    tells=0.6,
    kinetic=1.01,
    configurational=1.03,
    error=0.01,
    predicted=1.01,
)
APART = mixing(autoregressive(0.5) + np.array([-5.0, 0.0, 5.0])[:, None])
WALK = mixing(np.cumsum(np.random.default_rng(0).normal(size=(200, 3, 100)), -1))
FAR = replace(GOOD.mixing["predictions"], between=Spread(1.01, 1.4, 2.0))  # some disagree
SHORT = mixing(autoregressive(0.9, (200, 3, 300)))  # of 3 × 300 × 0.1/1.9 = 47 independent draws
STILL = mixing(np.ones((5, 3, 50)))


def said(of: Figures, temperature: float = 1.0) -> tuple[Kind, str]:
    found = verdicts(temperature, False, {"discriminators": of})["discriminators"]
    return found.kind, found.sentence


def seen(predictions: Mixing) -> Figures:
    return replace(GOOD, mixing=GOOD.mixing | {"predictions": predictions})


@pytest.mark.parametrize(
    ("of", "kind", "words"),
    [
        (GOOD, "reached", "a posterior that was reached: ESS"),
        (seen(APART), "modes", "mixing within modes: ESS"),
        (seen(SHORT), "short", "100 are enough"),
        (seen(WALK), "not mixing", "predictions of the discriminators do not come back"),
        (seen(STILL), "not mixing", "do not come back"),
        (seen(FAR), "short", "still disagree on some predictions"),
        (replace(seen(SHORT), chains=1), "short", "in one chain, for too short a time"),
        (seen(replace(APART, alone=60.0)), "short", "ESS 60 of all chains"),
        (replace(GOOD, chains=1), "one chain", "sample several"),
        (replace(GOOD, draws=FEWEST - 1), "too few", f"{FEWEST - 1} of each chain"),
        (replace(GOOD, furthest=0.004), "frozen", "moved by 0.40% of their norm"),
        (replace(GOOD, kinetic=1.3), "too hot", "at temperature 1.3, not 1"),
        (replace(GOOD, kinetic=11.0), "running away", "at temperature 11"),
        (replace(GOOD, norm_last=170.0), "running away", "to 170 under a prior of radius 82"),
        (replace(GOOD, norm_highest=170.0), "running away", "reach a norm of 170"),
        (replace(GOOD, radius=None, norm_first=10.0, norm_last=21.0), "running away", "give them a prior"),
        (replace(GOOD, norm_last=7.0), "collapsed", "have shrunk from a norm of 80 to 7"),
        (replace(GOOD, tells=0.001), "collapsed", "say the same of every image"),
        (replace(GOOD, norm_first=30.0, trend=0.9), "drifting", "grow, from a norm of 30 to 82"),
        (replace(GOOD, norm_first=99.0, trend=0.9), "drifting", "shrink, from a norm of 99 to 82"),
        (replace(GOOD, configurational=0.5), "drifting", "driven outwards"),
        (replace(GOOD, configurational=1.5), "drifting", "driven inwards"),
    ],
)
def test_what_is_said(of: Figures, kind: Kind, words: str) -> None:
    found, sentence = said(of)
    assert found == kind, sentence
    assert words in sentence
    assert sentence.endswith(".")


@pytest.mark.parametrize(
    "of",
    [
        replace(GOOD, furthest=0.02),
        replace(GOOD, trend=0.9, norm_first=81.5),  # a straight line of half a per cent
        replace(GOOD, norm_first=30.0),  # a change, but along no line
        replace(GOOD, norm_first=30.0, norm_last=80.0, radius=82.0),  # more than twice the start, not of the prior
        replace(GOOD, configurational=0.85),
        replace(GOOD, configurational=0.5, error=0.2),  # within its Monte Carlo error
        replace(GOOD, kinetic=None, configurational=None, error=None, predicted=None),
        replace(GOOD, tells=None),
    ],
)
def test_what_is_no_fault(of: Figures) -> None:
    assert said(of)[0] == "reached"


def test_what_is_sampled_is_eq_4_or_what_is_said() -> None:
    posterior = {"committee": 100, "consensus": 1.0, "schedule": "constant", "normalisation": "none", "burn_in": 20}
    assert not_eq_4(ImageSettings.of(**posterior)) == []
    assert not_eq_4(image_settings("fast", "bayesgan", "mnist")) == [
        "a consensus",
        "generators that move",
        "batch statistics",
        "changed images",
        "steps that fall",
        "temperature 0.01",
        "labels that count more than once",
        "the game's weight, 0.1",
    ]


def test_hot_is_more_than_the_temperature_even_where_gradient_noise_explains_it() -> None:
    assert said(replace(GOOD, kinetic=0.05, configurational=0.05, predicted=0.05), 0.01)[0] == "too hot"


def test_a_few_samples_tell_what_needs_no_more() -> None:
    assert said(replace(GOOD, draws=10, furthest=0.001))[0] == "frozen"
    assert said(replace(GOOD, draws=5, furthest=0.001))[0] == "frozen"
    assert said(replace(GOOD, draws=2, furthest=0.001))[0] == "too few"  # they may be one iteration apart
    assert said(replace(GOOD, draws=2, norm_last=999.0))[0] == "running away"


def test_what_is_not_sampled_is_optimised() -> None:
    sides = {"discriminators": replace(GOOD, furthest=0.0), "generators": GOOD}
    for adam, temperature, words in ((True, 0.0, "Adam"), (False, 0.0, "without noise")):
        found = verdicts(temperature, adam, sides)  # type: ignore[arg-type]
        assert {each.kind for each in found.values()} == {"optimised"}
        assert words in found["generators"].sentence


def test_networks_that_predict_nothing_are_judged_by_their_weights() -> None:
    of = replace(GOOD, mixing={"projections": mixing(autoregressive(0.5))})
    assert "projections of the discriminators" in said(of)[1]
