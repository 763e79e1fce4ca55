"""Whole diagnoses of samples in memory, whose weights are drawn so that the verdict is known."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import entropy
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.posterior.diagnosis import IMAGES as AT_MOST
from bayesgan.posterior.diagnosis import Diagnosis, Logged, spaced
from bayesgan.posterior.posterior import Posterior
from bayesgan.posterior.samples import Held
from bayesgan.posterior.verdict import Kind
from bayesgan.sampler.gan import Sample
from bayesgan.settings.settings import ImageSettings
from tests.helpers.sampled import CLASSES, CPU, IMAGES, SHAPE, VALUES, sample
from tests.helpers.tensors import rng

pytestmark = pytest.mark.usefixtures("one_thread")

DRAWS = 80
SETTINGS = ImageSettings.of(**VALUES)
BLANK = Posterior(SETTINGS, SHAPE, CLASSES, Held({}), CPU)
WEIGHTS = BLANK._discriminator.weights
CENTRES, STATISTICS = sample(1)["discriminators"], sample(1)["discriminator_statistics"]  # two that disagree

Path = Callable[[int, Tensor], Tensor]  # the weights of two chains by draw, of white noise of their shape


def posterior(path: Path, logged: list[Logged] | None = None, draws: int = DRAWS, **settings: Any) -> Posterior:
    """Discriminators along ``path``; generators that are drawn from their prior."""
    collected: dict[int, Sample] = {}
    for draw in range(draws):
        generators = torch.randn(2, BLANK._generator.weights, generator=rng(1000 + draw))
        collected[10 * (draw + 1)] = {
            "generators": generators,
            "generator_statistics": torch.ones(2, BLANK._generator.buffers),
            "discriminators": path(draw, torch.randn(2, WEIGHTS, generator=rng(5000 + draw))),
            "discriminator_statistics": STATISTICS,
        }
    values = ImageSettings.of(**(VALUES | settings))
    return Posterior(values, SHAPE, CLASSES, Held(collected), CPU, lambda: logged or [])


def walk() -> Path:
    """A random walk whose norm stays the same."""
    start, place = 3 * CENTRES, 3 * CENTRES

    def step(draw: int, noise: Tensor) -> Tensor:
        place.add_(0.02 * noise)
        return place * (start.norm(dim=1) / place.norm(dim=1)).unsqueeze(1)

    return step


PATHS: dict[Kind, Path] = {
    "reached": lambda draw, noise: noise,
    "modes": lambda draw, noise: 3 * CENTRES + 0.02 * noise,
    "frozen": lambda draw, noise: 3 * CENTRES + 1e-5 * noise,
    "drifting": lambda draw, noise: noise * (0.5 + draw / DRAWS),
    "collapsed": lambda draw, noise: 1e-3 * noise,
    "running away": lambda draw, noise: noise * (1.0 + 3 * draw / DRAWS),
    "not mixing": walk(),
}


@pytest.mark.parametrize("kind", list(PATHS))
def test_chains_of_known_behaviour(kind: Kind) -> None:
    found = posterior(PATHS[kind]).diagnose(IMAGES)
    assert found.kind == kind, found.verdict
    assert found.verdict == found.verdicts["discriminators"].sentence
    assert found.verdicts["generators"].kind == "reached"


def test_of_a_few_draws_nothing_is_said() -> None:
    assert posterior(PATHS["reached"], draws=5).diagnose(IMAGES).kind == "too few"
    assert posterior(PATHS["reached"], draws=1).diagnose(IMAGES).kind == "too few"


def test_the_figures_are_those_of_the_weights() -> None:
    found = posterior(PATHS["drifting"]).diagnose(IMAGES).sides["discriminators"]
    samples = posterior(PATHS["drifting"]).samples
    theta = torch.stack([samples.load(each, "discriminators") for each in samples.iterations]).double()
    norm = theta.norm(dim=2)
    assert (found.chains, found.draws) == (2, DRAWS)
    assert found.norm_first == pytest.approx(norm[0].mean().item(), rel=1e-5)
    assert found.norm_last == pytest.approx(norm[-1].mean().item(), rel=1e-5)
    distances = (theta - theta[0]).norm(dim=2) / norm.mean(0)
    assert found.moved == pytest.approx(distances[-1].mean().item(), rel=1e-5)  # of two chains it is the median
    assert found.furthest == pytest.approx(distances.amax(0).mean().item(), rel=1e-5)
    assert found.radius == pytest.approx(WEIGHTS**0.5)  # N(0, 1)
    assert found.trend > 0.9


def test_the_radius_is_the_priors() -> None:
    def radius(**settings: Any) -> float | None:
        return posterior(PATHS["reached"], draws=2, **settings).diagnose(IMAGES).sides["discriminators"].radius

    assert radius(discriminator_prior=4.0) == pytest.approx(2 * WEIGHTS**0.5)
    assert radius(discriminator_prior=None) is None
    narrow = radius(prior_scale="fan-in")
    assert narrow is not None
    assert narrow < WEIGHTS**0.5


def test_predictions_are_the_probabilities_of_the_likeliest_classes() -> None:
    found = posterior(PATHS["modes"], draws=6)
    each = found.predict_proba_each(IMAGES).reshape(6, 2, len(IMAGES), 3)  # draws, chains, images, classes
    likeliest = each.mean((0, 1)).argmax(-1)
    wanted = np.stack([each[:, :, image, chosen].T for image, chosen in enumerate(likeliest)])
    traced = found.diagnose(IMAGES).traces["discriminators"]
    assert traced.predictions is not None
    np.testing.assert_allclose(traced.predictions, wanted, atol=1e-12)
    assert traced.iterations == [10, 20, 30, 40, 50, 60]


def test_what_networks_tell_of_an_image_is_between_nothing_and_all() -> None:
    """Against the entropies written out, of two networks that stand still."""
    found = posterior(lambda draw, noise: 3 * CENTRES, draws=9)
    each = found.predict_proba_each(IMAGES)[:2]  # networks, images, classes
    told = entropy(each.mean(1), axis=-1) - entropy(each, axis=-1).mean(1)
    tells = found.diagnose(IMAGES).sides["discriminators"].tells
    assert tells is not None
    assert tells == pytest.approx(told.min() / np.log(3))  # the median of two is the lower one to torch
    assert tells > 0.01
    dumb = posterior(PATHS["collapsed"], draws=9).diagnose(IMAGES).sides["discriminators"].tells
    assert dumb == pytest.approx(0.0, abs=1e-4)


def log(kinetic: float, configurational: float, noise: float = 0.1) -> list[Logged]:
    """As training logs it of both sides, with a chain that did not move at times."""
    rows = []
    for draw in range(DRAWS):
        off = 0.05 * (-1) ** draw
        motion = {
            "kinetic": [kinetic, None if draw % 2 else kinetic],
            "configurational": [configurational + off, configurational - off],
        }
        good = {"kinetic": [1.0 + noise] * 2, "configurational": [1.0 + noise + off, 1.0 + noise - off]}
        rows.append(
            Logged(
                iteration=10 * (draw + 1),
                log_likelihood={"discriminators": -1.0 + off, "generators": None},
                gradient_noise_over_friction={
                    side: {"mean": noise, "max": 1.0} for side in ("generators", "discriminators")
                },
                motion={"discriminators": motion, "generators": good},
            )
        )
    return rows


def test_temperatures_are_those_that_were_logged() -> None:
    found = posterior(PATHS["reached"], log(1.15, 1.1)).diagnose(IMAGES)
    of = found.sides["discriminators"]
    assert found.kind == "reached", found.verdict
    assert of.kinetic == pytest.approx(1.15)
    assert of.configurational == pytest.approx(1.1)
    assert of.error == pytest.approx(0.05 / DRAWS**0.5, rel=0.02)  # of ±0.05, half of the draws of two chains
    assert of.predicted == pytest.approx(1.1)
    assert "log likelihood" in of.mixing
    assert "log likelihood" not in found.sides["generators"].mixing
    assert found.traces["discriminators"].kinetic.shape == (2, DRAWS)


@pytest.mark.parametrize(
    ("kinetic", "configurational", "kind"), [(1.1, 0.4, "drifting"), (30.0, 1.1, "running away"), (1.5, 1.1, "too hot")]
)
def test_temperatures_count(kinetic: float, configurational: float, kind: Kind) -> None:
    assert posterior(PATHS["reached"], log(kinetic, configurational)).diagnose(IMAGES).kind == kind


def test_a_run_that_was_optimised() -> None:
    assert posterior(PATHS["reached"], dynamics="adam", temperature=0.0, draws=2).diagnose(IMAGES).kind == "optimised"
    assert posterior(PATHS["reached"], temperature=0.0, draws=2).diagnose(IMAGES).kind == "optimised"


def test_generators_that_a_committee_stands_for_are_left_out() -> None:
    found = posterior(PATHS["reached"], committee=8, burn_in=10).diagnose(IMAGES)
    assert list(found.sides) == ["discriminators"]


def test_without_images_generated_ones_are_looked_at() -> None:
    found: Diagnosis = posterior(PATHS["reached"], draws=3).diagnose()
    assert (found.images, found.generated) == (AT_MOST, True)
    assert not posterior(PATHS["reached"], draws=3).diagnose(IMAGES).generated
    with pytest.raises(BayesganError, match="no generators to draw images with: give some"):
        posterior(PATHS["reached"], draws=3, generators=0, discriminators=2).diagnose()
    with pytest.raises(BayesganError, match="There are no images"):
        posterior(PATHS["reached"], draws=3).diagnose(IMAGES[:0])


def test_the_images_are_evenly_spaced() -> None:
    many = np.arange(1000)
    assert len(spaced(many)) == AT_MOST
    assert spaced(many)[[0, -1]].tolist() == [0, 999]
    assert len(set(spaced(many).tolist())) == AT_MOST
    assert spaced(many[:7]).tolist() == list(range(7))
