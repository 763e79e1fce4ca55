"""The synthetic experiment (Section 4.1): train every method on the same data and write Figure 1 and its numbers."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bayesgan.base.files import write_text
from bayesgan.base.rng import stream
from bayesgan.data.names import SyntheticName
from bayesgan.data.synthetic import SyntheticData, synthetic
from bayesgan.networks.mlp import mlp
from bayesgan.posterior.divergence import JensenShannon, coverage
from bayesgan.runs.run import Metrics, Run
from bayesgan.sampler.gan import BayesianGAN, Sample
from bayesgan.settings.methods import synthetic_settings
from bayesgan.settings.names import SyntheticMethod
from bayesgan.settings.settings import Settings

HIDDEN = 1000
SHOWN = 2000  # points of a scatter panel


@dataclass(frozen=True)
class Plan:
    """Which runs to make. ``settings`` replaces defaults for every method."""

    data: SyntheticName = "clusters"
    dims: tuple[int, ...] = (100, 500)
    methods: tuple[SyntheticMethod, ...] = ("ml-gan", "wgan", "bayesgan")
    seeds: tuple[int, ...] = (0, 1, 2)
    size: int = 10_000  # N
    every: int = 25  # iterations between evaluations
    settings: dict[str, Any] = field(default_factory=dict)

    def runs(self) -> Iterator[tuple[int, int, SyntheticMethod]]:
        """(dim, seed, method), the cheap ones first."""
        for dim in self.dims:
            for seed in self.seeds:
                for method in self.methods:
                    yield dim, seed, method

    def settings_for(self, method: SyntheticMethod) -> Settings:
        """The settings of one method of this plan."""
        return synthetic_settings(method, **self.settings)


@dataclass
class Finished:
    """A finished run, with what the figure shows of it."""

    result: dict[str, Any]  # its entry in results.json
    projected_data: np.ndarray  # (SHOWN, 2) test points
    projected_samples: np.ndarray  # (chains, points, 2)
    projected_prior: np.ndarray | None  # the same from the induced prior, None where the prior is flat
    weights: Tensor  # (collected, chains, weights) of the generators; empty without samples, and for further seeds


def run(
    plan: Plan,
    out: Path,
    device: torch.device,
    command: str,
    progress: Callable[[dict[str, Any], int, Metrics], None] | None = None,
) -> list[Finished]:
    """Make every run of ``plan`` in ``out``, going on with what is there, and write ``results.json`` as they finish.

    ``command`` is recorded there, for whoever wants to make it again.
    """
    finished = []
    for dim, seed, method in plan.runs():
        label = {"method": method, "data": plan.data, "dim": dim, "seed": seed}

        def report(iteration: int, metrics: Metrics, label: dict[str, Any] = label) -> None:
            if progress is not None:
                progress(label, iteration, metrics)

        folder = out / "runs" / f"{plan.data}-{dim}-{method}-{seed}"
        finished.append(_one(plan, label, folder, device, report))
        results = {"command": command, "runs": [each.result for each in finished]}
        write_text(out / "results.json", json.dumps(results, indent=1) + "\n")
    return finished


def _one(
    plan: Plan,
    label: dict[str, Any],
    folder: Path,
    device: torch.device,
    progress: Callable[[int, Metrics], None],
) -> Finished:
    dim, seed = label["dim"], label["seed"]
    data = synthetic(plan.data, dim, plan.size, seed)
    divergence = JensenShannon(data.train, data.test)
    settings = plan.settings_for(label["method"])
    gan = BayesianGAN(
        settings,
        generator=mlp(settings.networks.noise_dim, HIDDEN, dim),
        discriminator=mlp(dim, HIDDEN, 1),
        data=torch.from_numpy(data.train).to(device),
        seed=seed,
    )

    def evaluate(gan: BayesianGAN, sample: Sample) -> Metrics:
        points = flat(generate(gan, sample["generators"], len(data.test), gan.state.streams["evaluation"]))[
            : len(data.test)
        ]
        return {"jsd": divergence(points), "coverage": coverage(points, data.centres)}

    training = Run(gan, folder, label)
    metrics = training.train(evaluate, plan.every, progress)
    return _finished(label, training, data, divergence, metrics, keep_weights=seed == plan.seeds[0])


def _finished(
    label: dict[str, Any],
    training: Run,
    data: SyntheticData,
    divergence: JensenShannon,
    metrics: list[Metrics],
    keep_weights: bool,
) -> Finished:
    gan, settings, samples = training.gan, training.gan.settings, training.samples
    rng = stream(label["seed"], "figure", gan.batches.data.device)
    result = label | {
        "dynamics": settings.sampler.dynamics,
        "temperature": settings.sampler.temperature,
        "jsd": [[record["iteration"], record["jsd"]] for record in metrics],
        "jsd_floor": divergence(data.train),
        "jsd_posterior": None,
        "coverage": metrics[-1]["coverage"],
        "coverage_data": coverage(data.test, data.centres),
        "seconds": training.total_seconds,
        "seconds_of_iterations": training.seconds,
        "environments": training.environments,
        "gradient_noise_over_friction": [
            [record["iteration"], record["gradient_noise_over_friction"]]
            for record in metrics
            if "gradient_noise_over_friction" in record
        ],
        "settings": settings.flat(),
    }
    if len(samples):
        # Every collected generator contributes as many points, and all of them together as many as the data have.
        each = -(-len(data.test) // len(samples))
        points = [flat(generate(gan, theta.to(rng.device), each, rng)) for theta in samples.each("generators")]
        result["jsd_posterior"] = divergence(np.concatenate(points)[: len(data.test)])
    shown = generate(gan, gan.state.generators.theta, SHOWN, rng)
    return Finished(
        result=result,
        projected_data=divergence.project(data.test[:SHOWN]),
        projected_samples=divergence.project(shown),
        projected_prior=_prior(gan, divergence, rng),
        weights=torch.stack(list(samples.each("generators"))) if keep_weights and len(samples) else torch.empty(0),
    )


def generate(gan: BayesianGAN, theta: Tensor, points: int, rng: torch.Generator) -> np.ndarray:
    """At least ``points`` points, equally many from each chain of ``theta``: (chains, points of each, dim)."""
    return gan.generate(-(-points // len(theta)), rng, theta).cpu().numpy()


def flat(points: np.ndarray) -> np.ndarray:
    """(chains, n, dim) as (chains · n, dim)."""
    return points.reshape(-1, points.shape[-1])


def _prior(gan: BayesianGAN, divergence: JensenShannon, rng: torch.Generator) -> np.ndarray | None:
    """Points of the induced prior over data (Section 2, steps 1 to 3): θ_g ~ p(θ_g), z ~ p(z), x = G(z; θ_g)."""
    precision = gan.gradients.precision("generators", gan.state.generators.theta)
    if precision is None:
        return None
    theta = gan.generator.prior_draw(len(gan.state.generators.theta), precision, rng)
    return divergence.project(generate(gan, theta, SHOWN, rng))
