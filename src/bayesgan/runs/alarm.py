"""A sentence, while a run is trained, when the chains that are sampled are frozen, collapsed or running away."""

import math
from collections.abc import Sequence

import numpy as np

from bayesgan.posterior.verdict import BOILING, FAR, FROZEN, SHRUNK
from bayesgan.runs.run import Metrics
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.settings.names import Side

RECENT = 3  # samples whose median is the kinetic temperature: the first and the last steps are hot by themselves
GUESSING = 0.95  # of the errors of guessing: what no chain is better than is no classifier


class Alarm:
    """Looks at what training logs; says once what is wrong."""

    def __init__(self, gan: BayesianGAN) -> None:
        self._settings = gan.settings
        self._classes = 1 if gan.labels is None else gan.labels.number
        precisions = {side: update.precision for side, update in gan.update.items()}
        self._radius = {
            side: 0.0 if each is None else float(each.reciprocal().sum().sqrt()) for side, each in precisions.items()
        }
        self._seen = 0
        self._silent = gan.settings.sampler.temperature == 0  # optimised: nothing is promised

    def __call__(self, metrics: Sequence[Metrics]) -> str | None:
        """A sentence on the last of ``metrics``, all there are, if it has a new sample that is bad."""
        if self._silent or not metrics or metrics[-1]["iteration"] == self._seen or "motion" not in metrics[-1]:
            return None
        self._seen = metrics[-1]["iteration"]
        sampled = [each for each in metrics if "motion" in each]
        for side in sampled[-1]["motion"]:
            sentence = self._wrong(side, sampled, metrics)
            if sentence is not None:
                self._silent = True
                return f"Iteration {self._seen}: {sentence} 'bayesgan diagnose' says more."
        return None

    def _has_forgotten(self, metrics: Sequence[Metrics]) -> bool:
        """Whether no chain is better than guessing any more."""
        errors = [min(each["chain_errors"]) for each in metrics if each.get("chain_errors")]
        bad = GUESSING * (1 - 1 / self._classes)
        return len(errors) > 0 and errors[-1] > bad >= min(errors)

    def _wrong(self, side: Side, sampled: Sequence[Metrics], metrics: Sequence[Metrics]) -> str | None:
        first, last = (np.array(each["motion"][side]["norm"]) for each in (sampled[0], sampled[-1]))
        radius = self._radius[side]
        if (last > FAR * np.maximum(first, radius)).any():
            return (
                f"the {side} are running away, to a norm of {last.max():.3g} from {first.max():.3g}: lower step_ratio."
            )
        recent = np.array([each["motion"][side]["kinetic"] for each in sampled[-RECENT:]], float)
        target = self._settings.sampler.temperature + sampled[-1]["gradient_noise_over_friction"][side]["mean"]
        hottest = float(np.nanmax(np.median(recent, 0), initial=0.0))
        if len(recent) == RECENT and hottest > BOILING * target:
            return (
                f"the {side} are running away, at a kinetic temperature of {hottest:.3g} where {target:.3g} is "
                "predicted: lower step_ratio."
            )
        if (last < SHRUNK * np.minimum(first, radius or np.inf)).any():
            return f"the {side} have collapsed to a norm of {last.min():.3g}: widen the prior or lower the temperature."
        if side == "discriminators" and self._has_forgotten(metrics):
            return "the discriminators have collapsed, none is better than guessing: lower the temperature."
        if len(sampled) == 1 and (share := self._travel(side, sampled[0])) < FROZEN:
            return (
                f"the {side} are frozen, they will move by about {share:.1g} of their norm: raise step_ratio, the "
                "temperature or iterations."
            )
        return None

    def _travel(self, side: Side, record: Metrics) -> float:
        r"""How far chains get in all of the sampling at the pace of ``record``, in units of their norm.

        Steps of length s that forget their direction at the rate α add up to :math:`s\sqrt{n(2-\alpha)/\alpha}` in n
        iterations.
        """
        length, friction = self._settings.length, self._settings.sampler.friction
        motion = record["motion"][side]
        pace = np.nanmax(np.array(motion["step"], float) / np.array(motion["norm"]), initial=0.0)
        return float(pace * math.sqrt((length.iterations - length.burn_in) * (2 - friction) / friction))
