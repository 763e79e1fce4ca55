"""Bayesian GANs: posteriors over the weights of generators and discriminators, sampled by SGHMC.

>>> import bayesgan
>>> posterior = bayesgan.load("RUN")  # doctest: +SKIP
>>> posterior.predict_proba(images)  # doctest: +SKIP
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesgan.base.errors import BayesganError
    from bayesgan.estimator.classifier import BayesGANClassifier
    from bayesgan.posterior.average import Uncertainty
    from bayesgan.posterior.posterior import Posterior
    from bayesgan.runs.run import Run
    from bayesgan.runs.saved import load
    from bayesgan.sampler.density import Draws, sample_density
    from bayesgan.sampler.gan import BayesianGAN
    from bayesgan.sampler.minibatches import Labels
    from bayesgan.settings.settings import Settings

__version__ = version("bayesgan")
__all__ = [
    "BayesGANClassifier",
    "BayesganError",
    "BayesianGAN",
    "Draws",
    "Labels",
    "Posterior",
    "Run",
    "Settings",
    "Uncertainty",
    "__version__",
    "load",
    "sample_density",
]

_PLACES = {
    "BayesianGAN": "bayesgan.sampler.gan",
    "BayesGANClassifier": "bayesgan.estimator.classifier",
    "BayesganError": "bayesgan.base.errors",
    "Posterior": "bayesgan.posterior.posterior",
    "Uncertainty": "bayesgan.posterior.average",
    "Draws": "bayesgan.sampler.density",
    "Labels": "bayesgan.sampler.minibatches",
    "Run": "bayesgan.runs.run",
    "Settings": "bayesgan.settings.settings",
    "load": "bayesgan.runs.saved",
    "sample_density": "bayesgan.sampler.density",
}


def __getattr__(name: str) -> Any:
    """What the package offers, imported when it is asked for: torch and scikit-learn take seconds."""
    if name not in _PLACES:
        raise AttributeError(f"module 'bayesgan' has no attribute '{name}'")
    return getattr(import_module(_PLACES[name]), name)
