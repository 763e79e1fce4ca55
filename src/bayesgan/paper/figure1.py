"""Figure 1 of the paper, and the induced prior beside the posterior, from finished synthetic runs."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.manifold import MDS

from bayesgan.base.files import replacing
from bayesgan.paper.synthetic import Finished
from bayesgan.settings.names import SyntheticMethod

TITLES: dict[SyntheticMethod, str] = {"ml-gan": "ML-GAN", "wgan": "Wasserstein GAN", "bayesgan": "Bayesian GAN"}
# Distinct in grey too: by lightness and by dash pattern.
LINES: dict[SyntheticMethod, dict[str, Any]] = {
    "ml-gan": {"color": "#d95f02", "linestyle": (0, (5, 2))},
    "wgan": {"color": "#9a9a9a", "linestyle": (0, (1, 1))},
    "bayesgan": {"color": "#1b3a6b", "linestyle": "-"},
}
CHAIN_COLOURS = mpl.colormaps["tab10"]
STYLE: dict[Any, Any] = {"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False}
PANEL = 2.7  # inches


def figure1(finished: list[Finished], path: Path) -> Figure:
    """A row for each dimension: data, the samples of each method, JSD against iteration, MDS of the weights."""
    dims = sorted({each.result["dim"] for each in finished})
    methods = list(dict.fromkeys(each.result["method"] for each in finished))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(PANEL * (len(methods) + 3), PANEL * len(dims) + 0.3), layout="constrained")
        axes = figure.subplots(len(dims), len(methods) + 3, squeeze=False)
        for row, dim in zip(axes, dims, strict=True):
            runs = [each for each in finished if each.result["dim"] == dim]
            first_seed = [each for each in runs if each.result["seed"] == runs[0].result["seed"]]
            _scatters(row[: len(methods) + 1], first_seed, dim)
            _divergences(row[-2], runs, methods, dim)
            _weights(row[-1], first_seed)
        _save(figure, path)
    return figure


def prior_and_posterior(finished: Finished, path: Path) -> None:
    """Points of generators drawn from the prior, beside those of the posterior's, in the same plane."""
    assert finished.projected_prior is not None
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(PANEL * 2.6, PANEL * 1.35), layout="constrained")
        left, right = figure.subplots(1, 2)
        _coloured(left, finished.projected_prior)
        left.set_title("Induced prior: $\\theta_g \\sim p(\\theta_g)$")
        _coloured(right, finished.projected_samples)
        right.set_title("Posterior: $\\theta_g \\sim p(\\theta_g | \\mathcal{D})$")
        for axes in (left, right):
            axes.set_xlabel("first principal component")
        left.set_ylabel("second principal component")
        figure.suptitle("Each colour is one generator; the unit is the data's standard deviation", fontsize=9)
        _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=130)


def _coloured(axes: Axes, points: np.ndarray) -> None:
    """(chains, n, 2) points, a colour for each chain."""
    for chain, of_chain in enumerate(points):
        axes.scatter(
            of_chain[:, 0],
            of_chain[:, 1],
            s=2,
            linewidths=0,
            alpha=0.6,
            color=CHAIN_COLOURS(chain % 10),
            rasterized=True,
        )


def _scatters(row: np.ndarray, runs: list[Finished], dim: int) -> None:
    data = runs[0].projected_data
    row[0].scatter(data[:, 0], data[:, 1], s=2, linewidths=0, color="black", rasterized=True)
    row[0].set_title("Data")
    row[0].set_ylabel(f"D = {dim}\nsecond principal component")
    for axes, each in zip(row[1:], runs, strict=True):
        _coloured(axes, each.projected_samples)
        axes.set_title(f"{TITLES[each.result['method']]}, JSD {each.result['jsd'][-1][1]:.3f}")
    low, high = data.min(0), data.max(0)
    margin = 0.25 * (high - low)
    for axes in row:
        axes.set_xlim(low[0] - margin[0], high[0] + margin[0])
        axes.set_ylim(low[1] - margin[1], high[1] + margin[1])
        axes.set_xlabel("first principal component")


def _divergences(axes: Axes, runs: list[Finished], methods: list[SyntheticMethod], dim: int) -> None:
    """The mean over seeds as a line, the range over seeds as a band, the data's own floor."""
    for method in methods:
        curves = np.array([each.result["jsd"] for each in runs if each.result["method"] == method])
        iterations, values = curves[0, :, 0], curves[:, :, 1]
        axes.fill_between(iterations, values.min(0), values.max(0), color=LINES[method]["color"], alpha=0.15, lw=0)
        axes.plot(iterations, values.mean(0), label=TITLES[method], lw=1.6, **LINES[method])
    floor = float(np.mean([each.result["jsd_floor"] for each in runs]))
    axes.axhline(floor, color="black", lw=0.8, ls=(0, (1, 3)), label="data against data")
    sampled = [each.result["settings"] for each in runs if each.result["jsd_posterior"] is not None]
    if sampled:
        axes.axvline(sampled[0]["burn_in"], color="black", lw=0.6)
        axes.annotate(
            "sampling →",
            (sampled[0]["burn_in"], 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, -8),
            textcoords="offset points",
            fontsize=7,
        )
    axes.set_yscale("log")
    axes.set_xlabel("iteration")
    axes.set_title(f"JSD to the data (nats), D = {dim}")
    axes.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(0.0, 0.4))


def _weights(axes: Axes, runs: list[Finished]) -> None:
    """Multidimensional scaling of the collected generator weights, the path of each chain in its own colour."""
    axes.set_title("Sampled generator weights (MDS)")
    axes.set_xticks([])
    axes.set_yticks([])
    with_samples = [each for each in runs if len(each.weights)]
    if not with_samples:
        axes.text(0.5, 0.5, "no samples collected", ha="center", transform=axes.transAxes)
        return
    weights = with_samples[-1].weights
    collected, chains, _ = weights.shape
    plane = scaled(weights.flatten(0, 1).numpy()).reshape(collected, chains, 2)
    for chain in range(chains):
        colour = CHAIN_COLOURS(chain % 10)
        x, y = plane[:, chain].T
        axes.plot(x, y, lw=0.6, color=colour, alpha=0.5)
        axes.scatter(x, y, s=np.linspace(3, 16, collected), linewidths=0, color=colour)
    axes.set_xlabel(f"{chains} chains × {collected} samples;\ncolour: chain, size: iteration")


def scaled(weights: np.ndarray) -> np.ndarray:
    """Metric MDS of (n, weights) with Euclidean distances: (n, 2)."""
    mds = MDS(n_components=2, n_init=1, init="classical_mds", random_state=0, normalized_stress=False)
    return np.asarray(mds.fit_transform(weights))
