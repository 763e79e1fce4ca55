"""Ranks as processes of their own, started as torchrun would."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

PATIENCE = 120.0  # seconds for processes that take a tenth of it, so that nothing hangs
SOON = 30.0  # seconds for a rank to find out that another one is gone
GIVEN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # by torchrun


class Ended(NamedTuple):
    code: int
    output: str
    errors: str


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def without_ranks() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in GIVEN} | {"OMP_NUM_THREADS": "1"}


@contextmanager
def started(command: Sequence[str], size: int, logs: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """The ``size`` ranks of ``command``, all gone in the end whatever happens; what they say is in ``logs``."""
    logs.mkdir(parents=True, exist_ok=True)
    port = free_port()
    processes: list[subprocess.Popen[str]] = []
    try:
        for rank in range(size):
            own = dict(zip(GIVEN, map(str, (rank, size, rank, size, "127.0.0.1", port)), strict=True))
            environment = without_ranks() | (own if size > 1 else {})
            with (logs / f"{rank}.out").open("w") as output, (logs / f"{rank}.err").open("w") as errors:
                processes.append(
                    subprocess.Popen(command, env=environment, cwd=logs, text=True, stdout=output, stderr=errors)
                )
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
        for process in processes:
            process.wait(SOON)


def ended(processes: list[subprocess.Popen[str]], logs: Path, patience: float = PATIENCE) -> list[Ended]:
    deadline = time.monotonic() + patience
    codes = [process.wait(max(0.1, deadline - time.monotonic())) for process in processes]
    return [
        Ended(code, (logs / f"{rank}.out").read_text(), (logs / f"{rank}.err").read_text())
        for rank, code in enumerate(codes)
    ]


def run(command: Sequence[str], size: int, logs: Path) -> list[Ended]:
    with started(command, size, logs) as processes:
        return ended(processes, logs)
