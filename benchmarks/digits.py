"""Where does the posterior earn its cost? Digits with 50 labels, one setting changed at a time.

python benchmarks/digits.py [SUBSETS]      (100,101,102,103,104 by default; stopped and started again, it goes on)

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
from bayesgan.files import read_text, write_text

RESULTS = Path(__file__).parents[1] / "results" / "digits"
RUNS = Path("choices")
LABELS = 50

# Every setting that matters is stated, so that a change of the presets does not change this experiment.
BASE: dict[str, Any] = {
    "generators": 4,
    "discriminators": 4,
    "replicas": 1,
    "coupling": "pairs",
    "marginal": "mean",
    "prior_variance": 10.0,
    "label_weight": None,
    "feature_matching": False,
    "normalisation": "batch",
    "generator_width": 32,
    "discriminator_width": 32,
    "generator_rate": 1e-3,
    "discriminator_rate": 1e-3,
    "adam_betas": [0.5, 0.999],
    "epsilon": 1e-8,
    "dynamics": "frozen",
    "friction": 0.5,
    "step_ratio": 0.5,
    "schedule": "constant",
    "temperature": 0.0,
    "iterations": 1000,
    "burn_in": 600,
    "thin": 50,
}
POINT = {
    name: BASE[name] for name in ("generator_width", "discriminator_width", "generator_rate", "discriminator_rate")
}
POINT |= {"iterations": 1000, "epsilon": 1e-8}
ONE = {"generators": 1, "discriminators": 1}
TRICKS = {"minibatch_discrimination": True, "feature_normalisation": True, "layer_noise": 0.3}

# name: (method, what is changed)
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "supervised": ("supervised", POINT),
    "DCGAN": ("dcgan", POINT),
    "4 pairs, temperature 0": ("bayesgan", BASE),
    "4 pairs, temperature 0.01": ("bayesgan", BASE | {"temperature": 0.01, "epsilon": 1e-3}),
    "4 generators × 1 discriminator (algorithm1)": (
        "bayesgan",
        BASE | {"coupling": "algorithm1", "discriminators": 1},
    ),
    "4 × 4, all against all": ("bayesgan", BASE | {"coupling": "all"}),
    "1 generator × 4 discriminators": ("bayesgan", BASE | {"coupling": "all", "generators": 1}),
    "4 pairs, temperature 0.1": ("bayesgan", BASE | {"temperature": 0.1, "epsilon": 1e-3}),
    "4 pairs, temperature 1": ("bayesgan", BASE | {"temperature": 1.0, "epsilon": 1e-3}),
    "1 pair, then 4 branches, temperature 0.01": (
        "bayesgan",
        BASE | ONE | {"branches": 4, "temperature": 0.01, "epsilon": 1e-3},
    ),
    "1 pair, cyclical (4 cycles), temperature 0.01": (
        "bayesgan",
        BASE | ONE | {"schedule": "cyclical", "step_ratio": 2.0, "temperature": 0.01, "epsilon": 1e-3},
    ),
    "1 pair, temperature 0, 8 samples": ("bayesgan", BASE | ONE),
    "8 pairs, temperature 0": ("bayesgan", BASE | {"generators": 8, "discriminators": 8}),
    "4 pairs, each label once (Eq. 4)": ("bayesgan", BASE | {"label_weight": 1.0}),
    "4 pairs, each label 5 times": ("bayesgan", BASE | {"label_weight": 5.0}),
    "4 pairs, layer norm": ("bayesgan", BASE | {"normalisation": "layer"}),
    "4 pairs, feature matching": ("bayesgan", BASE | {"feature_matching": True}),
    "4 pairs, Gaussian noise 0.3 on layers": ("bayesgan", BASE | {"layer_noise": 0.3}),
    "DCGAN, Gaussian noise 0.3 on layers": ("dcgan", POINT | {"layer_noise": 0.3}),
    "DCGAN, feature matching": ("dcgan", POINT | {"feature_matching": True}),
    "DCGAN, minibatch discrimination": ("dcgan", POINT | {"minibatch_discrimination": True}),
    "DCGAN, feature normalisation": ("dcgan", POINT | {"feature_normalisation": True}),
    "DCGAN, label smoothing 0.9": ("dcgan", POINT | {"label_smoothing": 0.9}),
    "DCGAN, the paper's three tricks": ("dcgan", POINT | TRICKS),
    "DCGAN, 2,000 iterations": ("dcgan", POINT | {"iterations": 2000}),
    "DCGAN, rates 3e-4": ("dcgan", POINT | {"generator_rate": 3e-4, "discriminator_rate": 3e-4}),
    "supervised, rate 3e-4": ("supervised", POINT | {"discriminator_rate": 3e-4}),
    "supervised, 300 iterations": ("supervised", POINT | {"iterations": 300}),
    "supervised, Gaussian noise 0.3 on layers": ("supervised", POINT | {"layer_noise": 0.3}),
    "W-DCGAN": ("wdcgan", {name: POINT[name] for name in ("generator_width", "discriminator_width", "iterations")}),
    "LFVI-GAN": ("lfvi", POINT),
    "DCGAN-10": ("dcgan10", POINT),
}


def outcome(name: str, subset: int) -> dict[str, Any]:
    """Train one case on one labelled subset, or read what it gave; the seed is the subset's number."""
    method, settings = CASES[name]
    folder = RUNS / re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") / str(subset)
    if (folder / "summary.json").exists():
        return json.loads(read_text(folder / "summary.json"))
    task = Task("digits", LABELS, subset, method, "fast", subset, "validation", settings)
    return Training(task, folder, Path(), environment.use("cpu", 1)).train(every=250)


def formatted(results: dict[str, dict[int, Any]]) -> str:
    """The table."""
    lines = [
        "| setting | error of the model average, % | ± s.e. | subsets | single networks at the end, % | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for name, runs in results.items():
        done = [each for each in runs.values() if "stopped" not in each]
        if not done:
            lines.append(f"| {name} | {next(iter(runs.values()))['stopped']} | | | | |")
            continue
        errors = [100 * each["test_error"] for each in done]
        members = [100 * mean(each["chain_errors"]) for each in done]
        spread = f"{stdev(errors) / math.sqrt(len(errors)):.1f}" if len(errors) > 1 else "–"
        seconds = mean(each["seconds"] for each in done)
        lines.append(f"| {name} | {mean(errors):.1f} | {spread} | {len(done)} | {mean(members):.1f} | {seconds:.0f} |")
    return "\n".join(lines)


def main() -> None:
    """Train every case on one subset after another."""
    subsets = [int(word) for word in (sys.argv[1] if len(sys.argv) > 1 else "100,101,102,103,104").split(",")]
    results: dict[str, dict[int, Any]] = {}
    for subset in subsets:
        for name in CASES:
            try:
                result = outcome(name, subset)
            except BayesganError as error:
                result = {"stopped": str(error)}
            results.setdefault(name, {})[subset] = result
            print(subset, name, result.get("test_errors", result.get("stopped")), flush=True)
            head = f"`python benchmarks/digits.py`: digits, {LABELS} labels, 297 validation images."
            write_text(RESULTS / "choices.md", f"{head}\n\n{formatted(results)}\n")
            write_text(RESULTS / "choices.json", json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
