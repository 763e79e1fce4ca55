"""Bayesian GANs: posteriors over the weights of generators and discriminators, sampled by SGHMC.

>>> import bayesgan
>>> posterior = bayesgan.load("RUN")  # doctest: +SKIP
>>> posterior.predict_proba(images)  # doctest: +SKIP
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesgan.errors import BayesganError
    from bayesgan.estimator import BayesGANClassifier
    from bayesgan.predictive import Uncertainty
    from bayesgan.trained import Posterior, load

__version__ = version("bayesgan")
__all__ = ["BayesGANClassifier", "BayesganError", "Posterior", "Uncertainty", "__version__", "load"]

_PLACES = {
    "BayesGANClassifier": "bayesgan.estimator",
    "BayesganError": "bayesgan.errors",
    "Posterior": "bayesgan.trained",
    "Uncertainty": "bayesgan.predictive",
    "load": "bayesgan.trained",
}


def __getattr__(name: str) -> Any:
    """What the package offers, imported when it is asked for: torch and scikit-learn take seconds."""
    if name not in _PLACES:
        raise AttributeError(f"module 'bayesgan' has no attribute '{name}'")
    return getattr(import_module(_PLACES[name]), name)
