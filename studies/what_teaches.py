"""What teaches? The network, its normalisation, changed images, a teacher, the game: each part alone and all together.

python -m studies.what_teaches [ARCHIVE] [SET…]     SET: digits, mnist, svhn, signs (ARCHIVE: see studies/signs.py)
python -m studies.what_teaches SET… --bfloat16       three fifths of the time, where the processor has it
python -m studies.what_teaches digits --smallest    to see that it runs: a few iterations, nothing kept

Validation images and labelled subsets from 100 on: digits 50 labels and ten subsets, MNIST 100 labels and one, SVHN
1,000 and signs 100 labels and two. A case that changes nothing of the preset of a set is left out there, and so are the
details on colour images. Writes results/what_teaches/; runs go to what_teaches/. Stopped and started again, it goes on;
several processes may share the work. One thread; one to two hours for each set.
"""

import json
import math
import re
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from bayesgan.base import environment
from bayesgan.base.errors import BayesganError
from bayesgan.base.files import locked, write_text
from bayesgan.data.names import ImageSetName, default_folder
from bayesgan.runs.images import Task, Training
from bayesgan.settings.compose import OWN, image_settings
from bayesgan.settings.methods import METHOD_VALUES, Values
from bayesgan.settings.names import Method
from bayesgan.settings.settings import ImageSettings
from studies import signs
from studies.smallest import LOW, TINY

RESULTS = Path(__file__).parents[1] / "results" / "what_teaches"
RUNS = Path("what_teaches")

AS_THEY_ARE: Values = {"jitter": 0.0, "brightness": 0.0, "cut": 0.0, "flip": False}
NOBODY: Values = {"consensus": 0.0, "labels_first": 0.0, "averaging": 0.0}
DCGAN: Values = {"architecture": "dcgan", "discriminator_width": 32, "generator_width": 32}
ALL = "all together"
LONGER: Values = {"longer": True}  # for Study.task
STILL: Values = {"generator_rate": 1e-12}  # generators that stay as they were drawn
# name: (method, what it changes of the preset)
CASES: dict[str, tuple[Method, Values]] = {
    ALL: ("bayesgan", {}),
    "without the game (discriminative)": ("discriminative", {}),
    "without the game, in the same time": ("discriminative", LONGER),
    "generators that stand still": ("bayesgan", STILL),
    "without the consensus": ("bayesgan", {"consensus": 0.0}),
    "without the balance of classes": ("bayesgan", {"balance": 0.0}),
    "the game counts fully": ("bayesgan", {"game_weight": 1.0}),
    "the game counts a tenth": ("bayesgan", {"game_weight": 0.1}),
    "β₁ = 0.5": ("bayesgan", {"adam_betas": [0.5, 0.999]}),
    "without changed images": ("bayesgan", AS_THEY_ARE),
    "without turns, stretches and moves": ("bayesgan", {"jitter": 0.0}),
    "without brightness and contrast": ("bayesgan", {"brightness": 0.0}),
    "without a cut": ("bayesgan", {"cut": 0.0}),
    "with feature matching": ("bayesgan", {"feature_matching": True}),
    "DCGAN's networks": ("bayesgan", DCGAN),
    "group norm": ("bayesgan", {"normalisation": "group"}),
    "layer norm": ("bayesgan", {"normalisation": "layer"}),
    "no normalisation": ("bayesgan", {"normalisation": "none"}),
    "the game alone (plain)": ("plain", {}),
    "one network, labels alone": ("supervised", AS_THEY_ARE | NOBODY),
    "one network, labels and changed images": ("supervised", NOBODY),
    "one network and its own teacher": ("supervised", {"consensus": 1.0, "consensus_on": "plain"}),
    "DCGAN's network, labels alone": ("supervised", DCGAN | AS_THEY_ARE | NOBODY),
}
# Parts of parts: asked where a run takes a minute or two.
DETAILS = {
    "without turns, stretches and moves",
    "without brightness and contrast",
    "without a cut",
    "β₁ = 0.5",
    "layer norm",
    "no normalisation",
}


def length(iterations: int) -> Values:
    """So many iterations, of which the chains are sampled in the last tenth, ten times."""
    return {"iterations": iterations, "burn_in": iterations * 9 // 10, "thin": iterations // 100}


@dataclass(frozen=True)
class Part:
    """An image set of the study. Runs are short where the preset's are long: what is compared is not their end."""

    labels: int
    subsets: tuple[int, ...]
    usual: Values
    longer: Values  # without the game, in the time that it takes
    details: bool = True


PARTS = {
    "digits": Part(50, tuple(range(100, 110)), length(600), length(1500)),
    "mnist": Part(100, (100,), length(300), length(450)),
    "svhn": Part(1000, (100, 101), length(200), length(300), details=False),
    "signs": Part(signs.LABELS, (100, 101), length(200), length(300), details=False),
}


@dataclass(frozen=True)
class Study:
    """Where the study reads and writes, and settings that replace those of all cases."""

    results: Path = RESULTS
    runs: Path = RUNS
    archive: Path | None = None
    extra: Values | None = None

    def settings(self, name: str, case: str) -> tuple[Method, ImageSettings]:
        """Every number of the runs of a case."""
        method, values = self.values(name, case)
        kind: ImageSetName = "cifar10" if name == "signs" else name  # type: ignore[assignment]
        return method, image_settings("fast", method, kind, **((OWN if name == "signs" else {}) | values))

    def values(self, name: str, case: str) -> tuple[Method, Values]:
        """The method of a case, and what it changes of the preset."""
        method, values = CASES[case]
        part = PARTS[name]
        settings = (part.longer if values.get("longer") else part.usual) | values | (self.extra or {})
        settings.pop("longer", None)
        own = METHOD_VALUES[method] if method in ("discriminative", "plain") else {}
        lengths = ("burn_in", "thin") if method == "supervised" else ()  # follow from the iterations
        return method, {each: value for each, value in settings.items() if each not in own and each not in lengths}

    def task(self, name: str, case: str, subset: int) -> Task:
        """What a case trains on a labelled subset, whose number is the seed too."""
        method, settings = self.values(name, case)
        part, every = PARTS[name], max(1, settings["iterations"] // 4)
        if name != "signs":
            return Task(name, part.labels, subset, method, "fast", subset, "validation", every, settings)  # type: ignore[arg-type]
        if self.archive is None:
            raise BayesganError("The signs are read from a zip: name it, as studies/signs.py says.")
        pictures = signs.laid_out(self.archive, self.runs / f"signs-{subset}", subset, validation=True)
        return Task("own", "all", 0, method, "fast", subset, "test", every, settings, pictures, "cifar10")

    def folder(self, name: str, case: str, subset: int) -> Path:
        """Of the run."""
        return self.runs / name / re.sub(r"[^a-z0-9]+", "-", case.lower()).strip("-") / str(subset)

    def train(self, name: str, case: str, subset: int) -> None:
        """Train a case, going on with what is there."""
        folder = self.folder(name, case, subset)
        if (folder / "summary.json").exists() or self.leaves_out(name, case):
            return
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(folder))
            except BayesganError:
                return  # another process is at it
            task = self.task(name, case, subset)
            training = Training(task, folder, default_folder(), environment.use("cpu", 1))
            try:
                summary = training.train()
            except BayesganError as error:  # the weights are not finite
                write_text(folder / "summary.json", json.dumps({"stopped": str(error)}) + "\n")
                return
            print(name, subset, case, f"{100 * summary['test_error']:.1f} %", flush=True)

    def leaves_out(self, name: str, case: str) -> bool:
        """Whether the case is not asked of the set, or changes nothing of its preset."""
        if case in DETAILS and not PARTS[name].details:
            return True
        return case != ALL and self.settings(name, case) == self.settings(name, ALL)

    def record(self) -> str:
        """Write the figures of all runs that have ended, and the table of them."""
        with locked(self.runs, patience=60.0):
            found: dict[str, dict[str, dict[int, Any]]] = {case: {} for case in CASES}
            for case, by_set in found.items():
                for name, part in PARTS.items():
                    paths = {subset: self.folder(name, case, subset) / "summary.json" for subset in part.subsets}
                    by_set[name] = {
                        subset: _kept(json.loads(path.read_text())) for subset, path in paths.items() if path.exists()
                    }
            table = formatted(found)
            write_text(self.results / "what_teaches.json", json.dumps(found, indent=1) + "\n")
            write_text(self.results / "README.md", f"{HEAD}\n\n{table}\n")
            return table


HEAD = """# What teaches?

`python -m studies.what_teaches`: validation errors in per cent, the mean over labelled subsets with its standard error,
and minutes of one core. Runs on MNIST, SVHN (rebuilt subset) and signs are short: what is compared is not their end."""


def _kept(summary: dict[str, Any]) -> dict[str, Any]:
    """What the table needs of a summary."""
    return {each: summary[each] for each in ("test_error", "test_errors", "seconds", "stopped") if each in summary}


def formatted(found: dict[str, dict[str, dict[int, Any]]]) -> str:
    """The table."""
    names = [name for name in PARTS if any(by_set.get(name) for by_set in found.values())]
    titles = " | ".join(f"{name}, {PARTS[name].labels} labels" for name in names)
    lines = [f"| | {titles} |", "|---" * (1 + len(names)) + "|"]
    for case, by_set in found.items():
        if any(by_set.get(name) for name in names):
            lines.append(f"| {case} | {' | '.join(_cell(by_set.get(name, {})) for name in names)} |")
    return "\n".join(lines)


def _cell(runs: dict[int, Any]) -> str:
    done = [each for each in runs.values() if "stopped" not in each]
    if not done:
        return next((each["stopped"] for each in runs.values()), "")
    errors = [100 * each["test_error"] for each in done]
    spread = f" ± {stdev(errors) / math.sqrt(len(errors)):.1f}" if len(errors) > 1 else ""
    return f"{mean(errors):.1f}{spread} ({mean(each['seconds'] for each in done) / 60:.1f} min)"


def compare(study: Study, names: list[str], cases: list[str], most: int = 10) -> str:
    """Train every case on one subset of each set after another, at most so many; the table of what has ended."""
    for number in range(min(most, max(len(PARTS[name].subsets) for name in names))):
        for name in names:
            for case in cases if number < len(PARTS[name].subsets) else ():
                study.train(name, case, PARTS[name].subsets[number])
                study.record()
    return study.record()  # also where nothing was left to train


def main(words: list[str]) -> str:
    """Compare on the sets of the command line."""
    archive = next((Path(word) for word in words if word.endswith(".zip")), None)
    names = [word for word in words if word in PARTS] or [name for name in PARTS if archive or name != "signs"]
    if "--smallest" not in words:
        return compare(Study(archive=archive, extra=LOW if "--bfloat16" in words else None), names, list(CASES))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        return compare(Study(place / "results", place / "runs", archive, TINY), names, list(CASES)[:3], most=2)


if __name__ == "__main__":
    print(main(sys.argv[1:]))
