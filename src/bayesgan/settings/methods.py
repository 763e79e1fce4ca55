"""The systems that the paper compares, each a setting of the same machine."""

from typing import Literal, get_args

from bayesgan.settings.settings import Settings, parse_settings

MethodName = Literal["ml-gan", "wgan", "bayesgan"]
NAMES: tuple[MethodName, ...] = get_args(MethodName)

ImageMethod = Literal["bayesgan", "dcgan", "wdcgan", "dcgan10", "supervised", "lfvi"]
IMAGE_METHODS: tuple[ImageMethod, ...] = get_args(ImageMethod)

# One network a side, a flat prior, temperature 0 and Adam to the end: Goodfellow's GAN (Section 2.1).
POINT_ESTIMATE: dict[str, object] = {
    "generators": 1,
    "discriminators": 1,
    "replicas": 1,
    "coupling": "algorithm1",
    "marginal": "mean",
    "noise_batches": 1,
    "prior_variance": None,
    "temperature": 0.0,
}

# Arjovsky et al. 2017, https://arxiv.org/abs/1701.07875: weight clipping, no momentum, five critic steps. Its
# gradients are not those of a probability, so it has rates and an epsilon of its own (docs/choices.md).
WASSERSTEIN: dict[str, object] = {
    "game": "wasserstein",
    "clip": 0.03,
    "discriminator_steps": 5,
    "adam_betas": (0.0, 0.99),
    "epsilon": 1e-8,
    "generator_rate": 1e-3,
    "discriminator_rate": 1e-3,
}

OVERRIDES: dict[MethodName, dict[str, object]] = {
    "bayesgan": {},
    "ml-gan": POINT_ESTIMATE,
    "wgan": POINT_ESTIMATE | WASSERSTEIN,
}

# The same for images, where Adam's last weights are the only sample.
OPTIMISED: dict[str, object] = POINT_ESTIMATE | {
    "dynamics": "adam",
    "branches": 1,
    "label_weight": None,  # the three means count alike
    "consensus": 0.0,
    "consensus_on": "shown",  # the default: without a consensus it says nothing
}

IMAGE_OVERRIDES: dict[ImageMethod, dict[str, object]] = {
    "bayesgan": {},
    "dcgan": OPTIMISED,
    "wdcgan": OPTIMISED | WASSERSTEIN | {"feature_matching": False, "critic_weight": 0.1},
    # Ten, each on its own 80 % of the unlabelled images (Section 4), averaged.
    "dcgan10": OPTIMISED | {"generators": 10, "discriminators": 10, "coupling": "pairs", "data_share": 0.8},
    "supervised": OPTIMISED | {"generators": 0, "game": "classification"},
    # A Gaussian over the weights on each side, with a proper prior; the samples are draws from it.
    "lfvi": {name: value for name, value in OPTIMISED.items() if name != "prior_variance"} | {"family": "mean-field"},
}
DRAWS = 10  # from the Gaussians of lfvi, in its last iterations unless its steps fall (presets.py)


def settings_for(method: MethodName, **values: object) -> Settings:
    """The settings of ``method``; ``values`` replace the defaults, the method's own definition replaces both."""
    merged = values | OVERRIDES[method]
    if method != "bayesgan":
        merged["burn_in"] = merged.get("iterations", Settings.model_fields["iterations"].default)
    return parse_settings(Settings, **merged)
