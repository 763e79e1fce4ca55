"""What the study of sampling asks: its cells, its systems, and what each of them may choose."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from bayesgan.settings.names import Weighing
from studies.known_answer import CHAINS, Kind

CHOOSING, TESTING = (100, 101), tuple(range(10))  # labelled subsets
GAME, GRADIENTS = 600, 8 * 6_000  # iterations of the game; gradients of single networks in the stage
Split = Literal["validation", "test"]
System = Literal["flat ensemble", "MAP ensemble", "T = 0.1", "T = 1"]
TEMPERATURES: dict[System, float] = {"flat ensemble": 0.0, "MAP ensemble": 0.0, "T = 0.1": 0.1, "T = 1": 1.0}
POSTERIORS: tuple[System, ...] = ("T = 0.1", "T = 1")
OF_POSTERIOR = ", prior of T = 1"  # whose weighing and width the system has, instead of its own
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Cell:
    """What is learnt from, and by which network."""

    labels: int
    wrong: float = 0.0  # share of the labels that are
    changed: bool = False  # images are turned, stretched and moved
    kind: Kind = "mlp"
    subsets: tuple[int, ...] = TESTING


CELLS: dict[str, Cell] = {
    "clean 20": Cell(20),
    "clean 50": Cell(50),
    "clean 200": Cell(200),
    "wrong 20 %": Cell(200, wrong=0.2),
    "wrong 40 %": Cell(200, wrong=0.4),
    "changed 50": Cell(50, changed=True),
    "convolutional 50": Cell(50, kind="convolutional", subsets=TESTING[:3]),
    "convolutional wrong 40 %": Cell(200, wrong=0.4, kind="convolutional", subsets=TESTING[:3]),
}


class Choice(NamedTuple):
    """What a system may choose."""

    weighing: Weighing
    width: float | None  # s of the prior N(0, s²/fan-in); None: flat
    members: int = CHAINS  # that share the gradients
    step: float = 1e-3  # of a posterior, in units of the prior's variance; of an ensemble, a tenth of Adam's first rate


Tested = dict[str, tuple[Choice, list[dict[str, Any]]]]
