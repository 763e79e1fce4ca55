"""The density of the oracle is the one that the package samples, and the package finds what HMC finds."""

import math

import pytest
import torch
from studies.known_answer import Effort, Kind

from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.population import Population
from bayesgan.settings.names import Weighing
from studies import known_answer

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("weighing", ["printed", "raised-labels", "lowered-game"])
def test_averaged_over_mini_batches_gradients_are_those_of_the_exact_density(weighing: Weighing) -> None:
    """By a mean over 400 mini-batches, within five standard errors, in two directions that matter."""
    effort = Effort(game=20, sampling=1, thin=1)
    images, labels, pixels = known_answer.digits()
    size, width = len(images.train), 1.5
    train = pixels[:size]
    chosen = known_answer.settings(weighing, width, size, effort)
    networks = known_answer.generator(), known_answer.discriminator("mlp")
    gan = BayesianGAN(chosen, *networks, train, 0, labels)
    while gan.state.iteration < effort.game:
        gan.iterate()
    assert gan.state.committee is not None
    assert gan.state.committee.shape == train.shape
    gan.state.iteration += 1  # the stage
    theta = gan.state.discriminators.theta
    ours = torch.stack(
        [
            gan.gradients.of_discriminators(gan.state, gan.batches.for_discriminators(gan.state)).values
            for _ in range(400)
        ]
    )
    weights = {"printed": (1.0, 1.0), "raised-labels": (1.0, size / 50), "lowered-game": (50 / size, 1.0)}[weighing]
    exact = known_answer.exact("mlp", gan.state.committee, train, train[labels.indices], labels.classes, weights)
    at = theta.clone().requires_grad_()
    fan_in = torch.cat([torch.full((3200,), 64.0), torch.ones(50), torch.full((500,), 50.0), torch.ones(10)])
    log_p = exact(at) - (at.square() * fan_in).sum(1) / (2 * width**2)
    (expected,) = torch.autograd.grad(log_p.sum(), at)
    for direction in (expected, theta):
        along = (ours * direction).sum(-1)
        error = along.std(0) / math.sqrt(len(along))
        assert ((along.mean(0) - (expected * direction).sum(-1)).abs() <= 5 * error).all()
        assert (error < 0.1 * (expected * direction).sum(-1).abs()).all()


@pytest.mark.parametrize("kind", ["mlp", "convolutional"])
def test_the_networks_of_both_are_the_same(kind: Kind) -> None:
    population = Population(known_answer.discriminator(kind))
    assert population.weights == {"mlp": 3_760, "convolutional": 1_898}[kind]
    theta = population.initial(3, torch.Generator().manual_seed(0))
    _, _, pixels = known_answer.digits()
    points = pixels[-7:]
    ours = known_answer.outputs(kind, theta, points)
    torch.testing.assert_close(ours, population(theta, points.expand(3, *points.shape)))


@pytest.mark.slow
def test_the_package_finds_the_posterior_that_hmc_finds() -> None:
    """A small form of the study: HMC's halves set the scale, ensembles are further away."""
    effort = Effort(game=100, sampling=4_000, warm_up=80, draws=60)
    rows = known_answer.compare("mlp", "raised-labels", 1.0, effort)["rows"]
    ours, halves = rows["SGHMC of the package"], rows["two halves of the HMC chains"]
    assert ours["agreement"] >= halves["agreement"] - 0.01
    assert ours["total_variation"] <= 0.02
    for other in ("MAP ensemble", "flat ensemble"):
        assert rows[other]["agreement"] < ours["agreement"]
        assert rows[other]["total_variation"] > ours["total_variation"]


def test_the_smallest_form_has_rows_for_everybody() -> None:
    table = known_answer.main(["--smallest"])
    assert all(table.count(name) >= 2 for name in ("HMC", "SGHMC", "MAP", "flat"))
