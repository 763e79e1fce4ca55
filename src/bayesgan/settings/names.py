"""The names that settings choose from; nothing is imported, so that the command line starts at once."""

from typing import Literal, get_args

Side = Literal["generators", "discriminators"]
SIDES: tuple[Side, ...] = get_args(Side)

Coupling = Literal["algorithm1", "all", "pairs"]
Family = Literal["weights", "mean-field"]
GameName = Literal["jensen-shannon", "wasserstein"]
Marginal = Literal["sum", "mean", "density"]
LabelTerm = Literal["joint", "class"]
Weighing = Literal["printed", "raised-labels", "lowered-game"]
PriorScale = Literal["isotropic", "fan-in"]
View = Literal["augmented", "plain"]
Dynamics = Literal["plain", "frozen", "prior", "running", "adam"]
Schedule = Literal["per-datum", "constant", "cyclical", "linear"]
Architecture = Literal["whitened", "dcgan"]
Normalisation = Literal["batch", "group", "layer", "none"]
Precision = Literal["float32", "bfloat16"]

Method = Literal[
    "bayesgan",
    "dcgan",
    "wdcgan",
    "dcgan10",
    "supervised",
    "lfvi",
    "ensemble",
    "plain",  # this one and those below say what the parts are worth that the paper does not have
    "discriminative",
    "dcgan-teacher",
    "dcgan10-consensus",
]
METHODS: tuple[Method, ...] = get_args(Method)
SyntheticMethod = Literal["ml-gan", "wgan", "bayesgan"]
SYNTHETIC_METHODS: tuple[SyntheticMethod, ...] = get_args(SyntheticMethod)

# As tables and figures print them, in the order of the paper's columns.
METHOD_TITLES: dict[str, str] = {
    "supervised": "Supervised",
    "dcgan": "DCGAN",
    "wdcgan": "W-DCGAN",
    "dcgan10": "DCGAN-10",
    "lfvi": "LFVI-GAN",
    "bayesgan": "BayesGAN",
    "ensemble": "Ensemble",
    "plain": "Plain BayesGAN",
    "discriminative": "Discriminative",
    "dcgan-teacher": "DCGAN, own teacher",
    "dcgan10-consensus": "DCGAN-10, consensus",
}

PresetName = Literal["paper", "fast"]
PRESETS: tuple[PresetName, ...] = get_args(PresetName)
