"""The synthetic experiment with one setting changed at a time: what each choice of docs/choices.md is worth.

python -m studies.ablations        (about half an hour on two cores; stopped and started again, it goes on)
python -m studies.ablations --smallest        to see that it runs: D = 5, a few points and iterations, nothing kept

Ten clusters, D = 100, seed 0. Writes results/synthetic/ablations.md and .json; the runs go to ablations/.
"""

import json
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from bayesgan.base import environment
from bayesgan.base.errors import BayesganError
from bayesgan.base.files import write_text
from bayesgan.paper.synthetic import Plan, run

RESULTS = Path(__file__).parents[1] / "results" / "synthetic"
RUNS = Path("ablations")
COMMAND = "python -m studies.ablations"

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


@dataclass(frozen=True)
class Form:
    """How large the experiment is, and which of its numbers are shown."""

    dim: int = 100
    size: int = 10_000  # data points
    every: int = 25  # iterations between evaluations
    shown: tuple[int, int] = (300, 400)  # iterations
    last: int = 200  # iterations that are averaged
    results: Path = RESULTS
    runs: Path = RUNS

    def plan(self, settings: dict[str, Any]) -> Plan:
        """One case."""
        return Plan("clusters", (self.dim,), ("bayesgan",), (0,), self.size, self.every, settings)


def row(name: str, settings: dict[str, Any], device: torch.device, form: Form) -> dict[str, Any]:
    """Train one case."""
    folder = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    try:
        (finished,) = run(form.plan(settings), form.runs / folder, device, COMMAND)
    except BayesganError as error:
        return {"case": name, "stopped": str(error)}
    result = finished.result
    noise = result["gradient_noise_over_friction"]
    return {"case": name, "jsd": dict(result["jsd"])} | {
        "jsd_posterior": result["jsd_posterior"],
        "coverage": min(result["coverage"]),
        "gradient_noise_over_friction": noise[-1][1] if noise else None,
    }


def formatted(rows: list[dict[str, Any]], form: Form) -> str:
    """The table."""
    first, second = form.shown
    lines = [
        f"| changed | JSD at {first} | at {second} | mean of last {form.last} "
        "| all samples | least covered | β̂/α: G, D |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in rows:
        if "stopped" in each:
            lines.append(f"| {each['case']} | {each['stopped']} | | | | | |")
            continue
        jsd = {int(iteration): value for iteration, value in each["jsd"].items()}
        last = [value for iteration, value in jsd.items() if iteration > max(jsd) - form.last]
        posterior, noise = each["jsd_posterior"], each["gradient_noise_over_friction"]
        cells = [
            each["case"],
            f"{jsd[first]:.4f}",
            f"{jsd[second]:.4f}",
            f"{sum(last) / len(last):.4f}",
            "" if posterior is None else f"{posterior:.4f}",
            f"{each['coverage']:.1%}",
            "" if noise is None else f"{noise['generators']['mean']:.4f}, {noise['discriminators']['mean']:.4f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def compare(cases: dict[str, dict[str, Any]], form: Form, threads: int | None = None) -> list[dict[str, Any]]:
    """Train every case; write the table anew after each."""
    device = environment.use("cpu", threads)
    rows = []
    for name, settings in cases.items():
        rows.append(row(name, settings, device, form))
        document = {
            "command": COMMAND,
            "environment": environment.record(device),
            "rows": rows,
        }
        write_text(form.results / "ablations.json", json.dumps(document, indent=1) + "\n")
        write_text(form.results / "ablations.md", f"`{COMMAND}`\n\n" + formatted(rows, form))
        print(formatted(rows[-1:], form).splitlines()[-1], flush=True)
    return rows


def main(smallest: bool = False) -> list[dict[str, Any]]:
    """All cases, or the first ones with a few iterations."""
    if not smallest:
        return compare(CASES, Form())
    short = {"iterations": 4, "burn_in": 2, "thin": 1, "generators": 2}
    cases = {name: settings | short for name, settings in list(CASES.items())[:2]}
    with tempfile.TemporaryDirectory() as folder:
        form = Form(5, 200, 1, (2, 3), 2, Path(folder) / "results", Path(folder) / "runs")
        return compare(cases, form, threads=1)


if __name__ == "__main__":
    main("--smallest" in sys.argv[1:])
