"""Benchmarks set threads and rounding of the process that they run in, and write to latest.json."""

from collections.abc import Iterator

import pytest
import torch
from benchmarks.bench import LATEST


@pytest.fixture(autouse=True, scope="module")
def as_it_was(one_thread: None) -> Iterator[None]:
    before = LATEST.read_bytes()
    yield
    torch.set_flush_denormal(False)
    assert LATEST.read_bytes() == before
