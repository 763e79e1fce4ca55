"""The labels that chains give to unlabelled points together, and what they are worth to each."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.networks.dcgan import Discriminator
from bayesgan.networks.mlp import mlp
from bayesgan.sampler.densities import balanced, consensus_labels, consensus_log_likelihood
from bayesgan.sampler.gan import BayesianGAN
from tests.helpers.gradients import discriminator_log_p
from tests.helpers.labelled import CLASSES, DIM, HIDDEN, IMAGE, NOISE_DIM, REAL_BATCH, SIZE, dcgan, rng, small_gan

BURN_IN = 4


def test_the_labels_are_the_squares_of_the_average_made_to_sum_to_one() -> None:
    probabilities = torch.tensor([[[0.5, 0.5, 0.0]], [[0.1, 0.1, 0.8]]])
    squares = torch.tensor([0.3**2, 0.3**2, 0.4**2])
    torch.testing.assert_close(consensus_labels(probabilities.mean(0)), (squares / squares.sum())[None])


def test_labels_of_less_confidence_say_nothing() -> None:
    """The confidence is that of the average, not of its squares."""
    average = torch.tensor([[0.65, 0.35], [0.85, 0.15]])
    labels, confident = consensus_labels(average), consensus_labels(average, 0.8)
    torch.testing.assert_close(confident, labels * torch.tensor([[0.0], [1.0]]))
    assert (consensus_log_likelihood(torch.randn(2, 2, 2, generator=rng()), confident[:1], 30, 1.0) == 0).all()


def test_balanced_classes_are_divided_by_how_often_they_are_given() -> None:
    average = torch.tensor([[0.6, 0.3, 0.1], [0.5, 0.1, 0.4]], dtype=torch.double)
    given = torch.tensor([0.5, 0.3, 0.2], dtype=torch.double)
    for balance in (0.0, 0.5, 1.0):
        ours = balanced(average, given, balance)
        for row, expected in zip(ours, average, strict=True):
            parts = [value / share**balance for value, share in zip(expected.tolist(), given.tolist(), strict=True)]
            assert row.tolist() == pytest.approx([part / sum(parts) for part in parts])


def test_points_of_one_class_that_is_given_too_often_are_given_to_another() -> None:
    """Where half of what is called the first class is the second, those with the most doubt go back."""
    average = torch.tensor([[0.9, 0.1]] * 6 + [[0.55, 0.45]] * 4, dtype=torch.double)
    given = average.mean(0)
    assert (average.argmax(1) == 0).all()
    assert balanced(average, given, 1.0).argmax(1).tolist() == [0] * 6 + [1] * 4


def test_what_the_consensus_gives_is_kept_as_a_moving_average_and_used() -> None:
    gan = small_gan(discriminators=2, consensus=1.0, balance=1.0, burn_in=2, iterations=8)
    torch.testing.assert_close(gan.state.given, torch.full((CLASSES,), 1 / CLASSES))
    batch = gan.batches.for_discriminators(replace(gan.state, iteration=5))
    given = gan.gradients.of_discriminators(gan.state, batch).given
    assert given is not None
    assert batch.real is not None
    logits = gan.discriminator(gan.state.discriminators.theta, batch.real)[..., :CLASSES]
    average = logits.softmax(-1).mean(0)
    torch.testing.assert_close(given, average.mean(0))
    gan.state.given = torch.tensor([0.7, 0.2, 0.1])
    assert batch.noise is not None
    fakes = torch.zeros(2, 1, DIM, dtype=torch.double)
    plain = small_gan(discriminators=2, consensus=1.0, burn_in=2, iterations=8)
    ours, theirs = (
        discriminator_log_p(each, gan.state.discriminators.theta, fakes, batch.real, consensus=1.0)
        for each in (gan, plain)
    )
    labels = consensus_labels(balanced(average, gan.state.given.double(), 1.0))
    unbalanced = consensus_labels(average)
    expected = consensus_log_likelihood(logits, labels - unbalanced, SIZE, 1.0)
    torch.testing.assert_close(ours - theirs, expected)
    before = gan.state.given.clone()
    gan.iterate()
    assert not torch.equal(gan.state.given, before)
    torch.testing.assert_close(gan.state.given.sum(), torch.tensor(1.0))


def test_the_term_is_the_expected_log_likelihood_of_completed_data_rescaled_and_weighted() -> None:
    """Against the sum over all ways to complete the data, each with its probability."""
    logits = torch.randn(2, CLASSES, dtype=torch.double, generator=rng())
    labels = torch.rand(2, CLASSES, dtype=torch.double, generator=rng(1)).softmax(-1)
    expected = torch.tensor(0.0, dtype=torch.double)
    for first, second in itertools.product(range(CLASSES), repeat=2):
        probability = labels[0, first] * labels[1, second]
        expected += probability * (logits.log_softmax(-1)[0, first] + logits.log_softmax(-1)[1, second])
    ours = consensus_log_likelihood(logits, labels, 30, 0.7)
    torch.testing.assert_close(ours, 0.7 * 30 / 2 * expected)


def test_its_gradient_pulls_predictions_to_the_labels() -> None:
    logits = torch.randn(3, 5, CLASSES, dtype=torch.double, generator=rng()).requires_grad_()
    labels = torch.randn(5, CLASSES, dtype=torch.double, generator=rng(1)).softmax(-1)
    (gradient,) = torch.autograd.grad(consensus_log_likelihood(logits, labels, 30, 0.7).sum(), logits)
    torch.testing.assert_close(gradient, 0.7 * 30 / 5 * (labels - logits.detach().softmax(-1)))


def terms(gan: BayesianGAN, real: Tensor, consensus: float = 0.0) -> Tensor:
    """log p of each discriminator on ``real`` points, without generated and labelled ones' part in it changing."""
    shape = gan.members.count("generators"), gan.settings.batches.fake_batch, *gan.batches.data.shape[1:]
    fakes = torch.zeros(shape, dtype=gan.batches.dtype)
    return discriminator_log_p(gan, gan.state.discriminators.theta, fakes, real, consensus=consensus)


@pytest.mark.parametrize("coupling", ["algorithm1", "pairs"])
@pytest.mark.parametrize(("iteration", "share"), [(0, 0.0), (1, 0.5), (2, 1.0), (BURN_IN + 2, 1.0)])
def test_in_the_posterior_it_is_that_of_all_chains_of_all_groups_growing_over_the_burn_in(
    coupling: Any, iteration: int, share: float
) -> None:
    populations = {"generators": 2, "discriminators": 2, "replicas": 2, "coupling": coupling, "burn_in": BURN_IN}
    plain = small_gan(**populations)
    ours = small_gan(consensus=0.6, **populations)
    torch.testing.assert_close(ours.state.discriminators.theta, plain.state.discriminators.theta)
    weight = ours.batches.for_discriminators(replace(ours.state, iteration=iteration)).consensus
    assert weight == pytest.approx(0.6 * share)
    real = ours.batches.points(ours.batches.indices(ours.state.streams))
    logits = [ours.discriminator(theta[None], real[:1])[0, :, :CLASSES] for theta in ours.state.discriminators.theta]
    squares = (torch.stack(logits).softmax(-1).sum(0) / 4) ** 2
    labels = squares / squares.sum(-1, keepdim=True)
    expected = [SIZE / REAL_BATCH * 0.6 * share * (labels * each.log_softmax(-1)).sum() for each in logits]
    torch.testing.assert_close(terms(ours, real, weight) - terms(plain, real), torch.stack(expected))


@pytest.mark.parametrize(("on", "plain"), [("plain", True), ("augmented", False)])
def test_plain_points_are_labelled_as_they_are_by_networks_without_noise(
    on: Any, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against each chain's network by itself, with no noise on its layers, on the data without jitter."""
    gan = dcgan(discriminators=3, consensus=0.6, consensus_on=on, jitter=1.0, layer_noise=0.3)
    asked: list[Tensor] = []
    learnt: list[Tensor] = []

    everybody = gan.members.everyones

    def watch(own: Tensor, side: Any) -> Tensor:
        asked.append(own)
        return everybody(own, side)

    def labels(average: Tensor, confidence: float) -> Tensor:
        return torch.full_like(average, torch.nan)

    def worth(logits: Tensor, *rest: Any) -> Tensor:
        learnt.append(logits)
        return consensus_log_likelihood(logits, *rest)

    monkeypatch.setattr(gan.members, "everyones", watch)
    monkeypatch.setattr("bayesgan.sampler.gradients.consensus_labels", labels)
    monkeypatch.setattr("bayesgan.sampler.gradients.consensus_log_likelihood", worth)
    gan.state.iteration = 1
    batch = gan.batches.for_discriminators(gan.state)
    indices = batch.indices
    found = gan.gradients.of_discriminators(gan.state, batch)
    log_p = found.log_densities.posterior
    network = Discriminator(IMAGE, CLASSES, 2).double()
    for theta, said in zip(gan.state.discriminators.theta, asked[0], strict=True):
        torch.nn.utils.vector_to_parameters(theta, network.parameters())
        expected = network(gan.batches.data[indices[0]])[:, :CLASSES].softmax(-1)
        assert torch.allclose(said, expected) is plain
    assert log_p.isnan().all()  # what they agree on is what counts, and what they are shown is what learns it
    assert learnt[0].requires_grad
    assert torch.allclose(learnt[0].softmax(-1), asked[0]) is not plain


def test_moving_averages_of_weights_teach_where_there_are_some() -> None:
    gan = dcgan(discriminators=2, consensus=0.6, consensus_on="plain", averaging=0.9, burn_in=40, iterations=60)
    for _ in range(5):
        gan.iterate()
    average = gan.state.discriminators.average
    assert average is not None
    batch = gan.batches.for_discriminators(gan.state)
    assert batch.plain is not None
    said = gan.discriminator(average, batch.plain)[..., :CLASSES].softmax(-1).mean(0)
    torch.testing.assert_close(gan.gradients.of_discriminators(gan.state, batch).given, said.mean(0))
    with_average = gan.gradients.of_discriminators(gan.state, batch).log_densities.posterior
    gan.state.discriminators.average = gan.state.discriminators.theta.clone()
    with_present = gan.gradients.of_discriminators(gan.state, batch).log_densities.posterior
    assert not torch.allclose(with_average, with_present)


def test_gaussians_over_weights_can_agree_too() -> None:
    values: dict[str, Any] = {
        "family": "mean-field",
        "dynamics": "adam",
        "temperature": 0.0,
        "generators": 2,
        "discriminators": 2,
    }
    gan = dcgan(**values, consensus=0.6, consensus_on="plain", averaging=0.9, coupling="pairs")
    for _ in range(3):
        gan.iterate()
    assert gan.state.discriminators.theta.isfinite().all()


def test_a_committee_without_generators_learns_from_its_labels_and_what_it_agrees_on() -> None:
    gan = dcgan(generators=0, discriminators=2, consensus=0.6, burn_in=40, iterations=60)
    gan.state.iteration = 30
    batch = gan.batches.for_discriminators(gan.state)
    assert batch.noise is None
    assert batch.real is not None
    together = gan.gradients.of_discriminators(gan.state, batch).log_densities.posterior
    alone = gan.gradients.of_discriminators(gan.state, replace(batch, consensus=0.0)).log_densities.posterior
    logits = gan.discriminator(gan.state.discriminators.theta, batch.real)[..., :CLASSES]
    expected = consensus_log_likelihood(logits, consensus_labels(logits.softmax(-1).mean(0)), SIZE, 0.6)
    torch.testing.assert_close(together - alone, expected)
    gan.iterate()


def test_all_discriminators_have_the_same_points_and_none_has_without_a_consensus() -> None:
    gans = [small_gan(discriminators=3, consensus=each) for each in (1.0, 0.0)]
    together, apart = (gan.batches.indices(gan.state.streams) for gan in gans)
    assert together.shape == apart.shape == (3, REAL_BATCH)
    assert (together == together[0]).all()
    assert not (apart == apart[0]).all()


def test_over_time_all_points_are_drawn() -> None:
    gan = small_gan(discriminators=2, consensus=1.0)
    drawn = torch.cat([gan.batches.indices(gan.state.streams)[0] for _ in range(60)])
    assert set(drawn.tolist()) == set(range(SIZE))


def test_chains_with_a_consensus_agree_more() -> None:
    """Predictions on all data after as many iterations from the same start: the mean distance from the average."""

    def disagreement(consensus: float) -> float:
        gan = dcgan(generators=3, discriminators=3, coupling="pairs", consensus=consensus, burn_in=40, iterations=60)
        for _ in range(40):
            gan.iterate()
        points = gan.batches.data.expand(3, *gan.batches.data.shape)
        probabilities = gan.discriminator(gan.state.discriminators.theta, points)[..., :CLASSES].softmax(-1)
        return (probabilities - probabilities.mean(0)).abs().mean().item()

    assert disagreement(10.0) < 0.5 * disagreement(0.0)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"data_share": 0.8}, "A consensus needs points that all discriminators see"),
        ({"discriminators": 2, "chain_batch": 1}, "A consensus needs all discriminators to move at once"),
    ],
    ids=["shares", "parts"],
)
def test_where_chains_cannot_agree_it_is_refused(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BayesganError, match=sentence):
        small_gan(consensus=1.0, **values)


def test_pairs_may_have_chain_batches_since_each_moves_as_a_whole() -> None:
    gan = small_gan(generators=3, discriminators=3, coupling="pairs", consensus=1.0, chain_batch=1)
    assert len(gan.iterate()["discriminators"].posterior) == 3


def test_without_labels_there_is_nothing_to_agree_on() -> None:
    """All points are of one class, and every discriminator keeps points of its own."""
    labelled = small_gan(discriminators=3, consensus=1.0)
    networks = mlp(NOISE_DIM, HIDDEN, DIM), mlp(DIM, HIDDEN, 1)
    gan = BayesianGAN(labelled.settings, *networks, labelled.batches.data, 0)
    indices = gan.batches.indices(gan.state.streams)
    assert not (indices == indices[0]).all()
