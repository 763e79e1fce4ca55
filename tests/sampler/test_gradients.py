"""Eqs. 3 and 4, their tricks and their bookkeeping, against loops over single probabilities in double precision."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from bayesgan.networks.mlp import mlp
from bayesgan.sampler.distributed import ALL
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.gradients import Gradient
from bayesgan.settings.names import Coupling, GameName, LabelTerm, Marginal, Weighing
from bayesgan.settings.settings import Settings
from tests.helpers.gradients import (
    discriminator_gradient,
    discriminator_gradient_on,
    discriminator_log_p,
    generator_gradient,
    generator_log_p,
)
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
    """Chain m·J + j is θ^{j,m}."""
    if s.populations.coupling == "pairs":
        return [chain]
    if s.populations.coupling == "all":
        return list(range(other * s.populations.replicas))
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
    for k in opponents(s, chain, s.populations.generators, s.populations.discriminators):
        theta_d = gan.state.discriminators.theta[k]
        for batch in noise.split(FAKE_BATCH):
            log_p = naive_prior(theta_g, s.prior.generator_prior)
            if s.densities.feature_matching:
                fake_mean = sum((features(theta_d, generated(theta_g, z)) for z in batch), torch.zeros(())) / len(batch)
                real_mean = sum((features(theta_d, x) for x in real[k]), torch.zeros(())) / len(real[k])
                log_p = log_p - SIZE * ((fake_mean - real_mean) ** 2).sum()
            for z in batch if not s.densities.feature_matching else []:
                point = generated(theta_g, z)
                if s.densities.game == "wasserstein":
                    value = critic(theta_d, point)
                else:
                    value = torch.log(sum(d(theta_d, point)[1:], torch.zeros(())))
                log_p = log_p + s.densities.game_weight * value * SIZE / FAKE_BATCH
            terms.append(log_p)
    return joined(terms, s.densities.marginal)


def naive_discriminator(
    gan: BayesianGAN, chain: int, theta_d: Tensor, noise: Tensor, real: Tensor, labelled: tuple[Tensor, Tensor]
) -> Tensor:
    """Eq. 4."""
    s = gan.settings
    game = s.densities.game_weight * (LABELLED / SIZE if s.densities.weighing == "lowered-game" else 1.0)
    terms = []
    for k in opponents(s, chain, s.populations.discriminators, s.populations.generators):
        for batch in noise[k].split(FAKE_BATCH):
            log_p = naive_prior(theta_d, s.prior.discriminator_prior)
            for x in real:
                is_real = torch.log(sum(d(theta_d, x)[1:], torch.zeros(())))
                if s.densities.game == "wasserstein":
                    is_real = critic(theta_d, x)
                log_p = log_p + game * is_real * SIZE / REAL_BATCH
            for z in batch:
                point = generated(gan.state.generators.theta[k], z)
                value = (
                    -critic(theta_d, point) if s.densities.game == "wasserstein" else torch.log(d(theta_d, point)[0])
                )
                log_p = log_p + game * value * SIZE / FAKE_BATCH
            n_s = len(labelled[0])
            weight = SIZE / LABELLED if s.densities.weighing == "raised-labels" else 1.0
            for x, y in zip(*labelled, strict=True):
                own = d(theta_d, x)[1 + int(y)]
                if s.densities.game == "wasserstein" or s.densities.label_term == "class":
                    own = own / sum(d(theta_d, x)[1:], torch.zeros(()))
                log_p = log_p + weight * torch.log(own) * LABELLED / n_s
            terms.append(log_p)
    return joined(terms, s.densities.marginal)


def found(gradient: Gradient) -> tuple[Tensor, Tensor]:
    return gradient.values, gradient.log_densities.posterior


def compare_with_naive(gan: BayesianGAN) -> None:
    noise = gan.batches.noise(gan.state.streams)
    real = gan.batches.points(gan.batches.indices(gan.state.streams))
    labelled = gan.batches.labelled(gan.state.streams)
    assert labelled is not None

    theta_g = gan.state.generators.theta.clone().requires_grad_()
    matched = real if gan.settings.densities.feature_matching else None
    log_p = generator_log_p(gan, theta_g, gan.state.discriminators.theta, noise, matched)
    (gradient,) = torch.autograd.grad(log_p.sum(), theta_g)
    for chain, row in enumerate(gan.state.generators.theta):
        theta = row.clone().requires_grad_()
        expected = naive_generator(gan, chain, theta, noise[chain], real)
        torch.testing.assert_close(log_p[chain], expected, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(gradient[chain], torch.autograd.grad(expected, theta)[0], rtol=1e-8, atol=1e-9)

    theta_d = gan.state.discriminators.theta.clone().requires_grad_()
    fakes = gan.gradients.generated(gan.state.streams, gan.state.generators.theta, noise)
    log_p = discriminator_log_p(gan, theta_d, fakes, real, labelled)
    (gradient,) = torch.autograd.grad(log_p.sum(), theta_d)
    for chain, row in enumerate(gan.state.discriminators.theta):
        theta = row.clone().requires_grad_()
        own = labelled[0][chain], labelled[1][chain]
        expected = naive_discriminator(gan, chain, theta, noise, real[chain], own)
        torch.testing.assert_close(log_p[chain], expected, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(gradient[chain], torch.autograd.grad(expected, theta)[0], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("coupling", ["algorithm1", "all", "pairs"])
@pytest.mark.parametrize("marginal", ["sum", "mean", "density"])
def test_equations_3_and_4_equal_a_naive_implementation(coupling: Coupling, marginal: Marginal) -> None:
    compare_with_naive(
        small_gan(
            **populations(coupling), marginal=marginal, generator_prior=0.5, discriminator_prior=0.5, weighing="printed"
        )
    )


def test_the_defaults_are_equation_4_without_tricks() -> None:
    settings = Settings()
    assert (settings.densities.weighing, settings.densities.feature_matching) == ("printed", False)
    assert (settings.densities.game, settings.densities.consensus) == ("jensen-shannon", 0.0)
    assert (settings.populations.family, settings.populations.data_share) == ("weights", 1.0)


@pytest.mark.parametrize("label_term", ["joint", "class"])
@pytest.mark.parametrize("weighing", ["printed", "raised-labels", "lowered-game"])
@pytest.mark.parametrize("label_batch", [1, LABEL_BATCH, LABELLED, 100])
def test_labels_in_batches_of_any_size_and_weight_equal_a_naive_implementation(
    weighing: Weighing, label_batch: int, label_term: LabelTerm
) -> None:
    values: dict[str, Any] = {"weighing": weighing, "label_batch": label_batch, "label_term": label_term}
    compare_with_naive(small_gan(generators=2, discriminators=1, **values))


@pytest.mark.parametrize("game", ["jensen-shannon", "wasserstein"])
@pytest.mark.parametrize("trick", [{}, {"feature_matching": True}, {"game_weight": 0.3}], ids=str)
@pytest.mark.parametrize("coupling", ["algorithm1", "all", "pairs"])
def test_games_and_tricks_equal_a_naive_implementation(
    game: GameName, trick: dict[str, Any], coupling: Coupling
) -> None:
    compare_with_naive(
        small_gan(**populations(coupling), game=game, generator_prior=None, discriminator_prior=None, **trick)
    )


def test_the_update_uses_the_gradient_of_the_points_it_draws() -> None:
    """discriminator_gradient and generator_gradient, against a twin that draws from the same streams."""
    values: dict[str, Any] = {"generators": 2, "discriminators": 2, "feature_matching": True}
    gan, twin = small_gan(**values), small_gan(**values)
    indices = torch.tensor([[0, 1, 2, 3], [4, 5, 6, 6]])
    gradient, log_p = found(discriminator_gradient_on(gan, indices))
    noise, labelled = twin.batches.noise(twin.state.streams), twin.batches.labelled(twin.state.streams)
    assert labelled is not None
    for chain, row in enumerate(twin.state.discriminators.theta):
        theta = row.clone().requires_grad_()
        own = labelled[0][chain], labelled[1][chain]
        expected = naive_discriminator(twin, chain, theta, noise, twin.batches.data[indices[chain]], own)
        torch.testing.assert_close(log_p[chain], expected.detach())
        torch.testing.assert_close(gradient[chain], torch.autograd.grad(expected, theta)[0])
    gradient, log_p = found(generator_gradient(gan))
    noise = twin.batches.noise(twin.state.streams)
    real = twin.batches.points(twin.batches.indices(twin.state.streams, ALL, "noise"))
    for chain, row in enumerate(twin.state.generators.theta):
        theta = row.clone().requires_grad_()
        expected = naive_generator(twin, chain, theta, noise[chain], real)
        torch.testing.assert_close(log_p[chain], expected.detach())
        torch.testing.assert_close(gradient[chain], torch.autograd.grad(expected, theta)[0])


# Labels alone


def supervised(**settings: Any) -> BayesianGAN:
    return small_gan(generators=0, **settings)


@pytest.mark.parametrize("weighing", ["printed", "raised-labels"])
@pytest.mark.parametrize("variance", [None, 0.5])
def test_without_generators_the_gradient_is_that_of_cross_entropy(weighing: Weighing, variance: float | None) -> None:
    gan = supervised(
        discriminators=2,
        label_batch=100,
        weighing=weighing,
        generator_prior=variance,
        discriminator_prior=variance,
    )
    assert gan.labels is not None
    gradient, log_p = found(discriminator_gradient(gan))
    network = mlp(DIM, HIDDEN, CLASSES + FEATURES).double()
    weight = SIZE / LABELLED if weighing == "raised-labels" else 1.0
    for chain, theta in enumerate(gan.state.discriminators.theta):
        torch.nn.utils.vector_to_parameters(theta, network.parameters())
        network.zero_grad()
        logits = network(gan.batches.data[gan.labels.indices])[:, :CLASSES]
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
    gan, full = supervised(discriminators=chains), supervised(label_batch=100)
    gan.state.discriminators.theta[:] = full.state.discriminators.theta[0]
    drawn = []
    for _ in range(draws):
        gradient, log_p = found(discriminator_gradient(gan))
        drawn.append(torch.cat([log_p[:, None], gradient], 1))
    values = torch.cat(drawn)
    gradient, log_p = found(discriminator_gradient(full))
    expected = torch.cat([log_p[:1], gradient[0]])
    error = values.std(0) / (chains * draws) ** 0.5
    assert values[:, 0].std().item() > 0
    assert ((values.mean(0) - expected).abs() <= 5 * error + 1e-10).all()
