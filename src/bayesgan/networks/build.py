"""Which networks a run has, by its settings and the shape of its points."""

import torch
from torch import nn

from bayesgan.base.errors import BayesganError
from bayesgan.networks.dcgan import SMALLEST, Discriminator, Generator
from bayesgan.networks.mlp import mlp
from bayesgan.settings.settings import ImageSettings, Settings, VectorSettings


def pair(settings: Settings, shape: tuple[int, ...], classes: int) -> tuple[nn.Module, nn.Module]:
    """Generator and discriminator for points of ``shape`` in ``classes`` classes (1: without labels).

    Images (channels, height, width) have the DCGAN pair, vectors (d,) that of Section 4.1. They are plans without
    weights, which would be drawn from torch's global state: those of the chains come from the run's own streams.
    """
    with torch.device("meta"):
        return _pair(settings, shape, classes)


def _pair(settings: Settings, shape: tuple[int, ...], classes: int) -> tuple[nn.Module, nn.Module]:
    if isinstance(settings, VectorSettings):
        if settings.feature_matching:
            raise BayesganError("The networks of vectors have no features to match: set feature_matching to false.")
        (size,) = shape
        return mlp(settings.noise_dim, settings.hidden, size), mlp(size, settings.hidden, classes)
    if not isinstance(settings, ImageSettings):
        raise TypeError(f"{type(settings).__name__} name no networks")
    channels, height, width = shape
    if min(height, width) < SMALLEST:
        raise BayesganError(f"Images of {height}×{width} pixels are too small: both sides need {SMALLEST} or more.")
    discriminator = Discriminator(
        (channels, height, width),
        classes=classes,
        width=settings.discriminator_width,
        normalisation=settings.normalisation,
        layer_noise=settings.layer_noise,
        feature_normalisation=settings.feature_normalisation,
        minibatch_discrimination=settings.minibatch_discrimination,
        features=settings.features,
    )
    generator = Generator(
        settings.noise_dim, (channels, height, width), settings.generator_width, settings.normalisation
    )
    return generator, discriminator
