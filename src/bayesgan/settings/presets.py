"""Presets for images: every number of a run, as data. ``bayesgan presets`` prints them."""

from typing import Any, Literal, get_args

from bayesgan.base.errors import BayesganError
from bayesgan.data.images import NAMES, ImageSetName
from bayesgan.settings.methods import DRAWS, IMAGE_METHODS, IMAGE_OVERRIDES, ImageMethod
from bayesgan.settings.settings import ImageSettings, parse_settings

PresetName = Literal["paper", "fast"]
PRESETS: tuple[PresetName, ...] = get_args(PresetName)

BURN_IN = 2 / 3  # of the iterations of a system that does not sample, where nothing depends on it

BASELINES: tuple[ImageMethod, ...] = ("dcgan", "wdcgan", "dcgan10")

Values = dict[str, Any]

# For every method and data set; the paper's (Section 4) as far as it says, the published widths.
COMMON: dict[PresetName, Values] = {
    "paper": {
        "generators": 10,
        "discriminators": 1,
        "replicas": 2,
        "coupling": "algorithm1",
        "marginal": "sum",
        "prior_variance": 10.0,
        "label_weight": 1.0,
        "label_batch": 10_000,  # all labels in every iteration, as in Section 2.2, for every N_s of Table 1
        "iterations": 10_000,
        "burn_in": 5_000,
        "thin": 1_000,
        "dynamics": "plain",
        "step_ratio": 1.0,
        "epsilon": 1e-8,
        "generator_width": 64,
        "discriminator_width": 96,
        "features": 384,  # four times the width, as published
    },
    "fast": {
        "generators": 4,
        "discriminators": 4,
        "coupling": "pairs",
        "prior_variance": 10.0,
        "label_weight": None,
        "label_term": "class",
        "generator_rate": 3e-4,
        "discriminator_rate": 3e-4,
        "epsilon": 1e-5,
        "temperature": 0.01,
        "step_ratio": 1.0,
        "generator_width": 32,
        "discriminator_width": 32,
        "real_batch": 32,
        "fake_batch": 32,
        "label_batch": 25,
        "iterations": 2500,
        "burn_in": 1500,
        "thin": 100,
    },
}

# Minibatch discrimination, feature normalisation and noise on every layer of the discriminator are what the paper
# says that its baselines needed. `fast` has none of them, but for noise and feature matching on MNIST, for all systems
# (docs/choices.md).
PAPER_TRICKS: Values = {"minibatch_discrimination": True, "feature_normalisation": True, "layer_noise": 0.3}

METHODS: dict[PresetName, dict[ImageMethod, Values]] = {
    "paper": dict.fromkeys(BASELINES, PAPER_TRICKS),
    "fast": {},
}

COLOUR: Values = {
    "jitter": 1.0,
    "consensus": 1.0,
    "consensus_on": "plain",
    "generators": 2,
    "discriminators": 2,
    "label_batch": 50,  # for their thousands of labels
}

DATASETS: dict[PresetName, dict[ImageSetName, Values]] = {
    "paper": {},
    "fast": {
        "digits": {
            "jitter": 1.0,
            "consensus": 1.0,
            "generator_rate": 1e-3,
            "discriminator_rate": 1e-3,
            "iterations": 600,
            "burn_in": 540,
            "thin": 6,
        },
        "mnist": {
            "jitter": 1.0,
            "consensus": 1.0,
            "consensus_on": "plain",
            "generator_width": 16,
            "discriminator_width": 16,
            "generator_rate": 1e-3,
            "discriminator_rate": 1e-3,
            "layer_noise": 0.3,
            "feature_matching": True,
            "schedule": "cyclical",
            "cycles": 1,  # the steps fall to 0 from the end of the burn-in on
            "fake_batch": 16,  # half of the others': the time is better spent on iterations
            "iterations": 6_000,
            "burn_in": 5_000,
            "thin": 100,
        },
        "svhn": COLOUR,
        "cifar10": COLOUR,
        "celeba": COLOUR | {"iterations": 1500, "burn_in": 1000, "thin": 50},
    },
}


def image_settings(preset: PresetName, method: ImageMethod, dataset: ImageSetName, /, **values: Any) -> ImageSettings:
    """The settings of ``method`` on ``dataset``; ``values`` replace those of the preset.

    Where they change the number of iterations and say nothing of burn-in and thinning, these shrink or grow with it.
    """
    for kind, name, known in (
        ("preset", preset, PRESETS),
        ("method", method, IMAGE_METHODS),
        ("data set", dataset, NAMES),
    ):
        if name not in known:
            raise BayesganError(f"'{name}' is not a {kind}: choose from {', '.join(known)}.")
    chosen = COMMON[preset] | DATASETS[preset].get(dataset, {})
    chosen |= IMAGE_OVERRIDES[method] | METHODS[preset].get(method, {})
    iterations = values.get("iterations", chosen["iterations"])
    if isinstance(iterations, float) and iterations.is_integer():
        iterations = int(iterations)  # 1e4
    if isinstance(iterations, int):
        ratio = iterations / chosen["iterations"]
        chosen["burn_in"] = max(1, min(round(ratio * chosen["burn_in"]), iterations - 1))  # a sample at least
        chosen["thin"] = max(1, min(round(ratio * chosen["thin"]), iterations - chosen["burn_in"]))
        falling = chosen.get("schedule") == "cyclical"  # the steps of all systems fall from the end of the burn-in on
        if method == "lfvi" and (chosen | values).get("schedule") != "cyclical":
            chosen["burn_in"], chosen["thin"] = max(0, iterations - DRAWS), 1
        elif method not in ("bayesgan", "lfvi"):  # Adam moves them to the end: the last weights are the only sample
            if not falling:
                chosen["burn_in"] = max(1, round(BURN_IN * iterations))
            burn_in = values.get("burn_in", chosen["burn_in"])
            chosen["thin"] = max(1, iterations - burn_in) if isinstance(burn_in, int) else 1
    return parse_settings(ImageSettings, **(chosen | values))


def changes(preset: PresetName, method: ImageMethod, dataset: ImageSetName, settings: ImageSettings) -> dict[str, Any]:
    """The values of ``settings`` that are not the preset's."""
    ours = settings.model_dump(mode="json")
    theirs = image_settings(preset, method, dataset).model_dump(mode="json")
    return {name: value for name, value in ours.items() if value != theirs[name]}


def described(preset: PresetName) -> dict[str, dict[str, Any]]:
    """Every value of the preset for ``bayesgan`` on MNIST, and what the other methods and data sets change."""
    reference = image_settings(preset, "bayesgan", "mnist").model_dump(mode="json")
    table = {"bayesgan on mnist": reference}
    for method in IMAGE_METHODS[1:]:
        other = image_settings(preset, method, "mnist").model_dump(mode="json")
        table[method] = {name: value for name, value in other.items() if value != reference[name]}
    for dataset in NAMES:
        other = image_settings(preset, "bayesgan", dataset).model_dump(mode="json")
        changed = {name: value for name, value in other.items() if value != reference[name]}
        if changed:
            table[f"bayesgan on {dataset}"] = changed
    return table
