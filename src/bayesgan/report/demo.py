"""The demonstration: handwritten digits that come with scikit-learn, 50 labels, three methods and one report."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from bayesgan.report.report import write_report
from bayesgan.runs.images import Task, Training
from bayesgan.runs.run import Metrics
from bayesgan.runs.saved import read_run
from bayesgan.settings.names import Method

METHODS: tuple[Method, ...] = ("bayesgan", "dcgan", "supervised")
LABELS = 50
EVERY = 50

# Shares of the time, for the progress bar
WORK = {"bayesgan": 0.7, "dcgan": 0.25, "supervised": 0.05}


def run(
    out: Path,
    subset: int,
    seed: int,
    device: torch.device,
    progress: Callable[[str, float, Metrics], None],
    iterations: int | None = None,
) -> list[dict[str, Any]]:
    """Train the three methods in ``out``, going on with what is there, and write ``report.html``.

    ``iterations`` replaces those of the preset, for a quick look.
    """
    overrides = {} if iterations is None else {"iterations": iterations}
    runs, summaries, before = [], [], 0.0
    for method in METHODS:
        task = Task("digits", LABELS, subset, method, "fast", seed, every=EVERY, overrides=overrides)
        training = Training(task, out / method, Path(), device)

        def report(iteration: int, metrics: Metrics, training: Training = training, start: float = before) -> None:
            method = training.task.method
            progress(method, start + WORK[method] * iteration / training.gan.settings.length.iterations, metrics)

        summaries.append(training.train(report))
        runs.append((read_run(out / method), training.data))
        before += WORK[method]
    machine = runs[-1][0].environments[-1]  # that computed them, which need not be this one
    words = ["bayesgan", "demo", "--seed", str(seed), "--subset", str(subset), "--threads", str(machine["threads"])]
    words += [] if iterations is None else ["--iterations", str(iterations)]
    words += [] if machine["device"] == "cpu" else ["--device", machine["device"]]
    write_report(runs, out / "report.html", " ".join(words), str(device))
    return summaries
