"""What ``bayesgan diagnose`` leaves in the folder of a run: the figures as JSON, and a chart of what the chains did."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesgan.base.files import replacing, write_text
from bayesgan.posterior.diagnosis import Diagnosis
from bayesgan.posterior.mixing import between_chains, within_chains
from bayesgan.posterior.verdict import R_HAT

if TYPE_CHECKING:  # takes a second to import
    from matplotlib.axes import Axes

JSON, CHART = "diagnosis.json", "diagnosis.png"
SHOWN = 3  # images whose predictions are drawn
LARGEST = 3.0  # R-hat of the last bar, which has all above it
COLOURS = {"generators": "#d55e00", "discriminators": "#0072b2"}
OF_CHAINS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "0.3")


def write(found: Diagnosis, folder: Path) -> None:
    """Write diagnosis.json and diagnosis.png into ``folder``."""
    write_text(folder / JSON, json.dumps(figures(found), indent=1) + "\n")
    draw(found, folder / CHART)


def figures(found: Diagnosis) -> dict[str, Any]:
    """Every figure by name; None where there is none."""
    sides = {side: asdict(found.verdicts[side]) | asdict(of) for side, of in found.sides.items()}
    whole = {
        name: getattr(found, name) for name in ("kind", "verdict", "temperature", "not_eq_4", "images", "generated")
    }
    return _known(whole | {"sides": sides})


def _known(value: Any) -> Any:
    """The same with None for NaN and infinity, which JSON has not."""
    if isinstance(value, dict):
        return {name: _known(each) for name, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def draw(found: Diagnosis, path: Path) -> None:
    """Predictions, norms, temperatures and R-hats, as PNG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9, "legend.frameon": False}):
        figure = Figure((9.0, 7.0), layout="constrained")
        figure.suptitle(fill(found.verdict[0].upper() + found.verdict[1:], 100), fontsize=11)
        parts: Any = figure.subfigures(2, 2)
        predictions = found.traces["discriminators"].predictions
        if predictions is not None:
            _predictions(
                parts[0, 0].subplots(SHOWN, sharex=True), found.traces["discriminators"].iterations, predictions
            )
        _norms(parts[1, 0].subplots(), found)
        _temperatures(parts[0, 1].subplots(), found)
        _r_hats(parts[1, 1].subplots(), found)
        with replacing(path) as temporary:
            figure.savefig(temporary, format="png", dpi=130)


def _predictions(rows: np.ndarray, iterations: list[int], predictions: np.ndarray) -> None:
    """The images whose predictions change most, a line for each chain."""
    chosen = np.argsort(-predictions.std((1, 2)), kind="stable")[:SHOWN]
    for axes, image in zip(rows, predictions[chosen], strict=False):
        for chain, line in enumerate(image):
            axes.plot(iterations, line, color=OF_CHAINS[chain % len(OF_CHAINS)], lw=0.8, marker=_mark(iterations), ms=2)
        axes.set(ylim=(-0.05, 1.05), yticks=(0, 1))
    for axes in rows[len(chosen) :]:
        axes.set_axis_off()
    rows[0].set_title("Predicted probabilities of images, by chain", fontsize=10)
    rows[-1].set_xlabel("iteration")


def _norms(axes: "Axes", found: Diagnosis) -> None:
    for side, traces in found.traces.items():
        for number, line in enumerate(traces.norms):
            label = side if number == 0 else None
            mark = _mark(traces.iterations)
            axes.plot(traces.iterations, line, color=COLOURS[side], lw=0.8, marker=mark, ms=2, label=label)
        radius = found.sides[side].radius
        if radius is not None:
            axes.axhline(radius, color=COLOURS[side], lw=1, ls="--", label=f"their prior's radius, {radius:.3g}")
    axes.set(title="Norms of the weights, a line for each chain", xlabel="iteration", ylim=(0, None))
    axes.title.set_fontsize(10)
    axes.legend(fontsize=8)


def _temperatures(axes: "Axes", found: Diagnosis) -> None:
    """The means over chains; what is far above is cut off."""
    axes.axhline(found.temperature, color="0.6", lw=1, ls="--")
    heights, lowest = [found.temperature], 0.0
    for side, traces in found.traces.items():
        if traces.kinetic.size == 0:
            continue
        of, where, mark = found.sides[side], np.nanmean(traces.configurational, 0), _mark(traces.logged)
        speeds = np.nanmean(traces.kinetic, 0)
        axes.plot(traces.logged, speeds, color=COLOURS[side], lw=1, marker=mark, ms=2, label=f"{side}, kinetic")
        axes.plot(
            traces.logged, where, ":", color=COLOURS[side], lw=1.6, marker=mark, ms=2, label=f"{side}, configurational"
        )
        heights += [each for each in (of.kinetic, of.predicted, float(np.median(where))) if each is not None]
        lowest = min(lowest, float(where.min()))
    if len(heights) == 1:
        axes.text(0.5, 0.5, "not logged", transform=axes.transAxes, ha="center")
    axes.set(title=f"Temperatures, means over chains; T = {found.temperature:g}", xlabel="iteration")
    axes.set_ylim(1.15 * lowest, 2.0 * max(heights) or None)
    axes.title.set_fontsize(10)
    if len(heights) > 1:
        axes.legend(fontsize=8, ncols=2, loc="upper right", frameon=True, edgecolor="none")


def _r_hats(axes: "Axes", found: Diagnosis) -> None:
    traces = found.traces["discriminators"]
    if traces.predictions is None:
        axes.set_axis_off()
        return
    edges = np.linspace(0.9, LARGEST, 43)
    kinds = (("within chains", within_chains, "#009e73"), ("between chains", between_chains, "#cc79a7"))
    for label, r_hat, colour in kinds:
        values = r_hat(traces.predictions).ravel()
        values = values[~np.isnan(values)].clip(0.9, LARGEST)
        if len(values) > 0:
            weights = np.full(len(values), 1 / len(values))
            axes.hist(values, edges.tolist(), weights=weights, color=colour, alpha=0.6, label=label)
    axes.axvline(R_HAT, color="0.4", lw=1, ls="--", label=f"{R_HAT:g}")
    axes.set(title="R-hat of predictions", xlabel=f"R-hat; {LARGEST:g} is {LARGEST:g} and more", ylabel="share")
    axes.title.set_fontsize(10)
    axes.legend(fontsize=8)


def _mark(draws: list[int]) -> str:
    """Few draws are marked: a line of one point cannot be seen."""
    return "o" if len(draws) <= 20 else ""
