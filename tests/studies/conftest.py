"""Studies set threads and rounding of the process that they run in, and write to results/."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

RESULTS = Path(__file__).parents[2] / "results"


def stamps() -> dict[Path, int]:
    kinds = ("*.json", "*.png")
    rooms = ("digits", "mnist", "suggestions", "synthetic")
    return {path: path.stat().st_mtime_ns for room in rooms for kind in kinds for path in (RESULTS / room).glob(kind)}


@pytest.fixture(autouse=True, scope="module")
def as_it_was(one_thread: None) -> Iterator[None]:
    before = stamps()
    yield
    torch.set_flush_denormal(False)
    assert stamps() == before


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a study leaves in the present folder is seen."""
    (tmp_path / "present").mkdir()
    monkeypatch.chdir(tmp_path / "present")
    yield
    assert list((tmp_path / "present").iterdir()) == []
