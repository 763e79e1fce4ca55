"""Architectures. One module describes one network; :mod:`bayesgan.chains` runs many of them at once.

A discriminator returns (n, K + F): K class logits, then the F features that feature matching compares (none for the
MLPs). The fake class has no output of its own: its logit is the constant 0 (see :func:`bayesgan.posterior.reality`).
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

Normalisation = Literal["batch", "layer", "none"]
Shape = tuple[int, int, int]  # channels, height, width

SMALLEST = 8  # pixels of a side
WIDEST = 512  # channels
SLOPE = 0.2  # of the leaky ReLU
SMALL = 4  # pixels of a side of maps that are convolved by matrix products (benchmarks/README.md),
MANY = 2**20  # if the convolution has so many weights
FEATURES = 256  # units of the discriminator's hidden layer
KERNELS = 32  # of minibatch discrimination
KERNEL_DIM = 5


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """The two-layer ReLU networks of Section 4.1: inputs-hidden-outputs, linear at the end."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


class OfBatches(nn.Module):
    """A layer that sees a batch as a whole; in training, ``parts`` images each are batches by themselves.

    Convolutions of several small batches are faster in one call (benchmarks/README.md).
    """

    parts: Sequence[int] = ()

    def forward(self, inputs: Tensor) -> Tensor:
        """What becomes of (n, channels, …)."""
        if self.training and len(self.parts) > 1:
            return torch.cat([self.of_batch(part) for part in inputs.split(list(self.parts))])
        return self.of_batch(inputs)

    def of_batch(self, inputs: Tensor) -> Tensor:
        """What becomes of one batch."""
        raise TypeError(f"{type(self).__name__} does nothing")


class BatchNorm(OfBatches):
    """Subtract the mean of each channel, divide by its deviation, add a bias; no scale, which the next layer has.

    In training they are those of the batch at hand, which is written to the buffers; otherwise the buffers are used.
    A buffer is thus always the statistics of one set of images, not a running average over changing weights.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("variance", torch.ones(channels))

    def of_batch(self, inputs: Tensor) -> Tensor:
        """Normalise (n, channels, …)."""
        return functional.batch_norm(
            inputs, self.mean, self.variance, None, self.bias, training=self.training, momentum=1.0
        )


class LayerNorm(nn.Module):
    """The same with the mean and deviation over all channels and pixels of each image by itself."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, inputs: Tensor) -> Tensor:
        """Normalise (n, channels, …)."""
        bias = self.bias.view(-1, *[1] * (inputs.dim() - 2))
        return functional.group_norm(inputs, 1) + bias


class Bias(nn.Module):
    """A bias for each channel, where nothing is normalised."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, inputs: Tensor) -> Tensor:
        """Add it to (n, channels, …)."""
        return inputs + self.bias.view(-1, *[1] * (inputs.dim() - 2))


NORMALISATIONS: dict[Normalisation, Callable[[int], nn.Module]] = {
    "batch": BatchNorm,
    "layer": LayerNorm,
    "none": Bias,
}


class GaussianNoise(nn.Module):
    """White noise on the inputs of a layer, in training only, from a random stream that the caller sets."""

    def __init__(self, deviation: float) -> None:
        super().__init__()
        self.deviation = deviation
        self.stream: torch.Generator | None = None

    def forward(self, inputs: Tensor) -> Tensor:
        """Inputs with noise added."""
        if not self.training:
            return inputs
        # Drawn side by side in memory: where images lie otherwise, torch takes eight times as long.
        noise = inputs.new_empty(inputs.numel()).normal_(std=self.deviation, generator=self.stream)
        return inputs + noise.as_strided(inputs.shape, torch.empty_like(inputs).stride())


class MinibatchDiscrimination(OfBatches):
    """How close an image's features are to those of the rest of its batch (Salimans et al. 2016), as one logit.

    https://arxiv.org/abs/1606.03498. The logit is added to all classes, so it moves the probability of being real but
    not that of the classes given real: predictions do not depend on the batch they are made in. Outside training the
    logit is its mean over the images that fed the buffer.
    """

    typical: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.kernels = nn.Linear(features, KERNELS * KERNEL_DIM, bias=False)
        self.closeness = nn.Linear(KERNELS, 1, bias=False)
        self.register_buffer("typical", torch.zeros(1))

    def of_batch(self, inputs: Tensor) -> Tensor:
        """A logit (n, 1) for features (n, features)."""
        if not self.training:
            return self.typical.expand(len(inputs), 1)
        kernels = self.kernels(inputs).unflatten(1, (KERNELS, KERNEL_DIM))
        distances = (kernels[:, None] - kernels[None]).abs().sum(-1)
        others = (torch.exp(-distances).sum(1) - 1.0) / max(1, len(inputs) - 1)
        logit = self.closeness(others)
        self.typical.copy_(logit.detach().mean(0))
        return logit


class Convolution(nn.Conv2d):
    """A convolution in another form where the CPU's own kernels take twice as long or more.

    Wide ones of small maps, without a bias, are matrix products. Where the gradient of a grey image is wanted, the four
    pixels of each 2 × 2 block become channels, and every second row of the kernel too: the same sums with stride 1.
    """

    def forward(self, input: Tensor) -> Tensor:
        """(n, out channels, …) for (n, channels, height, width)."""
        if _grey(self, self.in_channels, input.shape[2:]) and input.requires_grad:
            return functional.conv2d(functional.pixel_unshuffle(input, 2), _blocks(self.weight), self.bias, padding=1)
        if self.bias is not None or not _by_matrices(input, self.weight):
            return super().forward(input)
        kernel, pad, stride = self.kernel_size[0], int(self.padding[0]), self.stride[0]
        height, width = ((side + 2 * pad - kernel) // stride + 1 for side in input.shape[2:])
        patches = functional.unfold(input, kernel, padding=pad, stride=stride).transpose(1, 2).flatten(0, 1)
        outputs = patches @ self.weight.flatten(1).t()
        return outputs.view(-1, height, width, self.out_channels).permute(0, 3, 1, 2)


class TransposedConvolution(nn.ConvTranspose2d):
    """The same for a transposed convolution."""

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """(n, out channels, …) for (n, channels, height, width)."""
        sides = [2 * side + extra - 1 for side, extra in zip(input.shape[2:], self.output_padding, strict=True)]
        if _grey(self, self.out_channels, sides):
            bias = None if self.bias is None else self.bias.expand(4)
            return functional.pixel_shuffle(
                functional.conv_transpose2d(input, _blocks(self.weight), bias, padding=1), 2
            )
        if self.bias is not None or not _by_matrices(input, self.weight):
            return super().forward(input, output_size)
        kernel, pad, stride = self.kernel_size[0], int(self.padding[0]), self.stride[0]
        places = zip(input.shape[2:], self.output_padding, strict=True)
        size = tuple((side - 1) * stride - 2 * pad + kernel + extra for side, extra in places)
        pixels = input.permute(0, 2, 3, 1).flatten(0, 2)
        patches = (pixels @ self.weight.flatten(1)).unflatten(0, (len(input), -1)).transpose(1, 2)
        return functional.fold(patches, size, kernel, padding=pad, stride=stride)


def _grey(layer: nn.Conv2d | nn.ConvTranspose2d, channels: int, sides: Sequence[int]) -> bool:
    """Whether the layer reads or makes grey images (``channels``) of an even number of pixels a side on a CPU."""
    form = layer.kernel_size, layer.stride, layer.padding
    even = channels == 1 and not any(side % 2 for side in sides)
    return even and form == ((5, 5), (2, 2), (2, 2)) and layer.weight.device.type == "cpu"


def _blocks(weight: Tensor) -> Tensor:
    """A 5 × 5 kernel of stride 2 as one of 3 × 3 for the four pixels of a block."""
    return functional.pixel_unshuffle(functional.pad(weight, (0, 1, 0, 1)), 2)


def _by_matrices(maps: Tensor, weight: Tensor) -> bool:
    return maps.device.type == "cpu" and max(maps.shape[2:]) <= SMALL and weight.numel() >= MANY


def channels_last(images: Tensor) -> Tensor:
    """The same images (n, channels, height, width) in the layout that convolutions are fastest in."""
    if images.shape[1] == 1:  # both layouts are one, and torch would take it for the other
        return images.contiguous().flatten(1).unflatten(1, (*images.shape[2:], 1)).permute(0, 3, 1, 2)
    return images.contiguous(memory_format=torch.channels_last)


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
