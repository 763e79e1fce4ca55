"""The demonstration: handwritten digits that come with scikit-learn, 50 labels, three systems and one report."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from bayesgan.report.report import write_report
from bayesgan.runs.images import Task, Training
from bayesgan.runs.run import Metrics
from bayesgan.settings.methods import ImageMethod

METHODS: tuple[ImageMethod, ...] = ("bayesgan", "dcgan", "supervised")
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
    """Train the three systems in ``out``, going on with what is there, and write ``report.html``.

    ``iterations`` replaces those of the preset, for a quick look.
    """
    overrides = {} if iterations is None else {"iterations": iterations}
    trainings, summaries, before = [], [], 0.0
    for method in METHODS:
        task = Task("digits", LABELS, subset, method, "fast", seed, every=EVERY, overrides=overrides)
        training = Training(task, out / method, Path(), device)

        def report(iteration: int, metrics: Metrics, training: Training = training, start: float = before) -> None:
            method = training.task.method
            progress(method, start + WORK[method] * iteration / training.gan.settings.iterations, metrics)

        summaries.append(training.train(report))
        trainings.append(training)
        before += WORK[method]
    machine = trainings[-1].run.environments[-1]  # that computed them, which need not be this one
    words = ["bayesgan", "demo", "--seed", str(seed), "--subset", str(subset), "--threads", str(machine["threads"])]
    words += [] if iterations is None else ["--iterations", str(iterations)]
    words += [] if machine["device"] == "cpu" else ["--device", machine["device"]]
    write_report(trainings, out / "report.html", " ".join(words))
    return summaries
