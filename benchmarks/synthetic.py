"""Time of an iteration of the synthetic experiment, as ratios measured in one run: a part of ``make bench``.

Repetitions of all cases are interleaved, so that a slow spell of the machine falls on all of them alike.
"""

import statistics
from typing import Any

import torch

from bayesgan.data.synthetic import synthetic
from bayesgan.networks.mlp import mlp
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.settings.settings import Settings
from benchmarks.workload import seconds

REPETITIONS, ITERATIONS = 7, 10
BURN_IN = 150  # cold networks diverge when they are sampled
ONE = {"generators": 1, "discriminators": 1}
CASES: dict[str, dict[str, Any]] = {
    "one generator, one discriminator": ONE,
    "10 generators, 1 discriminator": {"discriminators": 1},
    "10 generators, 2 discriminators": {},
    "the same at temperature 0": {"temperature": 0.0},
}


def prepared(dim: int, settings: dict[str, Any], smallest: bool = False) -> BayesianGAN:
    """A GAN that has finished its burn-in."""
    burn_in, hidden, size = (2, 8, 100) if smallest else (BURN_IN, 1000, 10_000)
    data = torch.from_numpy(synthetic("clusters", dim, size, seed=0).train)
    gan = BayesianGAN(Settings.of(burn_in=burn_in, **settings), mlp(10, hidden, dim), mlp(dim, hidden, 1), data, 0)
    for _ in range(burn_in + 2):
        gan.iterate()
    return gan


def measured(smallest: bool = False) -> dict[str, Any]:
    """ms an iteration at D = 100, ten generators and two discriminators, beside one of each; and D = 500."""
    repetitions, iterations = (1, 1) if smallest else (REPETITIONS, ITERATIONS)
    results: dict[str, Any] = {}
    for dim in (100, 500):
        gans = {name: prepared(dim, settings, smallest) for name, settings in CASES.items()}
        times: dict[str, list[float]] = {name: [] for name in CASES}
        for _ in range(repetitions):
            for name, gan in gans.items():
                times[name].append(1000 * seconds(gan.iterate, iterations))
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
