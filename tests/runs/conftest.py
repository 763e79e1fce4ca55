"""The run that the tests of this room share."""

from pathlib import Path
from typing import Any

import pytest
import torch

from bayesgan.runs.images import Training
from tests.helpers.trained import copied, trained


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Training, dict[str, Any]]:
    """A finished run with its summary, not to be changed."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    found = trained(tmp_path_factory.mktemp("once") / "run")
    torch.set_num_threads(threads)
    return found


@pytest.fixture
def folder(once: tuple[Training, dict[str, Any]], tmp_path: Path) -> Path:
    """A copy of its folder, to spoil."""
    return copied(once[0], tmp_path / "run")
