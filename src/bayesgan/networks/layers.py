"""Layers of the networks: normalisations, noise, minibatch discrimination, and convolutions that are fast on a CPU."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from bayesgan.base.errors import BayesganError
from bayesgan.settings.names import Normalisation

SMALL = 4  # pixels of a side of maps that are convolved by matrix products (benchmarks/README.md),
MANY = 2**20  # if the convolution has so many weights
KERNELS = 32  # of minibatch discrimination
KERNEL_DIM = 5
GROUPS = 8  # of channels, in group norm
PATCH = 2  # pixels of a side of a whitened patch
FLAT = 1e-3  # added to the variances of patches: what hardly varies is noise, and stays small


class OfBatches(nn.Module):
    """A layer that sees a batch as a whole; in training, ``parts`` images each are batches by themselves.

    Convolutions of several small batches are faster in one call (benchmarks/README.md).
    """

    parts: Sequence[int] = ()

    def forward(self, inputs: Tensor) -> Tensor:
        """Apply the layer to (n, channels, …)."""
        if self.training and len(self.parts) > 1:
            return torch.cat([self.of_batch(part) for part in inputs.split(list(self.parts))])
        return self.of_batch(inputs)

    def of_batch(self, inputs: Tensor) -> Tensor:
        """Apply the layer to one batch."""
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
        if self.training and inputs.numel() == inputs.shape[1]:
            raise BayesganError(
                "Batch norm needs more than one image of this size at a time: label two or more, raise label_batch, "
                "real_batch and fake_batch, or choose normalisation group."
            )
        return functional.batch_norm(
            inputs, self.mean, self.variance, None, self.bias, training=self.training, momentum=1.0
        )


class GroupNorm(nn.Module):
    """Normalise each image by the mean and deviation of groups of its channels over all pixels, and add a bias.

    A single group is layer norm.
    """

    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.groups = math.gcd(channels, groups) if channels >= 2 * groups else 1  # one value alone says nothing
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, inputs: Tensor) -> Tensor:
        """Normalise (n, channels, …)."""
        # A scale of ones: without any, torch cannot find the gradient of the bias.
        return functional.group_norm(inputs, self.groups, torch.ones_like(self.bias), self.bias)


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
    "group": partial(GroupNorm, groups=GROUPS),
    "layer": partial(GroupNorm, groups=1),
    "none": Bias,
}


class Whitening(nn.Module):
    """Patches of 2 × 2 pixels in the directions of their principal components, each of variance one, and the negatives.

    The filters are found once, from training images, and stand still: they belong to the data, not to the weights.
    """

    filters: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.outputs = 2 * channels * PATCH**2
        self.register_buffer("filters", torch.zeros(self.outputs, channels, PATCH, PATCH))

    def forward(self, inputs: Tensor) -> Tensor:
        """(n, outputs, height − 1, width − 1) for (n, channels, height, width)."""
        return functional.conv2d(inputs, self.filters)

    def fit(self, images: Tensor) -> None:
        """Find the filters for images (n, channels, height, width) in [−1, 1]."""
        patches = functional.unfold(images.double(), PATCH).transpose(1, 2).flatten(0, 1)
        variances, components = torch.linalg.eigh(patches.t().cov(correction=0))
        # The sign of a component is arbitrary: the largest entry is positive, on every machine.
        components = components * components.gather(0, components.abs().argmax(0, keepdim=True)).sign()
        filters = (components / (variances.clamp_min(0.0) + FLAT).sqrt()).t().flip(0)
        self.filters = torch.cat([filters, -filters]).unflatten(1, self.filters.shape[1:]).to(images.dtype)


class GaussianNoise(nn.Module):
    """White noise on the inputs of a layer, in training only, from a random stream that the caller sets."""

    def __init__(self, deviation: float) -> None:
        super().__init__()
        self.deviation = deviation
        self.stream: torch.Generator | None = None

    def forward(self, inputs: Tensor) -> Tensor:
        """Add noise to the inputs."""
        if not self.training:
            return inputs
        # Drawn side by side in memory: where images lie otherwise, torch takes eight times as long.
        noise = inputs.new_empty(inputs.numel()).normal_(std=self.deviation, generator=self.stream)
        return inputs + noise.as_strided(inputs.shape, torch.empty_like(inputs).stride())


class MinibatchDiscrimination(OfBatches):
    """Closeness of an image's features to those of the rest of its batch (Salimans et al. 2016), as one logit.

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
    """A transposed convolution in another form where that is faster."""

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
    """Lay images (n, channels, height, width) out in memory as convolutions are fastest."""
    if images.shape[1] == 1:  # both layouts are one, and torch would take it for the other
        return images.contiguous().flatten(1).unflatten(1, (*images.shape[2:], 1)).permute(0, 3, 1, 2)
    return images.contiguous(memory_format=torch.channels_last)
