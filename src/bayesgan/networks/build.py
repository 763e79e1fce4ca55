"""Build the networks of a run from its settings and the shape of its points."""

import torch
from torch import nn

from bayesgan.base.errors import BayesganError
from bayesgan.networks.dcgan import SMALLEST, Discriminator, Generator
from bayesgan.networks.mlp import mlp
from bayesgan.settings.settings import ImageSettings, Settings, VectorSettings


def pair(settings: Settings, shape: tuple[int, ...], classes: int) -> tuple[nn.Module, nn.Module]:
    """Build generator and discriminator for points of ``shape`` in ``classes`` classes (1: without labels).

    Images (channels, height, width) have the DCGAN pair, vectors (d,) that of Section 4.1. They are plans without
    weights, which would be drawn from torch's global state: those of the chains come from the run's own streams.
    """
    with torch.device("meta"):
        return _pair(settings, shape, classes)


def _pair(settings: Settings, shape: tuple[int, ...], classes: int) -> tuple[nn.Module, nn.Module]:
    if isinstance(settings, VectorSettings):
        if settings.densities.feature_matching:
            raise BayesganError("The networks of vectors have no features to match: set feature_matching to false.")
        (size,) = shape
        hidden = settings.networks.hidden
        return mlp(settings.networks.noise_dim, hidden, size), mlp(size, hidden, classes)
    if not isinstance(settings, ImageSettings):
        raise TypeError(f"{type(settings).__name__} name no networks")
    channels, height, width = shape
    if min(height, width) < SMALLEST:
        raise BayesganError(f"Images of {height}×{width} pixels are too small: both sides need {SMALLEST} or more.")
    chosen = settings.networks
    discriminator = Discriminator(
        (channels, height, width),
        classes=classes,
        width=chosen.discriminator_width,
        normalisation=chosen.normalisation,
        layer_noise=chosen.layer_noise,
        feature_normalisation=chosen.feature_normalisation,
        minibatch_discrimination=chosen.minibatch_discrimination,
        features=chosen.features,
    )
    generator = Generator(chosen.noise_dim, (channels, height, width), chosen.generator_width, chosen.normalisation)
    return generator, discriminator
