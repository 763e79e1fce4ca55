"""Build the networks of a run from its settings and the shape of its points."""

import torch
from torch import Tensor, nn

from bayesgan.base.errors import BayesganError
from bayesgan.data.pixels import as_numbers
from bayesgan.networks import dcgan, whitened
from bayesgan.networks.mlp import mlp
from bayesgan.settings.settings import ImageSettings, Settings, VectorSettings

SMALLEST = 8  # pixels of a side
WHITENED = 3000  # images that patches are whitened by


def pair(
    settings: Settings, shape: tuple[int, ...], classes: int, points: Tensor | None = None
) -> tuple[nn.Module, nn.Module]:
    """Build generator and discriminator for points of ``shape`` in ``classes`` classes (1: without labels).

    Images (channels, height, width) have the pair that ``architecture`` names, vectors (d,) that of Section 4.1. They
    are plans without weights, which would be drawn from torch's global state: those of the chains come from the run's
    own streams. A discriminator that whitens images learns how from training ``points``; None: it is told by the
    statistics of a sample.
    """
    with torch.device("meta"):
        generator, discriminator = _pair(settings, shape, classes)
    if points is not None and isinstance(discriminator, whitened.Discriminator):
        some = points[torch.linspace(0, len(points) - 1, min(len(points), WHITENED)).long()]
        discriminator.whitening.fit(some if some.is_floating_point() else as_numbers(some))
    return generator, discriminator


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
    chosen, picture = settings.networks, (channels, height, width)
    noise_dim, normalisation = chosen.noise_dim, chosen.normalisation
    if chosen.architecture == "whitened":
        return (
            whitened.Generator(noise_dim, picture, chosen.generator_width, normalisation),
            whitened.Discriminator(picture, classes, chosen.discriminator_width, normalisation),
        )
    return dcgan.Generator(noise_dim, picture, chosen.generator_width, normalisation), dcgan.Discriminator(
        picture,
        classes=classes,
        width=chosen.discriminator_width,
        normalisation=normalisation,
        layer_noise=chosen.layer_noise,
        feature_normalisation=chosen.feature_normalisation,
        minibatch_discrimination=chosen.minibatch_discrimination,
        features=chosen.features,
    )
