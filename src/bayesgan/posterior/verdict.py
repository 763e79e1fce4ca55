"""Is it a posterior? One sentence on the figures of a run, with what to change."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from bayesgan.posterior.mixing import LEAST_DRAWS, Mixing
from bayesgan.settings.names import Side
from bayesgan.settings.settings import Settings

# What a run is: the first that holds is said.
Kind = Literal[
    "optimised",
    "running away",
    "collapsed",
    "frozen",
    "drifting",
    "too few",
    "not mixing",
    "too hot",
    "one chain",
    "modes",
    "short",
    "reached",
]

# Times the larger of the prior's radius and the norm at the start: in d dimensions the norms of a prior lie within 1/√d
# of its radius, and a likelihood that pulls half a million weights to twice of it was not seen.
FAR = 2.0
# Times the kinetic temperature that is predicted, which no step or curvature changes as long as there is a stationary
# law: a factor of 2 could be a poor estimate of the gradient noise, 10 is a chain without such a law.
BOILING = 10.0
SHRUNK = 0.1  # times the smaller of the two: a tenth of the weights, three layers deep, is a thousandth of the signal
# Share of log K that a network tells of an image: one of ten classes that is right one time in five tells twice that.
DUMB = 0.01
# Share of a chain's norm. Weights rounded to eight bits move as far, and networks so rounded predict the same.
FROZEN = 0.01
# Share of a temperature that it may be off, beyond its Monte Carlo error: the widest steps along a prior, k = 0.2, make
# the configurational one 7 % too high, and a tenth of gradient noise is tolerable.
OFF = 0.2
ERRORS = 3.0  # standard errors that are no news
TREND = (
    0.8  # of the variance of a norm's ranks that their order explains; of a random walk it is below a half on average
)
GROWTH = 0.01  # share of the norm that it then changes by, at least: as for FROZEN
A_FEW = 3  # draws that span a way: two may be one iteration apart
FEWEST = 40  # draws of a chain: R-hat of halves of 20 that are white noise is below 1.1 nine times in ten
R_HAT = 1.1  # Gelman and Rubin's; 1.01 (Vehtari et al. 2021) asks for hundreds of draws of each chain
ENOUGH = 100  # effective draws: an average is then known to a tenth of the posterior's spread
TO_SAMPLE = "--method bayesgan at temperature 1 samples"


@dataclass(frozen=True)
class Figures:
    """What was found of the chains of one side. None is what was not logged or does not exist."""

    chains: int
    draws: int  # of each chain
    mixing: dict[str, Mixing]  # by what was looked at
    moved: float  # the median over chains: from the first sample to the last, in units of the chain's norm,
    furthest: float  # and to the one furthest away
    norm_first: float  # the mean over chains
    norm_last: float
    norm_highest: float  # of any draw of any chain
    trend: float  # Spearman's squared correlation of norm and iteration, the median over chains
    radius: float | None  # of the prior, √Σσ²
    tells: float | None  # share of log K that networks tell of an image, the median over chains
    kinetic: float | None  # temperatures: the median over chains and draws,
    configurational: float | None  # and the mean over the second half of the draws
    error: float | None  # the standard error of the latter
    predicted: float | None  # T, with the heat of the gradient noise

    @property
    def watched(self) -> str:
        """What mixing is judged by: what networks say where they say something, else where their weights are."""
        return "predictions" if "predictions" in self.mixing else "projections"


@dataclass(frozen=True)
class Verdict:
    """What a run is, and a sentence on it."""

    kind: Kind
    sentence: str


def verdicts(temperature: float, adam: bool, sides: dict[Side, Figures]) -> dict[Side, Verdict]:
    """The gravest thing that holds of each side; ``adam`` says that nothing else moved the weights."""
    if adam:
        return dict.fromkeys(
            sides, Verdict("optimised", f"optimised, not sampled: Adam moved the weights; {TO_SAMPLE}.")
        )
    if temperature == 0:
        return dict.fromkeys(sides, Verdict("optimised", f"optimised, not sampled: without noise; {TO_SAMPLE}."))
    found = {side: [*_grave(side, of, temperature)] or [_good(side, of)] for side, of in sides.items()}
    return {side: min(every, key=gravity) for side, every in found.items()}


def not_eq_4(settings: Settings) -> list[str]:
    """What makes the density of the discriminators another than Eq. 4, or none of single images."""
    densities, batches = settings.densities, settings.batches
    normalisation = getattr(settings.networks, "normalisation", "none")
    there = {
        "a consensus": densities.consensus > 0 and settings.populations.committee is None,
        "generators that move": settings.populations.generators > 0 and settings.populations.committee is None,
        "batch statistics": normalisation == "batch",
        "changed images": batches.jitter > 0 or batches.brightness > 0 or batches.cut > 0 or batches.flip,
        "steps that fall": settings.sampler.schedule == "linear",
        f"temperature {settings.sampler.temperature:g}": settings.sampler.temperature != 1.0,
        "labels that count more than once": densities.weighing == "raised-labels",
        f"the game's weight, {densities.game_weight:g}": densities.game_weight != 1.0,
    }
    return [name for name, holds in there.items() if holds]


def gravity(found: Verdict) -> int:
    """The place of a verdict among all, the gravest first."""
    return get_args(Kind).index(found.kind)


def _grave(side: Side, of: Figures, temperature: float) -> Iterator[Verdict]:
    """All that is wrong with the chains of a side."""
    bounds = [of.norm_first] if of.radius is None else [of.norm_first, of.radius]
    norms = f"from a norm of {of.norm_first:.3g} to {of.norm_last:.3g}"
    prior = "a flat prior" if of.radius is None else f"a prior of radius {of.radius:.3g}"
    if of.norm_last > FAR * max(bounds):
        yield Verdict(
            "running away",
            f"running away: the weights of the {side} have grown {norms} under {prior}; lower step_ratio"
            f"{', or give them a prior' if of.radius is None else ''}.",
        )
    elif of.norm_highest > FAR * max(of.norm_last, *bounds):
        yield Verdict(
            "running away",
            f"running away, and back: the weights of the {side} reach a norm of {of.norm_highest:.3g}, {norms} on "
            f"average, under {prior}; lower step_ratio, or set heating.",
        )
    if of.kinetic is not None and of.predicted is not None and of.kinetic > BOILING * of.predicted:
        yield Verdict(
            "running away",
            f"running away: the {side} move at temperature {of.kinetic:.3g} where {of.predicted:.3g} is predicted; "
            "lower step_ratio.",
        )
    if of.norm_last < SHRUNK * min(bounds):
        yield Verdict(
            "collapsed",
            f"collapsed: the weights of the {side} have shrunk {norms} under {prior}; widen the prior, or lower the "
            "temperature.",
        )
    if of.tells is not None and of.tells < DUMB:
        yield Verdict(
            "collapsed",
            f"collapsed: the {side} say the same of every image; lower the temperature, or let labels count more "
            "(weighing).",
        )
    if of.draws < FEWEST:
        yield Verdict(
            "too few",
            f"too few samples to tell: {of.draws} of each chain, and it takes {FEWEST}; lower thin, or sample for "
            "longer.",
        )
    if of.draws >= A_FEW and of.furthest < FROZEN:
        yield Verdict(
            "frozen",
            f"a frozen ensemble: the {side} moved by {of.furthest:.2%} of their norm; sample for longer, with a larger "
            f"step_ratio, or at a higher temperature than {temperature:g}.",
        )
    if of.draws < LEAST_DRAWS:
        return
    if of.trend > TREND and abs(of.norm_last / of.norm_first - 1) > GROWTH:
        towards = "grow" if of.norm_last > of.norm_first else "shrink"
        yield Verdict(
            "drifting",
            f"drifting: the weights of the {side} {towards}, {norms} under {prior}; sample for longer.",
        )
    if of.configurational is not None and of.predicted is not None and of.error is not None:
        gap = of.configurational - of.predicted
        if abs(gap) > max(OFF * of.predicted, ERRORS * of.error):
            yield Verdict(
                "drifting",
                f"drifting: the weights of the {side} are still driven {'outwards' if gap < 0 else 'inwards'} under "
                f"{prior}, at a configurational temperature of {of.configurational:.3g} where {of.predicted:.3g} is "
                "predicted; sample for longer.",
            )
    seen = of.watched
    if not of.mixing[seen].within.median <= R_HAT:  # of what never changes it is NaN
        yield Verdict(
            "not mixing",
            f"not mixing: the {seen} of the {side} do not come back to where they were (R-hat "
            f"{of.mixing[seen].within.median:.2f} within chains); sample for longer, or with a larger step_ratio.",
        )
    if of.kinetic is not None and of.kinetic > (1 + OFF) * temperature:
        yield Verdict(
            "too hot",
            f"too hot: the {side} move at temperature {of.kinetic:.3g}, not {temperature:g}; lower step_ratio, or "
            "raise real_batch and label_batch.",
        )


def _good(side: Side, of: Figures) -> Verdict:
    """What chains are of which nothing is wrong."""
    seen, found = of.watched, of.mixing[of.watched]
    what = seen if seen == "predictions" else f"projections of the {side}"
    size = f"ESS {found.bulk:.0f} for {what}"
    disagree, between = found.between.high > R_HAT, f"R-hat {found.between.high:.2f} between them for 95 %"
    short = f"{ENOUGH} are enough; sample for longer."
    if of.chains == 1:
        if found.bulk < ENOUGH:
            return Verdict("short", f"mixing in one chain, for too short a time: {size}, and {short}")
        return Verdict("one chain", f"mixing in one chain: {size}; sample several, which may disagree.")
    if disagree and found.alone < ENOUGH:
        return Verdict("short", f"mixing, for too short a time: ESS {found.alone:.0f} of all chains, and {short}")
    if disagree and found.bulk < found.alone / 2 and found.between.high > found.within.high:
        return Verdict(
            "modes",
            f"mixing within modes: ESS {found.alone:.0f} for {what}, chains disagree ({between}); each is a sample of "
            "its own mode, and more chains find more of them.",
        )
    if disagree:
        return Verdict(
            "short",
            f"mixing, but chains still disagree on some {seen} ({between}): {size}; sample for longer.",
        )
    if found.bulk < ENOUGH:
        return Verdict("short", f"mixing, for too short a time: {size}, and {short}")
    return Verdict("reached", f"a posterior that was reached: {size}, chains agree ({between}).")
