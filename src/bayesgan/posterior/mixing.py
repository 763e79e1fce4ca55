r"""How well chains mix: R-hat and effective sample sizes of several quantities at once.

Rank-normalised, split :math:`\hat R` and bulk and tail effective sample sizes are those of Vehtari et al. (2021,
https://arxiv.org/abs/1903.08008), by arviz-stats.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

LEAST_DRAWS = 8  # of a chain: of fewer there are no figures
HIGH = 0.95  # of the quantities: the worst of hundreds is bad by chance


@dataclass(frozen=True)
class Spread:
    """A figure over quantities: NaN where nothing varies."""

    median: float
    high: float  # that 95 % stay below
    worst: float


@dataclass(frozen=True)
class Mixing:
    """How chains mix in some quantities; those that never change are left out."""

    quantities: int
    within: Spread  # R-hat of each chain alone, its halves compared
    between: Spread  # R-hat of the halves of all chains together
    bulk: float  # effective sample size, the median of quantities: of all chains together,
    tail: float  # and of their 5 % and 95 % quantiles;
    alone: float  # of each chain by itself, summed: more than ``bulk`` where chains disagree


def mixing(draws: np.ndarray) -> Mixing:
    """The figures of ``draws`` (quantities, chains, draws)."""
    varying = draws[np.ptp(draws, axis=(1, 2)) > 0]
    within, between = within_chains(varying), between_chains(varying)
    alone = sizes(varying[:, :, None], "bulk").sum(-1)
    return Mixing(
        len(varying),
        _spread(within),
        _spread(between),
        _median(sizes(varying, "bulk")),
        _median(sizes(varying, "tail")),
        _median(alone),
    )


def within_chains(draws: np.ndarray) -> np.ndarray:
    """R-hat of the two halves of each chain alone, (…, chains), of ``draws`` (…, chains, draws)."""
    return _r_hat(_halves(draws))


def between_chains(draws: np.ndarray) -> np.ndarray:
    """R-hat of the halves of all chains together, (…), of ``draws`` (…, chains, draws)."""
    halves = _halves(draws)
    return _r_hat(halves.reshape(*draws.shape[:-2], 2 * draws.shape[-2], halves.shape[-1]))


def _halves(draws: np.ndarray) -> np.ndarray:
    """(…, chains, 2, half of the draws); one in the middle may be left out."""
    half = draws.shape[-1] // 2
    return np.stack([draws[..., :half], draws[..., draws.shape[-1] - half :]], -2)


def _r_hat(parts: np.ndarray) -> np.ndarray:
    """The larger of the R-hats of location and of scale, (…), of ``parts`` (…, parts, draws)."""
    from arviz_stats.base.array import array_stats  # takes most of a second to import

    if parts.shape[-1] < LEAST_DRAWS // 2 or 0 in parts.shape:
        return np.full(parts.shape[:-2], np.nan)
    folded = np.abs(parts - np.median(parts, axis=(-2, -1), keepdims=True))
    with np.errstate(divide="ignore", invalid="ignore"):  # of parts that stand still
        one, two = (array_stats.rhat(_normal(each), method="identity") for each in (parts, folded))
    return np.fmax(one, two)


def _normal(values: np.ndarray) -> np.ndarray:
    """Normal scores of the ranks among all draws of all parts."""
    pooled = values.reshape(*values.shape[:-2], -1)
    return ndtri((rankdata(pooled, axis=-1) - 0.375) / (pooled.shape[-1] + 0.25)).reshape(values.shape)


def sizes(draws: np.ndarray, kind: str) -> np.ndarray:
    """Effective sample sizes (…), ``bulk`` or ``tail``, of ``draws`` (…, chains, draws)."""
    from arviz_stats.base.array import array_stats

    if draws.shape[-1] < LEAST_DRAWS or 0 in draws.shape:
        return np.full(draws.shape[:-2], np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        return array_stats.ess(draws, method=kind, prob=(0.05, 0.95) if kind == "tail" else None)


def _spread(figures: np.ndarray) -> Spread:
    known = figures[~np.isnan(figures)]
    if len(known) == 0:
        return Spread(np.nan, np.nan, np.nan)
    return Spread(float(np.median(known)), float(np.quantile(known, HIGH, method="lower")), float(known.max()))


def _median(figures: np.ndarray) -> float:
    known = figures[~np.isnan(figures)]
    return float(np.median(known)) if len(known) else float("nan")
