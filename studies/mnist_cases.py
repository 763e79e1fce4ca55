"""What is compared on MNIST with 100 labels (``studies/choices.py``): what a second buys, so most runs are short.

1,800 iterations of batches of 64 with all labels, but for the cases that say otherwise.
Rows of results/mnist/choices.md without a case here are of settings that are no more (studies/chains.md).
"""

from studies.cases import FALLING, ONE, POSTERIOR, Cases, Values, mini_batched, of_width

LABELS = 100

NETWORKS: Values = of_width(16) | FALLING | {"layer_noise": 0.3, "iterations": 1800, "burn_in": 1200}
GAN: Values = NETWORKS | {"feature_matching": True}
PAIRS: Values = GAN | POSTERIOR | {"thin": 60}
SMALL = {"real_batch": 32, "fake_batch": 32, "label_batch": 25}
LONG = {"iterations": 18_000, "burn_in": 12_000, "thin": 600}
TWICE = {"iterations": 3600, "burn_in": 2400, "thin": 120}

# name: (method, its settings); the most telling first
CASES: Cases = {
    "supervised": ("supervised", NETWORKS),
    "DCGAN": ("dcgan", GAN),
    "1 pair": ("bayesgan", PAIRS | ONE),
    "4 pairs, temperature 0.01": ("bayesgan", PAIRS),
    **mini_batched(PAIRS),
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
