"""Real, generated and labelled images in one call, or in three? Passes of a discriminator, one thread.

python -m benchmarks.three_batches [--smallest]        (smallest: to see that it runs)

Milliseconds of a forward and a backward pass; either way each batch is normalised by itself. Medians of alternating
repetitions; the ratio is above 1 where one call is faster.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import torch
from torch import Tensor

from bayesgan.base import environment
from bayesgan.networks.dcgan import Discriminator, Shape
from bayesgan.sampler.population import Population
from bayesgan.sampler.sghmc import noise_seeds

CASES: tuple[tuple[Shape, int, float], ...] = (
    ((1, 8, 8), 32, 0.0),
    ((1, 28, 28), 16, 0.0),
    ((1, 28, 28), 16, 0.3),
    ((3, 32, 32), 32, 0.0),
)
BATCHES = (32, 32, 25)
REPETITIONS = 40
SMALLEST: tuple[tuple[Shape, int, float], ...] = (((1, 8, 8), 2, 0.0), ((1, 8, 8), 2, 0.3))


def apart(population: Population, theta: Tensor, batches: list[Tensor], seeds: Tensor | None) -> list[Tensor]:
    """A call for each batch."""
    return [population(theta, batch, seeds=seeds) for batch in batches]


def milliseconds(forward: Callable[[], list[Tensor] | tuple[Tensor, ...]], theta: Tensor) -> float:
    """Of a forward and a backward pass."""
    started = time.perf_counter()
    torch.autograd.grad(sum(each.square().sum() for each in forward()), theta)  # type: ignore[arg-type]
    return 1e3 * (time.perf_counter() - started)


def main(smallest: bool = False) -> list[tuple[float, float]]:
    """Print the table; the milliseconds of three calls and of one."""
    environment.use("cpu", 1)
    cases, sizes, repetitions = (SMALLEST, (4, 4, 3), 1) if smallest else (CASES, BATCHES, REPETITIONS)
    rows = []
    print("| image | channels | noise on layers | three calls, ms | one call, ms | ratio |\n|---|---|---|---|---|---|")
    for shape, width, noise in cases:
        rng = torch.Generator().manual_seed(0)
        population = Population(Discriminator(shape, 10, width, layer_noise=noise))
        seeds = noise_seeds(rng, 1) if population.noisy else None
        theta = population.initial(1, rng).requires_grad_()
        batches = [torch.randn(1, size, *shape, generator=rng) for size in sizes]
        three = partial(apart, population, theta, batches, seeds)
        one = partial(population.of_batches, theta, batches, seeds)
        if noise == 0:
            for ours, theirs in zip(one(), three(), strict=True):
                torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
        times = [(milliseconds(three, theta), milliseconds(one, theta)) for _ in range(repetitions)]
        slow, fast = (median(column) for column in zip(*times, strict=True))
        rows.append((slow, fast))
        size = "×".join(map(str, shape[1:]))
        print(f"| {size} | {width} | {noise} | {slow:.1f} | {fast:.1f} | {slow / fast:.2f} |")
    return rows


if __name__ == "__main__":
    main("--smallest" in sys.argv[1:])
