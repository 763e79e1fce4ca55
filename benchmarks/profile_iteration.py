"""Where the time of an iteration goes: on images of MNIST's shape, and in the synthetic experiment.

python -m benchmarks.profile_iteration        (a minute or two; the tables stand in benchmarks/README.md)
"""

import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from torch.profiler import ProfilerActivity, profile

from bayesgan.base import environment
from bayesgan.sampler.gan import BayesianGAN
from benchmarks import synthetic, workload

Kinds = dict[str, Iterable[str]]

IMAGES: Kinds = {
    "convolutions": ("convolution_backward", "mkldnn_convolution", "_convolution", "convolution", "im2col", "col2im"),
    "matrix products": ("mm", "addmm", "bmm"),
    "batch norm": ("native_batch_norm", "native_batch_norm_backward"),
    "activations and biases": (
        "leaky_relu", "leaky_relu_backward", "clamp_min", "relu", "threshold_backward", "tanh", "tanh_backward", "add",
        "sum",
    ),
    "copies between layouts, weights and their gradients": ("copy_", "cat", "stack"),
}  # fmt: skip
SYNTHETIC: Kinds = {
    "matrix products": ("bmm", "mm", "addmm", "baddbmm"),
    "activations, biases and likelihoods": (
        "threshold_backward", "clamp_min", "add", "relu", "log_sigmoid_forward", "log_sigmoid_backward", "index",
    ),
    "prior and gradient": ("copy_", "linalg_vector_norm", "mul", "sum", "zero_", "fill_"),
}  # fmt: skip
TIMED = {
    "dynamics: step and noise": ("_move",),
    "data and noise z": ("points", "mini_batches", "noise"),
}
REST = "everything else, Python included"


class _Clocks:
    """Wall-clock time in some methods of a GAN."""

    def __init__(self, gan: BayesianGAN) -> None:
        self.seconds = dict.fromkeys(TIMED, 0.0)
        for name, methods in TIMED.items():
            for method in methods:
                setattr(gan, method, self._timed(name, getattr(gan, method)))

    def _timed(self, name: str, method: Any) -> Any:
        def run(*arguments: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return method(*arguments, **named)
            finally:
                self.seconds[name] += time.perf_counter() - start

        return run


def shares(gan: BayesianGAN, kinds: Kinds, iterations: int) -> dict[str, float]:
    """The share of each kind of operation outside the timed methods, and of these methods."""
    clocks = _Clocks(gan)
    start = time.perf_counter()
    for _ in range(iterations):
        gan.iterate()
    whole = time.perf_counter() - start
    found = {name: spent / whole for name, spent in clocks.seconds.items()}
    profiler: AbstractContextManager[Any] = profile(activities=[ProfilerActivity.CPU])
    with profiler as seen:
        start = time.perf_counter()
        for _ in range(iterations):
            gan.iterate()
        whole = time.perf_counter() - start  # without the profiler's own work before and after
    spent = {event.key.removeprefix("aten::"): event.self_cpu_time_total / 1e6 / whole for event in seen.key_averages()}
    operations = {kind: sum(spent.get(name, 0.0) for name in names) for kind, names in kinds.items()}
    return operations | found | {REST: 1.0 - sum(operations.values()) - sum(found.values())}


def table(columns: dict[str, dict[str, float]]) -> str:
    """Rows of shares."""
    kinds = next(iter(columns.values()))
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for kind in kinds:
        lines.append(f"| {kind} | " + " | ".join(f"{column[kind]:.0%}" for column in columns.values()) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print a table for images and one for the synthetic experiment."""
    environment.use("cpu", None)
    print(table({"10 × 2 generators, 2 discriminators": shares(workload.prepared(workload.EXACT), IMAGES, 1)}), "\n")
    print(table({f"D = {dim}": shares(synthetic.prepared(dim, {}), SYNTHETIC, 10) for dim in (100, 500)}))


if __name__ == "__main__":
    main()
