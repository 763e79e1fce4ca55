"""The conditional log posteriors of every chain, and their stochastic gradients.

Weights are (groups · chains, weights), for all chains of each group or a mini-batch of them. z and the other population
are marginalised.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.data.augment import augmented
from bayesgan.sampler.densities import (
    balanced,
    consensus_labels,
    consensus_log_likelihood,
    discriminator_log_posterior,
    game_of,
    generator_log_posterior,
    labelled_log_likelihood,
    marginalise,
    matching_log_posterior,
    reality,
    weights_of,
)
from bayesgan.sampler.distributed import Members
from bayesgan.sampler.minibatches import DiscriminatorBatch, GeneratorBatch, Labels, strengths_of
from bayesgan.sampler.population import Population
from bayesgan.sampler.sghmc import noise_seeds
from bayesgan.sampler.state import State, Streams
from bayesgan.settings.names import Side
from bayesgan.settings.settings import Settings


class LogDensities(NamedTuple):
    """Of every chain that moves, (chains,)."""

    posterior: Tensor  # full-data, up to a constant
    likelihood: Tensor  # of one data point


class Gradient(NamedTuple):
    """∂ log p(θ | …)/∂θ of the chains that are ``moving``, (chains, weights)."""

    values: Tensor
    moving: slice
    log_densities: LogDensities
    given: Tensor | None = None  # (K,): how often the consensus gives each class, before it is balanced


class Gradients:
    """The gradients of both populations.

    Args:
        settings: of the run.
        generator: the population of generators, from (n, noise_dim) to (n, *point).
        discriminator: that of discriminators, from (n, *point) to (n, K + features).
        size: N, the number of data points.
        labels: of some of them.
        members: the chains.
    """

    def __init__(
        self,
        settings: Settings,
        generator: Population,
        discriminator: Population,
        size: int,
        labels: Labels | None,
        members: Members,
    ) -> None:
        self.settings = settings
        self.generator = generator
        self.discriminator = discriminator
        self.size = size
        self.classes = 1 if labels is None else labels.number  # K
        self.labelled_size = 0 if labels is None else len(labels.indices)  # N_s
        self.members = members
        self.strengths = strengths_of(settings)
        densities = settings.densities
        # With nobody to tell it from, a label does not say that a point is real.
        label_term = densities.label_term if settings.populations.generators > 0 else "class"
        self.game = game_of(densities.game, label_term, densities.game_weight)
        self.game_counts, self.label_counts = weights_of(densities.weighing, size, self.labelled_size)
        self._precisions: dict[Side, Tensor | None] = {}

    def of_generators(self, state: State, batch: GeneratorBatch) -> Gradient:
        """Σ_i Σ_k ∂ log p(θ_g | z^(i), θ_d^k)/∂θ_g, or as ``marginal`` joins them."""
        theta_g = self.members.rows(state.generators.theta, batch.moving).detach().requires_grad_()
        theta_d = self.members.rows(state.discriminators.theta, batch.faced)
        found = self.log_p_of_generators(state.streams, theta_g, theta_d, batch.noise, batch.real, batch.changes)
        return _gradient(found, theta_g, batch.moving)

    def of_discriminators(self, state: State, batch: DiscriminatorBatch) -> Gradient:
        """Σ_i Σ_k ∂ log p(θ_d | z^(i), x, θ_g^k)/∂θ_d, or as ``marginal`` joins them."""
        fakes = None
        if batch.noise is not None and batch.faced is not None:
            with torch.no_grad():
                theta_g = self.members.rows(state.generators.theta, batch.faced)
                fakes = self.generated(state.streams, theta_g, batch.noise, batch.changes)
        theta_d = self.members.rows(state.discriminators.theta, batch.moving).detach().requires_grad_()
        said = None
        if batch.plain is not None:
            average = state.discriminators.average  # teaches, where there is one
            teachers = self.discriminator.drawn(theta_d if average is None else average, state.streams["weights"])
            said = self._said(teachers.detach(), batch.plain)
        facing = batch.stood_for if fakes is None else self._facing(fakes, len(theta_d) // self.members.groups)
        found, said = self.log_p_of_discriminators(state, theta_d, facing, batch, said)
        given = None if said is None else said.mean(0)
        return _gradient(found, theta_d, batch.moving)._replace(given=given)

    def generated(self, streams: Streams, theta_g: Tensor, noise: Tensor, changes: Tensor | None = None) -> Tensor:
        """G(z; θ_g): (generators, noise batches · n_g, *point), of all ranks where they share a group.

        Images are shown with ``changes``, if there are any (Zhao et al. 2020, https://arxiv.org/abs/2006.10738): real
        ones are told from generated ones by nothing that was done to them.
        """
        own = self.generator(self.generator.drawn(theta_g, streams["weights"]), noise)
        if changes is not None:
            own = augmented(own, changes, self.strengths)
        return self.members.everyones(own, "generators") if self.members.split else own

    def log_p_of_generators(
        self,
        streams: Streams,
        theta_g: Tensor,
        theta_d: Tensor,
        noise: Tensor,
        real: Tensor | None = None,
        changes: Tensor | None = None,
    ) -> LogDensities:
        """log p(θ_g | θ_d) of every generator: Eq. 1 or 3 joined over noise batches and discriminators.

        ``real``, (discriminators, n_d, *point), is what feature matching compares with; ``changes`` are what is done to
        generated images.
        """
        members = self.members
        weights_d = self.discriminator.drawn(theta_d, streams["weights"])
        facing = self._facing(self.generated(streams, theta_g, noise, changes), len(weights_d) // members.groups)
        seeds = self.layer_seeds(streams["layers"], len(weights_d))
        outputs = self._by_generator(self.discriminator(weights_d, facing, seeds=seeds))
        prior = self._log_prior(self.generator, "generators", theta_g)
        if members.split:
            prior = members.everyones(prior, "generators")
        prior = prior.view(members.groups, 1, -1, 1)
        if real is None:
            log_p = generator_log_posterior(reality(outputs[..., : self.classes]), prior, self.size, self.game)
        else:
            features = self._features(streams, weights_d, real)
            log_p = matching_log_posterior(outputs[..., self.classes :], features, prior, self.size)
        if members.split:  # the other ranks' discriminators have seen these generators too
            own = members.share.generators
            log_p = members.everyones(log_p[0], "discriminators").unsqueeze(0)
            log_p, prior = log_p[:, :, own.start : own.stop], prior[:, :, own.start : own.stop]
        return self._joined(log_p, prior, (1, 3), members.everyone.discriminators)

    def log_p_of_discriminators(
        self,
        state: State,
        theta_d: Tensor,
        facing: Tensor | None,
        batch: DiscriminatorBatch,
        said: Tensor | None = None,
    ) -> tuple[LogDensities, Tensor | None]:
        """log p(θ_d | X, θ_g) of every discriminator: Eq. 2 or 4 joined over noise batches and generators.

        ``facing`` are generated points, (discriminators, n, *point). Without them there are only labels: those that are
        known, and for a consensus those that follow from what all chains together have ``said`` of unlabelled points,
        (n_d, K). By default they say it here, of the points as each sees them; it is returned too.
        """
        densities, labelled = self.settings.densities, batch.labelled
        streams = state.streams
        weights = self.discriminator.drawn(theta_d, streams["weights"])
        prior = self._log_prior(self.discriminator, "discriminators", theta_d).view(self.members.groups, -1, 1, 1)
        # Real, generated and labelled points are batches of their own: normalised together with the labelled ones,
        # which come back in every iteration, real points soon look generated without them (docs/choices.md).
        points = {"real": batch.real, "fake": facing, "labelled": None if labelled is None else labelled[0]}
        there = {name: each for name, each in points.items() if each is not None}
        seeds = self.layer_seeds(streams["layers"], len(weights))
        outputs = self.discriminator.of_batches(weights, list(there.values()), seeds)
        logits = {name: each[..., : self.classes] for name, each in zip(there, outputs, strict=True)}
        log_p = prior
        if facing is not None:
            is_real = reality(logits["real"]).view(*prior.shape, -1)
            is_fake = reality(self._by_generator(logits["fake"]))
            log_p = discriminator_log_posterior(is_real, is_fake, prior, self.size * self.game_counts, self.game)
        if batch.consensus > 0:
            said = self._average(logits["real"]) if said is None else said
            labels = consensus_labels(balanced(said, state.given.to(said), densities.balance), densities.confidence)
            agreement = consensus_log_likelihood(logits["real"], labels, self.size * self.game_counts, batch.consensus)
            log_p = log_p + agreement.view(prior.shape)
        if labelled is not None:
            counts = self.labelled_size * self.label_counts
            known = labelled_log_likelihood(logits["labelled"], labelled[1], counts, self.game)
            log_p = log_p + known.view(prior.shape)
        return self._joined(log_p, prior, (2, 3), self.members.everyone.generators), said

    def _facing(self, fakes: Tensor, discriminators: int) -> Tensor:
        """Give each discriminator of a group the points of all generators of its group."""
        facing = fakes.unflatten(0, (self.members.groups, 1, -1)).flatten(2, 3)
        return facing.expand(-1, discriminators, *[-1] * (fakes.dim() - 1)).flatten(0, 1)

    def _by_generator(self, outputs: Tensor) -> Tensor:
        """Outputs for what discriminators face: (groups, discriminators, generators, noise batches, n_g, outputs)."""
        groups, batches = self.members.groups, self.settings.batches
        sizes = (batches.noise_batches, batches.fake_batch)
        return outputs.reshape(groups, len(outputs) // groups, -1, *sizes, outputs.shape[-1])

    def _log_prior(self, population: Population, side: Side, theta: Tensor) -> Tensor:
        """The log prior of each chain, as much as it counts (``Settings.prior_weight``)."""
        return population.log_p(theta, self.precision(side, theta)) * self.settings.prior_weight

    def precision(self, side: Side, like: Tensor) -> Tensor | None:
        """1/σ² of the prior of each weight of a side; None: flat."""
        if side not in self._precisions:
            prior, population = self.settings.prior, self.generator if side == "generators" else self.discriminator
            self._precisions[side] = population.precision(prior.variance(side), prior.prior_scale, like)
        return self._precisions[side]

    def counted_precision(self, side: Side, like: Tensor) -> Tensor | None:
        """The same as often as the prior counts in log p (``Settings.prior_terms``)."""
        precision = self.precision(side, like)
        return None if precision is None else precision * self.settings.prior_terms(side)

    @torch.no_grad()
    def _features(self, streams: Streams, weights_d: Tensor, real: Tensor) -> Tensor:
        """Of real points: (groups, discriminators, 1, 1, n_d, features)."""
        seeds = self.layer_seeds(streams["layers"], len(weights_d))
        features = self.discriminator(weights_d, real, seeds=seeds)[..., self.classes :]
        if features.shape[-1] == 0:
            raise BayesganError("This discriminator has no features to match: set feature_matching to false.")
        return features.view(self.members.groups, -1, 1, 1, *features.shape[1:])

    @torch.no_grad()
    def _said(self, weights: Tensor, points: Tensor) -> Tensor:
        """What all chains together say of ``points``, (n_d, K), without noise on layers."""
        return self._average(self.discriminator(weights, points)[..., : self.classes])

    @torch.no_grad()
    def _average(self, logits: Tensor) -> Tensor:
        """The average prediction (n_d, K) of the chains of all ranks; ``logits`` are (chains here, n_d, K)."""
        return self.members.everyones(logits.softmax(-1), "discriminators").mean(0)

    def layer_seeds(self, rng: torch.Generator, chains: int) -> Tensor | None:
        """Seeds, drawn from ``rng``, of the noise on the layers of so many discriminators here; None without it."""
        if not self.discriminator.noisy:
            return None
        members = self.members
        of_all = (
            members.everyone.discriminators if members.split else chains // members.groups * members.everyone.number
        )
        return members.own(noise_seeds(rng, of_all), "discriminators")

    def _joined(self, log_p: Tensor, prior: Tensor, over: tuple[int, int], others: int) -> LogDensities:
        """Join over noise batches and the chains of the other side, of which a mini-batch stands for all ``others``."""
        marginal, faced = self.settings.densities.marginal, log_p.shape[over[0]]
        joined = marginalise(log_p, over, marginal)
        if marginal == "sum" and faced < others:
            joined = joined * (others / faced)
        likelihood = (log_p - prior).detach().mean(over) / self.size
        return LogDensities(joined.flatten(), likelihood.flatten())


def _gradient(found: LogDensities, theta: Tensor, moving: slice) -> Gradient:
    (values,) = torch.autograd.grad(found.posterior.sum(), theta)
    return Gradient(values, moving, LogDensities(found.posterior.detach(), found.likelihood))
