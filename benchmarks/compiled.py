"""Whether ``torch.compile`` pays for itself on a run of 1,000 iterations.

python -m benchmarks.compiled        (a few minutes; needs a C++ compiler)

Forward and backward pass of one discriminator and one generator as MNIST's preset has them, eager and compiled, and the
seconds that compiling took. Six discriminator and two generator passes make an iteration of one pair.
"""

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from bayesgan.base import environment
from bayesgan.networks.dcgan import Discriminator, Generator
from benchmarks.workload import CLASSES, SHAPE, seconds

BATCH, WIDTH, NOISE_DIM, REPETITIONS, TIMES = 64, 16, 100, 5, 10
PASSES = {"discriminator": 6, "generator": 2}  # of an iteration


def steps(network: Callable[[Tensor], Tensor], weights: list[nn.Parameter], inputs: Tensor) -> Callable[[], None]:
    """A function that makes one forward and backward pass."""

    def run() -> None:
        torch.autograd.grad(network(inputs).square().sum(), weights)

    return run


def main() -> None:
    """Measure and print."""
    environment.use("cpu", 1)
    networks = {
        "discriminator": (Discriminator(SHAPE, CLASSES, WIDTH), torch.rand(BATCH, *SHAPE)),
        "generator": (Generator(NOISE_DIM, SHAPE, WIDTH), torch.randn(BATCH, NOISE_DIM)),
    }
    saved = spent = 0.0
    for name, (network, inputs) in networks.items():
        weights = list(network.parameters())
        eager, compiled = steps(network, weights, inputs), steps(torch.compile(network), weights, inputs)
        eager()
        start = time.perf_counter()
        compiled()
        first = time.perf_counter() - start
        ratios = []
        for _ in range(REPETITIONS):
            before, ours = seconds(eager, TIMES), seconds(compiled, TIMES)
            ratios.append((before, ours))
        plain, faster = min(pair[0] for pair in ratios), min(pair[1] for pair in ratios)
        spent += first
        saved += 1000 * PASSES[name] * (plain - faster)
        print(f"{name}: eager {plain * 1e3:.1f} ms, compiled {faster * 1e3:.1f} ms, first call {first:.0f} s")
    print(f"1,000 iterations of one pair: {saved:.0f} s saved at best, {spent:.0f} s spent on compiling")


if __name__ == "__main__":
    main()
