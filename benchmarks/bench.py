"""Speed, as ratios measured in one run: ``make bench`` (under ten minutes), written to benchmarks/latest.json.

Repetitions of what is compared are interleaved, so that a slow spell of the machine falls on all of it; each figure is
the median over repetitions, with the range beside it. Times themselves say little on a machine that others use too.

python -m benchmarks.bench [KEY …]        only these figures; the others stay as they are in latest.json
python -m benchmarks.bench --table        the table of benchmarks/README.md, from latest.json
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from bayesgan.base import environment
from bayesgan.base.errors import BayesganError
from bayesgan.base.files import write_text
from bayesgan.posterior.average import ModelAverage
from bayesgan.posterior.samples import SampleSet
from bayesgan.sampler.distributed import together
from benchmarks import synthetic
from benchmarks.workload import COMMON, DCGAN, EXACT, MINIBATCHED, SHAPE, flops, kernels_alone, prepared, seconds

LATEST = Path(__file__).parent / "latest.json"
REPETITIONS = 5
MATRIX = 2048  # rows of the square matrices whose product gives the sgemm rate
CHAINS = (1, 5, 10, 20, 40)
RANK_ITERATIONS = 4
SAMPLES = 20
NARROWER = COMMON | {"generators": 10, "discriminators": 2, "generator_width": 32, "discriminator_width": 32}

Figure = dict[str, Any]


def figure(values: list[float], bar: str, **more: Any) -> Figure:
    """Median and range of the repetitions."""
    rounded = [round(value, 4) for value in values]
    return {"median": round(statistics.median(values), 4), "repetitions": rounded, "bar": bar, **more}


def iteration() -> dict[str, Figure]:
    """The exact iteration, its kernels alone, a DCGAN's, and the one with mini-batches of chains."""
    exact, dcgan, cheaper = prepared(EXACT), prepared(DCGAN), prepared(MINIBATCHED)
    kernels = kernels_alone(exact)
    work, dcgan_work = flops(exact), flops(dcgan)
    one, other = torch.randn(2, MATRIX, MATRIX)
    fractions, sgemm, overhead, ratio, moves = [], [], [], [], []
    original = exact._move
    spent = 0.0

    def timed(*arguments: Any) -> None:
        nonlocal spent
        spent += seconds(lambda: original(*arguments))

    exact._move = timed  # type: ignore[method-assign, assignment]
    for _ in range(REPETITIONS):
        spent = 0.0
        # Twice around what it is compared with, so that a drift of the machine's pace cancels.
        first, alone, second = seconds(exact.iterate), seconds(kernels, 2), seconds(exact.iterate)
        whole = (first + second) / 2
        before, cheap, after = seconds(dcgan.iterate, 10), seconds(cheaper.iterate, 10), seconds(dcgan.iterate, 10)
        plain = (before + after) / 2
        product = seconds(lambda: one @ other, 5)
        fractions.append(alone / whole)
        sgemm.append(work / whole / (2 * MATRIX**3 / product))
        overhead.append(whole / plain / (work / dcgan_work))
        ratio.append(cheap / plain)
        moves.append(spent / 2 / whole)
    return {
        "kernel_fraction": figure(fractions, ">= 0.85", seconds_of_an_iteration=round(whole, 2)),
        "sgemm_fraction": figure(sgemm, "> 0.45", gflop=round(work / 1e9, 1)),
        "exact_overhead": figure(overhead, "<= 1.1", flop_ratio=round(work / dcgan_work, 2)),
        "minibatched_over_dcgan": figure(
            ratio, "<= 2.0", moved_in_an_iteration="2 of 10 generators, 1 of 2 discriminators"
        ),
        "dynamics_share": figure(moves, "<= 0.05"),
    }


def memory() -> dict[str, Figure]:
    """Peak memory of pairs of chains, each number in a process of its own; and of collected samples."""
    peaks = {chains: _peak("chains", chains) for chains in CHAINS}
    weights = prepared(NARROWER | {"coupling": "pairs", "generators": 1, "discriminators": 1})
    one = 4 * (weights.generator.weights + weights.discriminator.weights)  # bytes of a pair
    slope, start = statistics.linear_regression(list(peaks), list(peaks.values()))
    off = max(abs(start + slope * chains - peak) / peak for chains, peak in peaks.items())
    few, many = _peak("samples", 2), _peak("samples", SAMPLES)
    return {
        "memory_slope": {
            "median": round(slope / one, 1),
            "bar": "stated, a straight line",
            "unit": f"weights of a pair, {one / 2**20:.1f} MiB",
            "peaks_mib": {str(chains): round(peak / 2**20) for chains, peak in peaks.items()},
            "largest_distance_from_the_line": round(off, 3),
            f"mib_more_for_{SAMPLES}_collected_samples_than_for_2": round((many - few) / 2**20, 1),
        }
    }


def _peak(what: str, number: int) -> float:
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench", "--peak", what, str(number)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(result.stdout)


def peak(what: str, number: int) -> None:
    """Print the peak memory of this process, in bytes, after the work."""
    if what == "chains":
        gan = prepared(NARROWER | {"coupling": "pairs", "generators": number, "discriminators": number})
        gan.iterate()
    else:
        with tempfile.TemporaryDirectory() as folder:
            _collected(folder, number)[0]()
    # Not ru_maxrss, which a process inherits from the one that started it.
    status = Path("/proc/self/status").read_text()
    print(int(next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1]) * 1024)


def _collected(folder: str, number: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """Predictions averaged over ``number`` samples on disk, and by one discriminator in memory."""
    gan = prepared(COMMON | {"generators": 1, "discriminators": 1})
    samples = SampleSet(Path(folder))
    sample = gan.sample()
    for each in range(1, number + 1):
        samples.append(each, sample)
    images = torch.randint(256, (1000, *SHAPE), dtype=torch.uint8)

    def averaged() -> None:
        ModelAverage(gan.discriminator, gan.classes, images).update(samples, number)

    def single() -> None:
        ModelAverage(gan.discriminator, gan.classes, images).predict(
            sample["discriminators"], sample["discriminator_statistics"]
        )

    return averaged, single


def prediction() -> dict[str, Figure]:
    """Images a second of the model average over 20 samples on disk, times 20, over those of one network in memory."""
    with tempfile.TemporaryDirectory() as folder:
        averaged, single = _collected(folder, SAMPLES)
        single()
        values = []
        for _ in range(REPETITIONS):
            before, whole, after = seconds(single, 10), seconds(averaged), seconds(single, 10)
            values.append(SAMPLES * (before + after) / 2 / whole)
    return {"prediction_efficiency": figure(values, ">= 0.9")}


def ranks() -> dict[str, Figure]:
    """Two gloo ranks of one thread each against one rank of one thread: speed-up over 2.

    Beside it what the machine itself allows: two processes at once that share nothing, each with all of the work.
    """
    torchrun = str(Path(sys.executable).with_name("torchrun"))
    worker = ["-m", "benchmarks.bench", "--rank-worker"]
    together_command = [torchrun, "--nproc-per-node", "2", *worker]
    values, apart = [], []
    for _ in range(REPETITIONS):
        alone, shared = _seconds_of([sys.executable, *worker]), _seconds_of(together_command)
        values.append(alone / shared / 2)
        with ThreadPoolExecutor() as pool:
            both = list(pool.map(_seconds_of, [[sys.executable, *worker]] * 2))
        apart.append(alone / statistics.mean(both))
    return {
        "rank_efficiency": figure(
            values,
            ">= 0.85",
            workload="10 generators, 2 discriminators, coupling all, w = 32",
            two_processes_that_share_nothing=round(statistics.median(apart), 4),
        )
    }


def _seconds_of(command: list[str]) -> float:
    quiet = os.environ | {"OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, capture_output=True, text=True, env=quiet, check=False)
    if result.returncode != 0:
        raise BayesganError(f"{' '.join(command)} failed: {result.stderr[-500:]}")
    return float(result.stdout)


def rank_worker() -> None:
    """Print the seconds of an iteration, once."""
    device = environment.use("cpu", 1)
    with together(device) as shared:
        gan = prepared(NARROWER, shared)
        taken = seconds(gan.iterate, RANK_ITERATIONS)
        if shared.first:
            print(taken)


WHAT = {
    "kernel_fraction": "exact iteration: the rate of its own convolutions and matrix products, run alone, that it "
    "reaches (64 channels, MNIST's shape, J_g = 10, M = 2, all against all)",
    "sgemm_fraction": "the same against the measured rate of matrix products, FLOPs by torch's counter",
    "exact_overhead": "exact iteration ÷ DCGAN iteration, over the ratio of their FLOPs",
    "minibatched_over_dcgan": "10 generators, 2 discriminators, all against all, chains mini-batched (2 generators and "
    "1 discriminator move in an iteration, every chain at least once in five) ÷ DCGAN iteration",
    "dynamics_share": "dynamics ÷ exact iteration, step and noise",
    "prediction_efficiency": "model average over 20 samples on disk: images/s times 20 ÷ those of one in memory",
    "memory_slope": "peak memory for one more pair of chains, in weights of a pair",
    "rank_efficiency": "two gloo ranks of one thread on two cores against one rank of one thread: speed-up ÷ 2",
    "synthetic_ms": "synthetic experiment, D = 100, 10 generators, 2 discriminators, ms an iteration",
    "synthetic_500_ms": "the same, D = 500",
    "time_to_dcgan10": "time until DCGAN-10's final test error is reached, three evaluations in a row ÷ all of "
    "DCGAN-10's time (digits, median of 3 subsets; `make bench-long`)",
}


def table() -> str:
    """The figures of latest.json as markdown."""
    results = json.loads(LATEST.read_text())
    lines = ["| figure | | bar | median | range |", "|---|---|---|---|---|"]
    for key, meaning in WHAT.items():
        found = results.get(key, {"median": "not run", "bar": ""})
        values = found.get("repetitions")
        spread = f"{min(values):.3g} to {max(values):.3g}" if values else ""
        middle = "never" if found["median"] is None else found["median"]
        lines.append(f"| `{key}` | {meaning} | {found['bar']} | {middle} | {spread} |")
    return "\n".join(lines)


FIGURES: dict[str, Callable[[], dict[str, Figure]]] = {
    "iteration": iteration,
    "prediction": prediction,
    "memory": memory,
    "ranks": ranks,
    "synthetic": synthetic.measured,
}


def main(chosen: list[str]) -> None:
    """Measure, print and write."""
    unknown = [name for name in chosen if name not in FIGURES]
    if unknown:
        raise SystemExit(f"'{unknown[0]}' is not one of {', '.join(FIGURES)}.")
    device = environment.use("cpu", None)
    results = json.loads(LATEST.read_text()) if LATEST.exists() else {}
    results |= {"command": "make bench", "environment": environment.record(device)}
    for name in chosen or FIGURES:
        for key, found in FIGURES[name]().items():
            results[key] = found
            print(f"{key:24s} {found['median']:8.3f}   {found['bar']}", flush=True)
            write_text(LATEST, json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--peak", what, number]:
            environment.use("cpu", 1)
            peak(what, int(number))
        case ["--table"]:
            print(table())
        case ["--rank-worker"]:
            rank_worker()
        case names:
            main(names)
