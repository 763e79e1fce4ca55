"""All chains in one call, or one after another? Forward and backward pass of DCGAN pairs, one thread.

python -m benchmarks.one_call [--smallest]        (smallest: to see that it runs)

`vmap` turns convolutions of many chains into grouped ones; `bayesgan.sampler.population` runs convolutional
networks one after another. The ratio is of medians of alternating repetitions, above 1 where one call is faster.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from unittest import mock

import torch
from torch import Tensor, nn
from torch.func import functional_call

from bayesgan.base import environment
from bayesgan.networks import dcgan
from bayesgan.networks.dcgan import Discriminator, Generator, Shape
from bayesgan.sampler.population import Population, unflattened

CASES: tuple[tuple[Shape, int, int], ...] = (
    ((1, 8, 8), 32, 1),
    ((1, 8, 8), 32, 4),
    ((1, 8, 8), 32, 10),
    ((1, 8, 8), 16, 10),
    ((1, 28, 28), 16, 4),
    ((1, 28, 28), 64, 10),
    ((3, 32, 32), 32, 4),
)
NOISE_DIM, BATCH, REPETITIONS = 100, 64, 7
SMALLEST: tuple[tuple[Shape, int, int], ...] = (((1, 8, 8), 2, 2),)


def in_one_call(network: nn.Module, population: Population, theta: Tensor, inputs: Tensor) -> Tensor:
    """What ``population(theta, inputs)`` computes, by vmap."""
    buffers = torch.zeros(len(theta), population.buffers)
    names = [name for name, _ in network.named_buffers()]
    views = unflattened(buffers, [buffer.shape for buffer in network.buffers()]) if names else ()
    own = {name: view.clone() for name, view in zip(names, views, strict=True)}

    def single(parameters: dict[str, Tensor], statistics: dict[str, Tensor], images: Tensor) -> Tensor:
        return functional_call(network, parameters | statistics, (images,))

    with mock.patch.object(dcgan, "channels_last", torch.positive):  # vmap knows no layouts
        return torch.vmap(single)(population.named(theta), own, inputs)


def seconds(forward: Callable[[Tensor], Tensor], theta: Tensor) -> float:
    """Of a forward and a backward pass."""
    started = time.perf_counter()
    torch.autograd.grad(forward(theta).square().sum(), theta)
    return time.perf_counter() - started


def main(smallest: bool = False) -> list[tuple[float, float]]:
    """Print the table; the milliseconds one after another and in one call."""
    environment.use("cpu", 1)
    cases, batch, repetitions = (SMALLEST, 4, 1) if smallest else (CASES, BATCH, REPETITIONS)
    rows = []
    rng = torch.Generator().manual_seed(0)
    columns = ("network", "image", "channels", "chains", "one after another, ms", "one call, ms", "ratio")
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for shape, width, chains in cases:
        inputs = {
            "discriminator": torch.randn(chains, batch, *shape, generator=rng),
            "generator": torch.randn(chains, batch, NOISE_DIM, generator=rng),
        }
        pair = {"discriminator": Discriminator(shape, 10, width), "generator": Generator(NOISE_DIM, shape, width)}
        for name, network in pair.items():
            population = Population(network)
            theta = population.initial(chains, rng).requires_grad_()
            each = partial(population, inputs=inputs[name])
            once = partial(in_one_call, network, population, inputs=inputs[name])
            torch.testing.assert_close(once(theta), each(theta), rtol=1e-2, atol=1e-3)
            times = [(seconds(each, theta), seconds(once, theta)) for _ in range(repetitions)]
            apart, together = (1e3 * median(column) for column in zip(*times, strict=True))
            rows.append((apart, together))
            size = "×".join(map(str, shape[1:]))
            print(f"| {name} | {size} | {width} | {chains} | {apart:.1f} | {together:.1f} | {apart / together:.2f} |")
    return rows


if __name__ == "__main__":
    main("--smallest" in sys.argv[1:])
