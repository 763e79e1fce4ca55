"""The systems that Table 1 compares, and what they and the data sets are called in tables and figures."""

from typing import Any, Literal

from bayesgan.settings.methods import IMAGE_METHODS, ImageMethod

# The Bayesian GAN's chains without what makes them samples of a posterior: what sampling adds over an ensemble.
ABLATION: Literal["ensemble"] = "ensemble"
ENSEMBLE: dict[str, Any] = {"temperature": 0.0, "prior_variance": None}

System = ImageMethod | Literal["ensemble"]
SYSTEMS: tuple[System, ...] = (*IMAGE_METHODS, ABLATION)

# In the order of the paper's columns
SYSTEM_TITLES: dict[str, str] = {
    "supervised": "Supervised",
    "dcgan": "DCGAN",
    "wdcgan": "W-DCGAN",
    "dcgan10": "DCGAN-10",
    "lfvi": "LFVI-GAN",
    "bayesgan": "BayesGAN",
    "ensemble": "Ensemble",
}
DATASET_TITLES: dict[str, str] = {
    "digits": "Digits",
    "mnist": "MNIST",
    "cifar10": "CIFAR-10",
    "svhn": "SVHN",
    "celeba": "CelebA",
}


def system_of(method: ImageMethod, changed: dict[str, Any]) -> tuple[System, dict[str, Any]]:
    """The system of a run of ``method`` that changes these values of its preset, and what it changes besides."""
    if method != "bayesgan" or not changed.items() >= ENSEMBLE.items():
        return method, changed
    return ABLATION, {name: value for name, value in changed.items() if name not in ENSEMBLE}
