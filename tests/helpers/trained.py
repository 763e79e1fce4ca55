"""Small runs on digits, for tests that need a trained one."""

import json
import shutil
from pathlib import Path
from typing import Any

import torch

from bayesgan.runs.images import Task, Training

SMALL = {"iterations": 12, "burn_in": 6, "thin": 3, "generator_width": 4, "discriminator_width": 4, "noise_dim": 5}
CPU = torch.device("cpu")


def task(**values: Any) -> Task:
    overrides = SMALL | values.pop("overrides", {})
    if values.get("method", "bayesgan") not in ("bayesgan", "ensemble"):  # their lengths follow from the iterations
        overrides = {name: value for name, value in overrides.items() if name not in ("burn_in", "thin")}
    return Task(**({"dataset": "digits", "labels": 30, "every": 4, "overrides": overrides} | values))


def trained(folder: Path, **values: Any) -> tuple[Training, dict[str, Any]]:
    """A finished run in ``folder`` with its summary."""
    training = Training(task(**values), folder, Path(), CPU)
    return training, training.train()


def copied(training: Training, folder: Path) -> Path:
    """A copy of the run folder, to spoil."""
    return Path(shutil.copytree(training.folder, folder))


def spoilt(folder: Path, name: str, **values: Any) -> None:
    """Change values of a JSON file."""
    content = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(content | values))


def with_setting(folder: Path, **settings: Any) -> None:
    """Make it a run of other settings."""
    groups = json.loads((folder / "config.json").read_text())["settings"]
    for name, value in settings.items():
        (group,) = (group for group in groups.values() if name in group)
        group[name] = value
    spoilt(folder, "config.json", settings=groups)
