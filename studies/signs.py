"""How well are photographs of hands told apart with 100 labels? 2,062 of them, ten signs (Mavi 2020, arXiv 2011.08927).

python -m studies.signs ARCHIVE [METHOD…]              ARCHIVE: a zip with a folder of pictures for each sign
python -m studies.signs ARCHIVE METHOD… --bfloat16     three fifths of the time, where the processor has it
python -m studies.signs ARCHIVE METHOD… --smallest     to see that it runs: a few iterations, nothing kept

500 pictures are for testing, the same ones for all. Three splits, each with 100 labels of its own among the others,
ten a sign; the rest is unlabelled. Pictures are brought to 32×32 pixels. Writes results/signs.md; runs go to signs/.
Stopped and started again, it goes on. One thread, at most a quarter of an hour a run.
"""

import sys
import tempfile
import zipfile
from pathlib import Path
from statistics import mean

import numpy as np

from bayesgan.base import environment
from bayesgan.base.files import write_text
from bayesgan.data.folder import OwnImages
from bayesgan.data.labels import labelled_set
from bayesgan.runs.images import Task, Training
from bayesgan.settings.methods import Values
from bayesgan.settings.names import METHOD_TITLES, Method
from bayesgan.settings.names import METHODS as ALL
from studies.smallest import LOW, TINY

RESULTS = Path(__file__).parents[1] / "results" / "signs.md"
RUNS = Path("signs")
METHODS: tuple[Method, ...] = ("bayesgan", "discriminative", "supervised")
SPLITS = (0, 1, 2)
LABELS, TESTED, SIDE = 100, 500, 32
EVERY = 100  # iterations between evaluations
ITERATIONS = 800  # a quarter of an hour of one thread


def laid_out(archive: Path, folder: Path, split: int, validation: bool = False) -> OwnImages:
    """The pictures of a split as a person would have them: two folders, and a list of the labels that are known.

    With ``validation`` 500 of the others take the place of the test pictures, which are not looked at.
    """
    with zipfile.ZipFile(archive) as pictures:
        names = sorted(name for name in pictures.namelist() if name.count("/") == 1 and not name.endswith("/"))
        signs = np.array([int(name[0]) for name in names])
        tested = labelled_set("signs/test", signs, TESTED, 0).indices
        others = np.setdiff1d(np.arange(len(names)), tested)
        if validation:
            tested = others[labelled_set("signs/validation", signs[others], TESTED, 0).indices]
            others = np.setdiff1d(others, tested)
        known = others[labelled_set("signs", signs[others], LABELS, split).indices]
        for part, indices in (("train", others), ("test", tested)):
            for index in indices:
                place = folder / part / str(signs[index]) / Path(names[index]).name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(pictures.read(names[index]))
    rows = "".join(f"{signs[index]}/{Path(names[index]).name},{signs[index]}\n" for index in known)
    write_text(folder / "labels.csv", f"file,label\n{rows}")
    return OwnImages(str(folder / "train"), str(folder / "labels.csv"), str(folder / "test"), size=SIDE)


def task(own: OwnImages, method: Method, split: int, settings: Values) -> Task:
    """Train ``method`` with the settings of photographs."""
    return Task("own", "all", 0, method, "fast", split, "test", EVERY, settings, own, "cifar10")


def compare(archive: Path, methods: tuple[Method, ...], runs: Path, settings: Values) -> dict[Method, list[float]]:
    """The test errors of each method, in per cent, a split after another."""
    found: dict[Method, list[float]] = {method: [] for method in methods}
    for split in SPLITS:
        own = laid_out(archive, runs / f"pictures-{split}", split)
        for method in methods:
            place = runs / f"{method}-{split}"
            training = Training(task(own, method, split, settings), place, Path(), environment.use("cpu", 1))
            summary = training.train()
            found[method].append(100 * summary["test_error"])
            print(method, split, f"{found[method][-1]:.1f} %, {summary['seconds'] / 60:.1f} min", flush=True)
    return found


def formatted(found: dict[Method, list[float]]) -> str:
    """The table."""
    lines = ["| method | test error of each split, % | mean |", "|---|---|---|"]
    for method, errors in found.items():
        each = ", ".join(f"{error:.1f}" for error in errors)
        lines.append(f"| {METHOD_TITLES[method]} | {each} | {mean(errors):.1f} |")
    return "\n".join(lines)


def main(words: list[str]) -> str:
    """Compare the methods of the command line."""
    archive, *others = words
    methods = tuple(method for method in ALL if method in others) or METHODS
    if "--smallest" in words:
        with tempfile.TemporaryDirectory() as folder:
            return formatted(compare(Path(archive), methods, Path(folder), TINY))
    extra = LOW if "--bfloat16" in words else {}
    table = formatted(compare(Path(archive), methods, RUNS, {"iterations": ITERATIONS} | extra))
    facts = f"{LABELS} labels, {TESTED} test pictures, {SIDE}×{SIDE} pixels, {ITERATIONS} iterations"
    head = f"`python -m studies.signs {Path(archive).name}{' --bfloat16' * bool(extra)}`: {facts}."
    write_text(RESULTS, f"{head}\n\n{table}\n")
    return table


if __name__ == "__main__":
    print(main(sys.argv[1:]))
