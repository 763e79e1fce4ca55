"""The run that all tests of the page share."""

from pathlib import Path

import pytest
import torch

from bayesgan.explore.answers import Explorer
from tests.helpers.explored import explored


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run."""
    return tmp_path_factory.mktemp("explore") / "run"


@pytest.fixture(scope="session")
def explorer(run: Path) -> Explorer:
    """The finished run, with its images."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    found = explored(run)
    torch.set_num_threads(threads)
    return found
