"""The names that settings choose from; nothing is imported, so that the command line starts at once."""

from typing import Literal, get_args

Side = Literal["generators", "discriminators"]
SIDES: tuple[Side, ...] = get_args(Side)

Coupling = Literal["algorithm1", "all", "pairs"]
Family = Literal["weights", "mean-field"]
GameName = Literal["jensen-shannon", "wasserstein", "classification"]
Marginal = Literal["sum", "mean", "density"]
LabelTerm = Literal["joint", "class"]
View = Literal["shown", "plain"]
Scan = Literal["in-turn", "random"]
Dynamics = Literal["plain", "frozen", "running", "adam"]
Schedule = Literal["per-datum", "constant", "cyclical"]
Normalisation = Literal["batch", "layer", "none"]
