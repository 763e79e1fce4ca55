"""GANs of a few labelled points and images in double precision, for tests to take apart."""

from typing import Any

import torch
from torch import Tensor

from bayesgan.networks.dcgan import Discriminator, Generator, Shape
from bayesgan.networks.mlp import mlp
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.minibatches import Labels
from bayesgan.settings.names import Coupling
from bayesgan.settings.settings import ImageSettings, Settings

NOISE_DIM, HIDDEN, DIM, CLASSES, FEATURES = 2, 4, 3, 3, 2
SIZE, LABELLED = 12, 5  # N and N_s: different from each other and from every batch below
REAL_BATCH, FAKE_BATCH, LABEL_BATCH = 4, 2, 3
IMAGE: Shape = (1, 8, 8)


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


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
    return BayesianGAN(Settings.of(**(values | settings)), *networks, data, seed, labels)


def identified(gan: BayesianGAN, points: Tensor) -> Tensor:
    """Which of the data the points are."""
    indices = ((points[..., 0] + 1) / 2 * (gan.batches.size - 1)).round().long()
    assert torch.equal(gan.batches.data[indices], points)
    return indices


def dcgan(dtype: torch.dtype = torch.double, size: int = SIZE, **settings: Any) -> BayesianGAN:
    values = {"noise_dim": NOISE_DIM, "real_batch": REAL_BATCH, "fake_batch": FAKE_BATCH, "label_batch": LABEL_BATCH}
    values |= {"generators": 2, "discriminators": 1, "burn_in": 3, "iterations": 8, "thin": 1} | settings
    chosen = ImageSettings.of(**values)
    data = torch.rand(size, *IMAGE, dtype=dtype, generator=rng(7)) * 2 - 1
    labels = Labels(torch.randperm(size, generator=rng(8))[:LABELLED], torch.tensor([0, 1, 2, 2, 1]), CLASSES)
    discriminator = Discriminator(
        IMAGE,
        CLASSES,
        2,
        chosen.networks.normalisation,
        chosen.networks.layer_noise,
        chosen.networks.feature_normalisation,
        chosen.networks.minibatch_discrimination,
    )
    generator = Generator(NOISE_DIM, IMAGE, 2, chosen.networks.normalisation)
    return BayesianGAN(chosen, generator, discriminator, data, 0, labels)


def populations(coupling: Coupling) -> dict[str, Any]:
    discriminators = 3 if coupling == "pairs" else 2
    return {"generators": 3, "discriminators": discriminators, "replicas": 2, "noise_batches": 2, "coupling": coupling}
