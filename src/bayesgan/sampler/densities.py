r"""The conditional posteriors of the weights, as pure functions of discriminator logits.

With the logit :math:`l = \log D/(1-D)` of being real, :math:`\log D` is ``logsigmoid(l)`` and :math:`\log(1-D)` is
``logsigmoid(-l)``: neither underflows. With K classes that logit is the :func:`reality` of the class logits.

All densities are full-data densities up to a constant: the
likelihood of a mini-batch is multiplied by N/n (Appendix A.1), the prior counts once.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, softplus

from bayesgan.settings.names import GameName, LabelTerm, Marginal, Weighing
from bayesgan.settings.settings import Settings

SHARPNESS = 2.0  # κ of a consensus; 1 is worth much less (docs/choices.md)


class Game(NamedTuple):
    """Log likelihoods of a logit: of a real point, of a generated one, and for its generator.

    ``labelled`` takes the logit of the point's class and its :func:`reality`.
    """

    real: Callable[[Tensor], Tensor]
    fake: Callable[[Tensor], Tensor]
    fool: Callable[[Tensor], Tensor]
    labelled: Callable[[Tensor, Tensor], Tensor]


def reality(logits: Tensor) -> Tensor:
    r"""log Σ_y D(x=y)/D(x=0) of class logits (..., K): what says that a point is real.

    The discriminator is the softmax over K+1 classes whose logit of class 0, "generated", is the constant 0. A softmax
    with K+1 free logits is the same after subtracting the first one from all. Hence
    :math:`\log\sum_y D(x=y) = \log\sigma(r)` and :math:`\log D(x=0) = \log\sigma(-r)` with r the log-sum-exp of the K
    logits; with K = 1 that is the two-class discriminator of Eqs. 1 and 2.
    """
    return logits.logsumexp(-1)


def _log_not(logits: Tensor) -> Tensor:
    return logsigmoid(-logits)


def _log_class(own: Tensor, real: Tensor) -> Tensor:
    """log D(x=y), with K+1 classes."""
    return own - softplus(real)


def _log_class_of_real(own: Tensor, real: Tensor) -> Tensor:
    """log p(y | x, real), with K classes."""
    return own - real


GAMES: dict[GameName, Game] = {
    "jensen-shannon": Game(real=logsigmoid, fake=_log_not, fool=logsigmoid, labelled=_log_class),
    # The critic's value stands in for the log likelihood; the caller keeps the critic Lipschitz.
    "wasserstein": Game(real=torch.positive, fake=torch.neg, fool=torch.positive, labelled=_log_class_of_real),
}


def game_of(name: GameName, label_term: LabelTerm, weight: float = 1.0) -> Game:
    """The game with its label term: "joint" is log D(x=y) as in Eq. 4, "class" is log p(y | x, real).

    The first also says that a labelled point is real, as often as labels count; the unlabelled points say it anyway.
    ``weight`` multiplies what is said of being real or generated: 1 in Eqs. 1 to 4. A critic's value has no natural
    scale beside the labels' log likelihood, and needs one.
    """
    game = GAMES[name]
    if weight != 1.0:
        game = game._replace(
            **{term: partial(_weighted, getattr(game, term), weight) for term in ("real", "fake", "fool")}
        )
    return game._replace(labelled=_log_class_of_real) if label_term == "class" else game


def _weighted(term: Callable[[Tensor], Tensor], weight: float, logits: Tensor) -> Tensor:
    return term(logits) * weight


class _LogNormal(torch.autograd.Function):
    """−½ Σ precision θ², with a gradient of two passes: autograd's own takes a tenth of an iteration."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, precision: Tensor) -> Tensor:
        scaled = theta * precision
        ctx.save_for_backward(scaled)
        return torch.linalg.vecdot(theta, scaled) * -0.5

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (scaled,) = ctx.saved_tensors
        return scaled * -gradients[0].unsqueeze(-1), None


def log_prior(theta: Tensor, precision: Tensor | None) -> Tensor:
    r"""log N(θ; 0, diag 1/precision) up to a constant, for each chain; zero where the prior is flat (None).

    ``theta`` is (chains, weights), ``precision`` (weights,), the result (chains,).
    """
    if precision is None:
        return theta.new_zeros(theta.shape[:-1])
    return _LogNormal.apply(theta, precision)  # type: ignore[no-untyped-call]


def weights_of(weighing: Weighing, size: int, labelled_size: int) -> tuple[float, float]:
    r"""How often a real or generated point counts, and how often a label, in the likelihood of Eq. 4.

    - ``printed``: 1 and 1, as Eq. 4 stands: its sums weigh N : N : N_s;
    - ``raised-labels``: 1 and N/N_s, so N : N : N. It tempers the label likelihood, by N_s/N;
    - ``lowered-game``: N_s/N and 1, so N_s : N_s : N_s. The N points say as much as N_s would; no label counts twice.

    The last two differ in how much all data say beside the prior, and in nothing else.
    """
    if labelled_size == 0 or weighing == "printed":
        return 1.0, 1.0
    return (1.0, size / labelled_size) if weighing == "raised-labels" else (labelled_size / size, 1.0)


def temperatures(settings: Settings, size: int, labelled_size: int) -> dict[str, float]:
    r"""The effective temperature of each term of what discriminators are sampled from.

    A term that counts w times in log p is :math:`T/w` warm, T the temperature of the likelihood: it is sampled as if
    each point were there w/T times. The prior is not tempered; Algorithm 1's sum counts it once for each of its terms.
    At T = 0 there is no noise, and nothing is sampled.
    """
    populations, densities, temperature = settings.populations, settings.densities, settings.sampler.temperature
    game, label = weights_of(densities.weighing, size, labelled_size)
    weights: dict[str, float] = {}
    if populations.generators > 0:
        weights |= {"real": game * densities.game_weight, "generated": game * densities.game_weight}
    if labelled_size > 0:
        weights["labels"] = label
    if populations.committee is not None:  # its images stand for as many as there are data
        weights["generated"] *= size / populations.committee
    elif labelled_size > 0 and densities.consensus > 0:
        weights["consensus"] = game * densities.consensus
    terms = settings.prior_terms("discriminators")
    found = {name: temperature / (weight * terms) for name, weight in weights.items()}
    return found | {"prior": 1.0 / terms if temperature > 0 else 0.0}


def rescaled(log_likelihood: Tensor, data_size: float) -> Tensor:
    r"""(N/n) Σᵢ of the last axis: the full-data log likelihood that a mini-batch of n stands for (A.1)."""
    return log_likelihood.sum(-1) * (data_size / log_likelihood.shape[-1])


def generator_log_posterior(fake_logits: Tensor, prior: Tensor, data_size: int, game: Game) -> Tensor:
    r"""Eqs. 1 and 3, rescaled (A.1).

    .. math:: \log p(\theta_g | z, \theta_d) = \frac{N}{n_g}\sum_i \log D(G(z^{(i)};\theta_g);\theta_d)
              + \log p(\theta_g | \alpha_g)

    ``fake_logits`` is (..., n_g), logits of being real (with classes, their :func:`reality`: then Σ_y D(x=y) stands for
    D), and ``prior`` broadcasts against (...).
    """
    return rescaled(game.fool(fake_logits), data_size) + prior


def matching_log_posterior(fake_features: Tensor, real_features: Tensor, prior: Tensor, data_size: int) -> Tensor:
    r"""Feature matching (Salimans et al. 2016, https://arxiv.org/abs/1606.03498) in the place of Eq. 1's likelihood.

    .. math:: -N\,\Big\| \frac{1}{n_g}\sum_i f(G(z^{(i)};\theta_g)) - \frac{1}{n_d}\sum_i f(x^{(i)}) \Big\|^2
              + \log p(\theta_g | \alpha_g)

    ``fake_features`` is (..., n_g, F), ``real_features`` (..., n_d, F): f is a hidden layer of the discriminator.
    """
    distance = fake_features.mean(-2) - real_features.mean(-2)
    return -data_size * distance.square().sum(-1) + prior


def discriminator_log_posterior(
    real_logits: Tensor, fake_logits: Tensor, prior: Tensor, data_size: float, game: Game
) -> Tensor:
    r"""Eq. 2, or Eq. 4 without its labels, rescaled (A.1).

    .. math:: \log p(\theta_d | z, X, \theta_g) = \frac{N}{n_d}\sum_i \log D(x^{(i)};\theta_d)
              + \frac{N}{n_g}\sum_i \log(1 - D(G(z^{(i)};\theta_g);\theta_d)) + \log p(\theta_d | \alpha_d)

    ``real_logits`` is (..., n_d), ``fake_logits`` (..., n_g): logits of being real, with classes their
    :func:`reality`. Both and ``prior`` broadcast against (...).
    """
    fake = rescaled(game.fake(fake_logits), data_size)
    return rescaled(game.real(real_logits), data_size) + fake + prior


def labelled_log_likelihood(logits: Tensor, classes: Tensor, counts: float, game: Game) -> Tensor:
    r"""The labelled term of Eq. 4, rescaled (A.1).

    .. math:: \frac{w N_s}{n_s}\sum_i \log D(x_s^{(i)} = y_s^{(i)};\theta_d)

    ``logits`` is (..., n_s, K), ``classes`` (..., n_s) with values in 0 … K−1, ``counts`` w N_s, with w = 1 in Eq. 4.
    """
    own = logits.gather(-1, classes.unsqueeze(-1)).squeeze(-1)
    return rescaled(game.labelled(own, reality(logits)), counts)


def balanced(average: Tensor, given: Tensor, balance: float) -> Tensor:
    r"""The average prediction (n_d, K) with each class divided by how often it is ``given`` (K,), made to sum to 1.

    .. math:: \tilde p_i(y) \propto \bar p_i(y)\,/\,m(y)^\lambda

    With λ = 1 and m the mean of :math:`\bar p` over all points, all classes come out about equally often (Berthelot et
    al. 2020, https://arxiv.org/abs/1911.09785): chains do not confirm to each other what they confuse in one direction.
    """
    tilted = average / given**balance
    return tilted / tilted.sum(-1, keepdim=True)


def consensus_labels(average: Tensor, confidence: float = 0.0) -> Tensor:
    r"""The labels (n_d, K) that chains of an ``average`` prediction agree on, :math:`q \propto \bar p^\kappa`.

    The average is the posterior predictive of Eq. 5; κ > 1 makes it more certain, as in Berthelot et al. 2019,
    https://arxiv.org/abs/1905.02249. Points whose largest :math:`\bar p` is below ``confidence`` get zeros, which say
    nothing (Sohn et al. 2020, https://arxiv.org/abs/2001.07685).
    """
    powers = average**SHARPNESS
    return powers / powers.sum(-1, keepdim=True) * (average.amax(-1, keepdim=True) >= confidence)


def consensus_log_likelihood(logits: Tensor, labels: Tensor, data_size: float, weight: float) -> Tensor:
    r"""Unlabelled points with the labels q that all chains together give them, rescaled (A.1) and weighted.

    .. math:: w\,\frac{N}{n_d}\sum_i \sum_y q_i(y) \log p(y | x^{(i)}, \text{real}; \theta_d)

    The labels of unlabelled points are missing data. Tanner and Wong (1987, https://doi.org/10.2307/2289457) draw such
    data from the average over the present posterior samples, and then the parameters given the completed data; this is
    the expectation of the completed data's log likelihood. ``logits`` is (..., n_d, K), ``labels`` (n_d, K), held
    fixed. The gradient with respect to the logits is :math:`w\frac{N}{n_d}(q - p)`.
    """
    return rescaled((labels * logits.log_softmax(-1)).sum(-1), data_size) * weight


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
