"""What the cases of ``studies/digits_cases.py`` and ``studies/mnist_cases.py`` share.

Every setting that matters is stated, so that a change of the presets does not change what was compared.
"""

from typing import Any

from bayesgan.settings.names import Method

Values = dict[str, Any]  # settings by name
Cases = dict[str, tuple[Method, Values]]

EVERY = 250  # iterations between evaluations
NETWORKS: Values = {
    "architecture": "dcgan",
    "schedule": "per-datum",
    "brightness": 0.0,
    "cut": 0.0,
    "flip": False,
    "averaging": 0.0,
    "labels_first": 0.0,
    "confidence": 0.0,
    "balance": 0.0,
    "game_weight": 1.0,
    "change_generated": False,
    "feature_matching": False,
    "layer_noise": 0.0,
    "discriminator_steps": 1,
    "normalisation": "batch",
    "features": 256,
    "generator_rate": 1e-3,
    "discriminator_rate": 1e-3,
    "adam_betas": [0.5, 0.999],
    "epsilon": 1e-5,
    "label_term": "class",
    "weighing": "raised-labels",
    "jitter": 0.0,
    "consensus": 0.0,
    "real_batch": 64,
    "fake_batch": 64,
    "label_batch": 100,
}
POSTERIOR: Values = {
    "generators": 4,
    "discriminators": 4,
    "coupling": "pairs",
    "marginal": "mean",
    "generator_prior": 0.1,
    "discriminator_prior": 0.1,
    "dynamics": "frozen",
    "friction": 0.5,
    "step_ratio": 1.0,
    "temperature": 0.01,
}
ONE: Values = {"generators": 1, "discriminators": 1}
TEN_AGAINST_TWO: Values = {"coupling": "all", "generators": 10, "discriminators": 2}
FALLING: Values = {"schedule": "cyclical", "cycles": 1}  # to 0 from the end of the burn-in on


def of_variance(prior: float) -> Values:
    """A prior of this variance on both sides."""
    return {"generator_prior": prior, "discriminator_prior": prior}


def of_width(width: int) -> Values:
    """:data:`NETWORKS` with so many channels in the widest maps of both."""
    return NETWORKS | {"generator_width": width, "discriminator_width": width}


def mini_batched(pairs: Values) -> Cases:
    """Mini-batches of chains."""
    return {
        f"10 generators × 2 discriminators, all against all, chain_batch {size}": (
            "bayesgan",
            pairs | TEN_AGAINST_TWO | {"chain_batch": size},
        )
        for size in (1, 2)
    }
