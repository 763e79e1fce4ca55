"""Gaussians over weights in the place of weights: the variational approximation of LFVI-GAN."""

import torch
from torch import Tensor

from bayesgan.sampler.densities import log_prior
from bayesgan.sampler.population import Population


class MeanField(Population):
    r"""Populations of Gaussians q(w) = N(μ, diag σ²) over the weights: variational inference (LFVI-GAN).

    ``theta`` is (chains, 2 · weights): μ, then log σ. Its "log prior" is the part of the evidence lower bound that does
    not need data, :math:`E_q[\log p(w)] + H[q] = \sum \log\sigma - (\mu^2+\sigma^2)/(2 s^2)` up to a constant, and a
    likelihood at weights :math:`w = \mu + \sigma\epsilon` has the reparameterised gradient (Kingma & Welling 2014,
    https://arxiv.org/abs/1312.6114).
    """

    START = -5.0  # of log σ: narrow, so that the networks learn as usual at first

    def initial(self, chains: int, rng: torch.Generator, dtype: torch.dtype = torch.float32) -> Tensor:
        """Starting Gaussians: means as :meth:`Population.initial`, deviations e^-5."""
        means = super().initial(chains, rng, dtype)
        return torch.cat([means, torch.full_like(means, self.START)], 1)

    def drawn(self, theta: Tensor, rng: torch.Generator) -> Tensor:
        """Weights (chains, weights), a draw from each chain's q."""
        means, log_deviations = theta.chunk(2, dim=1)
        noise = torch.empty_like(means).normal_(generator=rng)
        return means + log_deviations.exp() * noise

    def log_p(self, theta: Tensor, precision: Tensor | None) -> Tensor:
        """E_q[log p(w)] + H[q] of each chain, up to a constant."""
        means, log_deviations = theta.chunk(2, dim=1)
        entropy = log_deviations.sum(1)
        return entropy + log_prior(means, precision) + log_prior(log_deviations.exp(), precision)
