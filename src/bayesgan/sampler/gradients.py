"""The conditional posteriors of every chain given the data and the other population, and their stochastic gradients."""

from functools import partial

import torch
from torch import Tensor, nn

from bayesgan.base.errors import BayesganError
from bayesgan.sampler.densities import (
    agreed,
    consensus_log_likelihood,
    discriminator_log_posterior,
    game_of,
    generator_log_posterior,
    labelled_log_likelihood,
    marginalise,
    matching_log_posterior,
    reality,
)
from bayesgan.sampler.distributed import ALONE, Ranks
from bayesgan.sampler.mean_field import MeanField
from bayesgan.sampler.minibatches import ALL, Chosen, Draws, Labels
from bayesgan.sampler.population import Population
from bayesgan.sampler.sghmc import State
from bayesgan.settings.names import Side
from bayesgan.settings.settings import Settings


class Conditionals(Draws):
    """Two populations of chains, {θ_g^{j,m}} and {θ_d^{j,m}}, and the data they are conditioned on.

    Args:
        settings: every number of the run.
        generator: architecture of one generator, from (n, noise_dim) to (n, *point).
        discriminator: architecture of one discriminator, from (n, *point) to (n, K + features): class logits (K = 1
            without labels), then what feature matching compares.
        data: the training points X, (N, *point), already on the device to compute on; bytes stand for [−1, 1].
        seed: of every random draw.
        labels: of some of the points; None is the unsupervised GAN.
        ranks: the processes that share the chains.
    """

    def __init__(
        self,
        settings: Settings,
        generator: nn.Module,
        discriminator: nn.Module,
        data: Tensor,
        seed: int,
        labels: Labels | None = None,
        ranks: Ranks = ALONE,
    ) -> None:
        if settings.generators == 0 and labels is None:
            raise BayesganError("Without generators and without labels there is nothing to learn from: give labels.")
        super().__init__(settings, data, seed, labels, ranks)
        self._refuse_what_ranks_cannot_do()
        self.classes = labels.number if labels is not None else 1
        self.log_likelihood: dict[str, Tensor] = {}  # of each chain's last move, for one data point
        self.game = game_of(settings.game, settings.label_term, settings.critic_weight)
        family = MeanField if settings.family == "mean-field" else Population
        self.generator = family(generator)
        self.discriminator = family(discriminator)
        self.draw_layer_noise_from(self.rng["layers"])
        self.generators = self._initial(self.generator, "generators")
        self.discriminators = self._initial(self.discriminator, "discriminators")

    def _refuse_what_ranks_cannot_do(self) -> None:
        settings = self.settings
        if self.ranks.size == 1:
            return
        if settings.family == "mean-field" or settings.branches > 1:
            raise BayesganError("Gaussians over weights and branches cannot be shared by ranks: start one process.")
        if self.split and (settings.faced is not None or settings.sweep > 1):
            raise BayesganError(
                "Ranks that share the chains of one group cannot take mini-batches of them: leave out faced and sweep, "
                "or start one process."
            )

    def _initial(self, population: Population, side: Side) -> State:
        return State.at(self.own(population.initial(self.number(side), self.rng["initial"], self.dtype), side))

    def draw_layer_noise_from(self, rng: torch.Generator) -> None:
        """Let the noise on the discriminators' layers, if they have any, come from ``rng``."""
        self.discriminator.draw_noise_from(partial(self.layer_seeds, rng))

    # The posteriors of every chain, with z and the other population marginalised. Weights are (groups · chains,
    # weights) for as many chains of each group as there are: all of them, or a mini-batch.

    def fakes(self, theta_g: Tensor, noise: Tensor) -> Tensor:
        """G(z; θ_g): (generators, noise batches · n_g, *point), of all ranks where they share a group."""
        own = self.generator(self.generator.drawn(theta_g, self.rng["weights"]), noise)
        return self.everyones(own, "generators") if self.split else own

    def faced_by(self, fakes: Tensor, discriminators: int) -> Tensor:
        """What each of so many discriminators of a group faces: the points of all generators of its group."""
        facing = fakes.unflatten(0, (self.groups, 1, -1)).flatten(2, 3)
        return facing.expand(-1, discriminators, *[-1] * (fakes.dim() - 1)).flatten(0, 1)

    def by_generator(self, outputs: Tensor) -> Tensor:
        """Outputs for what discriminators face: (groups, discriminators, generators, noise batches, n_g, outputs)."""
        settings = self.settings
        batches = (settings.noise_batches, settings.fake_batch)
        return outputs.reshape(self.groups, len(outputs) // self.groups, -1, *batches, outputs.shape[-1])

    def generator_log_posterior(
        self, theta_g: Tensor, theta_d: Tensor, noise: Tensor, real: Tensor | None = None
    ) -> Tensor:
        """log p(θ_g | θ_d) of every generator chain: Eq. 1 or 3 joined over noise batches and discriminators.

        ``real``, (discriminator chains, n_d, *point), is what feature matching compares with.
        """
        weights_d = self.discriminator.drawn(theta_d, self.rng["weights"])
        facing = self.faced_by(self.fakes(theta_g, noise), len(weights_d) // self.groups)
        outputs = self.by_generator(self.discriminator(weights_d, facing))
        prior = self.generator.log_prior(theta_g, self.settings.prior_variance)
        if self.split:
            prior = self.everyones(prior, "generators")
        prior = prior.view(self.groups, 1, -1, 1)
        if real is None:
            logits = reality(outputs[..., : self.classes])
            log_p = generator_log_posterior(logits, prior, self.data_size, self.game)
        else:
            if outputs.shape[-1] == self.classes:
                raise BayesganError("This discriminator has no features to match: set feature_matching to false.")
            with torch.no_grad():
                features = self.discriminator(weights_d, real)[..., self.classes :]
            features = features.view(self.groups, -1, 1, 1, *features.shape[1:])
            log_p = matching_log_posterior(outputs[..., self.classes :], features, prior, self.data_size)
        if self.split:  # the other ranks' discriminators have seen these generators too
            own = self.share.generators
            log_p = self.everyones(log_p[0], "discriminators").unsqueeze(0)
            log_p, prior = log_p[:, :, own.start : own.stop], prior[:, :, own.start : own.stop]
        self._remember("generators", log_p - prior, (1, 3))
        return self._joined(log_p, (1, 3), self.everyone.discriminators).flatten()

    def discriminator_log_posterior(
        self,
        theta_d: Tensor,
        fakes: Tensor | None,
        real: Tensor | None,
        labelled: tuple[Tensor, Tensor] | None = None,
        plain: Tensor | None = None,
    ) -> Tensor:
        """log p(θ_d | X, θ_g) of every discriminator chain: Eq. 2 or 4 joined over noise batches and generators.

        ``real`` is (discriminator chains, n_d, *point): each chain has its own mini-batch, for a consensus its own view
        of a common one. ``plain``, of the same shape, is that common one as it is: if given, the chains label it.
        ``labelled`` are points (discriminator chains, n_s, *point) and their classes. Without ``fakes`` and ``real``
        there are only labels.
        """
        settings = self.settings
        weights = self.discriminator.drawn(theta_d, self.rng["weights"])
        prior = self.discriminator.log_prior(theta_d, settings.prior_variance).view(self.groups, -1, 1, 1)
        # Real, generated and labelled points are three batches: normalised together with the labelled ones, which come
        # back in every iteration, real points soon look generated without them (docs/choices.md).
        game = [] if fakes is None or real is None else [real, self.faced_by(fakes, prior.shape[1])]
        points = [] if labelled is None else [labelled[0]]
        logits = [each[..., : self.classes] for each in self.discriminator.of_batches(weights, game + points)]
        log_p = prior
        if game:
            real_logits, fake_logits = reality(logits[0]), reality(self.by_generator(logits[1]))
            log_p = discriminator_log_posterior(
                real_logits.view(*prior.shape, -1), fake_logits, prior, self.data_size, self.game, settings.real_target
            )
            if self.consensus > 0:
                log_p = log_p + self._consensus(logits[0], weights, plain).view(prior.shape)
        if labelled is not None and self.labels is not None:
            size = len(self.labels.indices)
            weight = self.data_size / size if settings.label_weight is None else settings.label_weight
            log_likelihood = labelled_log_likelihood(logits[-1], labelled[1], size, weight, self.game)
            log_p = log_p + log_likelihood.view(prior.shape)
        self._remember("discriminators", log_p - prior, (2, 3))
        return self._joined(log_p, (2, 3), self.everyone.generators).flatten()

    def _consensus(self, logits: Tensor, weights: Tensor, plain: Tensor | None) -> Tensor:
        """What the labels that all chains together give to the same unlabelled points are worth to each chain.

        They label the points that gave the ``logits`` or, if given, the same points as they are (``plain``), without
        noise on layers. The labels count more and more from the start to the middle of the burn-in; what is sampled
        after it stands still.
        """
        with torch.no_grad():
            said = logits if plain is None else self.discriminator(weights, plain, noisy=False)[..., : self.classes]
            labels = agreed(self.everyones(said.softmax(-1), "discriminators"))
        weight = self.consensus * min(1.0, 2 * self.iteration / max(1, self.settings.burn_in))
        return consensus_log_likelihood(logits, labels, self.data_size, weight)

    def _joined(self, log_p: Tensor, over: tuple[int, int], others: int) -> Tensor:
        """Join over noise batches and the chains of the other side, of which a mini-batch stands for all ``others``."""
        joined = marginalise(log_p, over, self.settings.marginal)
        faced = log_p.shape[over[0]]
        return joined * (others / faced) if self.settings.marginal == "sum" and faced < others else joined

    def _remember(self, side: Side, log_likelihood: Tensor, over: tuple[int, int]) -> None:
        self.log_likelihood[side] = log_likelihood.detach().mean(over).flatten() / self.data_size

    # Their stochastic gradients, with mini-batches of data, noise and the other side's chains. ``stream``, if given, is
    # where everything is drawn from.

    def generator_gradient(self, stream: str | None = None, moving: Chosen = ALL) -> tuple[Tensor, Tensor]:
        """∂ log p(θ_g | θ_d)/∂θ_g and log p(θ_g | θ_d) of the generators that are ``moving``."""
        faced = self.faced("discriminators", stream)
        noise = self._noise_batches(stream, moving)
        real = None
        if self.settings.feature_matching:
            real = self.shown(self.mini_batches(stream or "noise", faced), stream)
        theta = self.rows(self.generators.theta, moving).detach().requires_grad_()
        theta_d = self.rows(self.discriminators.theta, faced)
        log_p = self.generator_log_posterior(theta, theta_d, noise, real)
        return torch.autograd.grad(log_p.sum(), theta)[0], log_p.detach()

    def discriminator_gradient(
        self, indices: Tensor, stream: str | None = None, moving: Chosen = ALL
    ) -> tuple[Tensor, Tensor]:
        """∂ log p(θ_d | X, θ_g)/∂θ_d and log p(θ_d | X, θ_g) of the discriminators that are ``moving``.

        ``indices`` are those of the real points, a row for each of them on all ranks.
        """
        fakes = real = plain = None
        if self.settings.generators > 0:
            faced = self.faced("generators", stream)
            noise = self._noise_batches(stream, faced)
            with torch.no_grad():
                fakes = self.fakes(self.rows(self.generators.theta, faced), noise)
            real = self.shown(indices, stream)
            if self.consensus > 0 and self.settings.consensus_on == "plain":
                plain = self.points(self.own(indices, "discriminators"))
        labelled = self.labelled_batches(stream, moving)
        theta = self.rows(self.discriminators.theta, moving).detach().requires_grad_()
        log_p = self.discriminator_log_posterior(theta, fakes, real, labelled, plain)
        return torch.autograd.grad(log_p.sum(), theta)[0], log_p.detach()

    def _noise_batches(self, stream: str | None, chosen: Chosen) -> Tensor:
        points = self.settings.noise_batches * self.settings.fake_batch
        drawn = self.noise(self.number("generators", chosen), points, stream or "noise")
        return self.own(drawn, "generators")
