"""The report on finished runs: one HTML file that needs nothing but a browser."""

import base64
import io
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bayesgan import __version__
from bayesgan.base.files import write_text
from bayesgan.data.decode import picture
from bayesgan.data.labels import LabelledImages
from bayesgan.data.names import IMAGE_SET_TITLES
from bayesgan.report.charts import COLOURS, DASHES, error_curves, likelihood_curves
from bayesgan.report.runs import EACH, GENERATORS, RunReport, examined
from bayesgan.runs.images import GENERATED, Task
from bayesgan.runs.saved import SavedRun
from bayesgan.settings.names import METHOD_TITLES, SIDES

LABELLED = 100  # labelled images shown, over all classes

# What each method is, after its name.
DESCRIBED = {
    "supervised": "is a classifier that learns from the labelled images alone",
    "dcgan": "is one GAN that was optimised",
    "wdcgan": "is one Wasserstein GAN that was optimised",
    "dcgan10": "averages ten GANs that were optimised, each on a part of the unlabelled images",
    "lfvi": "fits a Gaussian over the weights of a GAN and averages draws from it",
    "bayesgan": "samples several GANs from their posterior and averages what they predict",
    "ensemble": "averages the GANs of BayesGAN, optimised instead of sampled",
    "plain": "is BayesGAN without changed images, consensus, feature matching and noise on layers",
    "discriminative": "is BayesGAN without its generators: several classifiers that learn from their consensus",
    "dcgan-teacher": "is one GAN that learns from the moving average of its own weights, too",
    "dcgan10-consensus": "averages ten GANs that were optimised and learn from their consensus, too",
}


@dataclass(frozen=True)
class ClassRow:
    """Labelled images of one class."""

    name: str
    number: int  # of all that are labelled
    shown: list[tuple[np.ndarray, str]]  # images, each with what it is


@dataclass(frozen=True)
class Section:
    """Runs that had the same labels and the same test images."""

    title: str
    task: Task  # of the first run
    data: LabelledImages
    runs: dict[str, RunReport]  # by names that tell them apart

    @property
    def scored(self) -> dict[str, RunReport]:
        """The runs that had labels: all or none."""
        return {name: run for name, run in self.runs.items() if run.scores is not None}

    @property
    def main(self) -> str:
        """The name of the run that is shown first: the Bayesian GAN, if there is one."""
        return next((name for name, run in self.runs.items() if run.task.method == "bayesgan"), next(iter(self.runs)))

    @property
    def best(self) -> int | None:
        """The lowest number of errors, where one run has fewer than another."""
        errors = {run.summary.test_errors for run in self.scored.values() if run.summary.test_errors is not None}
        return min(errors) if len(errors) > 1 else None

    @property
    def chance(self) -> float:
        """The standard error of an error like the main run's, from the number of test images."""
        error = self.runs[self.main].summary.test_error or 0.0
        return float((error * (1 - error) / len(self.data.images.test)) ** 0.5)

    @property
    def error_curves(self) -> Markup:
        """Test errors over the iterations."""
        runs = self.runs.values()
        sampling = {run.settings["burn_in"] for run in runs if run.task.method == "bayesgan"}
        return error_curves([run.evaluations for run in runs], sorted(sampling))

    @property
    def likelihood_curves(self) -> dict[str, Markup]:
        """Log-likelihoods over the iterations, by the side that has them."""
        runs = [run.evaluations for run in self.runs.values()]
        sides = [side for side in SIDES if any(side in run[-1].log_likelihood for run in runs)]
        return {side: likelihood_curves(runs, side) for side in sides}

    @property
    def settings(self) -> dict[str, list[Any]]:
        """Every setting with its value in each run."""
        runs = [run.settings for run in self.runs.values()]
        return {name: [run[name] for run in runs] for name in runs[0]}

    @property
    def machines(self) -> list[tuple[dict[str, Any], list[str]]]:
        """Every machine with the names of the runs that it computed, or a part of them."""
        machines: list[tuple[dict[str, Any], list[str]]] = []
        for name, run in self.runs.items():
            for environment in run.environments:
                known = next((names for machine, names in machines if machine == environment), None)
                if known is None:
                    machines.append((environment, [name]))
                elif name not in known:
                    known.append(name)
        return machines

    @property
    def labelled(self) -> list[ClassRow]:
        """The labelled images by class, as many of each class as there is room for."""
        images, indices = self.data.images, self.data.labelled.indices
        each = max(1, LABELLED // len(images.classes))
        rows = []
        for label, name in enumerate(images.classes[:LABELLED]):
            members = indices[images.train_labels[indices] == label]
            shown = [(images.train[index], self._described(index)) for index in members[:each].tolist()]
            rows.append(ClassRow(name, len(members), shown))
        return rows

    def _described(self, index: int) -> str:
        return self.data.files[index] if self.data.files else f"training image {index}"


def write_report(
    runs: Iterable[tuple[SavedRun, LabelledImages]], path: Path, command: str | None = None, device: str = "cpu"
) -> None:
    """Write the report on finished ``runs`` and their images; ``command``, if there is one, makes all of it."""
    found: dict[Any, tuple[LabelledImages, list[RunReport]]] = {}
    for run, data in runs:
        key = (run.record.dataset, run.record.own, run.record.split, run.record.labelled_sha256)
        found.setdefault(key, (data, []))[1].append(examined(run, data, device))
    sections = [_section(data, runs) for data, runs in found.values()]
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("bayesgan", f"{room}/templates") for room in ("report", "base")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": _percent, "figure": _figure, "png": _png}
    text = environment.get_template("report.html.jinja").render(
        sections=sections,
        number=sum(len(each.runs) for each in sections),
        described=DESCRIBED,
        methods=METHOD_TITLES,
        dashes=DASHES,
        colours=len(COLOURS),
        real=GENERATORS * EACH,
        columns=EACH,
        generated=GENERATED,
        command=command,
        version=__version__,
    )
    write_text(path, text)


def _section(data: LabelledImages, runs: list[RunReport]) -> Section:
    task, labels = runs[0].task, len(data.labelled.indices)
    parts = [IMAGE_SET_TITLES.get(task.dataset, data.images.name), f"{labels:,} label{'' if labels == 1 else 's'}"]
    if labels == 0:
        parts[1] = "no labels"
    elif task.own is None and task.labels != "all":
        parts.append(f"subset {task.subset}")
    if task.split != "test":
        parts.append("validation images")
    return Section(", ".join(parts), task, data, _named(runs))


def _named(runs: list[RunReport]) -> dict[str, RunReport]:
    """The runs by their methods, with their folders where that does not tell them apart."""
    titles = [METHOD_TITLES[run.task.method] for run in runs]
    names = [f"{title} ({run.folder.name})" for title, run in zip(titles, runs, strict=True)]
    paths = [f"{title} ({run.folder})" for title, run in zip(titles, runs, strict=True)]
    chosen = [
        title if titles.count(title) == 1 else name if names.count(name) == 1 else path
        for title, name, path in zip(titles, names, paths, strict=True)
    ]
    return dict(zip(chosen, runs, strict=True))


def _percent(share: float | None, decimals: int = 1) -> str:
    return "–" if share is None else f"{share:.{decimals}%}"


def _figure(value: float | None) -> str:
    """Three digits; nothing for what is not known."""
    return "–" if value is None or math.isnan(value) else f"{value:.3g}"


def _png(pixels: np.ndarray) -> str:
    """Bytes (channels, height, width) as the address of an image."""
    file = io.BytesIO()
    picture(pixels).save(file, format="PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
