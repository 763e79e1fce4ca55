"""The state record is all that the next iteration depends on."""

import itertools
from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import Tensor

from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.state import State
from bayesgan.settings.names import SIDES, Side
from tests.helpers.labelled import dcgan, small_gan

pytestmark = pytest.mark.usefixtures("one_thread")

RUNS: dict[str, dict[str, Any]] = {
    "vectors": {"generators": 3, "discriminators": 2, "dynamics": "running"},
    "chain batches": {"generators": 4, "discriminators": 3, "chain_batch": 2},
    "labels alone": {"generators": 0, "discriminators": 2},
    "images": {"layer_noise": 0.2, "jitter": 1.0, "consensus": 1.0, "feature_matching": True},
    "committee": {"discriminators": 2, "committee": 20, "burn_in": 10, "iterations": 20},
    "teachers": {"discriminators": 2, "consensus": 1.0, "balance": 1.0, "averaging": 0.9, "schedule": "linear"},
}


def made(name: str, seed: int = 0) -> BayesianGAN:
    return dcgan(torch.float, **RUNS[name]) if name == "images" else small_gan(seed, **RUNS[name])


def rows(tensor: Tensor, side: Side) -> Tensor:
    """All chains are here."""
    return tensor.clone()


@pytest.mark.parametrize(
    ("name", "iterations"), [*itertools.product(RUNS, [2, 3, 5]), ("committee", 9), ("committee", 12)]
)
def test_a_fresh_sampler_with_the_state_of_another_goes_on_as_it_does(name: str, iterations: int) -> None:
    """In the burn-in of three iterations, or ten before a committee, at its end and after it."""
    first, second = made(name), made(name)
    for _ in range(iterations):
        first.iterate()
    second.state.take(first.state.iteration, first.state.tensors(rows), rows)
    for _ in range(3):
        first.iterate()
        second.iterate()
    ours, expected = second.state.tensors(rows), first.state.tensors(rows)
    assert ours.keys() == expected.keys()
    assert all(torch.equal(ours[each], expected[each]) for each in expected)
    assert second.state.iteration == first.state.iteration == iterations + 3


def test_every_field_of_the_record_is_kept() -> None:
    """A field that is added to the record has to be added to what is kept."""
    assert [field.name for field in fields(State)] == [
        *("iteration", "generators", "discriminators", "seen", "given", "streams", "committee")
    ]
    state = made("vectors").state
    kept = {name.partition(".")[0] for name in state.tensors(rows)}
    assert kept == {"generators", "discriminators", "seen", "given", "rng"}
    assert all(state.of(side) is getattr(state, side) for side in SIDES)
