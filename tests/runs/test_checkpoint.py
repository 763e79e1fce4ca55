"""Checkpoints: the whole state and nothing else, back to the bit, and refused where they are of another run."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.runs.checkpoint import Seconds, restore, write
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.settings.names import SIDES
from tests.helpers.labelled import small_gan
from tests.helpers.small_runs import fresh

pytestmark = pytest.mark.usefixtures("one_thread")

SECONDS = Seconds(1.25, 2.5)


def iterated(iterations: int, **settings: Any) -> BayesianGAN:
    gan = fresh(**settings)
    for _ in range(iterations):
        gan.iterate()
    return gan


def tensors_of(gan: BayesianGAN) -> dict[str, Tensor]:
    """Everything in the state but the iteration."""
    state = gan.state
    found = {"seen": state.seen, "given": state.given}
    found |= {f"rng.{name}": rng.get_state() for name, rng in state.streams.items()}
    for side in SIDES:
        chains = vars(state.of(side))
        found |= {f"{side}.{name}": tensor for name, tensor in chains.items() if tensor is not None}
    return found


def assert_same(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


@pytest.mark.parametrize("iterations", [5, 15])  # of Adam, and past the hand-over, from which on there is a mass
def test_a_checkpoint_holds_the_state_and_nothing_else(iterations: int, tmp_path: Path) -> None:
    path, gan = tmp_path / "checkpoint.safetensors", iterated(iterations)
    write(path, gan, SECONDS)
    assert_same(load_file(path), tensors_of(gan))
    with safe_open(path, framework="pt") as file:
        assert file.metadata().keys() == {"iteration", "seconds", "total_seconds"}
    other = fresh()
    assert restore(path, other) == SECONDS
    assert other.state.iteration == iterations
    assert_same(tensors_of(other), tensors_of(gan))
    for each in (gan, other):
        each.iterate()
    assert_same(tensors_of(other), tensors_of(gan))


def test_its_size_does_not_depend_on_the_time(tmp_path: Path) -> None:
    gan = iterated(2)
    write(tmp_path / "soon", gan, Seconds(0.0, 0.1))
    write(tmp_path / "late", gan, Seconds(1e9, 123456.789))
    assert (tmp_path / "soon").stat().st_size == (tmp_path / "late").stat().st_size


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("seen", "it lacks seen"),
        ("rng.noise", r"it lacks rng.noise"),
        ("generators.theta", "is not a checkpoint of this run .*theta"),
        ("discriminators.momentum", "is not a checkpoint of this run .*momentum"),
        ("discriminators.preconditioner", "the mass of the discriminators does not fit"),
    ],
)
def test_a_checkpoint_that_lacks_something_is_refused(name: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    write(path, iterated(15), SECONDS)
    left = {key: tensor for key, tensor in load_file(path).items() if key != name}
    save_file(left, path, {"iteration": "15", "seconds": "1", "total_seconds": "1"})
    with pytest.raises(BayesganError, match=rf"checkpoint\.safetensors.*{sentence}"):
        restore(path, fresh())


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"generators": 3}, "generators.theta has the shape"),
        ({"discriminators": 1}, "discriminators.theta has the shape"),
        ({"dynamics": "plain"}, "the mass of the generators does not fit iteration 15"),
        ({"burn_in": 20}, "the mass of the generators does not fit iteration 15"),
    ],
)
def test_the_checkpoint_of_another_run_is_refused(settings: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    write(path, iterated(15), SECONDS)
    with pytest.raises(BayesganError, match=sentence):
        restore(path, fresh(**settings))


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    write(path, iterated(1), SECONDS)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(BayesganError, match=r"Cannot read .*checkpoint\.safetensors"):
        restore(path, fresh())


@pytest.mark.parametrize("iteration", [-1, 10_000])
def test_an_iteration_beyond_the_run_is_refused(iteration: int, tmp_path: Path) -> None:
    """Or the run would never end."""
    path = tmp_path / "checkpoint.safetensors"
    write(path, iterated(15), SECONDS)
    save_file(load_file(path), path, {"iteration": str(iteration), "seconds": "1", "total_seconds": "1"})
    with pytest.raises(BayesganError, match=f"is not a checkpoint of this run .iteration {iteration} of"):
        restore(path, fresh())


@pytest.mark.parametrize("dynamics", ["frozen", "prior"])
@pytest.mark.parametrize("iterations", [2, 5])
def test_a_classifier_without_generators_goes_on_in_either_phase(
    iterations: int, dynamics: str, tmp_path: Path
) -> None:
    values: dict[str, Any] = {"generators": 0, "discriminators": 2, "dynamics": dynamics, "generator_prior": None}
    first, second = (small_gan(**values) for _ in range(2))
    for _ in range(iterations):
        first.iterate()
    write(tmp_path / "checkpoint.safetensors", first, SECONDS)
    assert restore(tmp_path / "checkpoint.safetensors", second) == SECONDS
    first.iterate()
    second.iterate()
    assert torch.equal(first.state.discriminators.theta, second.state.discriminators.theta)
