"""Where the time of an iteration goes: on images of MNIST's shape, and in the synthetic experiment.

python -m benchmarks.profile_iteration        (a minute or two; the tables stand in benchmarks/README.md)
python -m benchmarks.profile_iteration --smallest        to see that it runs
"""

import sys
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from torch.profiler import ProfilerActivity, profile

from bayesgan.base import environment
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.settings.names import SIDES
from benchmarks import synthetic, workload
from benchmarks.workload import Clock

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
REST = "everything else, Python included"


def _clocks(gan: BayesianGAN) -> dict[str, Clock]:
    """Wall-clock time in some functions of a GAN, from now on."""
    dynamics, batches = Clock(), Clock()
    for side in SIDES:
        gan.update[side] = dynamics.timed(gan.update[side])
    for method in ("for_generators", "for_discriminators"):
        setattr(gan.batches, method, batches.timed(getattr(gan.batches, method)))
    return {"dynamics: step and noise": dynamics, "data and noise z": batches}


def shares(gan: BayesianGAN, kinds: Kinds, iterations: int) -> dict[str, float]:
    """The share of each kind of operation outside the timed methods, and of these methods."""
    clocks = _clocks(gan)
    start = time.perf_counter()
    for _ in range(iterations):
        gan.iterate()
    whole = time.perf_counter() - start
    found = {name: clock.seconds / whole for name, clock in clocks.items()}
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


def main(smallest: bool = False) -> list[dict[str, dict[str, float]]]:
    """Print a table for images and one for the synthetic experiment."""
    environment.use("cpu", 1 if smallest else None)
    dims, iterations = ((5,), 1) if smallest else ((100, 500), 10)
    exact = workload.prepared(workload.EXACT | (workload.TINY if smallest else {}))
    images = {"10 × 2 generators, 2 discriminators": shares(exact, IMAGES, 1)}
    print(table(images), "\n")
    vectors = {f"D = {dim}": shares(synthetic.prepared(dim, {}, smallest), SYNTHETIC, iterations) for dim in dims}
    print(table(vectors))
    return [images, vectors]


if __name__ == "__main__":
    main("--smallest" in sys.argv[1:])
