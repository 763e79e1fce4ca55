"""Where does the posterior earn its cost? Digits with 50 labels, one setting changed at a time.

python benchmarks/digits.py [SUBSETS [WORD]]      (100,101,102,103,104 by default; WORD: cases whose name contains it;
                                                   stopped and started again, it goes on)

Settings are chosen here: on labelled subsets that no result is reported on, and on 297 validation images cut from the
training images. Writes results/digits/choices.md and .json; the runs go to choices/. Twenty minutes a subset, on one
thread.
"""

import json
import math
import re
import sys
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from bayesgan import environment
from bayesgan.errors import BayesganError
from bayesgan.experiments.images import Task, Training
from bayesgan.files import write_text

RESULTS = Path(__file__).parents[1] / "results" / "digits"
RUNS = Path("choices")
LABELS = 50
SUBSETS = (100, 101, 102, 103, 104)

# Every setting that matters is stated, so that a change of the presets does not change this experiment: it is the
# preset `fast` as it is now.
NETWORKS: dict[str, Any] = {
    "normalisation": "batch",
    "generator_width": 32,
    "discriminator_width": 32,
    "features": 256,
    "generator_rate": 1e-3,
    "discriminator_rate": 1e-3,
    "adam_betas": [0.5, 0.999],
    "epsilon": 1e-5,
    "label_term": "class",
    "label_weight": None,
    "iterations": 1000,
}
PAIRS: dict[str, Any] = NETWORKS | {
    "generators": 4,
    "discriminators": 4,
    "coupling": "pairs",
    "marginal": "mean",
    "prior_variance": 10.0,
    "dynamics": "frozen",
    "friction": 0.5,
    "step_ratio": 1.0,
    "schedule": "per-datum",
    "temperature": 0.01,
    "burn_in": 600,
    "thin": 50,
}
ONE = {"generators": 1, "discriminators": 1}
FALLING: dict[str, Any] = {"schedule": "cyclical", "cycles": 1}  # to 0 from the end of the burn-in on
MATCHING: dict[str, Any] = {"feature_matching": True, "layer_noise": 0.3}
LONGER: dict[str, Any] = {"iterations": 2000, "burn_in": 1200, "thin": 100}

# name: (method, its settings); the most telling first
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "supervised": ("supervised", NETWORKS),
    "DCGAN": ("dcgan", NETWORKS),
    "4 pairs, temperature 0.01: `fast`": ("bayesgan", PAIRS),
    "4 pairs, step size falling to 0": ("bayesgan", PAIRS | FALLING),
    "DCGAN, rate falling to 0": ("dcgan", NETWORKS | FALLING),
    "DCGAN, feature matching, noise 0.3": ("dcgan", NETWORKS | MATCHING),
    "DCGAN, feature matching, noise 0.3, rate falling to 0": ("dcgan", NETWORKS | MATCHING | FALLING),
    "DCGAN, feature matching, noise 0.3, rate falling to 0, 2,000 iterations": (
        "dcgan",
        NETWORKS | MATCHING | FALLING | {"iterations": 2000},
    ),
    "4 pairs, feature matching, noise 0.3": ("bayesgan", PAIRS | MATCHING),
    "4 pairs, feature matching, noise 0.3, step size falling to 0": ("bayesgan", PAIRS | MATCHING | FALLING),
    "4 pairs, feature matching, noise 0.3, step size falling to 0, 2,000 iterations": (
        "bayesgan",
        PAIRS | MATCHING | FALLING | LONGER,
    ),
    "10 generators × 2 discriminators, all against all, chains mini-batched": (
        "bayesgan",
        PAIRS | {"coupling": "all", "generators": 10, "discriminators": 2, "faced": 1, "sweep": 5},
    ),
    "4 pairs, temperature 0": ("bayesgan", PAIRS | {"temperature": 0.0}),
    "4 pairs, temperature 1": ("bayesgan", PAIRS | {"temperature": 1.0}),
    "4 generators × 1 discriminator (algorithm1)": (
        "bayesgan",
        PAIRS | {"coupling": "algorithm1", "discriminators": 1},
    ),
    "4 × 4, all against all": ("bayesgan", PAIRS | {"coupling": "all"}),
    "1 generator × 4 discriminators": ("bayesgan", PAIRS | {"coupling": "all", "generators": 1}),
    "1 pair": ("bayesgan", PAIRS | ONE),
    "1 pair, cyclical step size (4 cycles)": ("bayesgan", PAIRS | ONE | {"schedule": "cyclical"}),
    "1 pair until the sampling, then 4 branches": ("bayesgan", PAIRS | ONE | {"branches": 4}),
    "4 pairs, each label once (Eq. 4)": ("bayesgan", PAIRS | {"label_weight": 1.0}),
    "4 pairs, label term as in Eq. 4": ("bayesgan", PAIRS | {"label_term": "joint"}),
    "4 pairs, layer norm": ("bayesgan", PAIRS | {"normalisation": "layer"}),
    "4 pairs, feature matching": ("bayesgan", PAIRS | {"feature_matching": True}),
    "DCGAN, Gaussian noise 0.3 on layers": ("dcgan", NETWORKS | {"layer_noise": 0.3}),
    "DCGAN, feature matching": ("dcgan", NETWORKS | {"feature_matching": True}),
    "DCGAN, minibatch discrimination": ("dcgan", NETWORKS | {"minibatch_discrimination": True}),
    "DCGAN, feature normalisation": ("dcgan", NETWORKS | {"feature_normalisation": True}),
    "DCGAN, label smoothing": ("dcgan", NETWORKS | {"real_target": 0.9}),
    "DCGAN, 2,000 iterations": ("dcgan", NETWORKS | {"iterations": 2000}),
    "supervised, rate 3e-4": ("supervised", NETWORKS | {"discriminator_rate": 3e-4}),
    "supervised, noise 0.3 on layers": ("supervised", NETWORKS | {"layer_noise": 0.3}),
    "W-DCGAN": ("wdcgan", {name: NETWORKS[name] for name in ("generator_width", "discriminator_width", "iterations")}),
    "LFVI-GAN": ("lfvi", NETWORKS),
    "4 pairs, temperature 0.1": ("bayesgan", PAIRS | {"temperature": 0.1}),
    "8 pairs": ("bayesgan", PAIRS | {"generators": 8, "discriminators": 8}),
    "DCGAN-10": ("dcgan10", NETWORKS),
}


def folder(name: str, subset: int) -> Path:
    """Where the run of a case goes."""
    return RUNS / re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") / str(subset)


def train(name: str, subset: int) -> str:
    """Train one case on one labelled subset, going on with what is there; the seed is the subset's number."""
    method, settings = CASES[name]
    task = Task("digits", LABELS, subset, method, "fast", subset, "validation", every=250, overrides=settings)
    try:
        training = Training(task, folder(name, subset), Path(), environment.use("cpu", 1))
        return str(training.train()["test_errors"])
    except BayesganError as error:
        write_text(folder(name, subset) / "summary.json", json.dumps({"stopped": str(error)}) + "\n")
        return str(error)


def finished() -> dict[str, dict[int, Any]]:
    """The summaries of all runs that have ended, by case and subset."""
    results: dict[str, dict[int, Any]] = {}
    for name in CASES:
        for subset in SUBSETS:
            path = folder(name, subset) / "summary.json"
            if path.exists():
                results.setdefault(name, {})[subset] = json.loads(path.read_text())
    return results


def formatted(results: dict[str, dict[int, Any]]) -> str:
    """The table."""
    lines = [
        "| setting | errors of the model average, by subset | mean, % | ± s.e. | single networks, % | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for name, runs in results.items():
        done = [each for each in runs.values() if "stopped" not in each]
        if not done:
            lines.append(f"| {name} | {next(iter(runs.values()))['stopped']} | | | | |")
            continue
        errors = [100 * each["test_error"] for each in done]
        counts = ", ".join(f"{subset}: {each['test_errors']}" for subset, each in runs.items() if each in done)
        members = [100 * mean(each["chain_errors"]) for each in done]
        spread = f"{stdev(errors) / math.sqrt(len(errors)):.1f}" if len(errors) > 1 else "–"
        seconds = mean(each["seconds"] for each in done)
        lines.append(f"| {name} | {counts} | {mean(errors):.1f} | {spread} | {mean(members):.1f} | {seconds:.0f} |")
    return "\n".join(lines)


def record() -> None:
    """Write the table of all runs that have ended."""
    results = finished()
    head = f"`python benchmarks/digits.py`: digits, {LABELS} labels, 297 validation images."
    write_text(RESULTS / "choices.md", f"{head}\n\n{formatted(results)}\n")
    write_text(RESULTS / "choices.json", json.dumps(results, indent=1) + "\n")


def main() -> None:
    """Train every case, or those whose name contains a word, on one subset after another."""
    subsets = [int(word) for word in sys.argv[1].split(",")] if len(sys.argv) > 1 else SUBSETS
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    for subset in subsets:
        for name in CASES:
            if word not in name or (folder(name, subset) / "summary.json").exists():
                continue
            print(subset, name, train(name, subset), flush=True)
            record()


if __name__ == "__main__":
    main()
