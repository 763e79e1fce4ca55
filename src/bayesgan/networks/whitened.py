"""A pair of small modern networks: a frozen whitening layer and 3×3 convolutions.

The discriminator follows what trains fast on small images (Jordan 2024, https://arxiv.org/abs/2404.00498): patches are
whitened, then come blocks of two convolutions with GELU and max-pooling. The generator enlarges and convolves, which
leaves none of the grid that transposed convolutions draw (Odena et al. 2016, https://doi.org/10.23915/distill.00003).
As in :mod:`bayesgan.networks.dcgan` a discriminator returns (n, K + F): K class logits, then F features.
"""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from bayesgan.networks.layers import NORMALISATIONS, Whitening, channels_last
from bayesgan.settings.names import Normalisation

Shape = tuple[int, int, int]  # channels, height, width

FEWEST = 2  # blocks
DEEP = 4  # times the generator's width is its deepest map's


def blocks(height: int, width: int) -> int:
    """How often maps are halved: until about four pixels, at least twice."""
    return max(FEWEST, round(math.log2(min(height, width))) - 2)


class Discriminator(nn.Module):
    """Whitened patches, blocks of two convolutions, the largest value of each channel, K logits.

    Args:
        shape: (channels, height, width) of an image, both sides at least 8.
        classes: K; 1 for the unsupervised GAN.
        width: channels of the first block; the others have twice as many.
        normalisation: of every convolution but the whitening one.
    """

    def __init__(self, shape: Shape, classes: int, width: int, normalisation: Normalisation) -> None:
        super().__init__()
        self.whitening = Whitening(shape[0])
        normalise = NORMALISATIONS[normalisation]
        layers: list[nn.Module] = [nn.GELU()]
        inputs = self.whitening.outputs
        for block in range(blocks(*shape[1:])):
            outputs = width if block == 0 else 2 * width
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.MaxPool2d(2)]
            layers += [normalise(outputs), nn.GELU()]
            layers += [nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), normalise(outputs), nn.GELU()]
            inputs = outputs
        self.body = nn.Sequential(*layers)
        self.logits = nn.Linear(inputs, classes, bias=classes == 1)

    def forward(self, images: Tensor) -> Tensor:
        """(n, K + 2 · width) for images (n, channels, height, width)."""
        features = self.body(self.whitening(channels_last(images))).amax((2, 3))
        return torch.cat([self.logits(features), features], 1)


class Generator(nn.Module):
    """One linear layer to a map of about four pixels, then enlarging and convolving in turn, tanh."""

    def __init__(self, noise_dim: int, shape: Shape, width: int, normalisation: Normalisation) -> None:
        super().__init__()
        self.sizes = [shape[1:]]
        for _ in range(blocks(*shape[1:])):
            height, width_of_map = self.sizes[0]
            self.sizes.insert(0, ((height + 1) // 2, (width_of_map + 1) // 2))
        widths = [width * min(DEEP, 2**steps) for steps in range(len(self.sizes))][::-1]
        normalise = NORMALISATIONS[normalisation]
        self.top = (widths[0], *self.sizes[0])
        self.hidden = nn.Linear(noise_dim, math.prod(self.top), bias=False)
        self.start = nn.Sequential(normalise(widths[0]), nn.GELU())
        self.steps = nn.ModuleList(
            nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), normalise(outputs), nn.GELU())
            for inputs, outputs in pairwise(widths)
        )
        self.picture = nn.Conv2d(width, shape[0], 3, padding=1)

    def forward(self, noise: Tensor) -> Tensor:
        """Images (n, channels, height, width) in [−1, 1] for noise (n, noise_dim)."""
        maps = self.start(channels_last(self.hidden(noise).unflatten(1, self.top)))
        for step, size in zip(self.steps, self.sizes[1:], strict=True):
            maps = step(functional.interpolate(maps, size, mode="nearest"))
        return self.picture(maps).tanh()
