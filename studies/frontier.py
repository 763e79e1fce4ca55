"""The time–error frontier: error of the cases of ``studies/choices.py`` against what they cost.

python -m studies.frontier DATASET       (minutes, after python -m studies.choices DATASET)
python -m studies.frontier DATASET --smallest        to see that it runs: a few cases and iterations, nothing kept

Errors are those of results/DATASET/choices.json. Seconds are iterations times the seconds of one, measured here for all
cases in turn, several times over, on one thread: those of the runs themselves depend on what else the machine did.
Writes results/DATASET/frontier.png and .md.
"""

import json
import math
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from benchmarks.workload import seconds
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from bayesgan.base import environment
from bayesgan.base.files import replacing, write_text
from bayesgan.data.images import load
from bayesgan.data.labels import labelled_set
from bayesgan.data.names import IMAGE_SET_TITLES, default_folder
from bayesgan.runs.images import image_gan
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.settings.compose import image_settings
from studies.choices import STUDIES, SUBSETS, Study, compare

REPETITIONS, ITERATIONS = 5, 4
OFFSETS = ((6, 6), (6, -12), (-16, 6), (-16, -12))  # of numbers beside points, so that neighbours can be told apart
LEAST = 2  # labelled subsets that a point needs


def prepared(study: Study, name: str, device: torch.device) -> BayesianGAN:
    """A GAN of the case, a few iterations old."""
    method, changes = study.cases[name]
    images = load(study.dataset, default_folder(), "validation")
    labelled = labelled_set(study.dataset, images.train_labels, study.labels, 100)
    gan = image_gan(image_settings("fast", method, study.dataset, **changes), images, labelled, 0, device)
    for _ in range(ITERATIONS):
        gan.iterate()
    return gan


def measured(study: Study, names: list[str], repetitions: int) -> dict[str, float]:
    """Seconds of a whole run of each case, from the median over repetitions of those of an iteration."""
    device = environment.use("cpu", 1)
    gans = {name: prepared(study, name, device) for name in names}
    times: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(repetitions):
        for name, gan in gans.items():
            times[name].append(seconds(gan.iterate, ITERATIONS))
    return {name: statistics.median(each) * gans[name].settings.length.iterations for name, each in times.items()}


def draw(study: Study, repetitions: int) -> dict[str, float]:
    """Measure, draw and write; the seconds of each case. Rows of choices.json that are no case are left out."""
    runs: dict[str, dict[str, Any]] = json.loads((study.results / "choices.json").read_text())
    errors = {
        name: {subset: 100 * each["test_error"] for subset, each in by_subset.items() if "stopped" not in each}
        for name, by_subset in runs.items()
        if name in study.cases
    }
    several = {name: each for name, each in errors.items() if len(each) >= LEAST}
    shared = set.intersection(*(set(each) for each in several.values()))  # the same subsets for all, or none compares
    points = {name: [each[subset] for subset in sorted(shared)] for name, each in several.items()}
    costs = measured(study, list(points), repetitions)
    rows = sorted(points, key=lambda name: costs[name])
    best = math.inf
    lines = ["| | setting | seconds | error, % | ± s.e. | subsets | |", "|---|---|---|---|---|---|---|"]
    figure = Figure(figsize=(10, 8), layout="constrained")
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
        ours = study.cases[name][0] == "bayesgan"
        axes.errorbar(
            costs[name], error, spread, fmt="o" if ours else "s", capsize=2, color="black" if ours else "grey",
            markerfacecolor="black" if ours and frontier else "grey" if frontier else "white",
            label=f"{number}  {name}",
        )  # fmt: skip
        axes.annotate(str(number), (costs[name], error), xytext=OFFSETS[number % 4], textcoords="offset points")
    axes.set(xscale="log", xlabel="seconds of iterations, one thread (log scale)")
    axes.set(yscale="log", ylabel="validation error, % (± standard error, log scale)")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0, 7.0)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(NullLocator())
    figure.suptitle(
        f"{IMAGE_SET_TITLES[study.dataset]}, {study.labels} labels: squares are the methods compared with; "
        "filled: nothing cheaper is better"
    )
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    with replacing(study.results / "frontier.png") as path:
        figure.savefig(path, dpi=110, format="png")
    head = f"`python -m studies.frontier {study.dataset}`, labelled subsets {', '.join(sorted(shared))}.\n\n"
    write_text(study.results / "frontier.md", head + "\n".join(lines) + "\n")
    print("\n".join(lines))
    return costs


def main(words: list[str]) -> dict[str, float]:
    """Draw the frontier of the image set of the command line."""
    if "--smallest" not in words:
        return draw(STUDIES[words[0]], REPETITIONS)
    with tempfile.TemporaryDirectory() as folder:
        study = STUDIES[words[0]].smallest(Path(folder))
        compare(study, SUBSETS[:LEAST])
        return draw(study, 1)


if __name__ == "__main__":
    main(sys.argv[1:])
