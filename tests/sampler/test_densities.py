"""Eqs. 1 to 4 term by term from logits, against naive arithmetic in double precision."""

import itertools
import math

import pytest
import torch
from torch.nn import functional

from bayesgan.sampler.densities import (
    GAMES,
    discriminator_log_posterior,
    game_of,
    generator_log_posterior,
    labelled_log_likelihood,
    log_prior,
    marginalise,
    matching_log_posterior,
    reality,
    rescaled,
    temperatures,
)
from bayesgan.settings.settings import Settings
from tests.helpers.labelled import CLASSES, rng

JENSEN_SHANNON = GAMES["jensen-shannon"]


def test_generator_posterior_is_equation_1() -> None:
    logits = torch.tensor([[0.3, -1.2, 2.0], [0.0, 0.5, -0.5]], dtype=torch.double)
    prior = torch.tensor([-1.0, -2.0], dtype=torch.double)
    log_p = generator_log_posterior(logits, prior, 30, JENSEN_SHANNON)
    probabilities = 1 / (1 + torch.exp(-logits))
    torch.testing.assert_close(log_p, torch.log(probabilities.prod(-1)) * 30 / 3 + prior)


def test_discriminator_posterior_is_equation_2() -> None:
    """With different batch sizes for real and generated points: each is rescaled by its own N/n."""
    real = torch.tensor([0.3, -1.2, 2.0, 0.1], dtype=torch.double)
    fake = torch.tensor([0.7, -0.4], dtype=torch.double)
    prior = torch.tensor(-3.0, dtype=torch.double)
    log_p = discriminator_log_posterior(real, fake, prior, 100, JENSEN_SHANNON)
    p_real, p_fake = 1 / (1 + torch.exp(-real)), 1 / (1 + torch.exp(-fake))
    expected = 100 / 4 * torch.log(p_real).sum() + 100 / 2 * torch.log(1 - p_fake).sum() + prior
    torch.testing.assert_close(log_p, expected)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_extreme_logits_neither_underflow_nor_lose_their_gradient(sign: float) -> None:
    """A probability of e^{-10,000} is 0 in floating point; its logarithm and gradient are not."""
    logits = torch.tensor([sign * 1e4], requires_grad=True)
    for part, wrong in (("real", sign < 0), ("fool", sign < 0), ("fake", sign > 0)):
        value = getattr(JENSEN_SHANNON, part)(logits)
        (gradient,) = torch.autograd.grad(value.sum(), logits)
        assert value.item() == (-1e4 if wrong else 0.0)
        assert abs(gradient.item()) == (1.0 if wrong else 0.0)


def test_wasserstein_game_is_the_difference_of_the_critics_means() -> None:
    real, fake = torch.tensor([1.0, 2.0]), torch.tensor([5.0, 7.0])
    log_p = discriminator_log_posterior(real, fake, torch.tensor(0.0), 10, GAMES["wasserstein"])
    assert log_p.item() == 10 * (1.5 - 6.0)
    assert generator_log_posterior(fake, torch.tensor(0.0), 10, GAMES["wasserstein"]).item() == 60.0


def test_rescaled_is_unbiased() -> None:
    """Averaged over all mini-batches of one point, (N/n) Σ equals the sum over the data."""
    data = torch.tensor([1.0, -2.0, 4.0])
    assert torch.stack([rescaled(point[None], 3) for point in data]).mean().item() == pytest.approx(data.sum().item())


@pytest.mark.parametrize("variance", [1.0, 10.0])
def test_gaussian_prior(variance: float) -> None:
    theta = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=torch.double, requires_grad=True)
    normal = torch.distributions.Normal(0.0, math.sqrt(variance))
    log_p = log_prior(theta, theta.new_full((2,), 1 / variance))
    # Equal up to the constant of normalisation.
    expected = normal.log_prob(theta).sum(-1) - normal.log_prob(torch.zeros(2, dtype=torch.double)).sum()
    torch.testing.assert_close(log_p, expected)
    weights = torch.tensor([1.0, 3.0], dtype=torch.double)
    torch.testing.assert_close(
        torch.autograd.grad((weights * log_p).sum(), theta), torch.autograd.grad((weights * expected).sum(), theta)
    )


def test_flat_prior_has_no_gradient() -> None:
    assert log_prior(torch.ones(2, 3), None).tolist() == [0.0, 0.0]


def test_marginals() -> None:
    log_p = torch.tensor([[-1.0, -2.0], [-3.0, -0.5]], dtype=torch.double)
    assert marginalise(log_p, (0, 1), "sum").item() == pytest.approx(-6.5)
    assert marginalise(log_p, (0, 1), "mean").item() == pytest.approx(-6.5 / 4)
    assert marginalise(log_p, (0, 1), "density").item() == pytest.approx(math.log(torch.exp(log_p).mean().item()))
    assert marginalise(log_p, (1,), "density").shape == (2,)


def test_density_marginal_does_not_underflow() -> None:
    log_p = torch.tensor([-1e5, -1e5 - 1.0])
    expected = -1e5 + math.log((1 + math.exp(-1)) / 2)
    assert marginalise(log_p, (0,), "density").item() == pytest.approx(expected, rel=1e-6)


# K classes and "generated": Eqs. 3 and 4


@pytest.mark.parametrize("classes", [1, 2, 10])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_every_term_and_its_gradient_is_that_of_a_softmax_with_one_more_free_logit(classes: int, scale: float) -> None:
    """torch's softplus is linear beyond 20, which leaves out e^-20 = 2e-9."""
    free = (scale * torch.randn(6, classes + 1, dtype=torch.double, generator=rng())).requires_grad_()
    logits = (free[:, 1:] - free[:, :1]).detach().requires_grad_()
    chosen = torch.randint(classes, (6,), generator=rng(1))
    log_d = functional.log_softmax(free, 1)
    rows, real = torch.arange(6), reality(logits)
    for ours, expected in (
        (JENSEN_SHANNON.real(real), log_d[:, 1:].logsumexp(1)),
        (JENSEN_SHANNON.fool(real), log_d[:, 1:].logsumexp(1)),
        (JENSEN_SHANNON.fake(real), log_d[:, 0]),
        (labelled_log_likelihood(logits[:, None], chosen[:, None], 1.0, JENSEN_SHANNON), log_d[rows, chosen + 1]),
    ):
        torch.testing.assert_close(ours, expected, rtol=1e-9, atol=2.1e-9)
        (gradient,) = torch.autograd.grad(ours.sum(), logits, retain_graph=True)
        (free_gradient,) = torch.autograd.grad(expected.sum(), free, retain_graph=True)
        torch.testing.assert_close(gradient, free_gradient[:, 1:], rtol=1e-8, atol=2.1e-9)


@pytest.mark.parametrize("logits", list(itertools.product([-1e3, 0.0, 1e3], repeat=2)), ids=str)
def test_extreme_logits_stay_finite_and_right(logits: tuple[float, float]) -> None:
    """In single precision, where 1000 is known to 1e-4, against the softmax over K+1 classes in double."""
    ours = torch.tensor([logits], requires_grad=True)
    log_d = functional.log_softmax(torch.tensor([0.0, *logits], dtype=torch.double), 0)
    real = reality(ours)
    for value, expected in (
        (JENSEN_SHANNON.real(real), log_d[1:].logsumexp(0)),
        (JENSEN_SHANNON.fake(real), log_d[0]),
        (labelled_log_likelihood(ours, torch.tensor([1]), 1.0, JENSEN_SHANNON), log_d[2]),
    ):
        assert value.item() == pytest.approx(expected.item(), rel=1e-6, abs=1e-4)
        assert torch.isfinite(torch.autograd.grad(value.sum(), ours, retain_graph=True)[0]).all()


def test_with_one_class_they_are_the_two_class_equations_1_and_2() -> None:
    logits = torch.tensor([[0.3], [-1.2], [2.0]], dtype=torch.double)
    d = 1 / (1 + torch.exp(-logits[:, 0]))
    zero = torch.tensor(0.0, dtype=torch.double)
    real = reality(logits)
    expected = 30 / 3 * torch.log(d).sum()
    torch.testing.assert_close(generator_log_posterior(real, zero, 30, JENSEN_SHANNON), expected)
    both = expected + 30 / 3 * torch.log(1 - d).sum()
    torch.testing.assert_close(discriminator_log_posterior(real, real, zero, 30, JENSEN_SHANNON), both)
    own = labelled_log_likelihood(logits, torch.zeros(3, dtype=torch.long), 30.0, JENSEN_SHANNON)
    torch.testing.assert_close(own, expected)  # a label of the only class says "real"


def test_the_labelled_term_has_its_own_rescaling_and_weight() -> None:
    logits = torch.randn(4, CLASSES, dtype=torch.double, generator=rng())
    classes = torch.tensor([0, 2, 1, 1])
    ours = labelled_log_likelihood(logits, classes, 30.0, JENSEN_SHANNON)
    d = torch.exp(logits) / (1 + torch.exp(logits).sum(1, keepdim=True))
    assert ours.item() == pytest.approx(3.0 * 10 / 4 * sum(torch.log(d[i, c]).item() for i, c in enumerate(classes)))


def test_averaged_over_all_mini_batches_the_labelled_term_is_that_of_all_labels() -> None:
    logits = torch.randn(4, CLASSES, dtype=torch.double, generator=rng())
    classes = torch.tensor([0, 2, 1, 1])
    log_d = functional.log_softmax(torch.cat([torch.zeros(4, 1), logits], 1), 1)
    terms = []
    for batch in itertools.product(range(4), repeat=2):
        chosen = torch.tensor(batch)
        terms.append(labelled_log_likelihood(logits[chosen], classes[chosen], 4.0, JENSEN_SHANNON))
    torch.testing.assert_close(torch.stack(terms).mean(), log_d[range(4), classes + 1].sum())


def test_labels_of_a_critic_and_labels_alone_are_cross_entropy() -> None:
    logits = torch.randn(4, CLASSES, dtype=torch.double, generator=rng())
    classes = torch.tensor([0, 2, 1, 1])
    expected = -2.0 * 10 / 4 * functional.cross_entropy(logits, classes, reduction="sum")
    for game in (GAMES["wasserstein"], game_of("jensen-shannon", "class")):
        torch.testing.assert_close(labelled_log_likelihood(logits, classes, 20.0, game), expected)


def test_feature_matching_is_minus_n_times_the_squared_distance_of_mean_features() -> None:
    fake, real = torch.randn(2, 3, 5, generator=rng()), torch.randn(2, 4, 5, generator=rng(1))
    prior = torch.tensor([-1.0, -2.0])
    ours = matching_log_posterior(fake, real, prior, 30)
    for i in range(2):
        distances = [sum(fake[i, :, f].tolist()) / 3 - sum(real[i, :, f].tolist()) / 4 for f in range(5)]
        assert ours[i].item() == pytest.approx(-30 * sum(d**2 for d in distances) + prior[i].item(), rel=1e-5)


def test_each_term_is_as_warm_as_it_counts_little() -> None:
    """On 1,300 points of which 50 show their label; ten generators with two noise batches each in a sum."""
    ours = temperatures(Settings.of(weighing="raised-labels", temperature=0.1, game_weight=0.5), 1300, 50)
    assert ours == pytest.approx({"real": 0.2, "generated": 0.2, "labels": 0.1 / 26, "prior": 1.0})
    ours = temperatures(Settings.of(weighing="lowered-game", consensus=2.0), 1300, 50)
    assert ours == pytest.approx({"real": 26.0, "generated": 26.0, "labels": 1.0, "consensus": 13.0, "prior": 1.0})
    printed = Settings.of(marginal="sum", generators=10, noise_batches=2)
    assert temperatures(printed, 1300, 50) == pytest.approx(
        dict.fromkeys(["real", "generated", "labels", "prior"], 0.05)
    )
    assert temperatures(Settings.of(generators=0, temperature=0.0), 1300, 50) == {"labels": 0.0, "prior": 0.0}
    assert temperatures(Settings.of(), 1300, 0) == {"real": 1.0, "generated": 1.0, "prior": 1.0}
