"""The report of the demonstration: one HTML file that needs nothing but a browser."""

import base64
import io
import re
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bayesgan import __version__
from bayesgan.experiments.images import GENERATED, Training
from bayesgan.experiments.panels import picture
from bayesgan.files import write_text

GENERATORS, EACH = 6, 10  # rows of generated pictures, and pictures in a row
UNSURE = 24  # test images shown
LEAST_SURE, SUREST = 0.1, 0.5  # shares of the test images whose errors are compared

# Distinct in grey and to the colour-blind (Okabe and Ito's colours). The page replaces them, by scheme.
INK = "#010203"
LINES: tuple[dict[str, Any], ...] = (
    {"color": "#0072b2", "linestyle": (0, (1, 1))},
    {"color": "#d55e00", "linestyle": (0, (5, 2))},
    {"color": "#009e73", "linestyle": (0, (5, 1.5, 1, 1.5))},
)
AVERAGE: dict[str, Any] = LINES[0] | {"linestyle": "-", "linewidth": 2.6}


def write_report(trainings: list[Training], summaries: list[dict[str, Any]], path: Path) -> None:
    """Write the report on finished ``trainings``, ``bayesgan`` among them, and their ``summaries``."""
    bayesian = next(each for each in trainings if each.task.method == "bayesgan")
    environment = Environment(
        loader=PackageLoader("bayesgan", "experiments"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": _percent, "png": _png}
    error = summaries[trainings.index(bayesian)]["test_error"]
    machines: list[dict[str, Any]] = []
    for training in trainings:
        machines += [each for each in training.run.environments if each not in machines]
    unsure, parts = _certainty(bayesian)
    text = environment.get_template("report.html.jinja").render(
        training=bayesian,
        summaries=summaries,
        best=min(each["test_errors"] for each in summaries),
        chance=(error * (1 - error) / len(bayesian.test)) ** 0.5,
        curves=Markup(_curves(trainings)),
        rows=_rows(bayesian),
        real=bayesian.images.train[: GENERATORS * EACH],
        generated=GENERATED,
        unsure=unsure,
        parts=parts,
        settings=_settings(trainings),
        machines=machines,
        version=__version__,
    )
    write_text(path, text)


def _rows(training: Training) -> list[tuple[int, int, np.ndarray]]:
    """Iteration, chain and pictures of each generator."""
    samples = training.run.samples
    chains = len(samples.load(samples.iterations[-1], "generators"))
    pictures = training.pictures(GENERATORS, EACH).cpu().numpy()
    return [(samples.iterations[-1 - row // chains], row % chains + 1, each) for row, each in enumerate(pictures)]


def _certainty(training: Training) -> tuple[list[dict[str, Any]], list[tuple[float, int, int]]]:
    """The test images of highest predictive entropy; then share, number and wrong ones of the least sure and surest."""
    probabilities, classes = training.average.probabilities, training.images.classes
    order = torch.special.entr(probabilities).sum(-1).argsort(descending=True, stable=True)
    shown = []
    for index in order[:UNSURE].tolist():
        top = probabilities[index].topk(2)
        guesses = [(classes[each], p) for each, p in zip(top.indices.tolist(), top.values.tolist(), strict=True)]
        label = classes[training.images.test_labels[index]]
        shown.append({"picture": training.images.test[index], "label": label, "guesses": guesses})
    wrong = (probabilities.argmax(-1) != training.test_labels)[order]
    parts = [(LEAST_SURE, wrong[: round(LEAST_SURE * len(wrong))]), (SUREST, wrong[-round(SUREST * len(wrong)) :])]
    return shown, [(share, len(part), int(part.sum())) for share, part in parts]


def _settings(trainings: list[Training]) -> dict[str, list[Any]]:
    """Every setting with its value in each run."""
    runs = [each.gan.settings.model_dump(mode="json") for each in trainings]
    return {name: [run[name] for run in runs] for name in runs[0]}


def _curves(trainings: list[Training]) -> str:
    """Test errors over the iterations, as an SVG element that takes its colours from the page."""
    from matplotlib import rc_context  # takes a second to import
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    colours = dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    spines = {"axes.spines.top": False, "axes.spines.right": False}
    style: dict[Any, Any] = colours | spines | {"font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "bayesgan"}
    file = io.StringIO()
    with rc_context(style):
        figure = Figure((4.6, 3.3), layout="constrained")
        axes = figure.subplots()
        for training, line in zip(trainings, cycle(LINES), strict=False):
            method = training.task.method
            curves = [("chains_error", f"{method}: present chains" if method == "bayesgan" else method, line)]
            if method == "bayesgan":
                curves.append(("average_error", "bayesgan: model average", AVERAGE))
                axes.axvline(training.gan.settings.burn_in, color=INK, lw=0.6)
                place = (training.gan.settings.burn_in, 1.0)
                axes.annotate(" sampling →", place, xycoords=("data", "axes fraction"), va="bottom", fontsize=9)
            for key, label, look in curves:
                points = [(each["iteration"], each[key]) for each in training.run.metrics if each[key] is not None]
                axes.plot(*zip(*points, strict=True), label=label, **look)
        axes.set_ylim(bottom=0.0)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}%"))
        axes.grid(axis="y", color=INK, alpha=0.15, lw=0.6)
        axes.set_xlabel("iteration")
        axes.set_ylabel("test error")
        figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=9)
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", file.getvalue()[file.getvalue().index("<svg") :])
    svg = re.sub("<metadata>.*?</metadata>", "", svg, flags=re.DOTALL).replace(INK, "currentColor")
    for number, line in enumerate(LINES):
        svg = svg.replace(line["color"], f"var(--line-{number})")
    return svg


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _png(pixels: np.ndarray) -> str:
    """Bytes (channels, height, width) as the address of an image."""
    file = io.BytesIO()
    picture(pixels).save(file, format="PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
