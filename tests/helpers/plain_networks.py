"""The DCGAN pair once more, with torch's own layers and none of the tricks, to compare with."""

import itertools
import math

import torch
from torch import Tensor, nn

from bayesgan.networks.dcgan import Shape


def map_sizes(height: int, width: int) -> list[tuple[int, int]]:
    """At most four halvings, fewer where a side of one pixel would come of it."""
    maps = [(height, width)]
    while len(maps) < 5 and min(maps[-1]) > 2:
        maps.append((math.ceil(maps[-1][0] / 2), math.ceil(maps[-1][1] / 2)))
    return maps


def batch_norm(channels: int) -> nn.BatchNorm2d:
    """Without a scale (it stays 1), and the statistics are those of the last batch."""
    layer = nn.BatchNorm2d(channels, momentum=1.0)
    layer.weight.requires_grad_(False)
    return layer


def bias_of(layer: nn.Module) -> nn.Parameter:
    assert isinstance(layer.bias, nn.Parameter)
    return layer.bias


class PlainDiscriminator(nn.Module):
    """From the description: convolutions 5×5, then 3×3, of stride 2; batch norm from the second on; leaky ReLUs."""

    def __init__(self, shape: Shape, classes: int, width: int) -> None:
        super().__init__()
        height, breadth = map_sizes(*shape[1:])[-1]
        widths = [min(512, width * 2**i) for i in range(len(map_sizes(*shape[1:])) - 1)]
        self.first = nn.Conv2d(shape[0], widths[0], 5, stride=2, padding=2)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(a, b, 3, stride=2, padding=1, bias=False) for a, b in itertools.pairwise(widths)
        )
        self.norms = nn.ModuleList(batch_norm(channels) for channels in widths[1:])
        self.hidden = nn.Linear(widths[-1] * height * breadth, 256)
        self.logits = nn.Linear(256, classes)

    def forward(self, images: Tensor) -> Tensor:
        maps = nn.functional.leaky_relu(self.first(images), 0.2)
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            maps = nn.functional.leaky_relu(norm(convolution(maps)), 0.2)
        features = nn.functional.leaky_relu(self.hidden(maps.reshape(len(maps), -1)), 0.2)
        return torch.cat([self.logits(features), features], 1)

    def ordered(self) -> list[nn.Parameter]:
        layers = list(self.first.parameters())
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            layers += [*convolution.parameters(), bias_of(norm)]
        return [*layers, *self.hidden.parameters(), *self.logits.parameters()]


class PlainGenerator(nn.Module):
    """A hidden layer, transposed convolutions 3×3 and at the end 5×5, batch norm everywhere but at the end, tanh."""

    def __init__(self, noise_dim: int, shape: Shape, width: int) -> None:
        super().__init__()
        self.maps = map_sizes(*shape[1:])[::-1]
        widths = [min(512, width * 2**i) for i in range(len(self.maps) - 1)][::-1]
        self.top = (widths[0], *self.maps[0])
        self.hidden = nn.Linear(noise_dim, math.prod(self.top), bias=False)
        self.norms = nn.ModuleList(batch_norm(channels) for channels in widths)
        self.convolutions = nn.ModuleList(
            nn.ConvTranspose2d(a, b, 3, stride=2, padding=1, bias=False) for a, b in itertools.pairwise(widths)
        )
        self.last = nn.ConvTranspose2d(widths[-1], shape[0], 5, stride=2, padding=2)

    def forward(self, noise: Tensor) -> Tensor:
        maps = torch.relu(self.norms[0](self.hidden(noise).reshape(-1, *self.top)))
        for convolution, norm, size in zip(self.convolutions, self.norms[1:], self.maps[1:-1], strict=True):
            maps = torch.relu(norm(convolution(maps, output_size=size)))
        return torch.tanh(self.last(maps, output_size=self.maps[-1]))

    def ordered(self) -> list[nn.Parameter]:
        layers = [*self.hidden.parameters(), bias_of(self.norms[0])]
        for convolution, norm in zip(self.convolutions, self.norms[1:], strict=True):
            layers += [*convolution.parameters(), bias_of(norm)]
        return [*layers, *self.last.parameters()]


Plain = PlainDiscriminator | PlainGenerator


def with_weights(network: Plain, theta: Tensor) -> Plain:
    """The plain network with a chain's weights, which must be exactly as many as it has."""
    network.to(theta.dtype)
    assert sum(parameter.numel() for parameter in network.ordered()) == theta.numel()
    nn.utils.vector_to_parameters(theta, network.ordered())
    return network


def statistics_of(network: Plain) -> Tensor:
    """Of all batch norms after a training pass: mean, then variance of each layer."""
    layers = [layer for layer in network.modules() if isinstance(layer, nn.BatchNorm2d)]
    found = [each for layer in layers for each in (layer.running_mean, layer.running_var) if each is not None]
    return torch.cat(found) if found else torch.zeros(0)


def set_statistics(network: Plain, statistics: Tensor) -> Plain:
    """Put a chain's row of statistics into the batch norms, and predict with them."""
    start = 0
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d) and layer.running_mean is not None and layer.running_var is not None:
            size = layer.num_features
            layer.running_mean.copy_(statistics[start : start + size])
            layer.running_var.copy_(statistics[start + size : start + 2 * size])
            start += 2 * size
    assert start == statistics.numel()
    network.eval()
    return network
