"""Where the sampler shows images turned, moved, lit, cut and mirrored."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from bayesgan.base.errors import BayesganError
from bayesgan.data.augment import CHANGES, Strengths, augmented
from bayesgan.sampler.gradients import Gradients, LogDensities
from bayesgan.sampler.minibatches import DiscriminatorBatch
from tests.helpers.labelled import FAKE_BATCH, dcgan, small_gan


def test_real_and_labelled_images_are_shown_changed_and_statistics_are_not() -> None:
    def shown(**settings: Any) -> tuple[torch.Tensor, ...]:
        gan = dcgan(discriminators=2, **settings)
        indices = gan.batches.indices(gan.state.streams)
        labelled = gan.batches.labelled(gan.state.streams)
        assert labelled is not None
        return (
            gan.batches.points(indices),
            gan.batches.augmented(gan.state.streams, indices),
            labelled[0],
            gan.batches.calibration()[0],
        )

    plain, real, labelled, calibration = shown()
    torch.testing.assert_close(real, plain)
    changes: tuple[dict[str, Any], ...] = ({"jitter": 1.0}, {"brightness": 0.2}, {"cut": 0.5}, {"flip": True})
    for each in changes:
        _, changed, changed_labelled, same_calibration = shown(**each)
        assert not torch.allclose(changed, real)
        assert not torch.allclose(changed_labelled, labelled)
        assert torch.equal(calibration, same_calibration)


def test_the_same_image_is_shown_in_another_way_to_each_discriminator_and_each_time() -> None:
    gan = dcgan(discriminators=2, jitter=1.0)
    same = torch.zeros(2, 1, dtype=torch.long)
    first, second = gan.batches.augmented(gan.state.streams, same), gan.batches.augmented(gan.state.streams, same)
    assert not torch.allclose(first[0], first[1])
    assert not torch.allclose(first, second)


def test_what_an_iteration_shows_is_changed_and_diagnostics_draw_from_their_own_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gan = dcgan(jitter=1.0, feature_matching=True)
    shown: list[torch.Tensor] = []
    discriminators, generators = Gradients.log_p_of_discriminators, Gradients.log_p_of_generators

    def watch_d(
        self: Gradients, state: Any, theta: Any, fakes: Any, batch: DiscriminatorBatch, said: Any
    ) -> tuple[LogDensities, Any]:
        assert batch.real is not None
        assert batch.labelled is not None
        shown.extend([batch.real, batch.labelled[0]])
        return discriminators(self, state, theta, fakes, batch, said)

    def watch_g(
        self: Gradients, streams: Any, theta: Any, facing: Any, noise: Any, real: torch.Tensor, changes: Any
    ) -> LogDensities:
        shown.append(real)
        assert changes is None
        return generators(self, streams, theta, facing, noise, real)

    monkeypatch.setattr(Gradients, "log_p_of_discriminators", watch_d)
    monkeypatch.setattr(Gradients, "log_p_of_generators", watch_g)
    gan.iterate()
    before = {name: each.get_state() for name, each in gan.state.streams.items()}
    gan.gradient_noise()
    assert {name for name, each in gan.state.streams.items() if not torch.equal(each.get_state(), before[name])} == {
        "diagnostics"
    }
    assert len(shown) == 3 + 2 * 3
    for images in shown:
        for image in images.flatten(0, 1):
            assert (image - gan.batches.data).abs().amax((1, 2, 3)).min() > 1e-3


def test_generated_images_are_changed_too_where_that_is_wanted() -> None:
    """Against the same images changed by the same numbers, in both gradients; each image by numbers of its own."""
    gan = dcgan(generators=2, discriminators=1, jitter=1.0, brightness=0.2, change_generated=True)
    assert dcgan(jitter=1.0).batches.for_generators(gan.state).changes is None
    for batch in (gan.batches.for_generators(gan.state), gan.batches.for_discriminators(gan.state)):
        assert batch.changes is not None
        assert batch.noise is not None
        assert batch.changes.shape == (2, FAKE_BATCH, CHANGES)
        assert len(batch.changes.flatten(0, 1).unique(dim=0)) == 2 * FAKE_BATCH
        theta = gan.state.generators.theta
        ours = gan.gradients.generated(gan.state.streams, theta, batch.noise, batch.changes)
        plain = gan.gradients.generated(gan.state.streams, theta, batch.noise)
        expected = augmented(plain, batch.changes, Strengths(jitter=1.0, brightness=0.2))
        torch.testing.assert_close(ours, expected)
        assert not torch.allclose(ours, plain)
    batch = gan.batches.for_generators(gan.state)
    shown = gan.gradients.of_generators(gan.state, batch).values
    as_they_are = gan.gradients.of_generators(gan.state, replace(batch, changes=None)).values
    assert not torch.allclose(shown, as_they_are)  # what is done to images is in the generators' gradient


@pytest.mark.parametrize("values", [{"jitter": 1.0}, {"brightness": 0.2}, {"cut": 0.5}, {"flip": True}])
def test_vectors_cannot_be_changed(values: dict[str, Any]) -> None:
    with pytest.raises(
        BayesganError, match=r"Only images can be changed: set jitter, brightness and cut to 0 and flip"
    ):
        small_gan(**values)
