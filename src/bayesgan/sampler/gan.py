"""Algorithm 1 of the paper: the iteration that moves both populations, and what is collected."""

from dataclasses import replace
from functools import cached_property
from statistics import fmean

import torch
from torch import Tensor, nn

from bayesgan.base.errors import BayesganError
from bayesgan.base.rng import stream
from bayesgan.sampler.coupling import grouped
from bayesgan.sampler.distributed import ALONE, Members, Ranks
from bayesgan.sampler.gradients import Gradient, Gradients, LogDensities
from bayesgan.sampler.mean_field import MeanField
from bayesgan.sampler.minibatches import Labels, MiniBatches
from bayesgan.sampler.population import Population
from bayesgan.sampler.sghmc import Chains, gradient_noise_over_friction
from bayesgan.sampler.state import State, Streams
from bayesgan.sampler.update import Update
from bayesgan.settings.names import SIDES, Side
from bayesgan.settings.settings import Settings

STREAMS = (
    *("initial", "noise", "data", "labels", "jitter", "weights", "layers", "dynamics", "facing"),
    *("evaluation", "diagnostics", "committee"),
)
PAIRS = 20  # of gradients at the same weights, whose differences say how noisy they are
LOOKS = (0.0, 0.01, 0.03, 0.1)  # of the sampling, after which steps may still become shorter
POWERS = 20  # iterations of the power method
NEARBY = 1e-3  # of the norm of the weights: between two gradients whose difference is a Hessian's product
NEWS = 0.01  # share of a mini-batch in the moving average of what a consensus gives

Sample = dict[str, Tensor]  # generators, discriminators, and the statistics of each, a row for each chain


class BayesianGAN:
    """The sampler of both posteriors, p(θ_g | θ_d) and p(θ_d | X, θ_g).

    Args:
        settings: every number of the run.
        generator: one generator's network, from (n, noise_dim) to (n, *point).
        discriminator: one discriminator's, from (n, *point) to (n, K + features): class logits (K = 1 without labels),
            then what feature matching compares.
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
        if settings.populations.generators == 0 and labels is None:
            raise BayesganError("Without generators and without labels there is nothing to learn from: give labels.")
        _refuse_bad_data(data, labels)
        family = MeanField if settings.populations.family == "mean-field" else Population
        self.settings = settings
        self.seed = seed
        self.labels = labels
        self.members = Members(grouped(settings.populations), ranks)
        _refuse_what_ranks_cannot_do(settings, self.members)
        precision = settings.networks.precision
        self.generator, self.discriminator = family(generator, precision), family(discriminator, precision)
        self._refuse_networks_that_do_not_fit(tuple(data.shape[1:]))
        streams = {name: stream(seed, name, data.device) for name in STREAMS}
        size, members = len(data), self.members
        self.batches = MiniBatches(settings, data, labels, seed, members)
        self.gradients = Gradients(settings, self.generator, self.discriminator, size, labels, members)
        like = torch.empty(0, dtype=self.batches.dtype, device=data.device)
        self.update = {
            side: Update(side, settings, size, members, self.gradients.counted_precision(side, like)) for side in SIDES
        }
        self.state = State(
            iteration=0,
            generators=self._initial(self.generator, "generators", streams),
            discriminators=self._initial(self.discriminator, "discriminators", streams),
            seen=torch.zeros(size, dtype=torch.bool, device=data.device),
            given=torch.full((self.gradients.classes,), 1.0 / self.gradients.classes, device=data.device),
            streams=streams,
        )

    def iterate(self) -> dict[Side, LogDensities]:
        """One iteration of Algorithm 1; the log densities of the chains that moved, before they did."""
        state, found = self.state, dict[Side, LogDensities]()
        if state.iteration == self.settings.length.burn_in:
            self._hand_over()  # Section 3: Adam first, then SGHMC
        state.iteration += 1
        if self.settings.sampler.heating is not None and state.iteration in self._looks:
            self._calm_down()

        stand = self.batches.labels_alone(state.iteration) or self.batches.stands(state.iteration)
        if self.settings.populations.generators > 0 and not stand:
            # Sample noise {z^(1), …, z^(J)}
            noise = self.batches.for_generators(state)
            # Σ_i Σ_k ∂ log p(θ_g | z^(i), θ_d^k)/∂θ_g
            gradient = self.gradients.of_generators(state, noise)
            # v ← (1−α)v + η(…) + n, n ~ N(0, 2αη I);  θ_g ← θ_g + v
            self.update["generators"](state, gradient)
            found["generators"] = gradient.log_densities

        for _ in range(self.settings.sampler.discriminator_steps):
            # Sample noise {z^(1), …, z^(J)}, and a mini-batch of n_d data points x
            points = self.batches.for_discriminators(state)
            state.seen[points.indices] = True
            # Σ_i Σ_k ∂ log p(θ_d | z^(i), x, θ_g^k)/∂θ_d
            gradient = self.gradients.of_discriminators(state, points)
            # v ← (1−α)v + η(…) + n, n ~ N(0, 2αη I);  θ_d ← θ_d + v
            self.update["discriminators"](state, gradient)
            found["discriminators"] = gradient.log_densities
            if gradient.given is not None:
                state.given.lerp_(gradient.given.to(state.given), NEWS)

        self._stop_if_diverged()
        self._grow_committee()
        return found

    def _grow_committee(self) -> None:
        """Let the generators draw their share of the images that are to stand for them, if it is time."""
        number = self.batches.committee_grows(self.state.iteration)
        if number > 0:
            members = self.members
            stream_of, chains = self.state.streams["committee"], members.count("generators")
            shape = (chains, -(-number // chains), self.settings.networks.noise_dim)
            noise = torch.randn(shape, generator=stream_of, device=stream_of.device, dtype=self.batches.dtype)
            weights = self.generator.drawn(self.state.generators.theta, stream_of)
            with torch.no_grad():
                drawn = self.generator(weights, members.own(noise, "generators"))
            # One of each generator after another, so that all draw alike, whatever the number.
            images = members.everyones(drawn, "generators").transpose(0, 1).flatten(0, 1)[:number]
            before = self.state.committee
            self.state.committee = images if before is None else torch.cat([before, images])

    def generate(self, points: int, rng: torch.Generator, theta_g: Tensor | None = None) -> Tensor:
        """G(z; θ_g): (generators here, points, *point) by the present generators, or by ``theta_g``.

        The noise comes from ``rng``: the run is not disturbed.
        """
        weights = self.generator.drawn(self.state.generators.theta if theta_g is None else theta_g, rng)
        shape = (len(weights), points, self.settings.networks.noise_dim)
        noise = torch.randn(shape, generator=rng, device=rng.device, dtype=self.batches.dtype)
        with torch.no_grad():
            return self.generator(weights, noise)

    @property
    def sampling(self) -> bool:
        """Whether the last iteration was one of SGHMC rather than of the burn-in."""
        return self.state.iteration > self.settings.length.burn_in

    @property
    def collects(self) -> bool:
        """Whether the networks are to be kept as they are now (Algorithm 1: append to the sample set)."""
        return self.state.iteration in self.settings.length.collected

    @torch.no_grad()
    def sample(self) -> Sample:
        """Collect the weights of every chain, on all ranks, and the statistics of its normalisations.

        A discriminator's are those of training points, without their labels, a generator's of as much noise, seen as
        one batch by the weights as they are now, with the noise on layers that they were trained to normalise.
        """
        points, noise = self.batches.calibration()
        rng = stream(self.seed, f"sample/{self.state.iteration}", points.device)
        generators = self.generator.drawn(self._kept("generators"), rng)
        discriminators = self.discriminator.drawn(self._kept("discriminators"), rng)
        seeds = self.gradients.layer_seeds(rng, len(discriminators))
        rows = {
            "generators": generators,
            "generator_statistics": self.generator.statistics(generators, noise),
            "discriminators": discriminators,
            "discriminator_statistics": self.discriminator.statistics(discriminators, points, seeds),
        }
        return {
            name: self.members.everyones(own, "generators" if name.startswith("generator") else "discriminators")
            for name, own in rows.items()
        }

    def _kept(self, side: Side) -> Tensor:
        """The weights that are collected: Adam leaves their moving average if there is one; a sample is a sample."""
        chains = self.state.of(side)
        return chains.theta if chains.average is None or self.settings.sampler.dynamics != "adam" else chains.average

    def gradient_noise(self) -> dict[Side, dict[str, float]]:
        """β̂/α of both populations, the mean and the largest over weights (sghmc.gradient_noise_over_friction)."""
        state = self._aside()
        ratios: dict[Side, dict[str, float]] = {}
        still = self.settings.populations.generators == 0 or self.batches.stands(self.state.iteration)
        for side in ("discriminators",) if still else SIDES:
            one, two = (self._gradient(side, state) for _ in range(2))
            ratios[side] = self._noise_ratio(side, one.values - two.values)
        return ratios

    def _aside(self) -> State:
        """The state with all draws from a stream of their own, so that the run is not disturbed."""
        return replace(self.state, streams=dict.fromkeys(STREAMS, self.state.streams["diagnostics"]))

    def motion(self) -> dict[Side, dict[str, Tensor]]:
        """What the last step of every chain was like, on all ranks (update.Motion), and the norm of its weights.

        Of the sides that moved, where samples of SGHMC are collected.
        """
        found: dict[Side, dict[str, Tensor]] = {}
        for side, update in self.update.items():
            if update.measured is not None:
                here = update.measured._asdict() | {"norm": self.state.of(side).theta.norm(dim=1)}
                found[side] = {name: self.members.everyones(each, side) for name, each in here.items()}
        return found

    def _gradient(self, side: Side, state: State) -> Gradient:
        """A stochastic gradient of all chains of a side."""
        if side == "generators":
            return self.gradients.of_generators(state, self.batches.for_generators(state, everybody=True))
        return self.gradients.of_discriminators(state, self.batches.for_discriminators(state, everybody=True))

    def _noise_ratio(self, side: Side, difference: Tensor) -> dict[str, float]:
        eta = self.update[side].step_size(self.state)
        friction, ranks = self.settings.sampler.friction, self.members.ranks
        here = gradient_noise_over_friction(self.state.of(side), difference, eta, friction)
        ratio = ranks.total(here * len(difference)) / ranks.total(here.new_tensor(len(difference)))
        return {"mean": ratio.mean().item(), "max": ratio.max().item()}

    def _refuse_networks_that_do_not_fit(self, point: tuple[int, ...]) -> None:
        try:
            made = self.generator.shape(2, self.settings.networks.noise_dim)
            judged = self.discriminator.shape(2, *point)
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            reason = str(error).splitlines()[0]
            raise BayesganError(
                f"The networks do not fit noise of {self.settings.networks.noise_dim} numbers and points of shape "
                f"{point} ({reason}): change one of them."
            ) from None
        classes = 1 if self.labels is None else self.labels.number
        if made != (2, *point):
            raise BayesganError(f"The generator makes points of shape {made[1:]}, but the data have {point}.")
        if len(judged) != 2 or judged[1] < classes:
            raise BayesganError(
                f"The discriminator returns {judged[1:]} for a point: {classes} logit{'s' * (classes > 1)} are needed, "
                "then features if there are any."
            )

    def _initial(self, population: Population, side: Side, streams: Streams) -> Chains:
        drawn = population.initial(self.members.count(side), streams["initial"], self.batches.dtype)
        # Of generators that are sampled nobody would read the average.
        read = side == "discriminators" or self.settings.sampler.dynamics == "adam"
        return Chains.at(self.members.own(drawn, side), averaged=read and self.settings.length.averaging > 0)

    def _hand_over(self) -> None:
        for side in SIDES:
            self.update[side].hand_over(self.state)

    @cached_property
    def _looks(self) -> set[int]:
        """The iterations at which steps may become shorter: the first of the sampling, and some soon after."""
        length = self.settings.length
        return {length.burn_in + 1 + round(share * (length.iterations - length.burn_in)) for share in LOOKS}

    def _calm_down(self) -> None:
        """Measure how noisy and how steep it is, and shorten steps for which it is too much."""
        measured = [self.gradient_noise() for _ in range(PAIRS)]
        for side in measured[0]:
            noise, steepness = fmean(each[side]["mean"] for each in measured), self._steepness(side)
            self.update[side].calm_down(self.state, noise, steepness)

    def _steepness(self, side: Side) -> float:
        r"""ηλ with λ the largest curvature of :math:`-\log p` that a mini-batch has, in the metric of the mass.

        By the power method; the Hessian times a direction is a difference of gradients at the same mini-batch.
        """
        state = self._aside()
        chains, batches = state.of(side), self.batches
        batch = (batches.for_generators if side == "generators" else batches.for_discriminators)(state, everybody=True)
        of_side = self.gradients.of_generators if side == "generators" else self.gradients.of_discriminators
        rng = state.streams["diagnostics"]
        direction = torch.randn(chains.theta.shape, generator=rng, device=rng.device, dtype=chains.theta.dtype)
        scale = torch.ones_like(direction) if chains.preconditioner is None else chains.preconditioner
        length = direction.norm(dim=1)
        for _ in range(POWERS):
            shift = scale * direction
            small = NEARBY * chains.theta.norm(dim=1, keepdim=True) / shift.norm(dim=1, keepdim=True)
            two = (replace(chains, theta=chains.theta + sign * small * shift) for sign in (1.0, -1.0))
            high, low = (of_side(replace(state, **{side: each}), batch).values for each in two)  # type: ignore[arg-type]
            direction = (high - low) * scale / (2.0 * small)
            length = direction.norm(dim=1)
            direction = direction / length.unsqueeze(1).clamp_min(1e-30)
        return float(self.members.everyones(length, side).max()) * self.update[side].step_size(self.state)

    def _stop_if_diverged(self) -> None:
        """Name the first chain whose weights are no longer finite numbers."""
        for side in SIDES:
            # A sum is not finite if one of its terms is not.
            finite = torch.isfinite(self.state.of(side).theta.sum(1))
            if not finite.all():
                numbers = self.members.own(torch.arange(self.members.count(side)), side)
                chain = int(numbers[torch.nonzero(~finite.cpu())[0]])
                pace = "step_ratio or the temperature" if self.sampling else "the learning rates"
                raise BayesganError(
                    f"The weights of {side.removesuffix('s')} chain {chain} are no longer finite at iteration "
                    f"{self.state.iteration}: lower {pace}; everything written so far is kept."
                )


def _refuse_what_ranks_cannot_do(settings: Settings, members: Members) -> None:
    if members.ranks.size == 1:
        return
    if settings.populations.family == "mean-field":
        raise BayesganError("Gaussians over weights cannot be shared by ranks: start one process.")
    if members.split and settings.populations.chain_batch is not None:
        raise BayesganError(
            "Ranks that share the chains of one group cannot take mini-batches of them: leave out chain_batch, or "
            "start one process."
        )


def _refuse_bad_data(data: Tensor, labels: Labels | None) -> None:
    if not isinstance(data, Tensor) or data.dim() < 2 or len(data) == 0:
        raise BayesganError("The data are a tensor (N, *point) of at least one point: torch.from_numpy makes one.")
    if data.is_floating_point() and not data.isfinite().all():
        raise BayesganError("The data have numbers that are not finite: leave those points out.")
    if labels is None:
        return
    places, classes = labels.indices, labels.classes
    for name, values, below in (("index", places, len(data)), ("class", classes, labels.number)):
        if values.shape != places.shape or len(values) == 0 or values.min() < 0 or values.max() >= below:
            raise BayesganError(f"Each labelled point has an index and a class: there is a wrong {name}, or none.")
