"""Eqs. 3 and 4 with the DCGAN pair, and what is collected of it."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from bayesgan.settings.names import Normalisation
from tests.helpers.gradients import discriminator_log_p, generator_log_p
from tests.helpers.labelled import CLASSES, FAKE_BATCH, IMAGE, LABEL_BATCH, LABELLED, NOISE_DIM, REAL_BATCH, SIZE, dcgan
from tests.helpers.plain_networks import PlainDiscriminator, PlainGenerator, set_statistics, statistics_of, with_weights


def test_equations_3_and_4_with_plain_convolutional_networks() -> None:
    """All that a network is shown of one kind (real, generated, labelled) is one batch of its normalisations."""
    gan = dcgan(
        generators=2,
        discriminators=2,
        noise_batches=2,
        weighing="raised-labels",
        marginal="sum",
        generator_prior=2.0,
        discriminator_prior=2.0,
    )
    noise, real, labelled = (
        gan.batches.noise(gan.state.streams),
        gan.batches.points(gan.batches.indices(gan.state.streams)),
        gan.batches.labelled(gan.state.streams),
    )
    assert labelled is not None
    theta_g = gan.state.generators.theta.clone().requires_grad_()
    theta_d = gan.state.discriminators.theta.clone().requires_grad_()
    log_p_g = generator_log_p(gan, theta_g, gan.state.discriminators.theta, noise, None)
    generated = gan.gradients.generated(gan.state.streams, gan.state.generators.theta, noise).detach()
    log_p_d = discriminator_log_p(gan, theta_d, generated, real, labelled)
    gradient_g = torch.autograd.grad(log_p_g.sum(), theta_g)[0]
    gradient_d = torch.autograd.grad(log_p_d.sum(), theta_d)[0]

    generators = [with_weights(PlainGenerator(NOISE_DIM, IMAGE, 2), theta) for theta in gan.state.generators.theta]
    discriminators = [
        with_weights(PlainDiscriminator(IMAGE, CLASSES, 2), theta) for theta in gan.state.discriminators.theta
    ]

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
    assert torch.equal(sample["discriminators"], gan.state.discriminators.theta)
    for theta, statistics in zip(sample["discriminators"], sample["discriminator_statistics"], strict=True):
        plain = with_weights(PlainDiscriminator(IMAGE, CLASSES, 2), theta)
        plain(gan.batches.data)
        torch.testing.assert_close(statistics, statistics_of(plain), rtol=1e-9, atol=1e-12)
    for theta, statistics in zip(sample["generators"], sample["generator_statistics"], strict=True):
        plain = with_weights(PlainGenerator(NOISE_DIM, IMAGE, 2), theta)
        plain(gan.batches._calibration[1])
        torch.testing.assert_close(statistics, statistics_of(plain), rtol=1e-9, atol=1e-12)
        assert gan.batches._calibration[1].std().item() == pytest.approx(1, abs=5 * (2 * 1000) ** -0.5)
        images = set_statistics(plain, statistics)(gan.batches._calibration[1][:3])
        ours = gan.generator(theta[None], gan.batches._calibration[1][None, :3], statistics[None])
        torch.testing.assert_close(ours[0], images.detach())


@pytest.mark.parametrize("normalisation", ["batch", "layer", "none"])
def test_the_papers_baselines_train_with_all_their_tricks(normalisation: Normalisation) -> None:
    tricks: dict[str, Any] = {"minibatch_discrimination": True, "feature_normalisation": True, "layer_noise": 0.3}
    gan = dcgan(torch.float, normalisation=normalisation, feature_matching=True, **tricks)
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
    assert torch.equal(quiet.state.discriminators.theta, watched.state.discriminators.theta)
    assert torch.equal(quiet.state.generators.theta, watched.state.generators.theta)


@pytest.mark.parametrize("settings", [{}, {"layer_noise": 0.3}], ids=str)
def test_measuring_gradient_noise_does_not_disturb_the_chains(settings: dict[str, Any]) -> None:
    quiet, watched = dcgan(torch.float, **settings), dcgan(torch.float, **settings)
    for _ in range(5):
        quiet.iterate()
        watched.iterate()
        watched.gradient_noise()
    assert torch.equal(quiet.state.discriminators.theta, watched.state.discriminators.theta)


def test_a_supervised_classifier_on_images_can_be_sampled() -> None:
    gan = dcgan(generators=0, discriminators=2)
    for _ in range(gan.settings.length.burn_in + 1):
        gan.iterate()
    sample = gan.sample()
    assert sample["generators"].shape[0] == 0
    assert sample["generator_statistics"].shape[0] == 0
    assert sample["discriminator_statistics"].shape[0] == len(sample["discriminators"]) == 2
    assert gan.gradient_noise()["discriminators"]["mean"] > 0
