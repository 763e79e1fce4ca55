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
    "generator_prior": 10.0,
    "discriminator_prior": 10.0,
    "weighing": "printed",
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
        "architecture": "whitened",
        "normalisation": "batch",
        "generators": 3,
        "discriminators": 3,
        "coupling": "pairs",
        "generator_prior": 0.1,
        "discriminator_prior": 0.1,
        "weighing": "raised-labels",
        "label_term": "class",
        "consensus": 1.0,
        "consensus_on": "plain",
        "jitter": 1.0,
        "change_generated": True,
        "generator_rate": 1e-3,
        "discriminator_rate": 2e-3,
        "adam_betas": (0.9, 0.999),
        "epsilon": 1e-5,
        "schedule": "linear",
        "temperature": 0.01,
        "step_ratio": 1.0,
        "averaging": 0.99,
        "generator_width": 16,
        "discriminator_width": 32,
        "real_batch": 32,
        "fake_batch": 32,
        "label_batch": 25,
        "iterations": 600,
        "burn_in": 540,
        "thin": 6,
    },
}

# What the paper says that its baselines needed. `fast` has none of it.
TRICKS: Values = {"minibatch_discrimination": True, "feature_normalisation": True, "layer_noise": 0.3}

FOR_METHODS: dict[PresetName, dict[Method, Values]] = {
    "paper": {"dcgan": TRICKS, "wdcgan": TRICKS, "dcgan10": TRICKS},
    "fast": {},
}

# Of larger images there are more: more of them at a time. On MNIST what is real or generated teaches nothing beside
# labels and a consensus, and counts less; generators, which cost more than they teach, move every second time.
LARGE: Values = {
    "game_weight": 0.1,
    "change_generated": False,
    "brightness": 0.2,
    "cut": 0.3,
    "discriminator_rate": 3e-3,
    "discriminator_steps": 2,
    "real_batch": 48,
    "fake_batch": 16,
    "label_batch": 32,
}
COLOUR: Values = LARGE | {
    "labels_first": 0.25,
    "confidence": 0.8,
    "averaging": 0.998,
    "generators": 2,
    "discriminators": 2,
    "discriminator_width": 48,
    "label_batch": 48,
}

FOR_IMAGE_SETS: dict[PresetName, dict[ImageSetName, Values]] = {
    "paper": {},
    "fast": {
        "mnist": LARGE
        | {
            "balance": 1.0,
            "averaging": 0.995,
            "discriminator_width": 24,
            "iterations": 1_000,
            "burn_in": 900,
            "thin": 10,
        },
        "svhn": COLOUR | {"labels_first": 0.1, "iterations": 4_000, "burn_in": 3_600, "thin": 40},
        "cifar10": COLOUR | {"flip": True, "balance": 1.0, "iterations": 4_000, "burn_in": 3_600, "thin": 40},
        "celeba": COLOUR | {"flip": True, "iterations": 1_000, "burn_in": 900, "thin": 10},
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
        "generator_prior": 0.1,
        "discriminator_prior": 0.1,
        "weighing": "raised-labels",
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
