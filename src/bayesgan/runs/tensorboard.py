"""The metrics of a run for TensorBoard, beside those in metrics.jsonl (extra ``tensorboard``)."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bayesgan.base.errors import BayesganError
from bayesgan.runs.run import Metrics


class TensorBoard:
    """Event files in ``folder`` from ``iteration`` on; what a killed run wrote beyond it is undone."""

    def __init__(self, folder: Path, iteration: int) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise BayesganError("TensorBoard is missing: pip install 'bayesgan[tensorboard]'.") from None
        self._writer = SummaryWriter(str(folder), purge_step=iteration + 1)
        self._last = iteration

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the files."""
        self._writer.close()

    def write(self, metrics: Metrics) -> None:
        """Write an evaluation, unless it is an old one."""
        if metrics and metrics["iteration"] > self._last:
            self._last = metrics["iteration"]
            for name, value in flat(metrics):
                self._writer.add_scalar(name, value, self._last)


def flat(metrics: Metrics) -> Iterator[tuple[str, float]]:
    """Every number of ``metrics`` under a name with a slash for each level: lists and tables are gone into."""
    for name, value in metrics.items():
        if name != "iteration":
            yield from _flat(name, value)


def _flat(name: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}/{key}", inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _flat(f"{name}/{number}", inner)
    elif value is not None:
        yield name, float(value)
