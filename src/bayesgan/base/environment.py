"""Choose the device and the threads to compute with, and record the machine beside every result."""

import ctypes
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from bayesgan.base.errors import BayesganError


def use(device: str, threads: int | None) -> torch.device:
    """Compute on ``device`` with ``threads`` CPU threads (None: one for each core that this process may use).

    Processes that torchrun started on one machine share its cores, and each takes the graphics card of its number.
    """
    if threads is not None and threads < 1:
        raise BayesganError(f"The number of threads must be at least 1, not {threads}.")
    neighbours, number = int(os.environ.get("LOCAL_WORLD_SIZE", "1")), os.environ.get("LOCAL_RANK", "0")
    _keep_memory()
    torch.set_flush_denormal(True)  # a convolution of numbers below 1e-38 takes several times as long; they are zero
    torch.set_num_threads(threads or max(1, cores() // neighbours))
    return available(f"cuda:{number}" if device == "cuda" and neighbours > 1 else device)


def available(device: str) -> torch.device:
    """Return the device of that name; refuse one that cannot be used."""
    try:
        chosen = torch.device(device)
        if chosen.type == "cuda" and chosen.index is not None:  # without a number it is the present card
            torch.cuda.set_device(chosen)
        torch.zeros(1, device=chosen)
        torch.Generator(chosen)
    except (RuntimeError, AssertionError, AttributeError, ImportError, ValueError):
        raise BayesganError(f"Device '{device}' cannot be used on this machine: 'cpu' can.") from None
    return chosen


def _keep_memory() -> None:
    """Let memory that is freed stay with the process, where the C library can be told so.

    Otherwise each large tensor is mapped anew, zeroed page by page by one thread while the others wait, and unmapped:
    a quarter of an iteration with two threads (benchmarks/README.md).
    """
    if sys.platform != "linux" or not hasattr(library := ctypes.CDLL(None), "mallopt"):
        return
    most_maps, trim_threshold, top_pad = -4, -1, -2  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD of glibc's malloc.h
    for option, value in ((most_maps, 0), (trim_threshold, 2**31 - 1), (top_pad, 2**28)):
        library.mallopt(option, value)


def cores() -> int:
    """Count the cores that this process may use; all of them where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    try:  # where Linux says what it is
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def record(device: torch.device) -> dict[str, Any]:
    """Record what results depend on besides the settings: device, threads, versions."""
    packages = ("bayesgan", "numpy", "scipy", "scikit-learn")
    return {
        "device": str(device),
        "threads": torch.get_num_threads(),
        "processor": _processor(device),
        "python": platform.python_version(),
        "torch": torch.__version__,  # with the build, which the package's own record leaves out
        **{name: version(name) for name in packages},
    }
