"""Are suggested labels worth more than random ones? From 20 to 100 labels in steps of 20, both ways.

python -m studies.suggestions DATASET [SEEDS [SPLIT]]
python -m studies.suggestions digits --smallest        to see that it runs: a step, a few iterations, nothing kept

DATASET is digits or mnist, SEEDS are 0,1,2,3,4 by default; SPLIT is test, or validation for choosing how to suggest.
Both ways start from the same 20 labels, in equal parts of each class; then one asks for those that ``bayesgan suggest``
would list, the other for any unlabelled ones. Every step trains anew: four pairs and 1,000 iterations on digits, two
pairs and 1,500 iterations on MNIST. Stopped and started again, it goes on; several processes may share the seeds.
Writes results/suggestions/DATASET.json, .md and .png; the runs go to suggestions/. One thread: eleven minutes a seed of
digits, half an hour one of MNIST.
"""

import json
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure

from bayesgan.base import environment
from bayesgan.base.files import locked, replacing, write_text
from bayesgan.data.images import Images, load
from bayesgan.data.labels import LabelledImages, LabelledSet, hashed, labelled_set
from bayesgan.data.names import IMAGE_SET_TITLES, ImageSetName, default_folder
from bayesgan.posterior.suggest import suggested
from bayesgan.runs.images import Task, Training
from bayesgan.runs.saved import load as load_run
from studies.cases import FALLING, POSTERIOR, Values, of_width
from studies.smallest import TINY

RESULTS = Path(__file__).parents[1] / "results" / "suggestions"
RUNS = Path("suggestions")
START, STEP, END = 20, 20, 100
WAYS = ("random", "suggested")
SMALL: Values = {"real_batch": 32, "fake_batch": 32, "label_batch": 25}
# The presets as they were then
OVERRIDES: dict[str, Values] = {
    "digits": of_width(32) | POSTERIOR | {"iterations": 1000, "burn_in": 600, "thin": 50},
    "mnist": of_width(16)
    | POSTERIOR
    | FALLING
    | SMALL
    | {"layer_noise": 0.3, "feature_matching": True, "generators": 2, "discriminators": 2}
    | {"iterations": 1500, "burn_in": 1000, "thin": 50},
}

Split = Literal["test", "validation"]


@dataclass(frozen=True)
class Plan:
    """What is trained, and where it goes."""

    dataset: ImageSetName
    split: Split = "test"
    end: int = END  # labels of the last step
    overrides: dict[str, Any] = field(default_factory=dict)  # beside those of the study
    results: Path = RESULTS
    runs: Path = RUNS

    @property
    def labels(self) -> list[int]:
        """How many labels there are at each step."""
        return list(range(START, self.end + 1, STEP))

    @property
    def folder(self) -> Path:
        """The runs of this image set."""
        return self.runs / self.split / self.dataset


def trained(task: Task, images: Images, indices: np.ndarray, folder: Path) -> float:
    """The test error with the labels of ``indices``."""
    path = folder / "summary.json"
    if not path.exists():
        text = f"{task.dataset}/{len(indices)}/{folder}"
        labelled = LabelledSet(indices, hashed(text, indices, images.train_labels))
        data = LabelledImages(images, labelled)
        Training(task, folder, Path(), environment.use("cpu", 1), data=data).train()
    return float(json.loads(path.read_text())["test_error"])


def more(way: str, images: Images, indices: np.ndarray, folder: Path, seed: int) -> np.ndarray:
    """``indices`` and a step more."""
    unlabelled = LabelledImages(images, LabelledSet(indices, "")).unlabelled
    if way == "random":
        chosen = np.random.default_rng([seed, len(indices)]).choice(unlabelled, STEP, replace=False)
    else:
        x = images.train[unlabelled].transpose(0, 2, 3, 1)
        chosen = unlabelled[suggested(load_run(folder), x, STEP, seed)]
    return np.sort(np.concatenate([indices, chosen])).astype(np.int64)


def curve(plan: Plan, way: str, seed: int) -> dict[int, float]:
    """Test errors by the number of labels."""
    images = load(plan.dataset, default_folder(), plan.split)
    indices = labelled_set(plan.dataset, images.train_labels, START, seed).indices
    settings = OVERRIDES[plan.dataset] | plan.overrides
    errors = {}
    while True:
        count = len(indices)
        folder = plan.folder / str(seed) / ("start" if count == START else f"{way}-{count}")
        task = Task(plan.dataset, count, seed, "bayesgan", "fast", seed, plan.split, 250, settings)
        errors[count] = trained(task, images, indices, folder)
        print(plan.dataset, plan.split, way, seed, count, f"{errors[count]:.4f}", flush=True)
        if count >= plan.end:
            return errors
        indices = more(way, images, indices, folder, seed)


def needed(labels: list[int], errors: list[float], wanted: float) -> float | None:
    """Labels at which the error first is ``wanted``, on straight lines between the measured points."""
    for (one, before), (other, after) in zip(
        zip(labels, errors, strict=True), zip(labels[1:], errors[1:], strict=True), strict=False
    ):
        if after <= wanted:
            return one if before <= wanted else one + (other - one) * (before - wanted) / (before - after)
    return None


def record(plan: Plan) -> dict[str, Any]:
    """Write what has been measured, the ratio of labels needed, and the picture."""
    dataset, split, labels = plan.dataset, plan.split, plan.labels
    curves: dict[str, dict[int, dict[str, float]]] = {way: {} for way in WAYS}
    for path in sorted(plan.folder.glob("*/curve-*.json")):
        curves[path.stem.removeprefix("curve-")][int(path.parent.name)] = json.loads(path.read_text())
    seeds = sorted(set(curves["random"]) & set(curves["suggested"]))
    if not seeds:
        return {}
    errors = {way: np.array([[curves[way][seed][str(count)] for count in labels] for seed in seeds]) for way in WAYS}
    means = {way: errors[way].mean(0).tolist() for way in WAYS}
    at_random = means["random"][-1]
    reached = needed(labels, means["random"], at_random)  # before the end, where more random labels do not help
    enough = needed(labels, means["suggested"], at_random)
    result = {
        "command": f"python -m studies.suggestions {dataset} {','.join(map(str, seeds))} {split}",
        "labels": labels,
        "errors": {way: {seed: errors[way][row].tolist() for row, seed in enumerate(seeds)} for way in WAYS},
        "mean": means,
        "labels_needed": {"error": at_random, "random": reached, "suggested": enough},
        "labels_needed_ratio": None if enough is None or reached is None else enough / reached,
    }
    name = dataset if split == "test" else f"{dataset}-{split}"
    with locked(plan.runs, patience=60.0):
        write_text(plan.results / f"{name}.json", json.dumps(result, indent=1) + "\n")
        write_text(plan.results / f"{name}.md", table(result))
        draw(dataset, labels, errors, plan.results / f"{name}.png")
    print(json.dumps({key: result[key] for key in ("mean", "labels_needed_ratio")}, indent=1))
    return result


def table(result: dict[str, Any]) -> str:
    """``result`` in markdown: a row for each way's mean, and for each of its seeds."""
    rows = []
    for way in WAYS:
        rows.append((f"**{way}, mean**", result["mean"][way]))
        rows += [(f"{way}, seed {seed}", errors) for seed, errors in result["errors"][way].items()]
    lines = [f"| {name} | {' | '.join(f'{100 * error:.2f} %' for error in errors)} |" for name, errors in rows]
    head = f"| labels | {' | '.join(map(str, result['labels']))} |\n|{'---|' * (1 + len(result['labels']))}"
    wanted, ratio = result["labels_needed"], result["labels_needed_ratio"]
    end = (
        f"On straight lines between the means, the error that random labels have at {result['labels'][-1]}, "
        + f"{wanted['error']:.2%}, "
        + f"is first reached with {wanted['random']:.0f} random labels "
        + (
            "and not with suggested ones."
            if ratio is None
            else f"and {wanted['suggested']:.0f} suggested ones: {ratio:.2f} of them."
        )
    )
    return "\n\n".join([f"`{result['command']}`", "\n".join([head, *lines]), end]) + "\n"


def draw(dataset: ImageSetName, labels: list[int], errors: dict[str, np.ndarray], path: Path) -> None:
    """Mean error over the seeds, with its standard error, against the number of labels."""
    figure = Figure((5.2, 3.6), layout="constrained")
    axes = figure.subplots()
    looks: dict[str, dict[str, Any]] = {
        "random": {"color": "0.45", "ls": "--", "marker": "s"},
        "suggested": {"color": "#0072b2", "marker": "o"},
    }
    for way, look in looks.items():
        spread = errors[way].std(0, ddof=1) / np.sqrt(len(errors[way])) if len(errors[way]) > 1 else 0.0
        axes.errorbar(labels, 100 * errors[way].mean(0), 100 * spread, label=f"{way} labels", capsize=3, **look)
    axes.set(xlabel="labels", ylabel="test error, %", xticks=labels, ylim=(0, None))
    axes.set_title(f"{IMAGE_SET_TITLES[dataset]}, mean of {len(errors['random'])} seeds ± standard error", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(frameon=False)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=130)


def compare(plan: Plan, seeds: list[int]) -> dict[str, Any]:
    """Train both ways, seed after seed; what is written in the end."""
    result: dict[str, Any] = {}
    for seed in seeds:
        for way in WAYS:
            errors = curve(plan, way, seed)
            write_text(plan.folder / str(seed) / f"curve-{way}.json", json.dumps(errors) + "\n")
        result = record(plan)
    return result


def main(words: list[str]) -> dict[str, Any]:
    """Compare on the image set, seeds and split of the command line."""
    dataset: ImageSetName = words[0]  # type: ignore[assignment]
    if "--smallest" in words:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            return compare(Plan(dataset, "test", START + STEP, TINY, place / "results", place / "runs"), [0])
    seeds = [int(word) for word in words[1].split(",")] if len(words) > 1 else list(range(5))
    split: Split = words[2] if len(words) > 2 else "test"  # type: ignore[assignment]
    return compare(Plan(dataset, split), seeds)


if __name__ == "__main__":
    main(sys.argv[1:])
