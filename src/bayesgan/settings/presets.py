"""Presets: every number of a run, as data. ``bayesgan presets`` prints what comes of them."""

from bayesgan.data.names import ImageSetName
from bayesgan.settings.methods import Values
from bayesgan.settings.names import Method, PresetName

# The paper's (Section 4) as far as it says.
PAPER: Values = {
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
}

# For every method and image set; the published widths.
IMAGES: dict[PresetName, Values] = {
    "paper": PAPER | {"generator_width": 64, "discriminator_width": 96, "features": 384},  # four times the width
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

# What the paper says that its baselines needed. `fast` has none of it, but for noise and feature matching on MNIST, for
# all methods (docs/choices.md).
TRICKS: Values = {"minibatch_discrimination": True, "feature_normalisation": True, "layer_noise": 0.3}

FOR_METHODS: dict[PresetName, dict[Method, Values]] = {
    "paper": {"dcgan": TRICKS, "wdcgan": TRICKS, "dcgan10": TRICKS},
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

FOR_IMAGE_SETS: dict[PresetName, dict[ImageSetName, Values]] = {
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

# The mass follows the gradient: frozen at the end of the burn-in, it let chains on as few points as such sets may have
# (2, but also 105) diverge.
VECTORS: dict[PresetName, Values] = {
    "paper": PAPER,
    "fast": {
        "generators": 10,
        "discriminators": 10,
        "coupling": "pairs",
        "prior_variance": 10.0,
        "label_weight": None,
        "label_term": "class",
        "hidden": 64,
        "generator_rate": 3e-3,
        "discriminator_rate": 3e-3,
        "epsilon": 1e-3,
        "dynamics": "running",
        "temperature": 0.01,
        "step_ratio": 1.0,
        "real_batch": 32,
        "fake_batch": 32,
        "label_batch": 25,
        "iterations": 400,
        "burn_in": 360,
        "thin": 4,
    },
}
