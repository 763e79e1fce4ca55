"""The methods that the paper compares, each a few settings of the same machine."""

from typing import Any

from bayesgan.base.errors import BayesganError
from bayesgan.settings.names import Method, SyntheticMethod
from bayesgan.settings.settings import Length, Settings

Values = dict[str, Any]  # settings by name

# One network a side, a flat prior, temperature 0 and Adam to the end: Goodfellow's GAN (Section 2.1).
POINT_ESTIMATE: Values = {
    "generators": 1,
    "discriminators": 1,
    "replicas": 1,
    "coupling": "algorithm1",
    "marginal": "mean",
    "noise_batches": 1,
    "generator_prior": None,
    "discriminator_prior": None,
    "temperature": 0.0,
}

# Arjovsky et al. 2017, https://arxiv.org/abs/1701.07875: weight clipping, no momentum, five critic steps. Its
# gradients are not those of a probability, so it has rates and an epsilon of its own (docs/choices.md).
WASSERSTEIN: Values = {
    "game": "wasserstein",
    "clip": 0.03,
    "discriminator_steps": 5,
    "adam_betas": (0.0, 0.99),
    "epsilon": 1e-8,
    "generator_rate": 1e-3,
    "discriminator_rate": 1e-3,
}

# Classifiers: Adam's last weights, or their moving average, are the only sample.
OPTIMISED: Values = POINT_ESTIMATE | {
    "dynamics": "adam",
    "weighing": "raised-labels",  # the three means count alike
}
# Without a consensus nothing is gained by a start on labels alone; where it is read, the default is said.
UNTAUGHT: Values = {"consensus": 0.0, "consensus_on": "augmented", "labels_first": 0.0}

TAUGHT: Values = {"consensus": 1.0, "consensus_on": "plain"}
TEN: Values = {"generators": 10, "discriminators": 10, "coupling": "pairs"}

METHOD_VALUES: dict[Method, Values] = {
    "bayesgan": {},
    "dcgan": OPTIMISED | UNTAUGHT,
    "wdcgan": OPTIMISED | UNTAUGHT | WASSERSTEIN | {"feature_matching": False, "game_weight": 0.1},
    # Ten, each on its own 80 % of the unlabelled images (Section 4), averaged.
    "dcgan10": OPTIMISED | UNTAUGHT | TEN | {"data_share": 0.8},
    "supervised": OPTIMISED | UNTAUGHT | {"generators": 0},
    # A Gaussian over the weights on each side, with a proper prior; the samples are draws from it.
    "lfvi": {name: value for name, value in (OPTIMISED | UNTAUGHT).items() if not name.endswith("_prior")}
    | {"family": "mean-field"},
    # The chains of the Bayesian GAN without what makes them samples of a posterior: what does sampling add?
    "ensemble": {"temperature": 0.0, "generator_prior": None, "discriminator_prior": None},
    # The Bayesian GAN without what classifiers learn from beside labels and the game: the paper claims to need none.
    "plain": UNTAUGHT
    | {
        "jitter": 0.0,
        "brightness": 0.0,
        "cut": 0.0,
        "flip": False,
        "change_generated": False,
        "averaging": 0.0,
        "game_weight": 1.0,
        "feature_matching": False,
        "layer_noise": 0.0,
    },
    # The same committee, teacher and augmentation without generators: is the GAN worth anything?
    "discriminative": {"generators": 0, "coupling": "algorithm1"},
    # What is not in the paper is given to its baselines, too.
    "dcgan-teacher": OPTIMISED | TAUGHT,
    "dcgan10-consensus": OPTIMISED | TEN | TAUGHT,
}
# Whose chains are collected along their way.
SAMPLED: tuple[Method, ...] = ("bayesgan", "ensemble", "plain", "discriminative")

SYNTHETIC_VALUES: dict[SyntheticMethod, Values] = {
    "bayesgan": {},
    "ml-gan": POINT_ESTIMATE,
    "wgan": POINT_ESTIMATE | WASSERSTEIN,
}


def synthetic_settings(method: SyntheticMethod, **values: object) -> Settings:
    """The settings of ``method``; ``values`` replace the defaults, the method's own definition replaces both."""
    merged = values | SYNTHETIC_VALUES[method]
    if method != "bayesgan":  # Adam to the end
        merged["burn_in"] = merged.get("iterations", Length().iterations)
    settings = Settings.of(**merged)
    if settings.populations.generators == 0:
        raise BayesganError("Without generators there is only classification, which synthetic data have no labels for.")
    return settings
