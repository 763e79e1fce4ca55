"""The table and the figure of the study of sampling."""

from pathlib import Path
from statistics import mean

import numpy as np
from scipy.special import stdtrit

from bayesgan.base.files import replacing
from studies.sampling_cells import CELLS, CONFIDENCE, GRADIENTS, POSTERIORS, System, Tested

SCORES = {
    "errors": (".1f", "errors"),
    "log_loss": (".3f", "NLL"),
    "brier": (".3f", "Brier"),
    "calibration_error": (".3f", "calibration"),
    "auroc": (".3f", "AUROC"),
    "rejection": (".4f", "rejection"),
    "r_hat_within": (".2f", "R-hat within"),
    "r_hat_between": (".2f", "between"),
    "kinetic": (".2f", "kinetic T"),
}
HEAD = f"""# Where does sampling pay?

`python -m studies.sampling`: {GRADIENTS:,} mini-batch gradients for each system on the density of
[a network with a known answer](../known_answer/README.md), spent as it likes; weighing, width s of the prior N(0,
s²/fan-in) and the number of networks chosen by errors on validation images of two other labelled subsets. Means over
labelled subsets: errors of 500 test images, negative log-likelihood, Brier score, calibration error, AUROC of the
mutual information for inverted images and noise, the area under the error–rejection curve, the split R-hat that
95 % of the test images stay below, and the kinetic temperature, which gradient noise raises. Intervals are Student's,
of the paired difference over labelled subsets on the same test images; three subsets make them wide.

![Errors and negative log-likelihood of posteriors against those of ensembles](sampling.png)
"""


def interval(ours: list[float], theirs: list[float]) -> tuple[float, float, float]:
    """The mean of ours ÷ the mean of theirs, and Student's interval of their mean difference on the same scale."""
    apart, scale = np.array(ours) - np.array(theirs), mean(theirs)
    number = len(apart)
    half = stdtrit(number - 1, (1 + CONFIDENCE) / 2) * apart.std(ddof=1) / number**0.5 if number > 1 else np.inf
    return 1 + apart.mean() / scale, 1 + (apart.mean() - half) / scale, 1 + (apart.mean() + half) / scale


def best_ensemble(tested: Tested, score: str) -> str:
    """The one that is best on the test images themselves, which no posterior is given."""
    ensembles = [title for title in tested if "ensemble" in title]
    return min(ensembles, key=lambda title: mean(run[score] for run in tested[title][1]))


def against(tested: Tested, system: System, score: str) -> tuple[float, float, float]:
    """A posterior against the best ensemble."""
    ours, theirs = ([run[score] for run in tested[title][1]] for title in (system, best_ensemble(tested, score)))
    return interval(ours, theirs)


def verdict(found: tuple[float, float, float]) -> str:
    """Better, worse or not told apart."""
    ratio, low, high = found
    word = "better" if high < 1 else "worse" if low > 1 else "not told apart"
    return f"{ratio:.2f} ({low:.2f} to {high:.2f}): {word}"


def formatted(cells: dict[str, Tested]) -> str:
    """Verdicts, then every score."""
    names = [f"{system}, {SCORES[score][1]}" for system in POSTERIORS for score in ("errors", "log_loss")]
    lines = ["", "Posterior ÷ the ensemble that is best on the test images:", ""]
    lines += [f"| cell | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    for name, tested in cells.items():
        found = [verdict(against(tested, system, score)) for system in POSTERIORS for score in ("errors", "log_loss")]
        lines.append(f"| {name} | {' | '.join(found)} |")
    for name, tested in cells.items():
        cell = CELLS[name]
        lines += ["", f"## {name[0].upper()}{name[1:]}", "", f"{len(cell.subsets)} labelled subsets, {cell.kind}.", ""]
        lines.append(f"| | weighing | s | networks | step | {' | '.join(title for _, title in SCORES.values())} |")
        lines.append("|---" * (5 + len(SCORES)) + "|")
        for title, (choice, runs) in tested.items():
            cells_of = [format(mean(run[each] for run in runs), style) if each in runs[0] else ""
                        for each, (style, _) in SCORES.items()]  # fmt: skip
            width = "flat" if choice.width is None else f"{choice.width:g}"
            own = f"{choice.weighing} | {width} | {choice.members} | {choice.step:g}"
            lines.append(f"| {title} | {own} | {' | '.join(cells_of)} |")
    return HEAD + "\n".join(lines) + "\n"


def draw(cells: dict[str, Tested], path: Path) -> None:
    """Ratios with their intervals, a row a cell."""
    from matplotlib.figure import Figure  # takes a second to import

    figure = Figure((8.0, 1.2 + 0.45 * len(cells)), layout="constrained")
    for axes, (score, title) in zip(
        figure.subplots(1, 2, sharey=True), (("errors", "errors"), ("log_loss", "negative log-likelihood")), strict=True
    ):
        axes.axvline(1.0, color="0.6", lw=1, ls="--")
        for system, colour, above in zip(POSTERIORS, ("#e69f00", "#0072b2"), (0.12, -0.12), strict=True):
            for row, tested in enumerate(cells.values()):
                ratio, low, high = against(tested, system, score)
                label = f"posterior at {system}" if row == 0 else None
                axes.plot((low, high), (row + above,) * 2, color=colour, lw=1.5)
                axes.plot(ratio, row + above, "o", color=colour, ms=5, label=label)
        axes.set(title=f"{title} ÷ the best ensemble's", xscale="log", ylim=(len(cells) - 0.5, -0.5))
        axes.set_xticks((0.5, 0.7, 1, 1.5, 2, 3), ("0.5", "0.7", "1", "1.5", "2", "3"), minor=False)
        axes.minorticks_off()
        axes.title.set_fontsize(10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_yticks(range(len(cells)), list(cells))
    figure.axes[0].legend(frameon=False, fontsize=8)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150)
