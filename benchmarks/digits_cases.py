"""What is compared on digits with 50 labels (``benchmarks/choices.py``)."""

from typing import Any

LABELS = 50
EVERY = 250  # iterations between evaluations

# Every setting that matters is stated, so that a change of the presets does not change this experiment: it is the
# preset `fast` as it was before it had smaller batches, jitter and a consensus.
NETWORKS: dict[str, Any] = {
    "normalisation": "batch",
    "generator_width": 32,
    "discriminator_width": 32,
    "features": 256,
    "generator_rate": 1e-3,
    "discriminator_rate": 1e-3,
    "adam_betas": [0.5, 0.999],
    "epsilon": 1e-5,
    "label_term": "class",
    "label_weight": None,
    "jitter": 0.0,
    "consensus": 0.0,
    "real_batch": 64,
    "fake_batch": 64,
    "label_batch": 100,
    "iterations": 1000,
}
PAIRS: dict[str, Any] = NETWORKS | {
    "generators": 4,
    "discriminators": 4,
    "coupling": "pairs",
    "marginal": "mean",
    "prior_variance": 10.0,
    "dynamics": "frozen",
    "friction": 0.5,
    "step_ratio": 1.0,
    "schedule": "per-datum",
    "temperature": 0.01,
    "burn_in": 600,
    "thin": 50,
}
ONE = {"generators": 1, "discriminators": 1}
FALLING: dict[str, Any] = {"schedule": "cyclical", "cycles": 1}  # to 0 from the end of the burn-in on
MATCHING: dict[str, Any] = {"feature_matching": True, "layer_noise": 0.3}
LONGER: dict[str, Any] = {"iterations": 2000, "burn_in": 1200, "thin": 100}

# name: (method, its settings); the most telling first
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "supervised": ("supervised", NETWORKS),
    "DCGAN": ("dcgan", NETWORKS),
    "4 pairs, temperature 0.01: `fast`": ("bayesgan", PAIRS),
    "4 pairs, step size falling to 0": ("bayesgan", PAIRS | FALLING),
    "DCGAN, rate falling to 0": ("dcgan", NETWORKS | FALLING),
    "DCGAN, feature matching, noise 0.3": ("dcgan", NETWORKS | MATCHING),
    "DCGAN, feature matching, noise 0.3, rate falling to 0": ("dcgan", NETWORKS | MATCHING | FALLING),
    "DCGAN, feature matching, noise 0.3, rate falling to 0, 2,000 iterations": (
        "dcgan",
        NETWORKS | MATCHING | FALLING | {"iterations": 2000},
    ),
    "4 pairs, feature matching, noise 0.3": ("bayesgan", PAIRS | MATCHING),
    "4 pairs, feature matching, noise 0.3, step size falling to 0": ("bayesgan", PAIRS | MATCHING | FALLING),
    "4 pairs, feature matching, noise 0.3, step size falling to 0, 2,000 iterations": (
        "bayesgan",
        PAIRS | MATCHING | FALLING | LONGER,
    ),
    "10 generators × 2 discriminators, all against all, chains mini-batched": (
        "bayesgan",
        PAIRS | {"coupling": "all", "generators": 10, "discriminators": 2, "faced": 1, "sweep": 5},
    ),
    "4 pairs, temperature 0": ("bayesgan", PAIRS | {"temperature": 0.0}),
    "4 pairs, temperature 1": ("bayesgan", PAIRS | {"temperature": 1.0}),
    "4 generators × 1 discriminator (algorithm1)": (
        "bayesgan",
        PAIRS | {"coupling": "algorithm1", "discriminators": 1},
    ),
    "4 × 4, all against all": ("bayesgan", PAIRS | {"coupling": "all"}),
    "1 generator × 4 discriminators": ("bayesgan", PAIRS | {"coupling": "all", "generators": 1}),
    "1 pair": ("bayesgan", PAIRS | ONE),
    "1 pair, cyclical step size (4 cycles)": ("bayesgan", PAIRS | ONE | {"schedule": "cyclical"}),
    "1 pair until the sampling, then 4 branches": ("bayesgan", PAIRS | ONE | {"branches": 4}),
    "4 pairs, each label once (Eq. 4)": ("bayesgan", PAIRS | {"label_weight": 1.0}),
    "4 pairs, label term as in Eq. 4": ("bayesgan", PAIRS | {"label_term": "joint"}),
    "4 pairs, layer norm": ("bayesgan", PAIRS | {"normalisation": "layer"}),
    "4 pairs, feature matching": ("bayesgan", PAIRS | {"feature_matching": True}),
    "DCGAN, Gaussian noise 0.3 on layers": ("dcgan", NETWORKS | {"layer_noise": 0.3}),
    "DCGAN, feature matching": ("dcgan", NETWORKS | {"feature_matching": True}),
    "DCGAN, minibatch discrimination": ("dcgan", NETWORKS | {"minibatch_discrimination": True}),
    "DCGAN, feature normalisation": ("dcgan", NETWORKS | {"feature_normalisation": True}),
    "DCGAN, label smoothing": ("dcgan", NETWORKS | {"real_target": 0.9}),
    "DCGAN, 2,000 iterations": ("dcgan", NETWORKS | {"iterations": 2000}),
    "supervised, rate 3e-4": ("supervised", NETWORKS | {"discriminator_rate": 3e-4}),
    "supervised, noise 0.3 on layers": ("supervised", NETWORKS | {"layer_noise": 0.3}),
    "W-DCGAN": (
        "wdcgan",
        {name: NETWORKS[name] for name in NETWORKS if name.endswith(("width", "batch", "iterations", "jitter"))},
    ),
    "LFVI-GAN": ("lfvi", NETWORKS),
    "4 pairs, temperature 0.1": ("bayesgan", PAIRS | {"temperature": 0.1}),
    "8 pairs": ("bayesgan", PAIRS | {"generators": 8, "discriminators": 8}),
    "DCGAN-10": ("dcgan10", NETWORKS),
    "1 pair, prior variance 0.1": ("bayesgan", PAIRS | ONE | {"prior_variance": 0.1}),
    "1 pair, prior variance 0.01": ("bayesgan", PAIRS | ONE | {"prior_variance": 0.01}),
    "1 pair, prior variance 0.003": ("bayesgan", PAIRS | ONE | {"prior_variance": 0.003}),
    "1 pair, prior variance 0.001": ("bayesgan", PAIRS | ONE | {"prior_variance": 0.001}),
}
