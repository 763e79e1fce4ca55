"""The paper's Figures 2 to 9 from finished runs: errors against iteration and time, and pictures of generators."""

import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesgan.base.errors import BayesganError
from bayesgan.base.files import replacing
from bayesgan.data.names import IMAGE_SET_TITLES, IMAGE_SETS
from bayesgan.paper import sheets
from bayesgan.paper.reported import reported
from bayesgan.paper.statistics import unit
from bayesgan.runs.run import METRICS
from bayesgan.runs.saved import Evaluation, SavedRun
from bayesgan.settings.compose import DRAWS
from bayesgan.settings.methods import SAMPLED
from bayesgan.settings.names import METHOD_TITLES, METHODS, Method

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours; distinct in grey by dashes and marks.
LINES: dict[str, dict[str, Any]] = {
    "bayesgan": {"color": "#0072b2", "linestyle": (0, (1, 1))},
    "dcgan": {"color": "#d55e00", "linestyle": (0, (5, 2)), "marker": "o"},
    "wdcgan": {"color": "#cc79a7", "linestyle": (0, (3, 1, 1, 1)), "marker": "^"},
    "dcgan10": {"color": "#e69f00", "linestyle": (0, (8, 1.5)), "marker": "s"},
    "supervised": {"color": "#009e73", "linestyle": (0, (5, 1.5, 1, 1.5)), "marker": "D"},
    "lfvi": {"color": "#56b4e9", "linestyle": (0, (2, 1.5)), "marker": "v"},
    "ensemble": {"color": "#000000", "linestyle": (0, (1, 1)), "marker": "x"},
    "plain": {"color": "#004d80", "linestyle": (0, (3, 2)), "marker": "P"},
    "discriminative": {"color": "#005f45", "linestyle": (0, (1, 1)), "marker": "p"},
    "dcgan-teacher": {"color": "#8c3d00", "linestyle": (0, (1, 1)), "marker": "h"},
    "dcgan10-consensus": {"color": "#a36f00", "linestyle": (0, (1, 1)), "marker": "X"},
}
# For a method that comes with several settings, from the second on.
FURTHER_LINES: tuple[dict[str, Any], ...] = (
    {"color": "#8c8c8c", "linestyle": (0, (1, 1)), "marker": "+"},
    {"color": "#595959", "linestyle": (0, (1, 1)), "marker": "*"},
)
AVERAGE: dict[str, Any] = {"linestyle": "-", "linewidth": 2.6}
CHAINS: dict[str, Any] = {"linewidth": 1.0}
MNIST_TESTED = 10_000  # images that the paper's errors on MNIST are counted on
LEGEND = 48  # letters in a line of the legend
WIDE = 5.0  # the highest value over the lowest, from which on an axis is logarithmic
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "bayesgan",  # the same file every time
}

Error = Literal["chains_error", "average_error"]


@dataclass(frozen=True)
class Curve:
    """Several runs at the iterations, (n,), that all of them were evaluated at."""

    iterations: np.ndarray
    seconds: np.ndarray  # (runs, n)
    errors: np.ndarray  # (runs, n)


def draw(runs: Sequence[SavedRun], out: Path) -> list[Path]:
    """Write every figure that ``runs`` have something to show in; the result is the files."""
    from matplotlib import rc_context  # takes a second to import

    if own := next((run for run in runs if run.record.own is not None), None):
        raise BayesganError(f"{own.folder} is of your own pictures: 'bayesgan report {own.folder}' draws its figures.")
    runs = sorted(runs, key=_order)
    cells = dict.fromkeys((run.summary.dataset, run.summary.labels) for run in runs)
    files: list[Path] = []
    with rc_context(STYLE):
        for dataset, labels in cells:
            ours = [run for run in runs if (run.summary.dataset, run.summary.labels) == (dataset, labels)]
            if labels > 0:
                files += _save(errors(ours), out / f"errors-{dataset}-{labels}")
        for dataset in dict.fromkeys(dataset for dataset, _ in cells):
            for name, figure in _of_pictures(dataset, runs):
                files += _save(figure, out / f"{name}-{dataset}")
    if not files:
        raise BayesganError("These runs have neither errors nor a Bayesian GAN's pictures to show: name others.")
    return files


def one_line(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """A run whose present chains and model average share a line: the chains, and at the end the final average.

    Draws from LFVI-GAN's Gaussians in its last iterations, one after another, are no part of its training.
    """
    *before, last = evaluations
    kept = [each for each in before if each.average_error is None or each.iteration <= last.iteration - DRAWS]
    end = last.chains_error if last.average_error is None else last.average_error
    return [*kept, last.model_copy(update={"chains_error": end})]


def joined(runs: Sequence[Sequence[Evaluation]], error: Error) -> Curve:
    """The curves of ``runs`` on the iterations at which all of them have that error."""
    points = [{each.iteration: each for each in run if getattr(each, error) is not None} for run in runs]
    shared = sorted(set.intersection(*(set(each) for each in points)))
    return Curve(
        np.array(shared),
        np.array([[each[iteration].seconds for iteration in shared] for each in points]),
        np.array([[getattr(each[iteration], error) for iteration in shared] for each in points]),
    )


def by_settings(runs: Sequence[SavedRun]) -> dict[str, list[SavedRun]]:
    """The runs that differ in subset and seed only, by a name that says what tells them from others."""
    alike: dict[tuple[Method, frozenset[str]], list[SavedRun]] = {}
    for run in runs:
        values = {"preset": run.record.preset} | run.changed
        facts = frozenset(f"{name}={json.dumps(value)}".replace('"', "") for name, value in values.items())
        alike.setdefault((run.record.method, facts), []).append(run)
    named = {}
    for (method, facts), members in alike.items():
        common = frozenset.intersection(*(others for name, others in alike if name == method))
        named[", ".join([METHOD_TITLES[method], *sorted(facts - common)])] = members
    return named


def errors(runs: Sequence[SavedRun]) -> "Figure":
    """Figures 4 and 5: test error of all methods on one data set and number of labels."""
    from matplotlib.figure import Figure

    about = runs[0].summary
    if other := next((run for run in runs if run.summary.split != about.split), None):
        raise BayesganError(
            f"{runs[0].folder} counts errors on {about.split} images, {other.folder} on {other.summary.split} images: "
            "name runs of one kind."
        )
    figure = Figure((9.0, 5.0), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    curves: list[Curve] = []
    further = cycle(FURTHER_LINES)
    seen: set[str] = set()
    for name, members in by_settings(runs).items():
        method = members[0].record.method
        look = next(further) if method in seen else LINES[method]
        seen.add(method)
        label = name if len(members) == 1 else f"{name} ({len(members)} runs)"
        lines: list[tuple[Error, str, dict[str, Any]]] = [("chains_error", label, look)]
        if method in SAMPLED:
            lines = [("average_error", f"{label}: model average", look | AVERAGE)]
            lines += [("chains_error", f"{label}: present chains", look | CHAINS)]
        several = len(lines) > 1
        evaluations = [run.evaluations if several else one_line(run.evaluations) for run in members]
        for error, text, style in lines:
            curve = joined(evaluations, error)
            if not len(curve.iterations):
                files = ", ".join(str(run.folder / METRICS) for run in members)
                raise BayesganError(f"There is no iteration with {error} that all of these share: {files}.")
            _plot(left, curve.iterations, curve.errors, text, style)
            _plot(right, curve.seconds.mean(0), curve.errors, text, style)
            curves.append(curve)
    for burn_in in sorted({run.settings.length.burn_in for run in runs if run.record.method == "bayesgan"}):
        left.axvline(burn_in, color="black", lw=0.6)
        left.annotate(" sampling →", (burn_in, 1.0), xycoords=("data", "axes fraction"), va="bottom", fontsize=9)
    share = reported_share(about.dataset, about.labels) if about.split == "test" else None
    if share is not None:
        _mark(left, right, curves, share)
    _finish(left, right, curves, runs, share)
    repeated = max(len(curve.errors) for curve in curves) > 1
    note = "; lines: mean over runs, shaded: their range" if repeated else ""
    figure.suptitle(f"{IMAGE_SET_TITLES[about.dataset]}, {about.labels} labels{note}", fontsize=11)
    handles, names = left.get_legend_handles_labels()
    names = [textwrap.fill(name, LEGEND) for name in names]
    figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, handlelength=4, fontsize=9)
    return figure


def reported_share(dataset: str, labels: int) -> float | None:
    """The test error of the Bayesian GAN in the paper's Table 1, as a share."""
    found = reported(dataset, labels, "bayesgan")
    return None if found is None else found[0] / (MNIST_TESTED if unit(dataset) == "errors" else 100)


def _mark(left: "Axes", right: "Axes", curves: Sequence[Curve], share: float) -> None:
    """A line at the paper's error, and a ring where the mean of each curve first passes it."""
    for axes in (left, right):
        axes.axhline(share, color="#8c8c8c", lw=1.0, label="the paper's BayesGAN")
    for curve in curves:
        below = np.flatnonzero(curve.errors.mean(0) <= share)
        if len(below):
            for axes, places in ((left, curve.iterations), (right, curve.seconds.mean(0))):
                axes.plot(places[below[0]], curve.errors.mean(0)[below[0]], "o", ms=10, mfc="none", color="black")


def _plot(axes: "Axes", x: np.ndarray, errors: np.ndarray, label: str, style: dict[str, Any]) -> None:
    """The mean over runs as a line, their range as a shade, the stronger the thicker the line."""
    (line,) = axes.plot(x, errors.mean(0), label=label, **({"markersize": 5.0, "markevery": 0.15} | style))
    if len(errors) > 1:
        shade = {"color": style["color"], "alpha": 0.06 * line.get_linewidth(), "lw": 0}
        axes.fill_between(x, errors.min(0), errors.max(0), **shade)


def _finish(
    left: "Axes", right: "Axes", curves: Sequence[Curve], runs: Sequence[SavedRun], share: float | None
) -> None:
    """Scales that show the paper's ``share`` too, labels and grids."""
    from matplotlib.ticker import FuncFormatter

    shares = np.concatenate([*(curve.errors.ravel() for curve in curves), [] if share is None else [share]])
    scale = _scale(left, "y", shares, float(shares.min()), float(shares.max()))
    left.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}%"))
    left.set_ylabel(f"{runs[0].summary.split} error{scale}")
    left.set_xlabel("iteration")
    times = np.concatenate([curve.seconds.mean(0) for curve in curves])
    ends = [curve.seconds.mean(0)[-1] for curve in curves]
    scale = _scale(right, "x", times, min(ends), max(ends))
    right.set_xlabel(f"seconds of training on {_threads(runs)}{scale}")
    for axes in (left, right):
        axes.grid(axis="y", color="black", alpha=0.15, lw=0.6)


def _scale(axes: "Axes", name: Literal["x", "y"], values: np.ndarray, low: float, high: float) -> str:
    """Make the axis logarithmic if ``high`` is far above ``low``; what its label should say of it."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    if values.min() <= 0 or high < WIDE * low:
        axes.set(**{f"{name}lim": (0.0, None)})
        return ""
    axes.set(**{f"{name}scale": "log", f"{name}lim": (values.min() / 1.2, values.max() * 1.2)})
    axis = axes.xaxis if name == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    return " (log scale)"


def _threads(runs: Sequence[SavedRun]) -> str:
    numbers = sorted({run.summary.threads * run.summary.ranks for run in runs})
    return " or ".join(map(str, numbers)) + (" thread" if numbers == [1] else " threads")


def _of_pictures(dataset: str, runs: Sequence[SavedRun]) -> list[tuple[str, "Figure"]]:
    """Figures of the Bayesian GAN that has most DCGANs to stand beside, by the first part of their names."""
    drawable = [run for run in runs if run.has_samples]
    candidates = [run for run in drawable if (run.summary.dataset, run.record.method) == (dataset, "bayesgan")]
    if not candidates:
        return []
    beside = [sheets.dcgans(run, drawable) for run in candidates]
    best = max(range(len(candidates)), key=lambda index: len(beside[index]))  # the first of equals
    run = candidates[best]
    figures = [("generators", sheets.generators(run, beside[best]))] if beside[best] else []
    figures += [("samples", sheets.samples(run))]
    return [*figures, ("styles", sheets.styles(run))] if run.settings.populations.chains("generators") > 1 else figures


def _save(figure: "Figure", path: Path) -> list[Path]:
    """Write ``figure`` as PNG and SVG, the same bytes every time."""
    files = [path.with_name(f"{path.name}.{kind}") for kind in ("png", "svg")]
    for file in files:
        metadata = {"Date": None} if file.suffix == ".svg" else None
        with replacing(file) as temporary:
            figure.savefig(temporary, format=file.suffix[1:], dpi=sheets.DPI, metadata=metadata)
    return files


def _order(run: SavedRun) -> tuple[int, int, int, int, int, int, str]:
    """Methods as they are before others that were changed."""
    it = run.record
    sets: tuple[str, ...] = IMAGE_SETS
    place = sets.index(it.dataset), run.summary.labels, METHODS.index(it.method)
    return *place, len(run.changed), it.subset, it.seed, str(run.folder)
