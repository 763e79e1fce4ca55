"""The time–error frontier on digits: error of the cases of ``benchmarks/digits.py`` against what they cost.

python -m benchmarks.frontier        (two minutes, after python benchmarks/digits.py)

Errors are those of results/digits/choices.json. Seconds are iterations times the seconds of one, measured here for all
cases in turn, several times over, on one thread: those of the runs themselves depend on what else the machine did.
Writes results/digits/frontier.png and .md.
"""

import json
import math
import statistics
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure

from bayesgan import environment
from bayesgan.data.images import load
from bayesgan.data.labels import labelled_set
from bayesgan.experiments.images import image_gan
from bayesgan.files import replacing, write_text
from bayesgan.gan import BayesianGAN
from bayesgan.presets import image_settings
from benchmarks.digits import CASES, LABELS, RESULTS
from benchmarks.workload import seconds

REPETITIONS, ITERATIONS = 5, 4
LEAST = 2  # labelled subsets that a point needs


def prepared(name: str, device: torch.device) -> BayesianGAN:
    """A GAN of the case, a few iterations old."""
    method, changes = CASES[name]
    images = load("digits", Path(), "validation")
    labelled = labelled_set("digits", images.train_labels, LABELS, 100)
    gan = image_gan(image_settings("fast", method, "digits", **changes), images, labelled, 0, device)
    for _ in range(ITERATIONS):
        gan.iterate()
    return gan


def measured(names: list[str]) -> dict[str, float]:
    """Seconds of a whole run of each case, from the median over repetitions of those of an iteration."""
    device = environment.use("cpu", 1)
    gans = {name: prepared(name, device) for name in names}
    times: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(REPETITIONS):
        for name, gan in gans.items():
            times[name].append(seconds(gan.iterate, ITERATIONS))
    return {name: statistics.median(each) * gans[name].settings.iterations for name, each in times.items()}


def main() -> None:
    """Measure, draw and write."""
    runs: dict[str, dict[str, Any]] = json.loads((RESULTS / "choices.json").read_text())
    errors = {
        name: [100 * each["test_error"] for each in by_subset.values() if "stopped" not in each]
        for name, by_subset in runs.items()
    }
    points = {name: each for name, each in errors.items() if len(each) >= LEAST}
    costs = measured(list(points))
    rows = sorted(points, key=lambda name: costs[name])
    best = math.inf
    lines = ["| | setting | seconds | error, % | ± s.e. | subsets | |", "|---|---|---|---|---|---|---|"]
    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = figure.add_subplot()
    for number, name in enumerate(rows, start=1):
        error = statistics.mean(points[name])
        spread = statistics.stdev(points[name]) / math.sqrt(len(points[name]))
        frontier = error < best
        best = min(best, error)
        lines.append(
            f"| {number} | {name} | {costs[name]:.0f} | {error:.1f} | {spread:.1f} | {len(points[name])} | "
            f"{'frontier' if frontier else ''} |"
        )
        ours = CASES[name][0] == "bayesgan"
        axes.errorbar(
            costs[name], error, spread, fmt="o" if ours else "s", capsize=2, color="black" if ours else "grey",
            markerfacecolor="black" if ours and frontier else "grey" if frontier else "white",
            label=f"{number}  {name}",
        )  # fmt: skip
        axes.annotate(str(number), (costs[name], error), xytext=(5, 5), textcoords="offset points", fontsize=8)
    axes.set(xscale="log", xlabel="seconds of iterations, one thread", ylabel="validation error, % (± standard error)")
    axes.set_title(
        "Digits, 50 labels: squares are the systems that are compared with; filled, nothing cheaper is better"
    )
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=7, frameon=False)
    with replacing(RESULTS / "frontier.png") as path:
        figure.savefig(path, dpi=110, format="png")
    write_text(RESULTS / "frontier.md", "`python -m benchmarks.frontier`\n\n" + "\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
