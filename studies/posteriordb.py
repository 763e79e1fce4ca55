"""Does the sampler find posteriors that others have found? Five of posteriordb, both masses, exact and noisy gradients.

python -m studies.posteriordb [NAME…]       NAME: the beginning of a posterior's name
python -m studies.posteriordb --smallest    to see that it runs: one posterior, few draws, nothing kept

Writes results/posteriordb/README.md. About half an hour of one thread; the tests have the same at one step.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from bayesgan.base.files import write_text
from bayesgan.base.rng import stream
from bayesgan.sampler.density import Draws, LogDensity, sample

REFERENCES = Path(__file__).parent / "references"
RESULTS = Path(__file__).parents[1] / "results" / "posteriordb"
CHAINS = 20
INFLATIONS = (0.04, 0.2, 0.5)  # of the variance along the steepest direction, by the step
BATCH = 100  # points of a mini-batch


@dataclass(frozen=True)
class Posterior:
    """A reference posterior: its density over unconstrained numbers, and what they stand for."""

    name: str
    size: int  # d
    log_density: LogDensity
    named: Callable[[Tensor], dict[str, Tensor]]  # from (chains, draws, d) to parameters by name
    reference: dict[str, tuple[float, float]]  # mean and standard deviation of each
    noisy: Callable[[torch.Generator], LogDensity] | None = None  # the same with mini-batches of so many points

    def errors(self, draws: Draws) -> dict[str, tuple[float, float]]:
        """How far off the mean of each parameter is, in standard deviations, and the standard deviation, relatively."""
        found = self.named(draws.points)
        return {
            name: (
                (float(found[name].mean()) - mean) / deviation,
                float(found[name].std()) / deviation - 1.0,
            )
            for name, (mean, deviation) in self.reference.items()
        }


def normal(values: Tensor, deviation: float | Tensor) -> Tensor:
    """log N(values; 0, deviation²), without its constant."""
    return -0.5 * (values / deviation).square()


def half_cauchy(log_scale: Tensor, width: float) -> Tensor:
    """log density of log σ where σ has a half-Cauchy law, the Jacobian of the exponential included."""
    return log_scale - (log_scale.exp() / width).square().log1p()


def regression(
    name: str, inputs: Tensor, outputs: Tensor, names: list[str], prior: Callable[[Tensor, Tensor], Tensor]
) -> Posterior:
    """y ~ N(Xβ, σ²), sampled over (β, log σ); ``prior`` is the log density of both, with the Jacobian."""

    def log_density(theta: Tensor, rows: Tensor | None = None) -> Tensor:
        coefficients, log_deviation = theta[:, :-1], theta[:, -1]
        x, y = (inputs, outputs) if rows is None else (inputs[rows], outputs[rows])
        squares = (y - coefficients @ x.T).square().sum(1) * len(inputs) / len(x)
        likelihood = -len(inputs) * log_deviation - 0.5 * squares * (-2.0 * log_deviation).exp()
        return likelihood + prior(coefficients, log_deviation)

    def noisy(rng: torch.Generator) -> LogDensity:
        return lambda theta: log_density(theta, torch.randint(len(inputs), (BATCH,), generator=rng))

    def named(points: Tensor) -> dict[str, Tensor]:
        return {**dict(zip(names, points.unbind(-1), strict=False)), "sigma": points[..., -1].exp()}

    return Posterior(name, len(names) + 1, log_density, named, _read(name)["reference"], noisy)


def sblrc() -> Posterior:
    """y ~ N(Xβ, σ²), β ~ N(0, 10²), σ ~ half-N(0, 10²)."""
    data = _read("sblrc-blr")["data"]
    inputs, outputs = _tensor(data["X"]), _tensor(data["y"])

    def prior(coefficients: Tensor, log_deviation: Tensor) -> Tensor:
        return normal(coefficients, 10.0).sum(1) + normal(log_deviation.exp(), 10.0) + log_deviation

    return regression("sblrc-blr", inputs, outputs, _betas(inputs.shape[1]), prior)


def kidiq() -> Posterior:
    """kid_score ~ N(β₁ + β₂ mom_iq, σ²), flat β, σ ~ half-Cauchy(0, 2.5)."""
    data = _read("kidiq-kidscore_momiq")["data"]
    inputs = torch.stack([torch.ones(len(data["mom_iq"]), dtype=torch.float64), _tensor(data["mom_iq"])], 1)

    def prior(_: Tensor, log_deviation: Tensor) -> Tensor:
        return half_cauchy(log_deviation, 2.5)

    return regression("kidiq-kidscore_momiq", inputs, _tensor(data["kid_score"]), _betas(2), prior)


def nes() -> Posterior:
    """Party identification on ideology, race, three age groups, education, gender and income; flat β and σ."""
    data = _read("nes2000-nes")["data"]
    age = _tensor(data["age_discrete"])
    columns = [torch.ones_like(age), _tensor(data["real_ideo"]), _tensor(data["race_adj"])]
    columns += [(age == group).double() for group in (2, 3, 4)]
    columns += [_tensor(data[each]) for each in ("educ1", "gender", "income")]

    def prior(_: Tensor, log_deviation: Tensor) -> Tensor:
        return log_deviation

    return regression("nes2000-nes", torch.stack(columns, 1), _tensor(data["partyid7"]), _betas(9), prior)


def autoregression() -> Posterior:
    """y_t ~ N(α + Σ_k β_k y_{t−k}, σ²), α and β ~ N(0, 10²), σ ~ half-Cauchy(0, 2.5)."""
    data = _read("arK-arK")["data"]
    series, order = _tensor(data["y"]), int(data["K"])
    past = [series[order - lag : len(series) - lag] for lag in range(1, order + 1)]
    inputs = torch.stack([torch.ones_like(past[0]), *past], 1)

    def prior(coefficients: Tensor, log_deviation: Tensor) -> Tensor:
        return normal(coefficients, 10.0).sum(1) + half_cauchy(log_deviation, 2.5)

    return regression("arK-arK", inputs, series[order:], ["alpha", *_betas(order)], prior)


def eight_schools() -> Posterior:
    """y_j ~ N(μ + τ θ̃_j, s_j²), θ̃ ~ N(0, 1), μ ~ N(0, 5²), τ ~ half-Cauchy(0, 5); θ = μ + τ θ̃."""
    name = "eight_schools-eight_schools_noncentered"
    data = _read(name)["data"]
    effects, deviations = _tensor(data["y"]), _tensor(data["sigma"])
    schools = len(effects)

    def log_density(theta: Tensor) -> Tensor:
        scaled, mean, log_spread = theta[:, :schools], theta[:, schools], theta[:, schools + 1]
        expected = mean.unsqueeze(1) + log_spread.exp().unsqueeze(1) * scaled
        prior = normal(scaled, 1.0).sum(1) + normal(mean, 5.0) + half_cauchy(log_spread, 5.0)
        return normal(effects - expected, deviations).sum(1) + prior

    def named(points: Tensor) -> dict[str, Tensor]:
        mean, spread = points[..., schools], points[..., schools + 1].exp()
        theta = mean.unsqueeze(-1) + spread.unsqueeze(-1) * points[..., :schools]
        return {f"theta[{number + 1}]": each for number, each in enumerate(theta.unbind(-1))} | {
            "mu": mean,
            "tau": spread,
        }

    return Posterior(name, schools + 2, log_density, named, _read(name)["reference"])


ALL = (sblrc, kidiq, nes, autoregression, eight_schools)


def row(posterior: Posterior, dynamics: Literal["plain", "frozen"], inflation: float, noisy: bool, draws: int) -> str:
    """A row of the table."""
    density = posterior.log_density
    if noisy and posterior.noisy is not None:
        density = posterior.noisy(stream(0, "mini-batches", torch.device("cpu")))
    began = time.monotonic()
    start = torch.zeros(CHAINS, posterior.size, dtype=torch.float64)
    found = sample(density, start, draws, dynamics, inflation)
    seconds = time.monotonic() - began
    errors = posterior.errors(found).values()
    means, deviations = max(abs(mean) for mean, _ in errors), [deviation for _, deviation in errors]
    predicted = (1.0 + found.inflation) ** 0.5 - 1.0
    spread = f"{100 * min(deviations):+.1f} to {100 * max(deviations):+.1f} %"
    cells = [posterior.name, dynamics, str(BATCH if noisy else "all"), f"{means:.2f}", spread]
    cells += [f"{100 * predicted:.1f} %", f"{found.kinetic_temperature:.3f}", str(found.thin), f"{seconds:.0f}"]
    return f"| {' | '.join(cells)} |"


HEAD = """# Posteriors that others have found

`python -m studies.posteriordb`: {chains} chains of {draws} draws from each of five posteriors of
[posteriordb](https://github.com/stan-dev/posteriordb), by the two dynamics of the sampler. How far off the worst mean
is, in reference standard deviations; how far off the standard deviations are; by how much the step widens the steepest
direction, as the closed form says for a Gaussian (other directions are widened less, and the noise of mini-batches of
{batch} points adds at most as much again); the kinetic temperature, which is 1 for exact gradients.

| posterior | mass | points | mean | deviations | predicted, at most | temperature | iterations a draw | seconds |
|---|---|---|---|---|---|---|---|---|
"""


def table(chosen: list[Posterior], inflations: tuple[float, ...], draws: int, folder: Path) -> str:
    """All rows, written as they come."""
    text = HEAD.format(chains=CHAINS, draws=draws, batch=BATCH)
    for posterior in chosen:
        for dynamics in ("frozen", "plain"):
            for noisy in (False, True) if posterior.noisy else (False,):
                for inflation in inflations[: 1 if noisy else None]:
                    text += row(posterior, dynamics, inflation, noisy, draws) + "\n"
                    write_text(folder / "README.md", text)
                    print(text.splitlines()[-1], flush=True)
    return text


def _read(name: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((REFERENCES / f"{name}.json").read_text())
    return values


def _tensor(values: list[Any]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _betas(number: int) -> list[str]:
    return [f"beta[{each + 1}]" for each in range(number)]


def main(words: list[str]) -> str:
    """Sample those of the command line."""
    if "--smallest" in words:
        with tempfile.TemporaryDirectory() as folder:
            return table([eight_schools()], INFLATIONS[-1:], 2, Path(folder))
    every = [each() for each in ALL]
    named = [each for each in every if any(each.name.startswith(word) for word in words)]
    return table(named or every, INFLATIONS, 200, RESULTS)


if __name__ == "__main__":
    main(sys.argv[1:])
