"""The DCGAN pair. One module describes one network; :mod:`bayesgan.sampler.population` runs many of them at once.

A discriminator returns (n, K + F): K class logits, then the F features that feature matching compares (none for the
MLPs). The fake class has no output of its own: its logit is the constant 0
(:func:`bayesgan.sampler.densities.reality`).
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from bayesgan.networks.layers import (
    NORMALISATIONS,
    Convolution,
    GaussianNoise,
    MinibatchDiscrimination,
    TransposedConvolution,
    channels_last,
)
from bayesgan.settings.names import Normalisation

Shape = tuple[int, int, int]  # channels, height, width

WIDEST = 512  # channels
SLOPE = 0.2  # of the leaky ReLU
FEATURES = 256  # units of the discriminator's hidden layer


def sizes(height: int, width: int) -> list[tuple[int, int]]:
    """Height and width of the maps between the layers: halved, rounding up, until two pixels or four times."""
    depth = min(4, math.ceil(math.log2(min(height, width))) - 1)
    maps = [(height, width)]
    for _ in range(depth):
        maps.append(((maps[-1][0] + 1) // 2, (maps[-1][1] + 1) // 2))
    return maps


def _widths(width: int, depth: int) -> list[int]:
    return [min(WIDEST, width * 2**layer) for layer in range(depth)]


class Discriminator(nn.Module):
    """The DCGAN discriminator: convolutions of stride 2, one hidden layer, K logits.

    Args:
        shape: (channels, height, width) of an image, both sides at least 8.
        classes: K; 1 for the unsupervised GAN.
        width: channels of the first layer; they double with each layer.
        normalisation: of every convolution but the first.
        layer_noise: deviation of Gaussian noise on the inputs of every layer (0: none).
        feature_normalisation: divide the features of each image by their root mean square.
        minibatch_discrimination: add :class:`MinibatchDiscrimination`.
        features: units of the hidden layer.
    """

    def __init__(
        self,
        shape: Shape,
        classes: int,
        width: int,
        normalisation: Normalisation = "batch",
        layer_noise: float = 0.0,
        feature_normalisation: bool = False,
        minibatch_discrimination: bool = False,
        features: int = FEATURES,
    ) -> None:
        super().__init__()
        maps = sizes(*shape[1:])
        widths = _widths(width, len(maps) - 1)
        layers: list[nn.Module] = []
        for layer, (inputs, outputs) in enumerate(zip([shape[0], *widths[:-1]], widths, strict=True)):
            first = layer == 0
            kernel = 5 if first else 3
            layers += _noise(layer_noise)
            layers += [Convolution(inputs, outputs, kernel, stride=2, padding=kernel // 2, bias=first)]
            layers += [] if first else [NORMALISATIONS[normalisation](outputs)]
            layers += [nn.LeakyReLU(SLOPE, inplace=True)]
        layers += [nn.Flatten(), *_noise(layer_noise), nn.Linear(widths[-1] * math.prod(maps[-1]), features)]
        self.body = nn.Sequential(*layers, nn.LeakyReLU(SLOPE, inplace=True))
        self.feature_normalisation = feature_normalisation
        self.noise = nn.Sequential(*_noise(layer_noise))
        self.logits = nn.Linear(features, classes)
        self.batch_logit = MinibatchDiscrimination(features) if minibatch_discrimination else None

    def forward(self, images: Tensor) -> Tensor:
        """(n, K + features) for images (n, channels, height, width)."""
        features = self.body(channels_last(images))
        if self.feature_normalisation:
            features = functional.rms_norm(features, features.shape[1:])
        logits = self.logits(self.noise(features))
        if self.batch_logit is not None:
            logits = logits + self.batch_logit(features)
        return torch.cat([logits, features], 1)


def _noise(deviation: float) -> list[nn.Module]:
    return [GaussianNoise(deviation)] if deviation > 0 else []


class Generator(nn.Module):
    """The DCGAN generator, the discriminator's mirror image: one hidden layer, transposed convolutions, tanh."""

    def __init__(self, noise_dim: int, shape: Shape, width: int, normalisation: Normalisation = "batch") -> None:
        super().__init__()
        maps = sizes(*shape[1:])[::-1]
        widths = _widths(width, len(maps) - 1)[::-1]
        normalise = NORMALISATIONS[normalisation]
        self.top = (widths[0], *maps[0])
        self.hidden = nn.Linear(noise_dim, math.prod(self.top), bias=False)
        layers: list[nn.Module] = [normalise(widths[0]), nn.ReLU(inplace=True)]
        for layer, (inputs, outputs) in enumerate(zip(widths, [*widths[1:], shape[0]], strict=True)):
            last = layer == len(widths) - 1
            kernel = 5 if last else 3
            # Out of n pixels this makes 2n − 1, and one more where the mirrored convolution had rounded down.
            extra = (maps[layer + 1][0] - 2 * maps[layer][0] + 1, maps[layer + 1][1] - 2 * maps[layer][1] + 1)
            layers += [
                TransposedConvolution(
                    inputs, outputs, kernel, stride=2, padding=kernel // 2, output_padding=extra, bias=last
                )
            ]
            layers += [nn.Tanh()] if last else [normalise(outputs), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*layers)

    def forward(self, noise: Tensor) -> Tensor:
        """Images (n, channels, height, width) in [−1, 1] for noise (n, noise_dim)."""
        maps = self.hidden(noise).unflatten(1, self.top)
        return self.layers(channels_last(maps))
