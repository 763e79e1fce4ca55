"""How soon is the Bayesian GAN where DCGAN-10 ends? Digits, 50 labels, the preset `fast` as it is: ``make bench-long``.

Seconds of iterations, evaluations left out, until three evaluations in a row have at most the test error with which
DCGAN-10 ends; over the seconds of all of DCGAN-10's iterations. The error is that of the model average, and of the
present chains averaged as long as no sample is collected. Adds `time_to_dcgan10` to benchmarks/latest.json; the runs go
to frontier/, and a second start goes on.
"""

import json
import math
from pathlib import Path
from statistics import median
from typing import Any

from bayesgan.base import environment
from bayesgan.base.files import write_text
from bayesgan.runs.images import Task, Training
from bayesgan.settings.names import Method
from benchmarks.bench import LATEST

RUNS = Path("frontier")
SUBSETS, LABELS, EVERY, IN_A_ROW = (0, 1, 2), 50, 20, 3


def trained(method: Method, subset: int) -> list[dict[str, Any]]:
    """The evaluations of a run; the seed is the subset's number."""
    task = Task("digits", LABELS, subset, method, "fast", subset, every=EVERY)
    training = Training(task, RUNS / f"{method}-{subset}", Path(), environment.use("cpu", 1))
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


def main() -> None:
    """Train, compare, print and write."""
    rows, ratios = [], []
    for subset in SUBSETS:
        many, ours = trained("dcgan10", subset), trained("bayesgan", subset)
        total, wanted = many[-1]["seconds"], error(many[-1])
        taken = reached(ours, wanted)
        rows.append({"subset": subset, "dcgan10_error": wanted, "dcgan10_seconds": total, "bayesgan_seconds": taken})
        rows[-1]["bayesgan_last_error"] = error(ours[-1])
        rows[-1]["bayesgan_all_seconds"] = ours[-1]["seconds"]
        print(rows[-1], flush=True)
        ratios.append(None if taken is None else taken / total)
    middle = median(math.inf if ratio is None else ratio for ratio in ratios)  # never there: later than any
    figure = {
        "median": None if math.isinf(middle) else round(middle, 3),
        "by_subset": ratios,
        "bar": "<= 0.25",
        "runs": rows,
    }
    results = json.loads(LATEST.read_text())
    write_text(LATEST, json.dumps(results | {"time_to_dcgan10": figure}, indent=1) + "\n")
    print("time_to_dcgan10", figure["median"], ratios)


if __name__ == "__main__":
    main()
