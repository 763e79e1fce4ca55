"""GANs of a few points without labels in double precision, for tests to take apart."""

from typing import Any

import torch

from bayesgan.networks.mlp import mlp
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.settings.settings import Settings

NOISE_DIM, HIDDEN, DIM, SIZE = 2, 4, 3, 12


def small_gan(seed: int = 0, dtype: torch.dtype = torch.double, **settings: Any) -> BayesianGAN:
    values = {"noise_dim": NOISE_DIM, "discriminators": 1, "real_batch": 3, "fake_batch": 2} | settings
    values = {"burn_in": 3, "iterations": 8, "thin": 1} | values
    data = torch.randn(SIZE, DIM, dtype=dtype, generator=torch.Generator().manual_seed(7))
    return BayesianGAN(Settings.of(**values), mlp(NOISE_DIM, HIDDEN, DIM), mlp(DIM, HIDDEN, 1), data, seed)
