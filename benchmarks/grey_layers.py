"""The layers that read and make grey images, by torch's own kernels and as the package computes them; one thread.

python -m benchmarks.grey_layers [--smallest]        (smallest: to see that it runs)

Milliseconds of a discriminator's first layer with the gradient of its images (a generator's step), and of a generator's
last layer with all of its gradients; lower quartiles of alternating repetitions.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import quantiles

import torch
from torch import Tensor
from torch.nn import functional

from bayesgan.base import environment
from bayesgan.networks.layers import Convolution, TransposedConvolution, channels_last

CASES = ((28, 16, 32), (8, 32, 32))  # pixels of a side, channels, images
REPETITIONS = 100


def milliseconds(forward: Callable[[], Tensor], inputs: list[Tensor]) -> float:
    """Of a forward and a backward pass."""
    started = time.perf_counter()
    torch.autograd.grad(forward().square().sum(), inputs)
    return 1e3 * (time.perf_counter() - started)


def main(smallest: bool = False) -> list[tuple[float, float]]:
    """Print the table; torch's milliseconds and ours."""
    environment.use("cpu", 1)
    cases, repetitions = (((8, 2, 2),), 2) if smallest else (CASES, REPETITIONS)
    rows = []
    print("| layer | image | channels | torch, ms | blocks of pixels, ms | ratio |\n|---|---|---|---|---|---|")
    for side, channels, images in cases:
        grey = channels_last(torch.rand(images, 1, side, side)).requires_grad_()
        maps = channels_last(torch.randn(images, channels, side // 2, side // 2)).requires_grad_()
        down = Convolution(1, channels, 5, stride=2, padding=2)
        up = TransposedConvolution(channels, 1, 5, stride=2, padding=2, output_padding=1)
        ways = {
            "first of a discriminator": (
                partial(functional.conv2d, grey, down.weight, down.bias, 2, 2),
                partial(down, grey),
                [grey],
            ),
            "last of a generator": (
                partial(functional.conv_transpose2d, maps, up.weight, up.bias, 2, 2, 1),
                partial(up, maps),
                [maps, *up.parameters()],
            ),
        }
        for name, (theirs, ours, inputs) in ways.items():
            pairs = [(milliseconds(theirs, inputs), milliseconds(ours, inputs)) for _ in range(repetitions)]
            slow, fast = (quantiles(column, method="inclusive")[0] for column in zip(*pairs, strict=True))
            rows.append((slow, fast))
            print(f"| {name} | {side}×{side} | {channels} | {slow:.2f} | {fast:.2f} | {slow / fast:.2f} |")
    return rows


if __name__ == "__main__":
    main("--smallest" in sys.argv[1:])
