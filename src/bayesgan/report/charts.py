"""The charts of the report: SVG elements that take their colours from the page and hold no words of the user's."""

import io
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from bayesgan.posterior.scores import BINS, Scores
from bayesgan.runs.saved import Evaluation

if TYPE_CHECKING:  # takes a second to import
    from matplotlib.axes import Axes

# Replaced by the page's own, which differ by day and by night; any that are told apart will do.
INK = "#010203"
COLOURS = tuple(f"#0102{number:02x}" for number in range(0x10, 0x17))
# Of the lines of colours 0, 1, …, so that they differ in grey too: lengths of dashes and gaps, in line widths.
DASHES = ((), (5, 2), (1, 1.2), (6, 1.5, 1, 1.5), (9, 3), (3, 1.5, 1, 1.5, 1, 1.5), (2.5, 2.5))
THIN, THICK = 1.1, 2.4  # widths in points
SMALLEST, LARGEST = 6.0, 34.0  # areas of the first and the last mark of a chain, in square points
AWAY = 9.0  # points from the last mark of a chain to its number
CLOSE = 0.01  # of a run: evaluations nearer to each other are not told apart
WIDTH, HEIGHT = 3.6, 2.7  # inches

COMMON: dict[Any, Any] = {
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    **{"axes.spines.top": False, "axes.spines.right": False},
    **{"font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "bayesgan"},
}


def error_curves(runs: Sequence[list[Evaluation]], sampling: Sequence[int]) -> Markup:
    """Test errors over the iterations: of the present chains thin, of the model average thick where it is one.

    A vertical line stands where each burn-in of ``sampling`` ends.
    """
    from matplotlib.ticker import FuncFormatter

    def draw(axes: "Axes") -> None:
        for number, evaluations in enumerate(runs):
            _line(axes, number, evaluations, lambda each: each.chains_error, THIN)
            if len([each for each in evaluations if each.average_error is not None]) > 1:
                _line(axes, number, evaluations, lambda each: each.average_error, THICK)
        for burn_in in sampling:
            axes.axvline(burn_in, color=INK, lw=0.6)
            axes.annotate(" sampling →", (burn_in, 1.0), xycoords=("data", "axes fraction"), va="bottom", fontsize=9)
        axes.set_ylim(bottom=0.0)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}%"))
        _over_iterations(axes)

    return _svg(draw)


def likelihood_curves(runs: Sequence[list[Evaluation]], side: str) -> Markup:
    """The log-likelihood of one data point over the iterations, the mean over the chains of one ``side``."""

    def draw(axes: "Axes") -> None:
        for number, evaluations in enumerate(runs):
            _line(axes, number, evaluations, lambda each: each.log_likelihood.get(side), THIN)
        _over_iterations(axes)

    return _svg(draw)


def reliability_diagram(scores: Scores) -> Markup:
    """Accuracy against confidence: a dot for each bin that grows with its share of the predictions, above its bar."""
    number = sum(each.size for each in scores.bins)

    def draw(axes: "Axes") -> None:
        confidences, accuracies = [each.confidence for each in scores.bins], [each.accuracy for each in scores.bins]
        middles = [(min(int(each * BINS), BINS - 1) + 0.5) / BINS for each in confidences]
        shares = [each.size / number for each in scores.bins]
        axes.bar(middles, shares, 1 / BINS, color=INK, alpha=0.18, lw=0)
        axes.plot([0, 1], [0, 1], color=INK, lw=0.8, dashes=(4, 3))
        axes.plot(confidences, accuracies, color=COLOURS[0], lw=0.8)
        areas = [2 * (SMALLEST + LARGEST * share) for share in shares]
        axes.scatter(confidences, accuracies, s=areas, linewidths=0, color=COLOURS[0], clip_on=False, zorder=3)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.02)
        axes.set_aspect("equal")
        axes.set_xlabel("confidence")
        axes.set_ylabel("accuracy")

    return _svg(draw, HEIGHT, HEIGHT)


def plane_of_weights(weights: np.ndarray, paths: bool) -> Markup:
    """Sampled networks (collected, chains, weights) in two dimensions; the marks of a chain grow with the iterations.

    ``paths`` says whether a sample leads to the next.
    """
    from bayesgan.paper.figure1 import scaled

    collected, chains, size = weights.shape
    plane = scaled(weights.reshape(-1, size)).reshape(collected, chains, 2)

    def draw(axes: "Axes") -> None:
        for chain in range(chains):
            points, colour = plane[:, chain], COLOURS[chain % len(COLOURS)]
            x, y = points.T
            if paths:
                axes.plot(x, y, lw=0.8, color=colour)
            axes.scatter(x, y, s=np.linspace(LARGEST, SMALLEST, collected)[::-1], linewidths=0, color=colour)
            outwards = points[-1] - (points.mean(0) if collected > 1 else plane.mean((0, 1)))  # clear of its own marks
            dx, dy = AWAY * outwards / (np.linalg.norm(outwards) or 1.0)
            axes.annotate(
                str(chain + 1),
                (x[-1], y[-1]),
                (dx, dy),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=9,
            )
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.1)
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set(visible=True, linewidth=0.5)

    return _svg(draw)


def _line(
    axes: "Axes", number: int, evaluations: list[Evaluation], value: Callable[[Evaluation], float | None], width: float
) -> None:
    """The curve of run ``number``, where it has a value."""
    points: list[tuple[int, float]] = []
    for each in evaluations:
        if (height := value(each)) is not None:
            if points and each.iteration - points[-1][0] < CLOSE * evaluations[-1].iteration:
                points.pop()
            points.append((each.iteration, height))
    if points:
        look = number % len(COLOURS)
        axes.plot(*zip(*points, strict=True), color=COLOURS[look], linestyle=(0, DASHES[look] or None), lw=width)


def _over_iterations(axes: "Axes") -> None:
    axes.grid(axis="y", color=INK, alpha=0.15, lw=0.6)
    axes.set_xlabel("iteration")


def _svg(draw: Callable[["Axes"], None], width: float = WIDTH, height: float = HEIGHT) -> Markup:
    """An SVG element of what ``draw`` draws."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    file = io.StringIO()
    with rc_context(COMMON):
        figure = Figure((width, height), layout="constrained")
        draw(figure.subplots())
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text[text.index("<svg") :])
    svg = re.sub("<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub('<g id="[^"]*"', "<g", svg)  # the same in every chart, but a page may have an id only once
    svg = svg.replace(INK, "currentColor")
    for number, colour in enumerate(COLOURS):
        svg = svg.replace(colour, f"var(--line-{number})")
    return Markup(svg)
