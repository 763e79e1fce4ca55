"""Is it a posterior? What the chains of a run did, from their samples and what training logged of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from pydantic import BaseModel
from scipy.stats import rankdata
from torch import Tensor

from bayesgan.base.rng import stream
from bayesgan.posterior.average import ModelAverage, entropy
from bayesgan.posterior.mixing import mixing
from bayesgan.posterior.verdict import Figures, Kind, Verdict, gravity, not_eq_4, verdicts
from bayesgan.sampler.population import Population
from bayesgan.settings.names import SIDES, Side
from bayesgan.settings.settings import Settings

IMAGES = 200  # whose predictions are followed, at most
PROJECTIONS = 20  # of the weights, in random directions

Load = Callable[[int, Side], tuple[Tensor, Tensor]]  # weights and statistics of a collected iteration


class Logged(BaseModel):
    """What training wrote of a collected iteration (runs.run.METRICS), of each chain or their mean."""

    iteration: int
    log_likelihood: dict[Side, float | None] = {}
    gradient_noise_over_friction: dict[Side, dict[str, float]] = {}
    motion: dict[Side, dict[str, list[float | None]]] = {}


@dataclass(frozen=True)
class Traces:
    """What chains did, one draw after another."""

    iterations: list[int]
    norms: np.ndarray  # (chains, draws)
    predictions: np.ndarray | None  # (images, chains, draws): the probability of each image's likeliest class
    logged: list[int]  # iterations whose temperatures are known
    kinetic: np.ndarray  # (chains, logged), NaN where a chain did not move
    configurational: np.ndarray


@dataclass(frozen=True)
class Diagnosis:
    """Whether the samples are of a posterior. The figures of a side are there where its chains were sampled."""

    kind: Kind
    verdict: str  # a sentence, with what to change: that of the side which is worse
    verdicts: dict[Side, Verdict]
    temperature: float  # T
    not_eq_4: list[str]  # what makes the density of the discriminators another than Eq. 4
    images: int  # whose predictions were followed
    generated: bool  # whether they were generated, for want of others
    sides: dict[Side, Figures]
    traces: dict[Side, Traces]


def diagnosed(
    settings: Settings,
    populations: dict[Side, Population],
    iterations: list[int],
    load: Load,
    average: ModelAverage,
    generated: bool,
    logged: Sequence[Logged],
) -> Diagnosis:
    """Diagnose the samples of ``iterations``; ``average`` has the images, and ``logged`` what is known beside them."""
    sides, traces = dict[Side, Figures](), dict[Side, Traces]()
    for side in SIDES:
        still = side == "generators" and settings.populations.committee is not None  # others stand for them
        if settings.populations.chains(side) > 0 and not still:
            judge = average if side == "discriminators" else None
            sides[side], traces[side] = _followed(side, settings, populations[side], iterations, load, judge, logged)
    found = verdicts(settings.sampler.temperature, settings.sampler.dynamics == "adam", sides)
    gravest = min(reversed(found.values()), key=gravity)  # of the discriminators rather than of the generators
    predictions = traces["discriminators"].predictions
    images = 0 if predictions is None else len(predictions)
    return Diagnosis(
        gravest.kind,
        gravest.sentence,
        found,
        settings.sampler.temperature,
        not_eq_4(settings),
        images,
        generated,
        sides,
        traces,
    )


def spaced(images: np.ndarray) -> np.ndarray:
    """At most ``IMAGES`` of them, evenly spaced: they may be in the order of their classes."""
    return images[np.linspace(0, len(images) - 1, min(IMAGES, len(images))).round().astype(int)]


def _followed(
    side: Side,
    settings: Settings,
    population: Population,
    iterations: list[int],
    load: Load,
    average: ModelAverage | None,
    logged: Sequence[Logged],
) -> tuple[Figures, Traces]:
    """Follow the chains of one side through their samples, of which one is in memory at a time."""
    first = load(iterations[0], side)[0]
    precision = population.precision(settings.prior.variance(side), settings.prior.prior_scale, first)
    terms = settings.prior_terms(side)
    rng = stream(0, "projections", torch.device("cpu"))
    directions = torch.randn(population.weights, PROJECTIONS, generator=rng).to(first)
    norms, distances, projections, priors, said = [], [], [], [], []
    for iteration in iterations:
        theta, statistics = load(iteration, side)
        norms.append(theta.norm(dim=1))
        distances.append((theta - first).norm(dim=1))
        projections.append(theta @ directions)
        priors.append(population.log_p(theta, precision))
        if average is not None:
            probabilities, real = average.predict(theta, statistics)
            several = probabilities.shape[-1] > 1
            said.append(probabilities if several else torch.stack([1.0 - real, real], -1))
    norm, distance = _by_chain(norms), _by_chain(distances)
    quantities = {
        "projections": _by_chain(projections).transpose(2, 0, 1),
        "norm": norm[None],
        "log prior": _by_chain(priors)[None],
    }
    likelihoods = [each.log_likelihood.get(side) for each in logged]
    if likelihoods and None not in likelihoods:
        quantities["log likelihood"] = np.array(likelihoods, float)[None, None]
    predictions = tells = None
    if average is not None:
        every = torch.stack(said)  # (draws, chains, images, K)
        likeliest = every.mean((0, 1)).argmax(-1)
        chosen = every.gather(-1, likeliest.expand(*every.shape[:2], -1).unsqueeze(-1)).squeeze(-1)
        predictions = chosen.permute(2, 1, 0).cpu().numpy()
        quantities = {"predictions": predictions} | quantities
        tells = _told(every) if several else None
    kinetic, configurational = (_measured(logged, side, name) for name in ("kinetic", "configurational"))
    late = configurational[:, configurational.shape[1] // 2 :]
    late = late[~np.isnan(late)]
    noise = [each.gradient_noise_over_friction[side]["mean"] for each in logged if each.gradient_noise_over_friction]
    figures = Figures(
        chains=len(first),
        draws=len(iterations),
        mixing={name: mixing(each) for name, each in quantities.items()},
        moved=float(np.median(distance[:, -1] / norm.mean(1))),
        furthest=float(np.median(distance.max(1) / norm.mean(1))),
        norm_highest=float(norm.max()),
        norm_first=float(norm[:, 0].mean()),
        norm_last=float(norm[:, -1].mean()),
        trend=_trend(norm),
        radius=None if precision is None else float((precision * terms).reciprocal().sum().sqrt()),
        tells=tells,
        kinetic=float(np.nanmedian(kinetic)) if kinetic.size else None,
        configurational=float(late.mean()) if late.size else None,
        error=float(late.std(ddof=1) / len(late) ** 0.5) if late.size > 1 else None,
        predicted=settings.sampler.temperature + float(np.mean(noise)) if noise else None,
    )
    return figures, Traces(iterations, norm, predictions, [each.iteration for each in logged], kinetic, configurational)


def _by_chain(draws: list[Tensor]) -> np.ndarray:
    """(chains, draws, …) of one (chains, …) for each draw."""
    return torch.stack(draws, 1).double().cpu().numpy()


def _told(probabilities: Tensor) -> float:
    """The share of log K that a network tells of an image, of ``probabilities`` (draws, chains, images, K).

    It is the mutual information of image and class as the network sees them; the mean over draws, the median over
    chains.
    """
    told = entropy(probabilities.mean(2)) - entropy(probabilities).mean(2)
    return float(told.mean(0).median() / np.log(probabilities.shape[-1]))


def _trend(norm: np.ndarray) -> float:
    """Spearman's squared correlation of each row (chains, draws) with time, the median over rows."""
    ranks, time = rankdata(norm, axis=1), np.arange(1, norm.shape[1] + 1)
    ranks, time = ranks - ranks.mean(1, keepdims=True), time - time.mean()
    scale = (ranks**2).sum(1) * (time**2).sum()
    return float(np.median((ranks @ time) ** 2 / np.where(scale > 0, scale, 1.0)))


def _measured(logged: Sequence[Logged], side: Side, name: str) -> np.ndarray:
    """(chains, logged iterations)."""
    rows = [each.motion[side][name] for each in logged if side in each.motion]
    return np.array(rows, float).T if rows else np.empty((0, 0))
