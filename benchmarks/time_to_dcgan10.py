"""How soon is the Bayesian GAN where DCGAN-10 ends? Digits, 50 labels, the preset `fast` as it is: ``make bench-long``.

Seconds of iterations, evaluations left out, until three evaluations in a row have at most the test error with which
DCGAN-10 ends; over the seconds of all of DCGAN-10's iterations. The error is that of the model average, and of the
present chains averaged as long as no sample is collected. DCGAN-10 is as in the paper, and beside it with a consensus.
Adds `time_to_dcgan10` and `time_to_dcgan10_consensus` to benchmarks/latest.json; the runs go to frontier/, and a second
start goes on.

python -m benchmarks.time_to_dcgan10 --smallest        to see that it runs: one subset, a few iterations, nothing kept
"""

import json
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bayesgan.base import environment
from bayesgan.base.files import write_text
from bayesgan.runs.images import Task, Training
from bayesgan.settings.names import Method
from benchmarks.bench import LATEST
from benchmarks.workload import TINY

RUNS = Path("frontier")
SUBSETS, LABELS, EVERY, IN_A_ROW = (0, 1, 2), 50, 20, 3
REFERENCES: dict[str, Method] = {"time_to_dcgan10": "dcgan10", "time_to_dcgan10_consensus": "dcgan10-consensus"}


def trained(method: Method, subset: int, runs: Path, smallest: bool) -> list[dict[str, Any]]:
    """The evaluations of a run; the seed is the subset's number."""
    every, overrides = (1, TINY | {"iterations": 4}) if smallest else (EVERY, {})
    task = Task("digits", LABELS, subset, method, "fast", subset, every=every, overrides=overrides)
    training = Training(task, runs / f"{method}-{subset}", Path(), environment.use("cpu", 1))
    training.train()
    return training.run.metrics


def error(record: dict[str, Any]) -> float:
    """Of the model average, or of the chains where there is none yet."""
    average = record["average_error"]
    return float(record["chains_error"] if average is None else average)


def reached(metrics: list[dict[str, Any]], wanted: float) -> float | None:
    """Seconds at the last of three evaluations in a row that are at most ``wanted``."""
    row = 0
    for record in metrics:
        row = row + 1 if error(record) <= wanted else 0
        if row == IN_A_ROW:
            return float(record["seconds"])
    return None


def compared(reference: Method, subsets: Sequence[int], runs: Path, smallest: bool = False) -> dict[str, Any]:
    """Train both on each subset; the figure of latest.json."""
    rows, ratios = [], []
    for subset in subsets:
        many, ours = (trained(method, subset, runs, smallest) for method in (reference, "bayesgan"))
        total, wanted = many[-1]["seconds"], error(many[-1])
        taken = reached(ours, wanted)
        rows.append({"subset": subset, "reference_error": wanted, "reference_seconds": total})
        rows[-1] |= {"bayesgan_seconds": taken, "bayesgan_last_error": error(ours[-1])}
        rows[-1]["bayesgan_all_seconds"] = ours[-1]["seconds"]
        print(reference, rows[-1], flush=True)
        ratios.append(None if taken is None else taken / total)
    middle = median(math.inf if ratio is None else ratio for ratio in ratios)  # never there: later than any
    return {
        "median": None if math.isinf(middle) else round(middle, 3),
        "by_subset": ratios,
        "bar": "<= 0.25",
        "runs": rows,
    }


def main(smallest: bool = False) -> dict[str, Any]:
    """Train, compare, print and write; the smallest form writes nothing."""
    if smallest:
        with tempfile.TemporaryDirectory() as folder:
            return {name: compared(each, SUBSETS[:1], Path(folder), smallest) for name, each in REFERENCES.items()}
    figures = {name: compared(each, SUBSETS, RUNS) for name, each in REFERENCES.items()}
    for name, figure in figures.items():
        print(name, figure["median"], figure["by_subset"])
    write_text(LATEST, json.dumps(json.loads(LATEST.read_text()) | figures, indent=1) + "\n")
    return figures


if __name__ == "__main__":
    main("--smallest" in sys.argv[1:])
