"""The runs that the tests of this room share, not to be changed."""

from pathlib import Path
from typing import Any

import pytest
import torch

from bayesgan.runs.images import Task, Training
from bayesgan.settings.names import Method

SMALL = {"iterations": 6, "generator_width": 4, "discriminator_width": 4}
PAIRS = {"burn_in": 4, "thin": 1, "generators": 4, "discriminators": 4}
METHODS: tuple[Method, ...] = ("bayesgan", "dcgan", "supervised")


@pytest.fixture(scope="session")
def three(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Training], list[dict[str, Any]]]:
    """The methods of the demonstration, with their summaries."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("runs")
    chosen = {"bayesgan": SMALL | PAIRS, "dcgan": SMALL, "supervised": SMALL}
    tasks = [Task("digits", 50, 3, method, "fast", 7, overrides=chosen[method]) for method in METHODS]
    trainings = [Training(task, folder / task.method, Path(), torch.device("cpu")) for task in tasks]
    summaries = [each.train() for each in trainings]
    torch.set_num_threads(threads)
    return trainings, summaries


@pytest.fixture(scope="session")
def supervised(three: tuple[list[Training], list[dict[str, Any]]]) -> Training:
    """The quickest of them."""
    return three[0][2]
