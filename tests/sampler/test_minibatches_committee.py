"""A committee of generated points stands for the generators once the discriminators are sampled."""

from itertools import pairwise
from typing import Any

import pytest
import torch

from bayesgan.base.errors import BayesganError
from bayesgan.settings.settings import Settings
from tests.helpers.labelled import DIM, dcgan, small_gan

pytestmark = pytest.mark.usefixtures("one_thread")

STAGE: dict[str, Any] = {"generators": 3, "discriminators": 3, "coupling": "pairs", "burn_in": 30, "iterations": 40}


def test_it_is_drawn_along_the_second_half_of_the_burn_in() -> None:
    gan = small_gan(**STAGE, committee=25)
    sizes = []
    for _ in range(40):
        gan.iterate()
        sizes.append(0 if gan.state.committee is None else len(gan.state.committee))
    assert gan.state.committee is not None
    assert gan.state.committee.shape == (25, DIM)
    assert sizes[:15] == [0] * 15
    assert sizes[29:] == [25] * 11
    grown = [after - before for before, after in pairwise(sizes) if after > before]
    assert len(grown) == 10
    assert set(grown) == {2, 3}
    assert len(gan.state.committee.unique(dim=0)) == 25


def test_then_generators_stand_and_discriminators_face_its_points_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    gan = small_gan(**STAGE, committee=25, consensus=1.0, fake_batch=8)
    for _ in range(30):
        gan.iterate()
    assert gan.state.committee is not None
    committee = {tuple(point.tolist()) for point in gan.state.committee}
    before, moved, faced = gan.state.generators.theta.clone(), gan.state.discriminators.theta.clone(), []
    original = gan.batches.for_discriminators

    def watched(*given: Any) -> Any:
        faced.append(original(*given))
        return faced[-1]

    monkeypatch.setattr(gan.batches, "for_discriminators", watched)
    for _ in range(10):
        found = gan.iterate()
        assert list(found) == ["discriminators"]
    assert torch.equal(gan.state.generators.theta, before)
    assert (gan.state.discriminators.theta != moved).any(1).all()
    seen = []
    for batch in faced:
        assert batch.stood_for is not None
        assert batch.stood_for.shape == (3, 8, DIM)
        assert (batch.consensus, batch.noise, batch.faced) == (0.0, None, None)  # nobody teaches anybody
        seen.append(batch.stood_for)
    points = [tuple(point.tolist()) for point in torch.stack(seen).flatten(0, 2)]
    assert set(points) <= committee
    assert len(set(points)) > 20
    assert len(torch.stack(seen).flatten(0, 1).unique(dim=0)) == 30  # each has a draw of its own


def test_generated_images_are_changed_as_real_ones_are() -> None:
    """A committee is drawn once; how it is seen is not."""
    stage = STAGE | {"committee": 25, "jitter": 1.0, "fake_batch": 25}
    for changed in (False, True):
        gan = dcgan(torch.float, **stage, change_generated=changed)
        for _ in range(31):
            gan.iterate()
        batch = gan.batches.for_discriminators(gan.state)
        assert gan.state.committee is not None
        assert batch.stood_for is not None
        same = [
            any(torch.equal(image, each) for each in gan.state.committee) for image in batch.stood_for.flatten(0, 1)
        ]
        assert all(same) != changed


@pytest.mark.parametrize("burn_in", range(10, 32))
@pytest.mark.parametrize("size", [1, 20, 37])
def test_all_of_it_is_drawn_however_short_the_burn_in(burn_in: int, size: int) -> None:
    batches = small_gan(**STAGE | {"burn_in": burn_in}, committee=size).batches
    assert sum(batches.committee_grows(iteration) for iteration in range(1, 41)) == size
    assert sum(batches.committee_grows(iteration) for iteration in range(1, burn_in + 1)) == size


def test_no_generator_draws_twice_before_all_have_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two images of three generators, each of which draws its own number."""
    gan = small_gan(**STAGE, committee=20)
    gan.state.iteration = 30
    numbers = torch.arange(3.0)[:, None, None]
    monkeypatch.setattr(gan, "generator", Numbered(numbers))
    gan._grow_committee()
    assert gan.state.committee is not None
    assert gan.state.committee[:, 0].tolist() == [0.0, 1.0]


class Numbered:
    """Generators that draw the same image each."""

    def __init__(self, values: torch.Tensor) -> None:
        self.values = values

    def drawn(self, theta: torch.Tensor, _: torch.Generator) -> torch.Tensor:
        return theta

    def __call__(self, _: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        return self.values.expand(3, noise.shape[1], DIM)


def test_in_the_stage_chains_see_points_of_their_own_and_generators_are_not_measured() -> None:
    """With a consensus they share them before it."""
    gan = small_gan(**STAGE, committee=25, consensus=1.0)
    for _ in range(20):
        gan.iterate()
    assert len(gan.batches.for_discriminators(gan.state).indices.unique(dim=0)) == 1
    for _ in range(15):
        gan.iterate()
    assert len(gan.batches.for_discriminators(gan.state).indices.unique(dim=0)) == 3
    assert list(gan.gradient_noise()) == ["discriminators"]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"generators": 0}, "A committee is what generators draw in the burn-in: set generators to 1"),
        ({"burn_in": 9}, "burn_in to 10 at least"),
        ({"marginal": "sum"}, "choose marginal 'mean' with it"),
    ],
)
def test_what_a_committee_cannot_be(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BayesganError, match=sentence):
        Settings.of(**({"committee": 10} | values))
