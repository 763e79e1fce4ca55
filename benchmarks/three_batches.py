"""Real, generated and labelled images in one call, or in three? Passes of a discriminator, one thread.

python -m benchmarks.three_batches

Milliseconds of a forward and a backward pass; either way each batch is normalised by itself. Medians of alternating
repetitions; the ratio is above 1 where one call is faster.
"""

import time
from collections.abc import Callable
from functools import partial
from statistics import median

import torch
from torch import Tensor

from bayesgan.base import environment
from bayesgan.networks.dcgan import Discriminator, Shape
from bayesgan.sampler.population import Population

CASES: tuple[tuple[Shape, int, float], ...] = (
    ((1, 8, 8), 32, 0.0),
    ((1, 28, 28), 16, 0.0),
    ((1, 28, 28), 16, 0.3),
    ((3, 32, 32), 32, 0.0),
)
BATCHES = (32, 32, 25)
REPETITIONS = 40


def seeds(rng: torch.Generator, chains: int) -> Tensor:
    """Of the noise on the layers of ``chains`` networks."""
    return torch.randint(2**31, (chains,), generator=rng)


def apart(population: Population, theta: Tensor, batches: list[Tensor]) -> list[Tensor]:
    """A call for each batch."""
    return [population(theta, batch) for batch in batches]


def milliseconds(forward: Callable[[], list[Tensor] | tuple[Tensor, ...]], theta: Tensor) -> float:
    """Of a forward and a backward pass."""
    started = time.perf_counter()
    torch.autograd.grad(sum(each.square().sum() for each in forward()), theta)  # type: ignore[arg-type]
    return 1e3 * (time.perf_counter() - started)


def main() -> None:
    """Print the table."""
    environment.use("cpu", 1)
    print("| image | channels | noise on layers | three calls, ms | one call, ms | ratio |\n|---|---|---|---|---|---|")
    for shape, width, noise in CASES:
        rng = torch.Generator().manual_seed(0)
        population = Population(Discriminator(shape, 10, width, layer_noise=noise))
        population.draw_noise_from(partial(seeds, rng))
        theta = population.initial(1, rng).requires_grad_()
        batches = [torch.randn(1, size, *shape, generator=rng) for size in BATCHES]
        three, one = partial(apart, population, theta, batches), partial(population.of_batches, theta, batches)
        if noise == 0:
            for ours, theirs in zip(one(), three(), strict=True):
                torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
        times = [(milliseconds(three, theta), milliseconds(one, theta)) for _ in range(REPETITIONS)]
        slow, fast = (median(column) for column in zip(*times, strict=True))
        size = "×".join(map(str, shape[1:]))
        print(f"| {size} | {width} | {noise} | {slow:.1f} | {fast:.1f} | {slow / fast:.2f} |")


if __name__ == "__main__":
    main()
