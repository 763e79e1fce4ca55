"""Grids of tiny runs on digits."""

import json
from pathlib import Path
from typing import Any

from bayesgan.paper.grid import Grid, Job

TINY: dict[str, Any] = {
    "generator_width": 2,
    "discriminator_width": 2,
    "features": 4,
    "noise_dim": 2,
    "real_batch": 4,
    "fake_batch": 4,
    "iterations": 6,
}


def tiny(out: Path, **values: Any) -> list[Job]:
    chosen: dict[str, Any] = {"datasets": ["digits"], "methods": ["dcgan"], "subsets": 1, "labels": [20]} | values
    return Grid(**chosen, overrides=TINY).jobs(out, Path())


def summary_of(job: Job, **changes: Any) -> dict[str, Any]:
    """The summary.json of the run, with some of it changed."""
    path = job.folder / "summary.json"
    summary: dict[str, Any] = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(summary))
    return summary
