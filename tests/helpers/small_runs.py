"""Runs on fifty points in three dimensions, for tests to stop, kill and go on with."""

import json
from pathlib import Path
from typing import Any

import torch

from bayesgan.networks.mlp import mlp
from bayesgan.runs.run import Metrics, Run
from bayesgan.sampler.gan import BayesianGAN, Sample
from bayesgan.settings.settings import Settings


def fresh(seed: int = 0, **settings: Any) -> BayesianGAN:
    values = {"generators": 2, "real_batch": 8, "fake_batch": 8, "burn_in": 10, "iterations": 40, "thin": 10}
    data = torch.randn(50, 3, generator=torch.Generator().manual_seed(7))
    return BayesianGAN(Settings.of(**(values | settings)), mlp(10, 8, 3), mlp(3, 8, 1), data, seed)


def evaluate(gan: BayesianGAN, sample: Sample) -> Metrics:
    return {"draw": torch.randn(1, generator=gan.state.streams["evaluation"]).item()}


def train(folder: Path, **arguments: Any) -> Run:
    """With a checkpoint after every iteration."""
    run = Run(fresh(**arguments.pop("settings", {})), folder, {"seed": 0}, checkpoint_seconds=0.0)
    run.train(arguments.pop("evaluate", evaluate), every=7, **arguments)
    return run


def content(folder: Path) -> dict[str, Any]:
    """Everything in a run folder that must not depend on interruptions (seconds do)."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.name == "metrics.jsonl":
            records = [json.loads(line) for line in path.read_text().splitlines()]
            found[path.name] = [{k: v for k, v in record.items() if k != "seconds"} for record in records]
        elif path.name == "checkpoint.safetensors":
            found[path.name] = path.stat().st_size
        elif path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found
