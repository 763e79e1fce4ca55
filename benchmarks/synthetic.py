"""Time of an iteration of the synthetic experiment, as ratios measured in one run: a part of ``make bench``.

Repetitions of all cases are interleaved, so that a slow spell of the machine falls on all of them alike.
"""

import statistics
import time
from typing import Any

import torch

from bayesgan.data.synthetic import synthetic
from bayesgan.networks.mlp import mlp
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.settings.settings import Settings

REPETITIONS, ITERATIONS = 7, 10
BURN_IN = 150  # cold networks diverge when they are sampled
ONE = {"generators": 1, "discriminators": 1}
CASES: dict[str, dict[str, Any]] = {
    "one generator, one discriminator": ONE,
    "10 generators, 1 discriminator": {"discriminators": 1},
    "10 generators, 2 discriminators": {},
    "the same at temperature 0": {"temperature": 0.0},
}


def prepared(dim: int, settings: dict[str, Any]) -> BayesianGAN:
    """A GAN that has finished its burn-in."""
    data = torch.from_numpy(synthetic("clusters", dim, 10_000, seed=0).train)
    gan = BayesianGAN(Settings(burn_in=BURN_IN, **settings), mlp(10, 1000, dim), mlp(dim, 1000, 1), data, 0)
    for _ in range(BURN_IN + 2):
        gan.iterate()
    return gan


def milliseconds(gan: BayesianGAN) -> float:
    """Of one iteration, averaged over a few."""
    start = time.perf_counter()
    for _ in range(ITERATIONS):
        gan.iterate()
    return (time.perf_counter() - start) / ITERATIONS * 1000


def measured() -> dict[str, Any]:
    """ms an iteration at D = 100, ten generators and two discriminators, beside one of each; and D = 500."""
    results: dict[str, Any] = {}
    for dim in (100, 500):
        gans = {name: prepared(dim, settings) for name, settings in CASES.items()}
        times: dict[str, list[float]] = {name: [] for name in CASES}
        for _ in range(REPETITIONS):
            for name, gan in gans.items():
                times[name].append(milliseconds(gan))
        base = times[next(iter(CASES))]
        print(f"\nD = {dim}: ms an iteration, median (range); ratio to the first, median")
        rows = {}
        for name, values in times.items():
            ratio = statistics.median(value / one for value, one in zip(values, base, strict=True))
            rows[name] = {"ms": [round(value, 2) for value in values], "ratio": round(ratio, 2)}
            spread = f"{statistics.median(values):7.1f} ({min(values):.1f} to {max(values):.1f})"
            print(f"  {name:34s} {spread:28s} {ratio:6.2f}")
        ms = statistics.median(times["10 generators, 2 discriminators"])
        key = "synthetic_ms" if dim == 100 else f"synthetic_{dim}_ms"
        results[key] = {
            "median": round(ms, 2),
            "bar": f"beside one generator's {statistics.median(base):.1f}",
            "cases": rows,
        }
    return results
