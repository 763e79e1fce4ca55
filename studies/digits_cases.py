"""What is compared on digits with 50 labels (``studies/choices.py``).

Rows of results/digits/choices.md without a case here are of settings that are no more (studies/chains.md).
"""

from studies.cases import FALLING, ONE, POSTERIOR, Cases, Values, mini_batched, of_variance, of_width

LABELS = 50

# The preset `fast` as it was before it had smaller batches, jitter and a consensus
NETWORKS: Values = of_width(32) | {"iterations": 1000}
PAIRS: Values = NETWORKS | POSTERIOR | {"schedule": "per-datum", "burn_in": 600, "thin": 50}
RATES = ("generator_rate", "discriminator_rate", "adam_betas", "epsilon", "discriminator_steps")
OF_OTHERS = (*RATES, "feature_matching", "game_weight")
MATCHING: Values = {"feature_matching": True, "layer_noise": 0.3}
LONGER: Values = {"iterations": 2000, "burn_in": 1200, "thin": 100}

# name: (method, its settings); the most telling first
CASES: Cases = {
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
    **mini_batched(PAIRS),
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
    "4 pairs, each label once (Eq. 4)": ("bayesgan", PAIRS | {"weighing": "printed"}),
    "4 pairs, label term as in Eq. 4": ("bayesgan", PAIRS | {"label_term": "joint"}),
    "4 pairs, layer norm": ("bayesgan", PAIRS | {"normalisation": "layer"}),
    "4 pairs, feature matching": ("bayesgan", PAIRS | {"feature_matching": True}),
    "DCGAN, Gaussian noise 0.3 on layers": ("dcgan", NETWORKS | {"layer_noise": 0.3}),
    "DCGAN, feature matching": ("dcgan", NETWORKS | {"feature_matching": True}),
    "DCGAN, minibatch discrimination": ("dcgan", NETWORKS | {"minibatch_discrimination": True}),
    "DCGAN, feature normalisation": ("dcgan", NETWORKS | {"feature_normalisation": True}),
    "DCGAN, 2,000 iterations": ("dcgan", NETWORKS | {"iterations": 2000}),
    "supervised, rate 3e-4": ("supervised", NETWORKS | {"discriminator_rate": 3e-4}),
    "supervised, noise 0.3 on layers": ("supervised", NETWORKS | {"layer_noise": 0.3}),
    "W-DCGAN": (
        "wdcgan",
        {name: value for name, value in NETWORKS.items() if name not in OF_OTHERS},
    ),
    "LFVI-GAN": ("lfvi", NETWORKS),
    "4 pairs, temperature 0.1": ("bayesgan", PAIRS | of_variance(1.0) | {"temperature": 0.1}),
    "8 pairs": ("bayesgan", PAIRS | {"generators": 8, "discriminators": 8}),
    "DCGAN-10": ("dcgan10", NETWORKS),
    "1 pair, prior variance 0.001": ("bayesgan", PAIRS | ONE | of_variance(0.001)),
    "1 pair, prior variance 0.0001": ("bayesgan", PAIRS | ONE | of_variance(0.0001)),
}
