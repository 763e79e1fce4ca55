"""The synthetic experiment with one setting changed at a time: what each choice of docs/choices.md is worth.

python benchmarks/ablations.py        (about half an hour on two cores; stopped and started again, it goes on)

Ten clusters, D = 100, seed 0. Writes results/synthetic/ablations.md and .json; the runs go to ablations/.
"""

import json
import re
from pathlib import Path
from typing import Any

import torch

from bayesgan.base import environment
from bayesgan.base.errors import BayesganError
from bayesgan.base.files import write_text
from bayesgan.paper.synthetic import Plan, run

RESULTS = Path(__file__).parents[1] / "results" / "synthetic"
RUNS = Path("ablations")
COMMAND = "python benchmarks/ablations.py"

CASES: dict[str, dict[str, Any]] = {
    "the default": {},
    "temperature 0 from the end of the burn-in": {"temperature": 0.0},
    "10 noise batches of 16, mean": {"noise_batches": 10, "fake_batch": 16},
    "10 noise batches of 16, sum": {"noise_batches": 10, "fake_batch": 16, "marginal": "sum"},
    "10 noise batches of 16, density": {"noise_batches": 10, "fake_batch": 16, "marginal": "density"},
    "100 noise batches of 8, mean, 500 iterations": {"noise_batches": 100, "fake_batch": 8, "iterations": 500},
    "plain": {"dynamics": "plain"},
    "running": {"dynamics": "running"},
    "one discriminator": {"discriminators": 1},
    "pairs: 10 generators, 10 discriminators": {"discriminators": 10, "coupling": "pairs"},
    "M = 2, J_g = 5, J_d = 1, algorithm1": {"generators": 5, "discriminators": 1, "replicas": 2},
    "M = 2, J_g = 5, J_d = 1, all": {"generators": 5, "discriminators": 1, "replicas": 2, "coupling": "all"},
    "step_ratio 1: Adam's full pace": {"step_ratio": 1.0},
    "epsilon 1e-8: no bound on the mass": {"epsilon": 1e-8},
}


def row(name: str, settings: dict[str, Any], device: torch.device) -> dict[str, Any]:
    """Train one case."""
    plan = Plan(dims=(100,), methods=("bayesgan",), seeds=(0,), settings=settings)
    folder = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    try:
        (finished,) = run(plan, RUNS / folder, device, COMMAND)
    except BayesganError as error:
        return {"case": name, "stopped": str(error)}
    result = finished.result
    noise = result["gradient_noise_over_friction"]
    return {"case": name, "jsd": dict(result["jsd"])} | {
        "jsd_posterior": result["jsd_posterior"],
        "coverage": min(result["coverage"]),
        "gradient_noise_over_friction": noise[-1][1] if noise else None,
    }


def formatted(rows: list[dict[str, Any]]) -> str:
    """The table."""
    lines = [
        "| changed | JSD at 300 | at 400 | mean of last 200 | all samples | least covered | β̂/α: G, D |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in rows:
        if "stopped" in each:
            lines.append(f"| {each['case']} | {each['stopped']} | | | | | |")
            continue
        jsd = {int(iteration): value for iteration, value in each["jsd"].items()}
        last = [value for iteration, value in jsd.items() if iteration > max(jsd) - 200]
        posterior, noise = each["jsd_posterior"], each["gradient_noise_over_friction"]
        cells = [
            each["case"],
            f"{jsd[300]:.4f}",
            f"{jsd[400]:.4f}",
            f"{sum(last) / len(last):.4f}",
            "" if posterior is None else f"{posterior:.4f}",
            f"{each['coverage']:.1%}",
            "" if noise is None else f"{noise['generators']['mean']:.4f}, {noise['discriminators']['mean']:.4f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Train every case; write the table anew after each."""
    device = environment.use("cpu", None)
    rows = []
    for name, settings in CASES.items():
        rows.append(row(name, settings, device))
        document = {
            "command": COMMAND,
            "environment": environment.record(device),
            "rows": rows,
        }
        write_text(RESULTS / "ablations.json", json.dumps(document, indent=1) + "\n")
        write_text(RESULTS / "ablations.md", f"`{COMMAND}`\n\n" + formatted(rows))
        print(formatted(rows[-1:]).splitlines()[-1], flush=True)


if __name__ == "__main__":
    main()
