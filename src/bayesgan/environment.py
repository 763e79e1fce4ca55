"""The machine: which device and how many threads compute, and the record of it that stands beside every result."""

import os
import platform
from importlib.metadata import version
from typing import Any

import torch

from bayesgan.errors import BayesganError


def use(device: str, threads: int | None) -> torch.device:
    """Compute on ``device`` with ``threads`` CPU threads (None: one for each core that this process may use)."""
    if threads is not None and threads < 1:
        raise BayesganError(f"The number of threads must be at least 1, not {threads}.")
    torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
    try:
        chosen = torch.device(device)
        torch.zeros(1, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise BayesganError(f"Device '{device}' cannot be used on this machine: try 'cpu' or 'cuda'.") from None
    return chosen


def record(device: torch.device) -> dict[str, Any]:
    """What results depend on besides the settings."""
    packages = ("bayesgan", "torch", "numpy", "scipy", "scikit-learn")
    return {
        "device": str(device),
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }
