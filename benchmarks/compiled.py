"""Whether ``torch.compile`` pays for itself on a run of 1,000 iterations.

python -m benchmarks.compiled        (a few minutes; needs a C++ compiler)
python -m benchmarks.compiled --smallest        to see that it runs: nothing is compiled, only traced

Forward and backward pass of one discriminator and one generator as MNIST's preset has them, eager and compiled, and the
seconds that compiling took. Six discriminator and two generator passes make an iteration of one pair.
"""

import sys
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


def main(smallest: bool = False) -> dict[str, tuple[float, float, float]]:
    """Measure and print; seconds of a pass, eager and compiled, and of the first compiled one."""
    environment.use("cpu", 1)
    width, batch, repetitions, times = (2, 2, 1, 1) if smallest else (WIDTH, BATCH, REPETITIONS, TIMES)
    backend = "eager" if smallest else "inductor"
    networks = {
        "discriminator": (Discriminator(SHAPE, len(CLASSES), width), torch.rand(batch, *SHAPE)),
        "generator": (Generator(NOISE_DIM, SHAPE, width), torch.randn(batch, NOISE_DIM)),
    }
    found = {}
    saved = spent = 0.0
    for name, (network, inputs) in networks.items():
        weights = list(network.parameters())
        eager = steps(network, weights, inputs)
        compiled = steps(torch.compile(network, backend=backend), weights, inputs)
        eager()
        start = time.perf_counter()
        compiled()
        first = time.perf_counter() - start
        ratios = []
        for _ in range(repetitions):
            before, ours = seconds(eager, times), seconds(compiled, times)
            ratios.append((before, ours))
        plain, faster = min(pair[0] for pair in ratios), min(pair[1] for pair in ratios)
        found[name] = (plain, faster, first)
        spent += first
        saved += 1000 * PASSES[name] * (plain - faster)
        print(f"{name}: eager {plain * 1e3:.1f} ms, compiled {faster * 1e3:.1f} ms, first call {first:.0f} s")
    print(f"1,000 iterations of one pair: {saved:.0f} s saved at best, {spent:.0f} s spent on compiling")
    return found


if __name__ == "__main__":
    main("--smallest" in sys.argv[1:])
