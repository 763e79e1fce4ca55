r"""Where does sampling pay? Posteriors that are reached, beside ensembles, for the same number of gradients.

python -m studies.sampling                 about five hours of one thread
python -m studies.sampling CELL…           some of the cells: 'clean 50', 'wrong 40 %', …
python -m studies.sampling --smallest      to see that it runs: a few iterations, nothing kept

The density is that of :mod:`studies.known_answer`: Eq. 4 on digits for a small network, before a committee of generated
images. All systems take ``GRADIENTS`` mini-batch gradients on it: posteriors on eight chains, of whose last three
quarters 120 draws count, ensembles on eight long or 32 short descents to a rate of 0, whose last weights count. The
weighing of Eq. 4, the width of the prior, and then the step and the number of descents are chosen by errors on
validation images of the labelled subsets 100 and 101; test images of ten other subsets then say who is better, in
pairs. Writes results/sampling/; stopped and started again, it goes on, and several processes
may share the cells.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bayesgan.base import environment
from bayesgan.base.errors import BayesganError
from bayesgan.base.files import locked, write_text
from bayesgan.base.rng import stream
from bayesgan.data.images import Images, load
from bayesgan.data.labels import labelled_set
from bayesgan.data.pixels import as_numbers
from bayesgan.posterior.average import entropy
from bayesgan.posterior.mixing import between_chains, within_chains
from bayesgan.posterior.scores import auroc, scores
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.minibatches import Labels
from bayesgan.settings.names import Weighing
from bayesgan.settings.settings import DRAWINGS, Settings
from studies.known_answer import CHAINS, CLASSES, NOISE_DIM, discriminator, generator
from studies.sampling_cells import (
    CELLS,
    CHOOSING,
    GAME,
    GRADIENTS,
    OF_POSTERIOR,
    TEMPERATURES,
    Cell,
    Choice,
    Split,
    System,
    Tested,
)
from studies.sampling_table import draw, formatted

RESULTS = Path(__file__).parents[1] / "results" / "sampling"


@dataclass(frozen=True)
class Study:
    """How much work, what may be chosen, and where the figures are kept."""

    results: Path = RESULTS
    game: int = GAME
    gradients: int = GRADIENTS
    weighings: tuple[Weighing, ...] = ("raised-labels", "lowered-game", "printed")
    widths: tuple[float, ...] = (1.0, 2.0, 3.0, 6.0)

    def densities(self, system: System) -> Iterator[Choice]:
        """What a system may choose first."""
        widths = (None,) if system == "flat ensemble" else self.widths
        return (Choice(*each) for each in product(self.weighings, widths))

    def ways(self, system: System, density: Choice) -> Iterator[Choice]:
        """How it may then spend its gradients."""
        members = (CHAINS, 4 * CHAINS) if TEMPERATURES[system] == 0 else (CHAINS,)
        steps = (density.step, density.step / 4) if TEMPERATURES[system] == 0 else (density.step, 4 * density.step)
        return (density._replace(members=number, step=step) for number, step in product(members, steps))

    def record(self, key: str) -> dict[str, Any] | None:
        """What was found before."""
        return self._all().get(key)

    def keep(self, key: str, found: dict[str, Any]) -> None:
        """Add it to what is there, whoever else does so."""
        with locked(self.results, patience=60.0):
            write_text(self._path, json.dumps(dict(sorted((self._all() | {key: found}).items())), indent=0) + "\n")

    def _all(self) -> dict[str, Any]:
        return json.loads(self._path.read_text()) if self._path.exists() else {}

    @property
    def _path(self) -> Path:
        return self.results / "sampling.json"

    def ended(self) -> list[str]:
        """The cells that have been tested."""
        return [name for name in CELLS if self.record(f"{name} | ended") is not None]

    def found(self, name: str, system: System, choice: Choice, subset: int, split: Split) -> dict[str, Any]:
        """The scores of a system on a labelled subset."""
        key = f"{name} | {system} | {' '.join(str(each) for each in choice)} | {split} {subset}"
        known = self.record(key)
        if known is None:
            known = trained(CELLS[name], TEMPERATURES[system], choice, subset, split, self)
            self.keep(key, known)
            print(key, {each: round(value, 3) for each, value in known.items()}, flush=True)
        return known

    def chosen(self, name: str, system: System) -> Choice:
        """The choice with the fewest errors on validation images, and of equals the likeliest."""

        def rank(choice: Choice) -> tuple[float, float]:
            runs = [self.found(name, system, choice, subset, "validation") for subset in CHOOSING]
            return mean(run["errors"] for run in runs), mean(run["log_loss"] for run in runs)

        return min(self.ways(system, min(self.densities(system), key=rank)), key=rank)

    def tested(self, name: str) -> Tested:
        """Every system with what it chose, and its scores on the test images of all subsets."""
        taken: dict[str, tuple[System, Choice]] = {
            system: (system, self.chosen(name, system)) for system in TEMPERATURES
        }
        for system in ("MAP ensemble", "T = 0.1"):
            own = taken[system][1]
            posterior = taken["T = 1"][1]
            taken[system + OF_POSTERIOR] = system, own._replace(weighing=posterior.weighing, width=posterior.width)
        found = {
            title: (choice, [self.found(name, system, choice, subset, "test") for subset in CELLS[name].subsets])
            for title, (system, choice) in taken.items()
        }
        self.keep(f"{name} | ended", {})
        return found


@cache
def digits(split: Split) -> tuple[Images, Tensor]:
    """The images, and those that teach as numbers (n, 1, 8, 8)."""
    images = load("digits", Path(), split)
    return images, as_numbers(torch.from_numpy(images.train))


def labels_of(cell: Cell, subset: int, split: Split) -> Labels:
    """The labelled images, some of them with another class."""
    images, _ = digits(split)
    indices = torch.from_numpy(labelled_set("digits", images.train_labels, cell.labels, subset).indices)
    classes = torch.from_numpy(images.train_labels)[indices]
    rng = stream(subset, "wrong labels", torch.device("cpu"))
    wrong = torch.randperm(cell.labels, generator=rng)[: round(cell.wrong * cell.labels)]
    others = torch.randint(1, CLASSES, (len(wrong),), generator=rng)
    classes = classes.index_add(0, wrong, others) % CLASSES
    return Labels(indices, classes, CLASSES)


@cache
def committee(cell: Cell, subset: int, split: Split, iterations: int) -> Tensor:
    """What the generators of eight pairs drew along their game on the same labels."""
    _, train = digits(split)
    values = common(cell, CHAINS) | {
        "generators": CHAINS, "coupling": "pairs", "committee": len(train), "generator_prior": 10.0,
        "discriminator_prior": 1.0, "iterations": iterations, "burn_in": iterations, "weighing": "raised-labels",
        "dynamics": "adam", "temperature": 0.0,
    }  # fmt: skip
    gan = BayesianGAN(
        Settings.of(**values), generator(), discriminator(cell.kind), train, subset, labels_of(cell, subset, split)
    )
    for _ in range(iterations):
        gan.iterate()
    assert gan.state.committee is not None
    return gan.state.committee


def common(cell: Cell, members: int) -> dict[str, Any]:
    """The settings of every system, and of the game."""
    return {
        "discriminators": members,
        "prior_scale": "fan-in",
        "noise_dim": NOISE_DIM,
        "generator_rate": 1e-3,
        "discriminator_rate": 1e-3,
        "epsilon": 1e-8,
        "label_batch": cell.labels,
        "jitter": 1.0 if cell.changed else 0.0,
    }


def settings(cell: Cell, temperature: float, choice: Choice, gradients: int, size: int) -> Settings:
    """The stage: SGHMC with constant steps from the first iteration on, or Adam whose rate falls to 0."""
    iterations = gradients // choice.members
    values = common(cell, choice.members) | {
        "generators": choice.members, "coupling": "pairs", "committee": size, "generator_prior": 10.0,
        "discriminator_prior": None if choice.width is None else choice.width**2, "weighing": choice.weighing,
        "temperature": temperature, "burn_in": DRAWINGS,
    }  # fmt: skip
    start = DRAWINGS
    if temperature == 0:
        values |= {"dynamics": "adam", "schedule": "linear", "discriminator_rate": 10 * choice.step}
        return Settings.of(**values, iterations=start + iterations, thin=iterations)
    # γ is the step in the metric of the prior: α times Adam's rate is 1e-4.
    values |= {"dynamics": "prior", "friction": 0.1, "step_ratio": choice.step / 1e-4, "schedule": "constant"}
    return Settings.of(**values, iterations=start + iterations, thin=max(1, iterations // 160))


def trained(
    cell: Cell, temperature: float, choice: Choice, subset: int, split: Split, study: Study
) -> dict[str, float]:
    """The scores of the average of all networks; of chains, the first quarter of their way is left out."""
    images, train = digits(split)
    chosen = settings(cell, temperature, choice, study.gradients, len(train))
    networks = generator(), discriminator(cell.kind)
    gan = BayesianGAN(chosen, *networks, train, subset, labels_of(cell, subset, split))
    gan.state.committee = committee(cell, subset, split, study.game)
    gan.state.iteration = chosen.length.burn_in  # nobody plays: the committee is there
    kept, kinetic = [], list[float]()
    while gan.state.iteration < chosen.length.iterations:
        gan.iterate()
        if gan.collects:
            kept.append(gan.state.discriminators.theta.clone())
            kinetic += [each["kinetic"].mean().item() for each in gan.motion().values()]
    kept = kept[len(kept) // 4 :]
    test = torch.from_numpy(images.test)
    strange = torch.cat([255 - test, torch.randint(256, test.shape, generator=stream(0, "noise", test.device))])
    said = torch.stack([predictions(gan, theta, as_numbers(test)) for theta in kept], 1)  # (chains, draws, n, K)
    beside = torch.stack([predictions(gan, theta, as_numbers(strange.byte())) for theta in kept], 1)
    warmth = {"kinetic": float(np.median(kinetic))} if kinetic else {}
    return figures(said.double(), beside.double(), images.test_labels) | warmth


def predictions(gan: BayesianGAN, theta: Tensor, points: Tensor) -> Tensor:
    """p(y | x, real) by each chain."""
    with torch.no_grad():
        return gan.discriminator(theta, points.expand(len(theta), *points.shape)).softmax(-1)


def figures(said: Tensor, strange: Tensor, truth: np.ndarray) -> dict[str, float]:
    """What is compared, of predictions (chains, draws, n, K) for test images and for strange ones."""
    average = said.mean((0, 1))
    found = scores(average.numpy(), truth)
    doubts = [entropy(each.mean((0, 1))) - entropy(each).mean((0, 1)) for each in (said, strange)]
    known = {name: value for name, value in asdict(found).items() if name not in ("bins", "error")}
    known["auroc"] = auroc(doubts[0].numpy(), doubts[1].numpy())
    known["rejection"] = rejection(average.numpy(), truth)
    if said.shape[1] > 1:
        likeliest = average.argmax(-1)
        own = said.gather(-1, likeliest.expand(*said.shape[:2], -1).unsqueeze(-1)).squeeze(-1).movedim(-1, 0).numpy()
        for name, r_hat in (("r_hat_within", within_chains), ("r_hat_between", between_chains)):
            known[name] = float(np.nanquantile(r_hat(own), 0.95))
    return known


def rejection(probabilities: np.ndarray, truth: np.ndarray) -> float:
    """The area under the error of what is kept, as the least certain images are left to somebody else one by one."""
    surest_first = np.argsort(-probabilities.max(-1), kind="stable")
    wrong = (probabilities.argmax(-1) != truth)[surest_first]
    return float((wrong.cumsum() / np.arange(1, len(wrong) + 1)).mean())


def compare(study: Study, names: list[str]) -> str:
    """Choose and test in some of the cells; the table is of all whose runs are there."""
    for name in names:
        study.tested(name)
        cells = {each: study.tested(each) for each in study.ended()}
        draw(cells, study.results / "sampling.png")
        write_text(study.results / "README.md", formatted(cells))
    return (study.results / "README.md").read_text()


def main(words: list[str]) -> str:
    """Compare in the cells of the command line, or in all."""
    environment.use("cpu", 1)
    names = [word for word in words if word != "--smallest"]
    if unknown := [name for name in names if name not in CELLS]:
        raise BayesganError(f"'{unknown[0]}' is none of {', '.join(CELLS)}.")
    if "--smallest" not in words:
        return compare(Study(), names or list(CELLS))
    with tempfile.TemporaryDirectory() as folder:
        tiny = Study(Path(folder), game=10, gradients=160, weighings=("raised-labels",), widths=(1.0,))
        return compare(tiny, ["convolutional 50"])


if __name__ == "__main__":
    print(main(sys.argv[1:]))
