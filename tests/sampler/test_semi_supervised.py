"""Eqs. 3 and 4, their tricks and their bookkeeping, against loops over single probabilities in double precision."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from bayesgan.networks.mlp import mlp
from bayesgan.sampler.densities import GAMES
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.settings.names import Coupling, GameName, LabelTerm, Marginal
from bayesgan.settings.settings import Settings
from tests.helpers.labelled import (
    CLASSES,
    DIM,
    FAKE_BATCH,
    FEATURES,
    HIDDEN,
    LABEL_BATCH,
    LABELLED,
    NOISE_DIM,
    REAL_BATCH,
    SIZE,
    populations,
    small_gan,
)

JENSEN_SHANNON = GAMES["jensen-shannon"]
# The naive implementation of the whole machine: one network, one point, one probability at a time


def forward(theta: Tensor, x: Tensor, inputs: int, outputs: int) -> Tensor:
    first, bias, second, last = theta.split([inputs * HIDDEN, HIDDEN, HIDDEN * outputs, outputs])
    hidden = torch.clamp(x @ first.view(HIDDEN, inputs).T + bias, min=0)
    return hidden @ second.view(outputs, HIDDEN).T + last


def generated(theta_g: Tensor, z: Tensor) -> Tensor:
    return forward(theta_g, z, NOISE_DIM, DIM)


def d(theta_d: Tensor, point: Tensor) -> list[Tensor]:
    """D(x = 0), …, D(x = K)."""
    odds = torch.exp(forward(theta_d, point, DIM, CLASSES + FEATURES)[:CLASSES])
    return [1 / (1 + odds.sum()), *(odds / (1 + odds.sum()))]


def features(theta_d: Tensor, point: Tensor) -> Tensor:
    return forward(theta_d, point, DIM, CLASSES + FEATURES)[CLASSES:]


def critic(theta_d: Tensor, point: Tensor) -> Tensor:
    return torch.log(sum(torch.exp(forward(theta_d, point, DIM, CLASSES + FEATURES)[:CLASSES]), torch.zeros(())))


def opponents(s: Settings, chain: int, own: int, other: int) -> list[int]:
    """Chain m·J + j is θ^{j,m}; branches follow one another, and chains of different branches do not meet."""
    if s.coupling == "pairs":
        return [chain]
    if s.coupling == "all":
        branch = chain // (own * s.replicas)
        return [branch * other * s.replicas + k for k in range(other * s.replicas)]
    return [chain // own * other + k for k in range(other)]


def joined(log_terms: list[Tensor], marginal: Marginal) -> Tensor:
    terms = torch.stack(log_terms)
    if marginal == "sum":
        return terms.sum()
    if marginal == "mean":
        return terms.sum() / len(log_terms)
    return torch.log((torch.exp(terms - terms.max().detach())).sum() / len(log_terms)) + terms.max().detach()


def naive_prior(theta: Tensor, variance: float | None) -> Tensor:
    return torch.zeros(()) if variance is None else -(theta**2).sum() / (2 * variance)


def naive_generator(gan: BayesianGAN, chain: int, theta_g: Tensor, noise: Tensor, real: Tensor) -> Tensor:
    """Eq. 3; ``real`` are the points of every discriminator, for feature matching."""
    s = gan.settings
    terms = []
    for k in opponents(s, chain, s.generators, s.discriminators):
        theta_d = gan.discriminators.theta[k]
        for batch in noise.split(FAKE_BATCH):
            log_p = naive_prior(theta_g, s.prior_variance)
            if s.feature_matching:
                fake_mean = sum((features(theta_d, generated(theta_g, z)) for z in batch), torch.zeros(())) / len(batch)
                real_mean = sum((features(theta_d, x) for x in real[k]), torch.zeros(())) / len(real[k])
                log_p = log_p - SIZE * ((fake_mean - real_mean) ** 2).sum()
            for z in batch if not s.feature_matching else []:
                point = generated(theta_g, z)
                if s.game == "wasserstein":
                    value = s.critic_weight * critic(theta_d, point)
                else:
                    value = torch.log(sum(d(theta_d, point)[1:], torch.zeros(())))
                log_p = log_p + value * SIZE / FAKE_BATCH
            terms.append(log_p)
    return joined(terms, s.marginal)


def naive_discriminator(
    gan: BayesianGAN, chain: int, theta_d: Tensor, noise: Tensor, real: Tensor, labelled: tuple[Tensor, Tensor]
) -> Tensor:
    """Eq. 4."""
    s = gan.settings
    terms = []
    for k in opponents(s, chain, s.discriminators, s.generators):
        for batch in noise[k].split(FAKE_BATCH):
            log_p = naive_prior(theta_d, s.prior_variance)
            for x in real:
                is_real = torch.log(sum(d(theta_d, x)[1:], torch.zeros(())))
                is_fake = torch.log(d(theta_d, x)[0])
                if s.game == "wasserstein":
                    is_real = s.critic_weight * critic(theta_d, x)
                    is_fake = -is_real
                value = s.real_target * is_real + (1 - s.real_target) * is_fake
                log_p = log_p + value * SIZE / REAL_BATCH
            for z in batch:
                point = generated(gan.generators.theta[k], z)
                value = (
                    -s.critic_weight * critic(theta_d, point)
                    if s.game == "wasserstein"
                    else torch.log(d(theta_d, point)[0])
                )
                log_p = log_p + value * SIZE / FAKE_BATCH
            n_s = len(labelled[0])
            weight = SIZE / LABELLED if s.label_weight is None else s.label_weight
            for x, y in zip(*labelled, strict=True):
                own = d(theta_d, x)[1 + int(y)]
                if s.game == "wasserstein" or s.label_term == "class":
                    own = own / sum(d(theta_d, x)[1:], torch.zeros(()))
                log_p = log_p + weight * torch.log(own) * LABELLED / n_s
            terms.append(log_p)
    return joined(terms, s.marginal)


def compare_with_naive(gan: BayesianGAN) -> None:
    noise = gan.noise(len(gan.generators.theta), gan.settings.noise_batches * FAKE_BATCH)
    real = gan.points(gan.mini_batches())
    labelled = gan.labelled_batches()
    assert labelled is not None

    theta_g = gan.generators.theta.clone().requires_grad_()
    matched = real if gan.settings.feature_matching else None
    log_p = gan.generator_log_posterior(theta_g, gan.discriminators.theta, noise, matched)
    (gradient,) = torch.autograd.grad(log_p.sum(), theta_g)
    for chain, row in enumerate(gan.generators.theta):
        theta = row.clone().requires_grad_()
        expected = naive_generator(gan, chain, theta, noise[chain], real)
        torch.testing.assert_close(log_p[chain], expected, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(gradient[chain], torch.autograd.grad(expected, theta)[0], rtol=1e-8, atol=1e-9)

    theta_d = gan.discriminators.theta.clone().requires_grad_()
    log_p = gan.discriminator_log_posterior(theta_d, gan.fakes(gan.generators.theta, noise), real, labelled)
    (gradient,) = torch.autograd.grad(log_p.sum(), theta_d)
    for chain, row in enumerate(gan.discriminators.theta):
        theta = row.clone().requires_grad_()
        own = labelled[0][chain], labelled[1][chain]
        expected = naive_discriminator(gan, chain, theta, noise, real[chain], own)
        torch.testing.assert_close(log_p[chain], expected, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(gradient[chain], torch.autograd.grad(expected, theta)[0], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("coupling", ["algorithm1", "all", "pairs"])
@pytest.mark.parametrize("marginal", ["sum", "mean", "density"])
def test_equations_3_and_4_equal_a_naive_implementation(coupling: Coupling, marginal: Marginal) -> None:
    compare_with_naive(small_gan(**populations(coupling), marginal=marginal, prior_variance=0.5, label_weight=1.0))


def test_the_defaults_are_equation_4_without_tricks() -> None:
    settings = Settings()
    assert (settings.label_weight, settings.real_target, settings.feature_matching) == (1.0, 1.0, False)
    assert (settings.game, settings.family, settings.data_share, settings.branches) == (
        "jensen-shannon",
        "weights",
        1.0,
        1,
    )


@pytest.mark.parametrize("label_term", ["joint", "class"])
@pytest.mark.parametrize("label_weight", [1.0, 2.5, None])
@pytest.mark.parametrize("label_batch", [1, LABEL_BATCH, LABELLED, 100])
def test_labels_in_batches_of_any_size_and_weight_equal_a_naive_implementation(
    label_weight: float | None, label_batch: int, label_term: LabelTerm
) -> None:
    values: dict[str, Any] = {"label_weight": label_weight, "label_batch": label_batch, "label_term": label_term}
    compare_with_naive(small_gan(generators=2, discriminators=1, **values))


@pytest.mark.parametrize("game", ["jensen-shannon", "wasserstein"])
@pytest.mark.parametrize(
    "trick", [{}, {"feature_matching": True}, {"real_target": 0.9}, {"critic_weight": 0.3}], ids=str
)
@pytest.mark.parametrize("coupling", ["algorithm1", "all", "pairs"])
def test_games_and_tricks_equal_a_naive_implementation(
    game: GameName, trick: dict[str, Any], coupling: Coupling
) -> None:
    compare_with_naive(small_gan(**populations(coupling), game=game, prior_variance=None, **trick))


@pytest.mark.parametrize("coupling", ["algorithm1", "all", "pairs"])
def test_branches_play_among_themselves(coupling: Coupling) -> None:
    gan = small_gan(**populations(coupling), branches=2, label_weight=None)
    for _ in range(5):
        gan.iterate()
    assert len(gan.generators.theta) == 12
    compare_with_naive(gan)


def test_the_update_uses_the_gradient_of_the_points_it_draws() -> None:
    """discriminator_gradient and generator_gradient, against a twin that draws from the same streams."""
    values: dict[str, Any] = {"generators": 2, "discriminators": 2, "feature_matching": True, "real_target": 0.8}
    gan, twin = small_gan(**values), small_gan(**values)
    indices = torch.tensor([[0, 1, 2, 3], [4, 5, 6, 6]])
    gradient, log_p = gan.discriminator_gradient(indices)
    noise, labelled = twin.noise(2, FAKE_BATCH), twin.labelled_batches()
    assert labelled is not None
    for chain, row in enumerate(twin.discriminators.theta):
        theta = row.clone().requires_grad_()
        own = labelled[0][chain], labelled[1][chain]
        expected = naive_discriminator(twin, chain, theta, noise, twin.data[indices[chain]], own)
        torch.testing.assert_close(log_p[chain], expected.detach())
        torch.testing.assert_close(gradient[chain], torch.autograd.grad(expected, theta)[0])
    gradient, log_p = gan.generator_gradient()
    noise = twin.noise(2, FAKE_BATCH)
    real = twin.points(twin.mini_batches("noise"))
    for chain, row in enumerate(twin.generators.theta):
        theta = row.clone().requires_grad_()
        expected = naive_generator(twin, chain, theta, noise[chain], real)
        torch.testing.assert_close(log_p[chain], expected.detach())
        torch.testing.assert_close(gradient[chain], torch.autograd.grad(expected, theta)[0])


# Labels alone


def supervised(**settings: Any) -> BayesianGAN:
    return small_gan(generators=0, game="classification", **settings)


@pytest.mark.parametrize("label_weight", [1.0, 2.5, None])
@pytest.mark.parametrize("variance", [None, 0.5])
def test_without_generators_the_gradient_is_that_of_cross_entropy(
    label_weight: float | None, variance: float | None
) -> None:
    gan = supervised(discriminators=2, label_batch=100, label_weight=label_weight, prior_variance=variance)
    assert gan.labels is not None
    gradient, log_p = gan.discriminator_gradient(gan.mini_batches())
    network = mlp(DIM, HIDDEN, CLASSES + FEATURES).double()
    weight = SIZE / LABELLED if label_weight is None else label_weight
    for chain, theta in enumerate(gan.discriminators.theta):
        torch.nn.utils.vector_to_parameters(theta, network.parameters())
        network.zero_grad()
        logits = network(gan.data[gan.labels.indices])[:, :CLASSES]
        loss = weight * functional.cross_entropy(logits, gan.labels.classes, reduction="sum")
        if variance is not None:
            loss = loss + sum((each**2).sum() for each in network.parameters()) / (2 * variance)
        loss.backward()
        flat = torch.cat([each.grad.flatten() for each in network.parameters() if each.grad is not None])
        torch.testing.assert_close(log_p[chain], -loss.detach())
        torch.testing.assert_close(gradient[chain], -flat)


def test_mini_batches_of_labels_are_unbiased() -> None:
    """Values and gradients of 4000 mini-batches, against all labels at once, within 5 standard errors."""
    chains, draws = 400, 10
    gan, full = supervised(discriminators=chains, label_weight=2.0), supervised(label_batch=100, label_weight=2.0)
    gan.discriminators.theta[:] = full.discriminators.theta[0]
    found = []
    for _ in range(draws):
        gradient, log_p = gan.discriminator_gradient(gan.mini_batches())
        found.append(torch.cat([log_p[:, None], gradient], 1))
    values = torch.cat(found)
    gradient, log_p = full.discriminator_gradient(full.mini_batches())
    expected = torch.cat([log_p[:1], gradient[0]])
    error = values.std(0) / (chains * draws) ** 0.5
    assert values[:, 0].std().item() > 0
    assert ((values.mean(0) - expected).abs() <= 5 * error + 1e-10).all()
