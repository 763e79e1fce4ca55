"""Eqs. 3 and 4, their tricks and their bookkeeping, against loops over single probabilities in double precision."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from bayesgan.coupling import Coupling
from bayesgan.data.images import Images
from bayesgan.data.labels import LabelledSet, labelled_set
from bayesgan.draws import ALL, Chosen, Labels
from bayesgan.experiments.images import image_gan
from bayesgan.gan import BayesianGAN
from bayesgan.networks import Discriminator, Generator, Normalisation, Shape, mlp
from bayesgan.posterior import (
    GAMES,
    GameName,
    Marginal,
    discriminator_log_posterior,
    generator_log_posterior,
    labelled_log_likelihood,
    matching_log_posterior,
    reality,
)
from bayesgan.settings import ImageSettings, Settings, parse_settings
from tests.test_networks import PlainDiscriminator, PlainGenerator, set_statistics, statistics_of, with_weights

JENSEN_SHANNON = GAMES["jensen-shannon"]
NOISE_DIM, HIDDEN, DIM, CLASSES, FEATURES = 2, 4, 3, 3, 2
SIZE, LABELLED = 12, 5  # N and N_s: different from each other and from every batch below
REAL_BATCH, FAKE_BATCH, LABEL_BATCH = 4, 2, 3


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# K logits beside a constant zero are a softmax over K+1 classes


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
        (labelled_log_likelihood(logits[:, None], chosen[:, None], 1, 1.0, JENSEN_SHANNON), log_d[rows, chosen + 1]),
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
        (labelled_log_likelihood(ours, torch.tensor([1]), 1, 1.0, JENSEN_SHANNON), log_d[2]),
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
    own = labelled_log_likelihood(logits, torch.zeros(3, dtype=torch.long), 30, 1.0, JENSEN_SHANNON)
    torch.testing.assert_close(own, expected)  # a label of the only class says "real"


def test_the_labelled_term_has_its_own_rescaling_and_weight() -> None:
    logits = torch.randn(4, CLASSES, dtype=torch.double, generator=rng())
    classes = torch.tensor([0, 2, 1, 1])
    ours = labelled_log_likelihood(logits, classes, 10, 3.0, JENSEN_SHANNON)
    d = torch.exp(logits) / (1 + torch.exp(logits).sum(1, keepdim=True))
    assert ours.item() == pytest.approx(3.0 * 10 / 4 * sum(torch.log(d[i, c]).item() for i, c in enumerate(classes)))


def test_averaged_over_all_mini_batches_the_labelled_term_is_that_of_all_labels() -> None:
    logits = torch.randn(4, CLASSES, dtype=torch.double, generator=rng())
    classes = torch.tensor([0, 2, 1, 1])
    log_d = functional.log_softmax(torch.cat([torch.zeros(4, 1), logits], 1), 1)
    terms = []
    for batch in itertools.product(range(4), repeat=2):
        chosen = torch.tensor(batch)
        terms.append(labelled_log_likelihood(logits[chosen], classes[chosen], 4, 1.0, JENSEN_SHANNON))
    torch.testing.assert_close(torch.stack(terms).mean(), log_d[range(4), classes + 1].sum())


def test_wasserstein_and_classification_labels_are_cross_entropy() -> None:
    logits = torch.randn(4, CLASSES, dtype=torch.double, generator=rng())
    classes = torch.tensor([0, 2, 1, 1])
    expected = -2.0 * 10 / 4 * functional.cross_entropy(logits, classes, reduction="sum")
    for game in (GAMES["wasserstein"], GAMES["classification"]):
        torch.testing.assert_close(labelled_log_likelihood(logits, classes, 10, 2.0, game), expected)


def test_feature_matching_is_minus_n_times_the_squared_distance_of_mean_features() -> None:
    fake, real = torch.randn(2, 3, 5, generator=rng()), torch.randn(2, 4, 5, generator=rng(1))
    prior = torch.tensor([-1.0, -2.0])
    ours = matching_log_posterior(fake, real, prior, 30)
    for i in range(2):
        distances = [sum(fake[i, :, f].tolist()) / 3 - sum(real[i, :, f].tolist()) / 4 for f in range(5)]
        assert ours[i].item() == pytest.approx(-30 * sum(d**2 for d in distances) + prior[i].item(), rel=1e-5)


# The naive implementation of the whole machine: one network, one point, one probability at a time


def small_gan(seed: int = 0, **settings: Any) -> BayesianGAN:
    """The first coordinate of a point says which it is."""
    values = {
        "noise_dim": NOISE_DIM,
        "real_batch": REAL_BATCH,
        "fake_batch": FAKE_BATCH,
        "label_batch": LABEL_BATCH,
        "burn_in": 3,
        "iterations": 8,
        "thin": 1,
    }
    size = settings.pop("size", SIZE)
    data = torch.randn(size, DIM, dtype=torch.double, generator=rng(7))
    data[:, 0] = torch.linspace(-1, 1, size)
    indices = torch.randperm(size, generator=rng(8))[:LABELLED]
    labels = Labels(indices, torch.tensor([0, 1, 2, 2, 1]), CLASSES)
    networks = mlp(NOISE_DIM, HIDDEN, DIM), mlp(DIM, HIDDEN, CLASSES + FEATURES)
    return BayesianGAN(parse_settings(Settings, **(values | settings)), *networks, data, seed, labels)


def identified(gan: BayesianGAN, points: Tensor) -> Tensor:
    """Which of the data the points are."""
    indices = ((points[..., 0] + 1) / 2 * (gan.data_size - 1)).round().long()
    assert torch.equal(gan.data[indices], points)
    return indices


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
                    value = critic(theta_d, point)
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
                    is_real, is_fake = critic(theta_d, x), -critic(theta_d, x)
                value = s.real_target * is_real + (1 - s.real_target) * is_fake
                log_p = log_p + value * SIZE / REAL_BATCH
            for z in batch:
                point = generated(gan.generators.theta[k], z)
                value = -critic(theta_d, point) if s.game == "wasserstein" else torch.log(d(theta_d, point)[0])
                log_p = log_p + value * SIZE / FAKE_BATCH
            n_s = len(labelled[0])
            weight = SIZE / LABELLED if s.label_weight is None else s.label_weight
            for x, y in zip(*labelled, strict=True):
                own = d(theta_d, x)[1 + int(y)]
                if s.game == "wasserstein":
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


def populations(coupling: Coupling) -> dict[str, Any]:
    discriminators = 3 if coupling == "pairs" else 2
    return {"generators": 3, "discriminators": discriminators, "replicas": 2, "noise_batches": 2, "coupling": coupling}


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


@pytest.mark.parametrize("label_weight", [1.0, 2.5, None])
@pytest.mark.parametrize("label_batch", [1, LABEL_BATCH, LABELLED, 100])
def test_labels_in_batches_of_any_size_and_weight_equal_a_naive_implementation(
    label_weight: float | None, label_batch: int
) -> None:
    compare_with_naive(small_gan(generators=2, discriminators=1, label_weight=label_weight, label_batch=label_batch))


@pytest.mark.parametrize("game", ["jensen-shannon", "wasserstein"])
@pytest.mark.parametrize("trick", [{}, {"feature_matching": True}, {"real_target": 0.9}], ids=str)
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


def test_a_supervised_classifier_on_images_can_be_sampled_and_its_chains_branch() -> None:
    gan = dcgan(generators=0, discriminators=1, game="classification", branches=2)
    for _ in range(gan.settings.burn_in + 1):
        gan.iterate()
    sample = gan.sample()
    assert sample["generators"].shape[0] == 0
    assert sample["generator_statistics"].shape[0] == 0
    assert sample["discriminator_statistics"].shape[0] == len(sample["discriminators"]) == 2
    assert gan.gradient_noise()["discriminators"]["mean"] > 0


# The DCGAN pair


IMAGE: Shape = (1, 8, 8)


def dcgan(dtype: torch.dtype = torch.double, size: int = SIZE, **settings: Any) -> BayesianGAN:
    values = {"noise_dim": NOISE_DIM, "real_batch": REAL_BATCH, "fake_batch": FAKE_BATCH, "label_batch": LABEL_BATCH}
    values |= {"generators": 2, "discriminators": 1, "burn_in": 3, "iterations": 8, "thin": 1} | settings
    chosen = parse_settings(ImageSettings, **values)
    data = torch.rand(size, *IMAGE, dtype=dtype, generator=rng(7)) * 2 - 1
    labels = Labels(torch.randperm(size, generator=rng(8))[:LABELLED], torch.tensor([0, 1, 2, 2, 1]), CLASSES)
    discriminator = Discriminator(
        IMAGE,
        CLASSES,
        2,
        chosen.normalisation,
        chosen.layer_noise,
        chosen.feature_normalisation,
        chosen.minibatch_discrimination,
    )
    generator = Generator(NOISE_DIM, IMAGE, 2, chosen.normalisation)
    return BayesianGAN(chosen, generator, discriminator, data, 0, labels)


def test_equations_3_and_4_with_plain_convolutional_networks() -> None:
    """All that a network is shown of one kind (real, generated, labelled) is one batch of its normalisations."""
    gan = dcgan(generators=2, discriminators=2, noise_batches=2, label_weight=None, marginal="sum", prior_variance=2.0)
    noise, real, labelled = gan.noise(2, 2 * FAKE_BATCH), gan.points(gan.mini_batches()), gan.labelled_batches()
    assert labelled is not None
    theta_g = gan.generators.theta.clone().requires_grad_()
    theta_d = gan.discriminators.theta.clone().requires_grad_()
    log_p_g = gan.generator_log_posterior(theta_g, gan.discriminators.theta, noise)
    log_p_d = gan.discriminator_log_posterior(theta_d, gan.fakes(gan.generators.theta, noise).detach(), real, labelled)
    gradient_g = torch.autograd.grad(log_p_g.sum(), theta_g)[0]
    gradient_d = torch.autograd.grad(log_p_d.sum(), theta_d)[0]

    generators = [with_weights(PlainGenerator(NOISE_DIM, IMAGE, 2), theta) for theta in gan.generators.theta]
    discriminators = [with_weights(PlainDiscriminator(IMAGE, CLASSES, 2), theta) for theta in gan.discriminators.theta]

    def log_d(network: torch.nn.Module, images: Tensor) -> Tensor:
        logits = network(images)[:, :CLASSES]
        return functional.log_softmax(torch.cat([torch.zeros(len(images), 1), logits], 1), 1)

    def prior(network: PlainDiscriminator | PlainGenerator) -> Tensor:
        return -sum(((each**2).sum() for each in network.ordered()), torch.zeros(())) / (2 * 2.0)

    fakes = torch.cat([generator(z) for generator, z in zip(generators, noise, strict=True)])
    totals = [torch.zeros((), dtype=torch.double) for _ in generators]
    for discriminator in discriminators:  # 2 generators × 2 noise batches, as they lie in ``fakes``
        is_real = log_d(discriminator, fakes)[:, 1:].logsumexp(1).view(2, 2, FAKE_BATCH)
        for j, generator in enumerate(generators):
            totals[j] = totals[j] + sum(
                (is_real[j, i].sum() * SIZE / FAKE_BATCH + prior(generator) for i in range(2)), torch.zeros(())
            )
    torch.testing.assert_close(log_p_g, torch.stack(totals))
    for j, generator in enumerate(generators):
        # A generator's points change the statistics that the others' are normalised with: hence the sum of all.
        parts = torch.autograd.grad(torch.stack(totals).sum(), generator.ordered(), retain_graph=True)
        torch.testing.assert_close(gradient_g[j], torch.cat([part.flatten() for part in parts]), rtol=1e-7, atol=1e-8)

    for chain, discriminator in enumerate(discriminators):
        is_real = log_d(discriminator, real[chain])[:, 1:].logsumexp(1).sum() * SIZE / REAL_BATCH
        is_fake = log_d(discriminator, fakes.detach())[:, 0].view(4, FAKE_BATCH).sum(1) * SIZE / FAKE_BATCH
        own = log_d(discriminator, labelled[0][chain])[range(LABEL_BATCH), labelled[1][chain] + 1]
        label = own.sum() * LABELLED / LABEL_BATCH * SIZE / LABELLED
        expected = (is_real + is_fake + label + prior(discriminator)).sum()
        torch.testing.assert_close(log_p_d[chain], expected)
        parts = torch.autograd.grad(expected, discriminator.ordered())
        torch.testing.assert_close(
            gradient_d[chain], torch.cat([part.flatten() for part in parts]), rtol=1e-7, atol=1e-8
        )


def test_a_collected_sample_predicts_as_torchs_batch_norm_after_seeing_the_training_points() -> None:
    """12 points are fewer than those that statistics are taken from: they are all used."""
    gan = dcgan(generators=2, discriminators=2)
    for _ in range(4):
        gan.iterate()
    sample = gan.sample()
    assert {name: len(tensor) for name, tensor in sample.items()} == dict.fromkeys(
        ("generators", "generator_statistics", "discriminators", "discriminator_statistics"), 2
    )
    assert torch.equal(sample["discriminators"], gan.discriminators.theta)
    for theta, statistics in zip(sample["discriminators"], sample["discriminator_statistics"], strict=True):
        plain = with_weights(PlainDiscriminator(IMAGE, CLASSES, 2), theta)
        plain(gan.data)
        torch.testing.assert_close(statistics, statistics_of(plain), rtol=1e-9, atol=1e-12)
    for theta, statistics in zip(sample["generators"], sample["generator_statistics"], strict=True):
        plain = with_weights(PlainGenerator(NOISE_DIM, IMAGE, 2), theta)
        plain(gan._calibration[1])
        torch.testing.assert_close(statistics, statistics_of(plain), rtol=1e-9, atol=1e-12)
        assert gan._calibration[1].std().item() == pytest.approx(1, abs=5 * (2 * 1000) ** -0.5)
        images = set_statistics(plain, statistics)(gan._calibration[1][:3])
        ours = gan.generator(theta[None], gan._calibration[1][None, :3], statistics[None])
        torch.testing.assert_close(ours[0], images.detach())


@pytest.mark.parametrize("normalisation", ["batch", "layer", "none"])
def test_the_papers_baselines_train_with_all_their_tricks(normalisation: Normalisation) -> None:
    tricks: dict[str, Any] = {"minibatch_discrimination": True, "feature_normalisation": True, "layer_noise": 0.3}
    gan = dcgan(torch.float, normalisation=normalisation, feature_matching=True, real_target=0.9, **tricks)
    for _ in range(4):
        gan.iterate()
    assert all(torch.isfinite(tensor).all() for tensor in gan.sample().values())


def test_taking_a_sample_does_not_disturb_the_chains() -> None:
    settings: dict[str, Any] = {"layer_noise": 0.3, "feature_normalisation": True}
    quiet, watched = dcgan(torch.float, **settings), dcgan(torch.float, **settings)
    torch.manual_seed(1)
    for _ in range(6):
        quiet.iterate()
    torch.manual_seed(2)
    outside = torch.get_rng_state()
    for _ in range(6):
        watched.iterate()
        first, second = watched.sample(), watched.sample()
        assert all(torch.equal(first[name], second[name]) for name in first)
    assert torch.equal(torch.get_rng_state(), outside)
    assert torch.equal(quiet.discriminators.theta, watched.discriminators.theta)
    assert torch.equal(quiet.generators.theta, watched.generators.theta)


@pytest.mark.parametrize("settings", [{}, {"layer_noise": 0.3}], ids=str)
def test_measuring_gradient_noise_does_not_disturb_the_chains(settings: dict[str, Any]) -> None:
    quiet, watched = dcgan(torch.float, **settings), dcgan(torch.float, **settings)
    for _ in range(5):
        quiet.iterate()
        watched.iterate()
        watched.gradient_noise()
    assert torch.equal(quiet.discriminators.theta, watched.discriminators.theta)


# What the training loop really touches


class Watched:
    """Which points each discriminator chain was shown, as real ones and with labels, in each iteration."""

    def __init__(self, gan: BayesianGAN, monkeypatch: pytest.MonkeyPatch) -> None:
        self.real: list[Tensor] = []
        self.matched: list[Tensor] = []
        self.labelled: list[tuple[Tensor, Tensor]] = []
        discriminators, generators = gan.discriminator_log_posterior, gan.generator_log_posterior

        def watch_d(theta: Tensor, fakes: Tensor | None, real: Tensor, labelled: tuple[Tensor, Tensor]) -> Tensor:
            self.real.append(identified(gan, real))
            self.labelled.append((identified(gan, labelled[0]), labelled[1]))
            return discriminators(theta, fakes, real, labelled)

        def watch_g(theta_g: Tensor, theta_d: Tensor, noise: Tensor, real: Tensor) -> Tensor:
            self.matched.append(identified(gan, real))
            return generators(theta_g, theta_d, noise, real)

        monkeypatch.setattr(gan, "discriminator_log_posterior", watch_d)
        if gan.settings.feature_matching:
            monkeypatch.setattr(gan, "generator_log_posterior", watch_g)


def test_where_they_fit_all_labels_are_used_in_each_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    gan = small_gan(generators=2, discriminators=2, replicas=2, label_batch=LABELLED)
    assert gan.labels is not None
    watched = Watched(gan, monkeypatch)
    for _ in range(4):
        gan.iterate()
    expected = sorted(zip(gan.labels.indices.tolist(), gan.labels.classes.tolist(), strict=True))
    for indices, classes in watched.labelled:
        for chain in range(4):
            assert sorted(zip(indices[chain].tolist(), classes[chain].tolist(), strict=True)) == expected


def test_mini_batches_of_labels_are_each_chains_own_and_have_the_right_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    gan = small_gan(generators=2, discriminators=2, label_batch=LABEL_BATCH)
    assert gan.labels is not None
    watched = Watched(gan, monkeypatch)
    for _ in range(40):
        gan.iterate()
    true = dict(zip(gan.labels.indices.tolist(), gan.labels.classes.tolist(), strict=True))
    for indices, classes in watched.labelled:
        assert indices.shape == (2, LABEL_BATCH)
        assert [true[i] for i in indices.flatten().tolist()] == classes.flatten().tolist()
    used = torch.stack([indices for indices, _ in watched.labelled], 1)
    assert not torch.equal(used[0], used[1])
    for chain in range(2):
        assert set(used[chain].flatten().tolist()) == set(true)


def images_and_labels(size: int = 40) -> Images:
    """Every image has its number in its first two pixels."""
    pixels = np.random.default_rng(0).integers(0, 256, (size, *IMAGE), dtype=np.uint8)
    pixels[:, 0, 0, 0] = np.arange(size)
    labels = np.random.default_rng(1).integers(0, CLASSES, size)
    return Images("any", ("a", "b", "c"), pixels, labels, pixels[:1], labels[:1])


def image_run(images: Images, labelled: LabelledSet, monkeypatch: pytest.MonkeyPatch | None, **settings: Any) -> Any:
    values = {"generators": 2, "discriminators": 1, "replicas": 2, "real_batch": 8, "fake_batch": 4, "noise_dim": 2}
    values |= {"generator_width": 2, "discriminator_width": 2, "burn_in": 10, "iterations": 15, "thin": 1}
    gan = image_gan(parse_settings(ImageSettings, **(values | settings)), images, labelled, 0, torch.device("cpu"))
    touched: list[tuple[int, int]] = []
    original = gan.discriminator_log_posterior

    def watch(theta: Tensor, fakes: Tensor, real: Tensor, labels: tuple[Tensor, Tensor]) -> Tensor:
        numbers = ((labels[0][..., 0, 0, 0] + 1) * 127.5).round().long()
        touched.extend(zip(numbers.flatten().tolist(), labels[1].flatten().tolist(), strict=True))
        return original(theta, fakes, real, labels)

    if monkeypatch is not None:
        monkeypatch.setattr(gan, "discriminator_log_posterior", watch)
    for _ in range(15):
        gan.iterate()
    return gan, touched


@pytest.mark.parametrize("label_batch", [3, 100])
def test_training_touches_the_labels_of_exactly_the_labelled_set(
    label_batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = images_and_labels()
    labelled = labelled_set("any", images.train_labels, 7, 0)
    _, touched = image_run(images, labelled, monkeypatch, label_batch=label_batch)
    expected = {(int(i), int(images.train_labels[i])) for i in labelled.indices}
    assert len(expected) == 7
    assert set(touched) == expected  # distinct images with their classes; 3 × 15 × 2 draws leave none out but by 1e-5


def test_no_label_outside_the_labelled_set_has_any_effect() -> None:
    images = images_and_labels()
    labelled = labelled_set("any", images.train_labels, 7, 0)
    hidden = np.full_like(images.train_labels, -999)
    hidden[labelled.indices] = images.train_labels[labelled.indices]
    blind = Images("any", images.classes, images.train, hidden, images.test, images.test_labels)
    (seeing, _), (unseeing, _) = image_run(images, labelled, None), image_run(blind, labelled, None)
    assert torch.equal(seeing.discriminators.theta, unseeing.discriminators.theta)
    assert torch.equal(seeing.generators.theta, unseeing.generators.theta)


# Shares of the data, branches


@pytest.mark.parametrize("matching", [False, True])
def test_each_chain_only_ever_sees_its_own_share_but_all_labels(
    matching: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 pairs (DCGAN-10) on 16 of 20 points each; 60 × 8 draws leave one of the 16 out with probability 1e-12."""
    gan = small_gan(
        size=20,
        generators=10,
        discriminators=10,
        coupling="pairs",
        data_share=0.8,
        real_batch=8,
        label_batch=100,
        feature_matching=matching,
        branches=2,
        burn_in=30,
        iterations=60,
    )
    watched = Watched(gan, monkeypatch)
    for _ in range(60):
        gan.iterate()
    assert gan.labels is not None
    subsets = []
    for chain in range(20):
        shown = watched.real[30:] if chain >= 10 else watched.real
        seen = set(torch.stack([each[chain] for each in shown]).flatten().tolist())
        assert len(seen) == 16
        subsets.append(seen)
        if matching:
            matched = watched.matched[30:] if chain >= 10 else watched.matched
            assert set(torch.stack([each[chain] for each in matched]).flatten().tolist()) == seen
    assert subsets[:10] == subsets[10:]  # a branch goes on with the share it has
    assert len({frozenset(each) for each in subsets}) == 10
    for indices, _ in watched.labelled:
        assert all(set(row.tolist()) == set(gan.labels.indices.tolist()) for row in indices)


def test_the_statistics_of_a_chain_come_from_its_own_share_too() -> None:
    gan = dcgan(size=20, generators=1, discriminators=1, data_share=0.5)
    subsets = gan._subsets
    assert subsets is not None
    outside = [point for point in range(20) if point not in subsets[0].tolist()]
    before = gan.sample()["discriminator_statistics"]
    gan.data[outside] += 1.0
    torch.testing.assert_close(gan.sample()["discriminator_statistics"], before)


@pytest.mark.parametrize("coupling", ["algorithm1", "all", "pairs"])
def test_branches_start_equal_after_the_burn_in_and_then_differ(
    coupling: Coupling, monkeypatch: pytest.MonkeyPatch
) -> None:
    gan = small_gan(**populations(coupling), branches=3, dynamics="frozen")
    chains = len(gan.generators.theta), len(gan.discriminators.theta)
    groups = gan.everyone
    started: list[tuple[Tensor, Tensor]] = []
    original = gan.generator_gradient

    def watch(stream: str | None = None, moving: Chosen = ALL) -> tuple[Tensor, Tensor]:
        started.append((gan.generators.theta.clone(), gan.discriminators.theta.clone()))
        return original(stream, moving)

    monkeypatch.setattr(gan, "generator_gradient", watch)
    for iteration in range(1, 4):  # the burn-in is that of one group of branches
        gan.iterate()
        assert (len(gan.generators.theta), len(gan.discriminators.theta)) == chains
        assert gan.everyone == groups
        assert gan.iteration == iteration
    end = gan.generators.theta.clone(), gan.discriminators.theta.clone()
    gan.iterate()
    assert gan.everyone == groups._replace(number=3 * groups.number)
    for side in range(2):
        for branch in started[3][side].chunk(3):
            assert torch.equal(branch, end[side])
    for state, number in zip((gan.generators, gan.discriminators), chains, strict=True):
        assert state.theta.shape[0] == state.momentum.shape[0] == 3 * number
        assert state.theta.unique(dim=0).shape[0] == 3 * number
    for _ in range(4):
        gan.iterate()
    assert len(gan.generators.theta) == 3 * chains[0]
