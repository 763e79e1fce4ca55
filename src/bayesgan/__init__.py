"""Bayesian GANs: posteriors over the weights of generators and discriminators, sampled by SGHMC."""

from importlib.metadata import version

__version__ = version("bayesgan")
__all__ = ["__version__"]
