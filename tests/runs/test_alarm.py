"""The sentence while a run is trained, on records as training logs them."""

from typing import Any

import pytest

from bayesgan.runs.alarm import Alarm
from bayesgan.runs.run import Metrics
from tests.helpers.unlabelled import small_gan

RADIUS = {"generators": (2 * 4 + 4 + 4 * 3 + 3) ** 0.5, "discriminators": (3 * 4 + 4 + 4 + 1) ** 0.5}  # of N(0, 1)


def record(iteration: int, **of_discriminators: list[float | None]) -> Metrics:
    """Two chains of each side, of which nothing is wrong but what is said of the discriminators."""
    good: dict[str, Any] = {"kinetic": [1.0, None], "step": [0.1, None]}
    motion = {side: good | {"norm": [radius, radius]} for side, radius in RADIUS.items()}
    motion["discriminators"] = motion["discriminators"] | of_discriminators
    noise = {side: {"mean": 0.1, "max": 1.0} for side in RADIUS}
    return {"iteration": iteration, "motion": motion, "gradient_noise_over_friction": noise}


def alarm(**settings: Any) -> Alarm:
    return Alarm(small_gan(**({"burn_in": 10, "iterations": 110, "thin": 10} | settings)))


def test_good_chains_are_not_spoken_of() -> None:
    metrics, watch = [], alarm()
    for iteration in range(20, 120, 10):
        metrics += [{"iteration": iteration - 5}, record(iteration)]
        assert watch(metrics[:-1]) is None
        assert watch(metrics) is None


def far(times: float) -> list[float | None]:
    return [RADIUS["discriminators"], times * RADIUS["discriminators"]]


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ({"norm": far(2.1)}, "the discriminators are running away, to a norm of 9.62 from 4.58"),
        ({"norm": far(0.09)}, "the discriminators have collapsed to a norm of 0.412"),
        ({"kinetic": [12.0, None]}, "running away, at a kinetic temperature of 12 where 1.1 is predicted"),
    ],
)
def test_what_is_wrong_is_said_once(last: dict[str, list[float | None]], words: str) -> None:
    metrics, watch = [record(20), record(30)], alarm()
    assert watch(metrics) is None
    metrics += [record(40, **last), record(50, **last)]
    said = watch(metrics)
    assert said is not None
    assert said.startswith("Iteration 50: ")
    assert words in said
    assert watch([*metrics, record(60, **last)]) is None


@pytest.mark.parametrize("last", [{"norm": far(1.9)}, {"norm": far(0.11)}, {"kinetic": [10.0, None]}])
def test_what_is_not_far_enough(last: dict[str, list[float | None]]) -> None:
    assert alarm()([record(20), *(record(iteration, **last) for iteration in (30, 40, 50))]) is None


def test_under_a_flat_prior_the_start_is_the_measure() -> None:
    near = [record(20, norm=[1.0, 1.0]), record(30, norm=[2.2, 1.0])]
    assert alarm()(near) is None  # growing towards the prior's radius
    said = alarm(discriminator_prior=None)(near)
    assert said is not None
    assert "to a norm of 2.2 from 1" in said


def test_the_first_and_the_last_steps_are_hot_by_themselves() -> None:
    hot: list[float | None] = [40.0, None]
    assert alarm()([record(20, kinetic=hot)]) is None
    assert alarm()([record(20), record(30), record(40, kinetic=hot)]) is None


def test_chains_that_will_not_get_anywhere_are_frozen() -> None:
    """100 iterations at α = ½ are worth √300 steps: of 0.001 of the norm, 1.7 %; of half as much, 0.9 %."""
    norm = RADIUS["discriminators"]
    assert alarm()([record(20, step=[0.001 * norm, None])]) is None
    said = alarm()([record(20, step=[0.0005 * norm, None])])
    assert said is not None
    assert "the discriminators are frozen, they will move by about 0.009 of their norm" in said


def test_chains_that_guess_have_collapsed() -> None:
    """Chains that have never been better are not trained yet."""
    watch = alarm()
    watch._classes = 10
    guess, better = {"chain_errors": [0.9, 0.88]}, {"chain_errors": [0.9, 0.8]}
    assert watch([record(20) | guess]) is None
    assert watch([record(20) | guess, record(30) | better]) is None
    said = watch([record(20) | guess, record(30) | better, record(40) | guess])
    assert said is not None
    assert "none is better than guessing" in said


def test_of_what_is_optimised_nothing_is_said() -> None:
    assert alarm(temperature=0.0)([record(20, norm=far(99.0))]) is None
