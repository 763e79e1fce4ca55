"""Speed, as ratios measured in one run: ``make bench`` (about ten minutes), written to benchmarks/latest.json.

Repetitions of what is compared are interleaved, so that a slow spell of the machine falls on all of it; each figure is
the median over repetitions, with the range beside it. Times themselves say little on a machine that others use too.

python -m benchmarks.bench [KEY …]        only these figures; the others stay as they are in latest.json
python -m benchmarks.bench --table        the table of benchmarks/README.md, from latest.json
python -m benchmarks.bench --smallest [KEY …]        to see that it runs: tiny networks, once; latest.json stays
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from bayesgan.base import environment
from bayesgan.base.errors import BayesganError
from bayesgan.base.files import write_text
from bayesgan.posterior.posterior import Posterior
from bayesgan.posterior.samples import SampleSet
from bayesgan.sampler.distributed import together
from bayesgan.settings.names import SIDES
from benchmarks import synthetic
from benchmarks.workload import (
    CLASSES,
    COMMON,
    DCGAN,
    EXACT,
    MINIBATCHED,
    SHAPE,
    TINY,
    TWO_OF_EACH,
    Clock,
    flops,
    kernels_alone,
    prepared,
    seconds,
)

HOME = Path(__file__).parents[1]
LATEST = Path(__file__).parent / "latest.json"
NARROWER = COMMON | {"generators": 10, "discriminators": 2, "generator_width": 32, "discriminator_width": 32}

Figure = dict[str, Any]


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    repetitions: int = 5
    times: int = 10  # that short work is done in a repetition
    matrix: int = 2048  # rows of the square matrices whose product gives the sgemm rate
    chains: tuple[int, ...] = (1, 5, 10, 20, 40)  # pairs whose memory is measured
    rank_iterations: int = 4
    samples: int = 20
    images: int = 1000  # to predict
    networks: dict[str, Any] = field(default_factory=dict)  # settings instead of those of the workload
    options: tuple[str, ...] = ()  # that tell further processes of all this


FULL = Effort()
SMALLEST = Effort(1, 1, 64, (1, 2), 1, 2, 10, TINY, ("--smallest",))


def figure(values: list[float], bar: str, **more: Any) -> Figure:
    """Median and range of the repetitions."""
    rounded = [round(value, 4) for value in values]
    return {"median": round(statistics.median(values), 4), "repetitions": rounded, "bar": bar, **more}


def iteration(effort: Effort) -> dict[str, Figure]:
    """The exact iteration, its kernels alone, a DCGAN's, and those with mini-batches of chains."""
    exact, dcgan = prepared(EXACT | effort.networks), prepared(DCGAN | effort.networks)
    cheaper, two_of_each = prepared(MINIBATCHED | effort.networks), prepared(TWO_OF_EACH | effort.networks)
    kernels = kernels_alone(exact)
    work, dcgan_work = flops(exact), flops(dcgan)
    one, other = torch.randn(2, effort.matrix, effort.matrix)
    fractions, sgemm, overhead, ratio, ratio_of_two, moves = [], [], [], [], [], []
    times = effort.times
    dynamics = Clock()
    for side in SIDES:
        exact.update[side] = dynamics.timed(exact.update[side])
    for _ in range(effort.repetitions):
        dynamics.seconds = 0.0
        # Twice around what it is compared with, so that a drift of the machine's pace cancels.
        first, alone, second = seconds(exact.iterate), seconds(kernels, 2), seconds(exact.iterate)
        whole = (first + second) / 2
        before, cheap = seconds(dcgan.iterate, times), seconds(cheaper.iterate, times)
        two, after = seconds(two_of_each.iterate, times), seconds(dcgan.iterate, times)
        plain = (before + after) / 2
        product = seconds(lambda: one @ other, 5)
        fractions.append(alone / whole)
        sgemm.append(work / whole / (2 * effort.matrix**3 / product))
        overhead.append(whole / plain / (work / dcgan_work))
        ratio.append(cheap / plain)
        ratio_of_two.append(two / plain)
        moves.append(dynamics.seconds / 2 / whole)
    return {
        "kernel_fraction": figure(fractions, ">= 0.85", seconds_of_an_iteration=round(whole, 4)),
        "sgemm_fraction": figure(sgemm, "> 0.45", gflop=round(work / 1e9, 1)),
        "exact_overhead": figure(overhead, "<= 1.1", flop_ratio=round(work / dcgan_work, 2)),
        "minibatched_over_dcgan": figure(
            ratio,
            "<= 2.0",
            moved_in_an_iteration="1 of 10 generators, 1 of 2 discriminators",
            with_chain_batch_2=round(statistics.median(ratio_of_two), 4),
        ),
        "dynamics_share": figure(moves, "<= 0.05"),
    }


def memory(effort: Effort) -> dict[str, Figure]:
    """Peak memory of pairs of chains, each number in a process of its own; and of collected samples."""
    peaks = {chains: _peak("chains", chains, effort) for chains in effort.chains}
    weights = prepared(_pairs(1, effort))
    one = 4 * (weights.generator.weights + weights.discriminator.weights)  # bytes of a pair
    slope, start = statistics.linear_regression(list(peaks), list(peaks.values()))
    off = max(abs(start + slope * chains - peak) / peak for chains, peak in peaks.items())
    few, many = _peak("samples", 2, effort), _peak("samples", effort.samples, effort)
    return {
        "memory_slope": {
            "median": round(slope / one, 1),
            "bar": "stated, a straight line",
            "unit": f"weights of a pair, {one / 2**20:.1f} MiB",
            "peaks_mib": {str(chains): round(peak / 2**20) for chains, peak in peaks.items()},
            "largest_distance_from_the_line": round(off, 3),
            f"mib_more_for_{effort.samples}_collected_samples_than_for_2": round((many - few) / 2**20, 1),
        }
    }


def _pairs(number: int, effort: Effort) -> dict[str, Any]:
    pairs = {"coupling": "pairs", "generators": number, "discriminators": number}
    return NARROWER | pairs | effort.networks


def _peak(what: str, number: int, effort: Effort) -> float:
    return _printed([sys.executable, *_worker(effort), "--peak", what, str(number)])


def peak(what: str, number: int, effort: Effort) -> None:
    """Print the peak memory of this process, in bytes, after the work."""
    if what == "chains":
        prepared(_pairs(number, effort)).iterate()
    else:
        with tempfile.TemporaryDirectory() as folder:
            _collected(folder, number, effort)[0]()
    # Not ru_maxrss, which a process inherits from the one that started it.
    status = Path("/proc/self/status").read_text()
    print(int(next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1]) * 1024)


def _collected(folder: str, number: int, effort: Effort) -> tuple[Callable[[], None], Callable[[], None]]:
    """Predictions averaged over ``number`` samples on disk, and by one discriminator in memory."""
    gan = prepared(COMMON | {"generators": 1, "discriminators": 1} | effort.networks)
    samples = SampleSet(Path(folder))
    sample = gan.sample()
    for each in range(1, number + 1):
        samples.append(each, sample)
    images = torch.randint(256, (effort.images, *SHAPE), dtype=torch.uint8)
    posterior = Posterior(gan.settings, SHAPE, CLASSES, samples, images.device)

    def averaged() -> None:
        posterior.include(posterior.averaging(images))

    def single() -> None:
        posterior.averaging(images).predict(sample["discriminators"], sample["discriminator_statistics"])

    return averaged, single


def prediction(effort: Effort) -> dict[str, Figure]:
    """Images a second of the model average over 20 samples on disk, times 20, over those of one network in memory."""
    with tempfile.TemporaryDirectory() as folder:
        averaged, single = _collected(folder, effort.samples, effort)
        single()
        values = []
        for _ in range(effort.repetitions):
            before, whole, after = seconds(single, effort.times), seconds(averaged), seconds(single, effort.times)
            values.append(effort.samples * (before + after) / 2 / whole)
    return {"prediction_efficiency": figure(values, ">= 0.9")}


def ranks(effort: Effort) -> dict[str, Figure]:
    """Two gloo ranks of one thread each against one rank of one thread: speed-up over 2.

    Beside it what the machine itself allows: two processes at once that share nothing, each with all of the work.
    """
    torchrun = str(Path(sys.executable).with_name("torchrun"))
    worker = [*_worker(effort), "--rank-worker"]
    together_command = [torchrun, "--nproc-per-node", "2", *worker]
    values, apart = [], []
    for _ in range(effort.repetitions):
        alone, shared = _printed([sys.executable, *worker]), _printed(together_command)
        values.append(alone / shared / 2)
        with ThreadPoolExecutor() as pool:
            both = list(pool.map(_printed, [[sys.executable, *worker]] * 2))
        apart.append(alone / statistics.mean(both))
    return {
        "rank_efficiency": figure(
            values,
            ">= 0.85",
            workload="10 generators, 2 discriminators, coupling all, w = 32",
            two_processes_that_share_nothing=round(statistics.median(apart), 4),
        )
    }


def _worker(effort: Effort) -> list[str]:
    return ["-m", "benchmarks.bench", *effort.options]


def _printed(command: list[str]) -> float:
    """What a process of one thread prints."""
    quiet = os.environ | {"OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, capture_output=True, text=True, env=quiet, cwd=HOME, check=False)
    if result.returncode != 0:
        raise BayesganError(f"{' '.join(command)} failed: {result.stderr[-500:]}")
    return float(result.stdout)


def rank_worker(effort: Effort) -> None:
    """Print the seconds of an iteration, once."""
    device = environment.use("cpu", 1)
    with together(device) as shared:
        gan = prepared(NARROWER | effort.networks, shared)
        taken = seconds(gan.iterate, effort.rank_iterations)
        if shared.first:
            print(taken)


WHAT = {
    "kernel_fraction": "exact iteration: the rate of its own convolutions and matrix products, run alone, that it "
    "reaches (64 channels, MNIST's shape, J_g = 10, M = 2, all against all)",
    "sgemm_fraction": "the same against the measured rate of matrix products, FLOPs by torch's counter",
    "exact_overhead": "exact iteration ÷ DCGAN iteration, over the ratio of their FLOPs",
    "minibatched_over_dcgan": "10 generators, 2 discriminators, all against all, `chain_batch` 1 (a generator and a "
    "discriminator move in an iteration, every chain at least once in ten) ÷ DCGAN iteration",
    "dynamics_share": "dynamics ÷ exact iteration, step and noise",
    "prediction_efficiency": "model average over 20 samples on disk: images/s times 20 ÷ those of one in memory",
    "memory_slope": "peak memory for one more pair of chains, in weights of a pair",
    "rank_efficiency": "two gloo ranks of one thread on two cores against one rank of one thread: speed-up ÷ 2",
    "synthetic_ms": "synthetic experiment, D = 100, 10 generators, 2 discriminators, ms an iteration",
    "synthetic_500_ms": "the same, D = 500",
    "time_to_dcgan10": "time until DCGAN-10's final test error is reached, three evaluations in a row ÷ all of "
    "DCGAN-10's time (digits, median of 3 subsets; `make bench-long`)",
    "time_to_dcgan10_consensus": "the same, of a DCGAN-10 with a consensus",
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


FIGURES: dict[str, Callable[[Effort], dict[str, Figure]]] = {
    "iteration": iteration,
    "prediction": prediction,
    "memory": memory,
    "ranks": ranks,
    "synthetic": lambda effort: synthetic.measured(smallest=effort is SMALLEST),
}


def main(chosen: list[str], smallest: bool = False) -> dict[str, Any]:
    """Measure, print and write; the smallest form writes nothing."""
    unknown = [name for name in chosen if name not in FIGURES]
    if unknown:
        raise SystemExit(f"'{unknown[0]}' is not one of {', '.join(FIGURES)}.")
    device = environment.use("cpu", 1 if smallest else None)
    results = json.loads(LATEST.read_text()) if LATEST.exists() and not smallest else {}
    results |= {"command": "make bench", "environment": environment.record(device)}
    for name in chosen or FIGURES:
        for key, found in FIGURES[name](SMALLEST if smallest else FULL).items():
            results[key] = found
            print(f"{key:24s} {found['median']:8.3f}   {found['bar']}", flush=True)
            if not smallest:
                write_text(LATEST, json.dumps(results, indent=1) + "\n")
    return results


if __name__ == "__main__":
    words = sys.argv[1:]
    little = "--smallest" in words
    match [word for word in words if word != "--smallest"]:
        case ["--peak", what, number]:
            environment.use("cpu", 1)
            peak(what, int(number), SMALLEST if little else FULL)
        case ["--table"]:
            print(table())
        case ["--rank-worker"]:
            rank_worker(SMALLEST if little else FULL)
        case names:
            main(names, little)
