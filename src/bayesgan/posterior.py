r"""The conditional posteriors of the weights, as pure functions of discriminator logits.

With a logit :math:`l = \log D/(1-D)`, :math:`\log D` is ``logsigmoid(l)`` and :math:`\log(1-D)` is
``logsigmoid(-l)``: neither underflows. All densities are full-data densities up to a constant: the
likelihood of a mini-batch is multiplied by N/n (Appendix A.1), the prior counts once.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

Marginal = Literal["sum", "mean", "density"]
GameName = Literal["jensen-shannon", "wasserstein"]


class Game(NamedTuple):
    """What a logit is worth, in log likelihood: of a real point, of a generated one, to its generator."""

    real: Callable[[Tensor], Tensor]
    fake: Callable[[Tensor], Tensor]
    fool: Callable[[Tensor], Tensor]


def _log_not(logits: Tensor) -> Tensor:
    return logsigmoid(-logits)


GAMES: dict[GameName, Game] = {
    "jensen-shannon": Game(real=logsigmoid, fake=_log_not, fool=logsigmoid),
    # The critic's value stands in for the log likelihood; the caller keeps the critic Lipschitz.
    "wasserstein": Game(real=torch.positive, fake=torch.neg, fool=torch.positive),
}


class _LogNormal(torch.autograd.Function):
    """−|θ|²/(2 · variance), with a gradient of one pass: autograd's own takes a tenth of an iteration."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, variance: float) -> Tensor:
        ctx.save_for_backward(theta)
        ctx.variance = variance
        return torch.linalg.vector_norm(theta, dim=-1).square() / (-2.0 * variance)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (theta,) = ctx.saved_tensors
        return theta * (gradients[0] / -ctx.variance).unsqueeze(-1), None


def log_prior(theta: Tensor, variance: float | None) -> Tensor:
    r"""log N(θ; 0, variance · I) up to a constant, for each chain; zero where the prior is flat (None).

    ``theta`` is (chains, weights), the result (chains,).
    """
    if variance is None:
        return theta.new_zeros(theta.shape[:-1])
    return _LogNormal.apply(theta, variance)  # type: ignore[no-untyped-call]


def rescaled(log_likelihood: Tensor, data_size: int) -> Tensor:
    r"""(N/n) Σᵢ of the last axis: the full-data log likelihood that a mini-batch of n stands for (A.1)."""
    return log_likelihood.sum(-1) * (data_size / log_likelihood.shape[-1])


def generator_log_posterior(fake_logits: Tensor, prior: Tensor, data_size: int, game: Game) -> Tensor:
    r"""Eq. 1, rescaled (A.1).

    .. math:: \log p(\theta_g | z, \theta_d) = \frac{N}{n_g}\sum_i \log D(G(z^{(i)};\theta_g);\theta_d)
              + \log p(\theta_g | \alpha_g)

    ``fake_logits`` is (..., n_g) and ``prior`` broadcasts against (...).
    """
    return rescaled(game.fool(fake_logits), data_size) + prior


def discriminator_log_posterior(
    real_logits: Tensor, fake_logits: Tensor, prior: Tensor, data_size: int, game: Game
) -> Tensor:
    r"""Eq. 2, rescaled (A.1).

    .. math:: \log p(\theta_d | z, X, \theta_g) = \frac{N}{n_d}\sum_i \log D(x^{(i)};\theta_d)
              + \frac{N}{n_g}\sum_i \log(1 - D(G(z^{(i)};\theta_g);\theta_d)) + \log p(\theta_d | \alpha_d)

    ``real_logits`` is (..., n_d), ``fake_logits`` (..., n_g); both and ``prior`` broadcast against (...).
    """
    real = rescaled(game.real(real_logits), data_size)
    fake = rescaled(game.fake(fake_logits), data_size)
    return real + fake + prior


def marginalise(log_p: Tensor, over: tuple[int, ...], marginal: Marginal) -> Tensor:
    r"""Join conditional log posteriors over noise batches and chains of the other side.

    - ``sum``: :math:`\sum_{i,k} \log p(\theta | z^{(i)}, \theta^k)`, as Algorithm 1 is printed. The prior and
      the real data are counted once for each term, so it is ``mean`` at a temperature lower by their number.
    - ``mean``: the average of the log densities.
    - ``density``: :math:`\log \frac{1}{J}\sum_{i,k} p(\theta | z^{(i)}, \theta^k)`, as in the text of Section 2.1.
    """
    if marginal == "sum":
        return log_p.sum(over)
    if marginal == "mean":
        return log_p.mean(over)
    terms = 1
    for axis in over:
        terms *= log_p.shape[axis]
    return log_p.logsumexp(over) - torch.log(log_p.new_tensor(terms))
