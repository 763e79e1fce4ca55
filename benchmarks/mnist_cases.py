"""What is compared on MNIST with 100 labels (``benchmarks/choices.py``): what a second buys, so most runs are short.

1,800 iterations of batches of 64 with all labels, but for the cases that say otherwise.
"""

from typing import Any

LABELS = 100
EVERY = 250  # iterations between evaluations

# Every setting that matters is stated, so that a change of the presets does not change this experiment.
NETWORKS: dict[str, Any] = {
    "normalisation": "batch",
    "generator_width": 16,
    "discriminator_width": 16,
    "features": 256,
    "generator_rate": 1e-3,
    "discriminator_rate": 1e-3,
    "adam_betas": [0.5, 0.999],
    "epsilon": 1e-5,
    "label_term": "class",
    "label_weight": None,
    "layer_noise": 0.3,
    "jitter": 0.0,
    "consensus": 0.0,
    "real_batch": 64,
    "fake_batch": 64,
    "label_batch": 100,
    "schedule": "cyclical",
    "cycles": 1,
    "iterations": 1800,
    "burn_in": 1200,
}
GAN: dict[str, Any] = NETWORKS | {"feature_matching": True}
PAIRS: dict[str, Any] = GAN | {
    "generators": 4,
    "discriminators": 4,
    "coupling": "pairs",
    "marginal": "mean",
    "prior_variance": 10.0,
    "dynamics": "frozen",
    "friction": 0.5,
    "step_ratio": 1.0,
    "temperature": 0.01,
    "thin": 60,
}
ONE = {"generators": 1, "discriminators": 1}
SMALL = {"real_batch": 32, "fake_batch": 32, "label_batch": 25}
LONG = {"iterations": 18_000, "burn_in": 12_000, "thin": 600}
TWICE = {"iterations": 3600, "burn_in": 2400, "thin": 120}

# name: (method, its settings); the most telling first
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "supervised": ("supervised", NETWORKS),
    "DCGAN": ("dcgan", GAN),
    "1 pair": ("bayesgan", PAIRS | ONE),
    "4 pairs, temperature 0.01": ("bayesgan", PAIRS),
    "10 generators × 2 discriminators, all against all, chains mini-batched": (
        "bayesgan",
        PAIRS | {"coupling": "all", "generators": 10, "discriminators": 2, "faced": 1, "sweep": 5},
    ),
    "1 pair until the sampling, then 4 branches": ("bayesgan", PAIRS | ONE | {"branches": 4}),
    "1 pair, cyclical step size (4 cycles)": ("bayesgan", PAIRS | ONE | {"cycles": 4}),
    "2 pairs": ("bayesgan", PAIRS | {"generators": 2, "discriminators": 2}),
    "4 generators × 1 discriminator (algorithm1)": (
        "bayesgan",
        PAIRS | {"coupling": "algorithm1", "discriminators": 1},
    ),
    "DCGAN-10": ("dcgan10", GAN),
    "1 pair, 25 labels at a time": ("bayesgan", PAIRS | ONE | {"label_batch": 25}),
    "1 pair, sampling from a third on": ("bayesgan", PAIRS | ONE | {"burn_in": 600, "thin": 120}),
    "1 pair, 32 channels in the discriminator": ("bayesgan", PAIRS | ONE | {"discriminator_width": 32}),
    "1 pair, 512 features": ("bayesgan", PAIRS | ONE | {"features": 512}),
    "1 pair, batches of 32, 25 labels at a time": ("bayesgan", PAIRS | ONE | SMALL),
    "1 pair, 3,600 iterations of batches of 32, 25 labels at a time": ("bayesgan", PAIRS | ONE | SMALL | TWICE),
    "1 pair, 18,000 iterations of batches of 32, 25 labels at a time": ("bayesgan", PAIRS | ONE | SMALL | LONG),
    "1 pair, 5,400 iterations": ("bayesgan", PAIRS | ONE | {"iterations": 5400, "burn_in": 3600, "thin": 180}),
    "DCGAN, 5,400 iterations": ("dcgan", GAN | {"iterations": 5400, "burn_in": 3600}),
}
