"""The runs that the tests of this room share."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from bayesgan.runs.images import Task, Training

SMALL = {"iterations": 6, "generator_width": 4, "discriminator_width": 4, "features": 8, "noise_dim": 5}
SHORT = {"generators": 4, "discriminators": 4, "burn_in": 2, "thin": 2}  # two samples of four chains


def trained(folder: Path, **values: Any) -> Training:
    overrides = SMALL | values.pop("overrides", {})
    task = Task("digits", 20, every=2, overrides=overrides, **values)
    training = Training(task, folder, Path(), torch.device("cpu"))
    training.train()
    return training


@pytest.fixture(scope="session")
def trainings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Training]:
    """Two subsets of two methods, ten DCGANs and the chains of one at temperature 0, by folder; not to be changed."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    root = tmp_path_factory.mktemp("grid")
    tasks: list[tuple[str, dict[str, Any]]] = [
        ("deep/down/bayesgan-0", {"overrides": SHORT}),
        ("deep/bayesgan-1", {"overrides": SHORT, "subset": 1}),
        ("dcgan-0", {"method": "dcgan"}),
        ("dcgan-1", {"method": "dcgan", "subset": 1}),
        ("dcgan10", {"method": "dcgan10"}),
        ("cold", {"overrides": SHORT | {"temperature": 0.0}}),
    ]
    found = {name: trained(root / name, **values) for name, values in tasks}
    torch.set_num_threads(threads)
    return found


@pytest.fixture
def grid(trainings: dict[str, Training], tmp_path: Path) -> Path:
    """A copy of the run folders, to spoil."""
    return Path(shutil.copytree(trainings["cold"].folder.parent, tmp_path / "grid"))


@pytest.fixture(scope="session")
def ensemble(tmp_path_factory: pytest.TempPathFactory) -> Training:
    """The chains of the Bayesian GAN, optimised; not to be changed."""
    return trained(tmp_path_factory.mktemp("ensemble") / "run", method="ensemble", overrides=SHORT)
