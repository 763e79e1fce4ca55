"""Where the time of an iteration of the synthetic experiment goes, apart from drawing the sampler's noise.

The profiler does not see the threads that draw it; `make bench` does, as the difference between temperature 1 and 0.

python -m benchmarks.profile_iteration        (a minute; the table stands in benchmarks/README.md)
"""

from torch.profiler import ProfilerActivity, profile

from bayesgan import environment
from benchmarks.synthetic import prepared

ITERATIONS = 10
KINDS = {
    "matrix products": ("bmm", "mm", "addmm", "baddbmm"),
    "updates of flat tensors (dynamics, prior, gradient)": (
        "addcmul_", "add_", "mul_", "mul", "copy_", "linalg_vector_norm", "sum", "zero_", "fill_", "_fused_adam_",
    ),
    "activations, biases and likelihoods": (
        "threshold_backward", "clamp_min", "add", "relu", "log_sigmoid_forward", "log_sigmoid_backward", "index",
    ),
}  # fmt: skip


def main() -> None:
    """Print a table for each dimension."""
    environment.use("cpu", None)
    print("| | D = 100 | D = 500 |\n|---|---|---|")
    shares = [measured(dim) for dim in (100, 500)]
    for kind in (*KINDS, "everything else, Python included"):
        print(f"| {kind} | " + " | ".join(f"{share[kind]:.0%}" for share in shares) + " |")


def measured(dim: int) -> dict[str, float]:
    """The share of each kind of operation."""
    gan = prepared(dim, {})
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(ITERATIONS):
            gan.iterate()
    events = profiler.key_averages()
    total = sum(event.self_cpu_time_total for event in events)
    shares = {}
    for kind, names in KINDS.items():
        operations = {f"aten::{name}" for name in names}
        shares[kind] = sum(event.self_cpu_time_total for event in events if event.key in operations) / total
    shares["everything else, Python included"] = 1.0 - sum(shares.values())
    return shares


if __name__ == "__main__":
    main()
