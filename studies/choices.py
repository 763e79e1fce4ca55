"""Where does the posterior earn its cost? Few labels, one setting changed at a time.

python -m studies.choices DATASET [SUBSETS [WORD]]
python -m studies.choices DATASET --smallest        to see that it runs: a few cases and iterations, nothing kept

DATASET is digits or mnist, SUBSETS are 100,101,102,103,104 by default; WORD: cases whose name contains it. Stopped and
started again, it goes on; several processes may share the subsets.

Settings are chosen here: on labelled subsets that no result is reported on, and on validation images cut from the
training images. Writes results/DATASET/choices.md and .json; the runs go to choices/. One thread; twenty minutes a
subset of digits, two hours one of MNIST.
"""

import json
import math
import re
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from bayesgan.base import environment
from bayesgan.base.errors import BayesganError
from bayesgan.base.files import locked, write_text
from bayesgan.data.names import ImageSetName, default_folder
from bayesgan.runs.images import Task, Training
from studies import digits_cases, mnist_cases
from studies.cases import EVERY, Cases
from studies.smallest import TINY

RESULTS = Path(__file__).parents[1] / "results"
RUNS = Path("choices")
SUBSETS = (100, 101, 102, 103, 104)


@dataclass(frozen=True)
class Study:
    """The cases that are compared on one image set."""

    dataset: ImageSetName
    labels: int
    cases: Cases  # name: (method, its settings)
    results: Path  # the folder of the tables
    runs: Path

    def smallest(self, folder: Path) -> "Study":
        """The first cases, with tiny networks and a few iterations, all in ``folder``."""
        first = dict(list(self.cases.items())[:3])
        cases: Cases = {name: (method, settings | TINY) for name, (method, settings) in first.items()}
        return replace(self, cases=cases, results=folder / "results", runs=folder / "runs")

    def folder(self, name: str, subset: int) -> Path:
        """Where the run of a case goes."""
        return self.runs / re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") / str(subset)

    def train(self, name: str, subset: int) -> str:
        """Train one case on one labelled subset, going on with what is there; the seed is the subset's number."""
        method, settings = self.cases[name]
        task = Task(self.dataset, self.labels, subset, method, "fast", subset, "validation", EVERY, settings)
        try:
            training = Training(task, self.folder(name, subset), default_folder(), environment.use("cpu", 1))
            return str(training.train()["test_errors"])
        except BayesganError as error:
            write_text(self.folder(name, subset) / "summary.json", json.dumps({"stopped": str(error)}) + "\n")
            return str(error)

    def finished(self) -> dict[str, dict[int, Any]]:
        """The summaries of all runs that have ended, by case and subset."""
        results: dict[str, dict[int, Any]] = {}
        for name in self.cases:
            for subset in SUBSETS:
                path = self.folder(name, subset) / "summary.json"
                if path.exists():
                    results.setdefault(name, {})[subset] = json.loads(path.read_text())
        return results

    def record(self) -> None:
        """Write the table of all runs that have ended."""
        with locked(self.runs, patience=60.0):
            results = self.finished()
            sizes = {each["test_size"] for runs in results.values() for each in runs.values() if "stopped" not in each}
            head = (
                f"`python -m studies.choices {self.dataset}`: {self.labels} labels, "
                f"{', '.join(f'{size:,}' for size in sizes)} validation images."
            )
            write_text(self.results / "choices.md", f"{head}\n\n{formatted(results)}\n")
            write_text(self.results / "choices.json", json.dumps(results, indent=1) + "\n")


STUDIES = {
    "digits": Study("digits", digits_cases.LABELS, digits_cases.CASES, RESULTS / "digits", RUNS / "digits"),
    "mnist": Study("mnist", mnist_cases.LABELS, mnist_cases.CASES, RESULTS / "mnist", RUNS / "mnist"),
}


def formatted(results: dict[str, dict[int, Any]]) -> str:
    """The table."""
    lines = [
        "| setting | errors of the model average, by subset | mean, % | ± s.e. | single networks, % | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for name, runs in results.items():
        done = [each for each in runs.values() if "stopped" not in each]
        if not done:
            lines.append(f"| {name} | {next(iter(runs.values()))['stopped']} | | | | |")
            continue
        errors = [100 * each["test_error"] for each in done]
        counts = ", ".join(f"{subset}: {each['test_errors']}" for subset, each in runs.items() if each in done)
        members = [100 * mean(each["chain_errors"]) for each in done]
        spread = f"{stdev(errors) / math.sqrt(len(errors)):.1f}" if len(errors) > 1 else "–"
        seconds = mean(each["seconds"] for each in done)
        lines.append(f"| {name} | {counts} | {mean(errors):.1f} | {spread} | {mean(members):.1f} | {seconds:.0f} |")
    return "\n".join(lines)


def compare(study: Study, subsets: Iterable[int], word: str = "") -> dict[str, dict[int, Any]]:
    """Train every case, or those whose name contains a word, on one subset after another; what has ended."""
    for subset in subsets:
        for name in study.cases:
            if word not in name or (study.folder(name, subset) / "summary.json").exists():
                continue
            print(subset, name, study.train(name, subset), flush=True)
            study.record()
    return study.finished()


def main(words: list[str]) -> dict[str, dict[int, Any]]:
    """Compare on the image set, subsets and cases of the command line."""
    if "--smallest" in words:
        with tempfile.TemporaryDirectory() as folder:
            return compare(STUDIES[words[0]].smallest(Path(folder)), SUBSETS[:2])
    subsets = [int(word) for word in words[1].split(",")] if len(words) > 1 else SUBSETS
    return compare(STUDIES[words[0]], subsets, words[2] if len(words) > 2 else "")


if __name__ == "__main__":
    main(sys.argv[1:])
