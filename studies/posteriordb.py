"""Does the sampler find posteriors that others have found? Five of posteriordb, both masses, exact and noisy gradients.

python -m studies.posteriordb [NAME…]       NAME: the beginning of a posterior's name
python -m studies.posteriordb --smallest    to see that it runs: one posterior, few draws, nothing kept

Writes results/posteriordb/README.md. A few minutes of one thread; the slow tests have the smallest step.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bayesgan.base.files import write_text
from bayesgan.base.rng import stream
from bayesgan.sampler.density import Draws, LogDensity, Mass, sample_density

REFERENCES = Path(__file__).parent / "references"
RESULTS = Path(__file__).parents[1] / "results" / "posteriordb"
DRAWS = 6000  # of all chains, for a Monte Carlo error of about a hundredth of a standard deviation
EXACT_CHAINS, NOISY_CHAINS = 2000, 200  # with exact gradients more of them cost little more
INFLATIONS = (0.02, 0.1, 0.5)  # of the variance along the steepest direction, by the step
DYNAMICS: tuple[Mass, ...] = ("frozen", "plain")
BATCH = 100  # points of a mini-batch, drawn with replacement, for each chain by itself


@dataclass(frozen=True)
class Posterior:
    """A reference posterior: its density over unconstrained numbers, and what they stand for."""

    name: str
    size: int  # d
    log_density: LogDensity
    named: Callable[[Tensor], dict[str, Tensor]]  # from (chains, draws, d) to parameters by name
    batch: int | None = None  # points of a mini-batch that log_density draws anew each time; None: it is exact

    def errors(self, draws: Draws) -> dict[str, tuple[float, float]]:
        """How far off the mean of each parameter is, in standard deviations, and the standard deviation, relatively."""
        found = self.named(draws.points)
        return {
            name: (
                (float(found[name].mean()) - mean) / deviation,
                float(found[name].std()) / deviation - 1.0,
            )
            for name, (mean, deviation) in _read(self.name)["reference"].items()
        }

    def predicted(self, draws: Draws) -> Tensor:
        r"""By how much the step widens each coordinate of a Gaussian with the curvature H at the mean of the draws.

        Along an eigenvector of H in the metric of the mass, 1/λ becomes (1/λ)/(1 − ηλ/(4 − 2α)); so H⁻¹ becomes
        (H − η/(4 − 2α) H M⁻¹ H)⁻¹.
        """
        mean = draws.points.mean((0, 1))
        hessian = -torch.autograd.functional.hessian(lambda theta: self.log_density(theta[None])[0], mean)
        seen = hessian - draws.step / (4.0 - 2.0 * draws.friction) * hessian @ (hessian / draws.mass[:, None])
        return (torch.linalg.inv(seen).diag() / torch.linalg.inv(hessian).diag()).sqrt() - 1.0


Make = Callable[[], tuple[Posterior, ...]]  # with exact gradients and, where there are data points, with mini-batches


def normal(values: Tensor, deviation: float | Tensor) -> Tensor:
    """log N(values; 0, deviation²), without its constant."""
    return -0.5 * (values / deviation).square()


def half_cauchy(log_scale: Tensor, width: float) -> Tensor:
    """log density of log σ where σ has a half-Cauchy law, the Jacobian of the exponential included."""
    return log_scale - (log_scale.exp() / width).square().log1p()


def regression(
    name: str, inputs: Tensor, outputs: Tensor, names: list[str], prior: Callable[[Tensor, Tensor], Tensor]
) -> tuple[Posterior, Posterior]:
    """y ~ N(Xβ, σ²) over (β, log σ), exactly and by mini-batches; ``prior`` is their log density, with the Jacobian.

    Exact squares are those of the least-squares fit and of the distance from it. Mini-batches are sampled in units of
    that fit, in which the posterior is about N(0, I): the noise of unscaled columns is as steep as the steepest of
    them, and would ask for up to a million iterations a draw.
    """
    size = len(inputs)
    root = torch.linalg.qr(inputs).R
    fit = torch.linalg.lstsq(inputs, outputs).solution
    least = (outputs - inputs @ fit).square().sum()
    centre = torch.cat([fit, 0.5 * (least / size).log()[None]])
    unit = torch.block_diag(torch.linalg.inv(root) * centre[-1].exp(), torch.tensor([[(2.0 * size) ** -0.5]])).double()
    rng = stream(0, "mini-batches", torch.device("cpu"))

    def posterior(theta: Tensor, squares: Tensor) -> Tensor:
        log_deviation = theta[:, -1]
        likelihood = -size * log_deviation - 0.5 * squares * (-2.0 * log_deviation).exp()
        return likelihood + prior(theta[:, :-1], log_deviation)

    def exact(theta: Tensor) -> Tensor:
        return posterior(theta, least + ((theta[:, :-1] - fit) @ root.T).square().sum(1))

    def noisy(standard: Tensor) -> Tensor:
        theta = centre + standard @ unit.T
        rows = torch.randint(size, (len(theta), BATCH), generator=rng)
        residuals = outputs[rows] - (inputs[rows] @ theta[:, :-1, None]).squeeze(2)
        return posterior(theta, residuals.square().sum(1) * size / BATCH)

    def named(points: Tensor) -> dict[str, Tensor]:
        return {**dict(zip(names, points.unbind(-1), strict=False)), "sigma": points[..., -1].exp()}

    return (
        Posterior(name, len(centre), exact, named),
        Posterior(name, len(centre), noisy, lambda points: named(centre + points @ unit.T), BATCH),
    )


def sblrc() -> tuple[Posterior, ...]:
    """y ~ N(Xβ, σ²), β ~ N(0, 10²), σ ~ half-N(0, 10²)."""
    data = _read("sblrc-blr")["data"]
    inputs, outputs = _tensor(data["X"]), _tensor(data["y"])

    def prior(coefficients: Tensor, log_deviation: Tensor) -> Tensor:
        return normal(coefficients, 10.0).sum(1) + normal(log_deviation.exp(), 10.0) + log_deviation

    return regression("sblrc-blr", inputs, outputs, _betas(inputs.shape[1]), prior)


def kidiq() -> tuple[Posterior, ...]:
    """kid_score ~ N(β₁ + β₂ mom_iq, σ²), flat β, σ ~ half-Cauchy(0, 2.5)."""
    data = _read("kidiq-kidscore_momiq")["data"]
    inputs = torch.stack([torch.ones(len(data["mom_iq"]), dtype=torch.float64), _tensor(data["mom_iq"])], 1)

    def prior(_: Tensor, log_deviation: Tensor) -> Tensor:
        return half_cauchy(log_deviation, 2.5)

    return regression("kidiq-kidscore_momiq", inputs, _tensor(data["kid_score"]), _betas(2), prior)


def nes() -> tuple[Posterior, ...]:
    """Party identification on ideology, race, three age groups, education, gender and income; flat β and σ."""
    data = _read("nes2000-nes")["data"]
    age = _tensor(data["age_discrete"])
    columns = [torch.ones_like(age), _tensor(data["real_ideo"]), _tensor(data["race_adj"])]
    columns += [(age == group).double() for group in (2, 3, 4)]
    columns += [_tensor(data[each]) for each in ("educ1", "gender", "income")]

    def prior(_: Tensor, log_deviation: Tensor) -> Tensor:
        return log_deviation

    return regression("nes2000-nes", torch.stack(columns, 1), _tensor(data["partyid7"]), _betas(9), prior)


def autoregression() -> tuple[Posterior, ...]:
    """y_t ~ N(α + Σ_k β_k y_{t−k}, σ²), α and β ~ N(0, 10²), σ ~ half-Cauchy(0, 2.5)."""
    data = _read("arK-arK")["data"]
    series, order = _tensor(data["y"]), int(data["K"])
    past = [series[order - lag : len(series) - lag] for lag in range(1, order + 1)]
    inputs = torch.stack([torch.ones_like(past[0]), *past], 1)

    def prior(coefficients: Tensor, log_deviation: Tensor) -> Tensor:
        return normal(coefficients, 10.0).sum(1) + half_cauchy(log_deviation, 2.5)

    return regression("arK-arK", inputs, series[order:], ["alpha", *_betas(order)], prior)


def eight_schools() -> tuple[Posterior, ...]:
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

    return (Posterior(name, schools + 2, log_density, named),)


ALL: tuple[Make, ...] = (sblrc, kidiq, nes, autoregression, eight_schools)


def found(posterior: Posterior, dynamics: Mass, inflation: float, draws: int) -> Draws:
    """So many of all chains, which start at 0."""
    chains = min(NOISY_CHAINS if posterior.batch else EXACT_CHAINS, draws)
    start = torch.zeros(chains, posterior.size, dtype=torch.float64)
    return sample_density(posterior.log_density, start, draws // chains, dynamics, inflation)


def row(posterior: Posterior, dynamics: Mass, inflation: float, draws: int) -> str:
    """A row of the table."""
    began = time.process_time()
    sampled = found(posterior, dynamics, inflation, draws)
    seconds = time.process_time() - began
    means, deviations = zip(*posterior.errors(sampled).values(), strict=True)
    predicted = "–" if posterior.batch else _range(posterior.predicted(sampled).tolist())
    cells = [posterior.name, dynamics, str(posterior.batch or "all"), f"{100 * inflation:.0f} %"]
    cells += [f"{max(map(abs, means)):.3f}", _range(deviations), predicted]
    cells += [f"{sampled.kinetic_temperature:.3f}", str(sampled.thin), f"{seconds:.0f}"]
    return f"| {' | '.join(cells)} |"


HEAD = """# Posteriors that others have found

`python -m studies.posteriordb`: {draws} draws from each of five posteriors of
[posteriordb](https://github.com/stan-dev/posteriordb), by `bayesgan.sample_density`, and the means and standard
deviations of their 10,000 reference draws ([data](../../studies/references/README.md)).

- *inflation*: of the variance along the steepest direction, which sets the step, and at most as much again by the
  noise of mini-batches;
- *mean*: how far off the worst mean of a parameter is, in reference standard deviations;
- *deviations*: how far off the standard deviations of the parameters are, from the lowest to the highest;
- *predicted*: the same, as the closed form says for a Gaussian with the curvature at the mean, coordinate by
  coordinate. Wide directions are hardly widened, and parameters mostly vary along those;
- *mass*: that of `sample_density`'s warm-up, or one;
- *points*: of a mini-batch; mini-batches are sampled in units of the least-squares fit, where the posterior is about
  N(0, I) and both masses do much the same;
- *temperature*: the kinetic one, 1 for exact gradients of a Gaussian;
- *thin*: iterations between two draws;
- *seconds*: of one processor.

The Monte Carlo error is about 0.01 for a mean and 1 % for a deviation (2 % for that of tau), here and in the reference.

| posterior | mass | points | inflation | mean | deviations | predicted | temperature | thin | seconds |
|---|---|---|---|---|---|---|---|---|---|
"""


def table(chosen: list[Posterior], inflations: tuple[float, ...], draws: int, folder: Path) -> str:
    """All rows, written as they come."""
    text = HEAD.format(draws=draws)
    for posterior in chosen:
        for dynamics in DYNAMICS:
            for inflation in inflations[: 1 if posterior.batch else None]:
                text += row(posterior, dynamics, inflation, draws) + "\n"
                write_text(folder / "README.md", text)
                print(text.splitlines()[-1], flush=True)
    return text


def _range(values: Sequence[float]) -> str:
    least, most = min(values), max(values)
    return f"{100 * least:+.1f} to {100 * most:+.1f} %"


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
            return table([*eight_schools()], INFLATIONS[-1:], 20, Path(folder))
    every = [posterior for each in ALL for posterior in each()]
    named = [each for each in every if any(each.name.startswith(word) for word in words)]
    return table(named or every, INFLATIONS, DRAWS, RESULTS)


if __name__ == "__main__":
    main(sys.argv[1:])
