"""Every number that a run depends on, validated, in groups of about ten.

A setting is named by its field alone, which no two groups share: ``Settings.of(temperature=0.1)``, ``--set
temperature=0.1``. The paper's symbol stands beside each setting that has one.
"""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bayesgan.base.errors import BayesganError
from bayesgan.settings.names import (
    SIDES,
    Architecture,
    Coupling,
    Dynamics,
    Family,
    GameName,
    LabelTerm,
    Marginal,
    Normalisation,
    Precision,
    PriorScale,
    Schedule,
    Side,
    View,
    Weighing,
)

Count = Annotated[int, Field(ge=1, le=10**9)]
Whole = Annotated[int, Field(ge=0, le=10**9)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(gt=0, le=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Decay = Annotated[float, Field(ge=0, lt=1)]

DRAWINGS = 10  # times that generators draw for a committee
MOST = 10_000  # networks of a kind


class Group(BaseModel):
    """Some of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Populations(Group):
    """How many networks there are, and who faces whom."""

    generators: Annotated[int, Field(ge=0, le=MOST)] = 10  # J_g; 0 leaves classifiers that play no game
    discriminators: Annotated[int, Field(ge=1, le=MOST)] = 2  # J_d
    replicas: Annotated[int, Field(ge=1, le=MOST)] = 1  # M: further weight sets, side by side
    coupling: Coupling = "algorithm1"
    family: Family = "weights"  # what a chain is: a weight vector, or a Gaussian over weight vectors
    chain_batch: Count | None = None  # chains of a group's side in an iteration: they move in turn and are faced at
    # random; None: all
    committee: Count | None = None  # generated images, drawn along the second half of the burn-in, that stand for the
    # generators from then on: discriminators alone are sampled; None: generators move on
    data_share: Fraction = 1.0  # of the unlabelled points, drawn for each discriminator, that it ever sees

    def chains(self, side: Side) -> int:
        """How many networks a side has."""
        each = self.generators if side == "generators" else self.discriminators
        return each * self.replicas

    @property
    def group_sizes(self) -> tuple[int, int]:
        """Generators and discriminators of a group, in which everybody faces everybody."""
        if self.coupling == "pairs":
            return 1, 1
        replicas = self.replicas if self.coupling == "all" else 1
        return self.generators * replicas, self.discriminators * replicas

    @property
    def turns(self) -> int:
        """Iterations until every chain has moved."""
        return 1 if self.chain_batch is None else max(-(-chains // self.chain_batch) for chains in self.group_sizes)


class Densities(Group):
    """What is sampled: Eqs. 1 to 4, and what is added to them."""

    game: GameName = "jensen-shannon"
    game_weight: Positive = 1.0  # times what is real or generated counts beside the labels, 1 in Eqs. 3 and 4
    marginal: Marginal = "mean"  # how noise batches and opponents are joined
    label_term: LabelTerm = "joint"  # log D(x=y) as in Eq. 4, or log p(y | x, real)
    weighing: Weighing = "printed"  # how often a label counts beside a real or generated point: once in Eq. 4
    consensus: NotNegative = 0.0  # times each unlabelled point counts with the label that all chains together give it
    consensus_on: View = "augmented"  # what they label: a point as each sees it, or as it is, without noise on layers
    confidence: Share = 0.0  # of the label that they give; points with less do not count
    balance: Share = 0.0  # how far classes that they give too often are given less: 1 for classes equally frequent
    feature_matching: bool = False  # the generators match the mean features of real points


class Prior(Group):
    """N(0, σ²) over the weights of each side."""

    generator_prior: Positive | None = 1.0  # α_g: the variance σ²; None: flat
    discriminator_prior: Positive | None = 1.0  # α_d
    prior_scale: PriorScale = "isotropic"  # the same for all weights, or divided by the inputs that a weight is one of

    def variance(self, side: Side) -> float | None:
        """σ² of a side."""
        return self.generator_prior if side == "generators" else self.discriminator_prior


class Batches(Group):
    """What an iteration draws."""

    noise_batches: Count = 1  # the paper's J noise samples z^(1) … z^(J), each of n_g points
    real_batch: Count = 64  # n_d, for each discriminator
    fake_batch: Count = 64  # n_g, for each noise batch of each generator
    label_batch: Count = 100  # labelled points, for each discriminator: all of them if they are fewer
    jitter: NotNegative = 0.0  # how far real images are turned, stretched and moved each time they are seen: up to 12°,
    # 12 % and a tenth of a side with 1
    brightness: Share = 0.0  # how much brighter or darker they become, of half the range, and how much more contrast
    cut: Share = 0.0  # side of a square, as a share of the image's, that half of them lose
    flip: bool = False  # half of them are mirrored
    change_generated: bool = False  # generated images are changed as real ones are, before anybody judges them


class Sampler(Group):
    """How chains move: by Adam, then by SGHMC."""

    generator_rate: Positive = 2e-4  # Adam's learning rates
    discriminator_rate: Positive = 3e-4
    adam_betas: tuple[Decay, Decay] = (0.5, 0.999)
    epsilon: Positive = 1e-3  # Adam's, on the gradient of one data point; it bounds the mass from below
    dynamics: Dynamics = "frozen"  # the mass of SGHMC, or Adam to the end
    friction: Fraction = 0.5  # α
    temperature: NotNegative = 1.0  # T of the likelihood; 0: no noise, and the prior counts as at 1
    step_ratio: Positive = 0.5  # γ = step_ratio × α × Adam's rate; 1 goes on at Adam's pace
    schedule: Schedule = "per-datum"  # of the steps after the burn-in; of Adam's too where it is cyclical or linear
    heating: Positive | None = None  # the most that gradient noise may add to T, as a share of it: where it would add
    # more, or the density is too steep, steps are shortened in the first tenth of the sampling; None: as they are
    discriminator_steps: Count = 1  # updates of the discriminators for each update of the generators
    clip: Positive | None = None  # bound on every discriminator weight (Wasserstein)

    def rate(self, side: Side) -> float:
        """Adam's learning rate of a side."""
        return self.generator_rate if side == "generators" else self.discriminator_rate


class Length(Group):
    """How long a run is, and what is kept of it."""

    iterations: Count = 1000
    burn_in: Whole = 300  # iterations of Adam before the sampling starts
    thin: Count = 50  # iterations between collected samples, after the burn-in
    labels_first: Share = 0.0  # of the burn-in, in which labels alone teach: no unlabelled points, no generators
    averaging: Decay = 0.0  # of each chain's moving average of weights: what teaches, and what Adam leaves; 0: none
    cycles: Count = 4  # of the cyclical schedule
    silent: Decay = 0.0  # of each cycle, at its start: chains look for another place without noise, and nothing is kept

    @property
    def collected(self) -> Sequence[int]:
        """The iterations whose networks are kept."""
        every = range(self.burn_in + self.thin, self.iterations + 1, self.thin)
        return [each for each in every if not self.is_silent(each)] if self.silent > 0 else every

    def is_silent(self, iteration: int) -> bool:
        """Whether an iteration after the burn-in is one without noise."""
        if self.silent == 0 or iteration <= self.burn_in:
            return False
        done = (iteration - self.burn_in - 1) * self.cycles
        return done / (self.iterations - self.burn_in) % 1.0 < self.silent


class Networks(Group):
    """The networks, as far as the sampler knows them."""

    noise_dim: Count = 10
    precision: Precision = "float32"  # of convolutions and matrix products in training; all else is float32 either way


class VectorNetworks(Networks):
    """Two MLPs."""

    hidden: Count = 200  # units of each network


class ImageNetworks(Networks):
    """The pair and, for DCGAN's, its tricks."""

    architecture: Architecture = "dcgan"
    noise_dim: Count = 100
    generator_width: Count = 64  # channels of the largest maps; deeper ones have twice as many each, up to a limit
    discriminator_width: Count = 96
    features: Count = 256  # units of DCGAN's hidden layer, which feature matching compares
    normalisation: Normalisation = "batch"
    minibatch_discrimination: bool = False
    feature_normalisation: bool = False
    layer_noise: NotNegative = 0.0  # deviation of Gaussian noise on the inputs of every discriminator layer


class Settings(Group):
    """The Bayesian GAN of Algorithm 1, with networks of the caller's."""

    predicts: ClassVar[bool] = False  # whether a sample is needed at temperature 0 too
    about: ClassVar[str] = ""  # what they are for, in messages

    populations: Populations = Populations()
    densities: Densities = Densities()
    prior: Prior = Prior()
    batches: Batches = Batches()
    sampler: Sampler = Sampler()
    length: Length = Length()
    networks: Networks = Networks()

    @classmethod
    def of(cls, /, **values: object) -> Self:
        """Settings by the names of their fields; the others have their defaults.

        >>> Settings.of(generators=4, temperature=0.1).sampler.temperature
        0.1
        """
        groups: dict[str, dict[str, object]] = {}
        known = cls.places()
        for name, value in values.items():
            if name not in known:
                raise BayesganError(
                    f"There is no setting '{name}'{cls.about}: 'bayesgan presets' prints all there are."
                )
            groups.setdefault(known[name], {})[name] = value
        try:
            return cls.model_validate(groups)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"][1:])
            raise BayesganError(f"Setting {name} cannot be {first['input']!r}: {first['msg']}.") from None

    @classmethod
    def places(cls) -> dict[str, str]:
        """The group of every setting."""
        return {
            name: group
            for group, field in cls.model_fields.items()
            if isinstance(field.annotation, type) and issubclass(field.annotation, Group)
            for name in field.annotation.model_fields
        }

    def flat(self) -> dict[str, Any]:
        """Every value by the name of its field, as JSON has them."""
        return {name: value for group in self.model_dump(mode="json").values() for name, value in group.items()}

    @property
    def tells_fake(self) -> bool:
        """Whether discriminators give a probability of being generated: a critic and a plain classifier do not."""
        return self.populations.generators > 0 and self.densities.game == "jensen-shannon"

    @property
    def prior_weight(self) -> float:
        """Times the log prior counts beside the log likelihood: T, so that T tempers the likelihood alone.

        Without noise it is 1: the mode is that of the posterior at temperature 1.
        """
        return self.sampler.temperature or 1.0

    def prior_terms(self, side: Side) -> int:
        """How often the prior counts in log p: once in each of the terms that Algorithm 1 sums, else once."""
        if self.densities.marginal != "sum" or self.populations.generators == 0:
            return 1
        generators, discriminators = self.populations.group_sizes
        return self.batches.noise_batches * (discriminators if side == "generators" else generators)

    @property
    def needs_samples(self) -> bool:
        """Whether the run is good for nothing without a collected sample."""
        return self.predicts or self.sampler.temperature > 0

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        populations, densities, sampler, length = self.populations, self.densities, self.sampler, self.length
        chain_batch = populations.chain_batch
        if populations.coupling == "pairs" and populations.generators != populations.discriminators:
            raise BayesganError(
                f"Coupling 'pairs' needs as many generators as discriminators, not {populations.generators} and "
                f"{populations.discriminators}: make them equal or choose coupling 'algorithm1' or 'all'."
            )
        if densities.consensus > 0 and populations.data_share < 1:
            raise BayesganError(
                "A consensus needs points that all discriminators see: set consensus to 0 or data_share to 1."
            )
        if densities.consensus > 0 and chain_batch is not None and chain_batch < populations.group_sizes[1]:
            raise BayesganError(
                "A consensus needs all discriminators to move at once: set consensus to 0 or leave out chain_batch."
            )
        if 0 < length.burn_in < populations.turns:
            raise BayesganError(
                f"A burn-in of {length.burn_in} iterations does not move every chain, which takes {populations.turns}: "
                "raise burn_in or chain_batch."
            )
        played = length.burn_in - round(length.labels_first * length.burn_in)
        if populations.generators > 0 and length.labels_first > 0 and played < populations.turns:
            raise BayesganError(
                f"Labels alone for {length.labels_first:g} of the burn-in leave {played} iterations of it in which "
                f"generators move, and they need {populations.turns}: lower labels_first or raise burn_in."
            )
        if populations.committee is not None:
            self._refuse_beside_a_committee()
        if chain_batch is not None and densities.marginal == "density":
            raise BayesganError(
                "The log of a mean density over chains has no unbiased estimate from a part of them: leave out "
                "chain_batch, or choose marginal 'mean' or 'sum'."
            )
        if sampler.heating is not None and sampler.temperature == 0:
            raise BayesganError("Without noise nothing can be too warm: leave out heating, or raise the temperature.")
        if sampler.dynamics == "adam" and sampler.temperature > 0:
            raise BayesganError("Dynamics 'adam' have no noise: set the temperature to 0 or choose dynamics 'frozen'.")
        priors = [self.prior.variance(side) for side in SIDES if populations.chains(side) > 0]
        if populations.family == "mean-field" and None in priors:
            raise BayesganError("Gaussians over weights need a prior: set generator_prior and discriminator_prior.")
        if sampler.dynamics == "prior" and None in priors:
            raise BayesganError("Dynamics 'prior' take their mass from the prior, which is flat: give it a variance.")
        if populations.family == "mean-field" and sampler.dynamics != "adam":
            raise BayesganError("Gaussians over weights are optimised, not sampled: choose dynamics 'adam' with them.")
        if sampler.dynamics in ("frozen", "running") and length.burn_in == 0:
            raise BayesganError(
                f"Dynamics '{sampler.dynamics}' take their mass from the Adam burn-in: "
                "set burn_in to at least 1 or choose dynamics 'plain'."
            )
        if length.silent > 0 and sampler.schedule != "cyclical":
            raise BayesganError(
                "A part of each cycle is silent where steps have cycles: choose schedule 'cyclical' with it."
            )
        if self.needs_samples and not length.collected:
            raise BayesganError(
                f"{length.iterations} iterations end before the first sample is collected, {length.thin} iterations "
                f"after a burn-in of {length.burn_in}: raise iterations, or lower burn_in or thin."
            )
        return self

    def _refuse_beside_a_committee(self) -> None:
        if self.populations.generators == 0 or self.length.burn_in < DRAWINGS:
            raise BayesganError(
                f"A committee is what generators draw in the burn-in: set generators to 1 and burn_in to {DRAWINGS} at "
                "least, or leave out committee."
            )
        if self.densities.marginal != "mean":
            raise BayesganError("A committee is one batch of generated points: choose marginal 'mean' with it.")


class VectorSettings(Settings):
    """A classifier of vectors."""

    predicts: ClassVar[bool] = True
    about: ClassVar[str] = " for vectors"

    networks: VectorNetworks = VectorNetworks()


class ImageSettings(Settings):
    """A classifier of images."""

    predicts: ClassVar[bool] = True
    about: ClassVar[str] = " for images"

    networks: ImageNetworks = ImageNetworks()

    @model_validator(mode="after")
    def _tricks_are_of_dcgan(self) -> Self:
        chosen = self.networks
        tricks = chosen.minibatch_discrimination or chosen.feature_normalisation or chosen.layer_noise > 0
        if chosen.architecture != "dcgan" and tricks:
            raise BayesganError(
                "Minibatch discrimination, feature normalisation and noise on layers are for the networks of DCGAN: "
                "set architecture to dcgan, or leave them out."
            )
        return self
