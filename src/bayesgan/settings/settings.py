"""Every number that a run depends on, validated, in one record that is stored with the run."""

from typing import Annotated, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bayesgan.base.errors import BayesganError
from bayesgan.networks.dcgan import FEATURES
from bayesgan.sampler.coupling import grouped
from bayesgan.settings.names import (
    Coupling,
    Dynamics,
    Family,
    GameName,
    LabelTerm,
    Marginal,
    Normalisation,
    Scan,
    Schedule,
    Side,
    View,
)

Count = Annotated[int, Field(ge=1, le=10**9)]
Whole = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1)]
Decay = Annotated[float, Field(ge=0, lt=1)]


class Settings(BaseModel):
    """The Bayesian GAN of Algorithm 1. The paper's symbol stands beside each setting that has one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # populations
    generators: Whole = 10  # J_g; 0 leaves a classifier that learns from the labels alone
    discriminators: Count = 2  # J_d
    replicas: Count = 1  # M: further weight sets, side by side
    coupling: Coupling = "algorithm1"
    branches: Count = 1  # how many chains each one becomes after the burn-in
    family: Family = "weights"  # what a chain is: a weight vector, or a Gaussian over weight vectors
    faced: Count | None = None  # chains of the other side that are faced in an iteration, drawn anew; None: all
    sweep: Count = 1  # iterations in which every chain moves once: each moves a part of them (of fewer chains, sooner)
    scan: Scan = "in-turn"
    data_share: Share = 1.0  # of the unlabelled points, drawn for each discriminator, that it ever sees

    # posteriors
    game: GameName = "jensen-shannon"
    critic_weight: Positive = 1.0  # of a Wasserstein critic's value beside the labels' log likelihood
    prior_variance: Positive | None = 1.0  # of N(0, variance · I) over all weights; None: flat
    marginal: Marginal = "mean"
    noise_batches: Count = 1  # the paper's J noise samples z^(1) … z^(J), each of n_g points
    noise_dim: Count = 10
    real_batch: Count = 64  # n_d, for each discriminator
    fake_batch: Count = 64  # n_g, for each noise batch of each generator
    label_batch: Count = 100  # labelled points of an iteration, for each discriminator: all of them if they are fewer
    label_term: LabelTerm = "joint"  # log D(x=y) as in Eq. 4, or log p(y | x, real)
    label_weight: Positive | None = 1.0  # times each label counts, 1 in Eq. 4; None: N/N_s times
    jitter: NotNegative = 0.0  # how far real images are turned, stretched and moved each time they are shown: up to
    # 15°, 10 % and a fourteenth of a side with 1
    consensus: NotNegative = 0.0  # times each unlabelled point counts with the label that all chains together give it
    consensus_on: View = "shown"  # what they label: a point as each is shown it, or as it is, without noise on layers

    # tricks that the paper says its baselines needed
    feature_matching: bool = False  # the generators match the mean features of real points
    real_target: Share = 1.0  # one-sided label smoothing: how real a real point is said to be; 0.9 smooths, 1 does not

    # dynamics
    iterations: Count = 1000
    burn_in: Whole = 300  # iterations of Adam before the sampling starts
    generator_rate: Positive = 2e-4  # Adam's learning rates
    discriminator_rate: Positive = 3e-4
    adam_betas: tuple[Decay, Decay] = (0.5, 0.999)
    epsilon: Positive = 1e-3  # Adam's, on the gradient of one data point; it bounds the mass from below
    dynamics: Dynamics = "frozen"
    friction: Share = 0.5  # α
    temperature: NotNegative = 1.0  # T
    step_ratio: Positive = 0.5  # γ = step_ratio × α × Adam's rate; 1 goes on at Adam's pace
    schedule: Schedule = "per-datum"  # of the steps after the burn-in; of Adam's too where that is "cyclical"
    cycles: Count = 4  # of the cyclical schedule
    discriminator_steps: Count = 1  # updates of the discriminators for each update of the generators
    clip: Positive | None = None  # bound on every discriminator weight (Wasserstein)

    # what is kept
    thin: Count = 50  # iterations between collected samples, after the burn-in

    @property
    def _needs_samples(self) -> bool:
        return self.temperature > 0

    def chains(self, side: Side) -> int:
        """Chains of a side in each collected sample."""
        each = self.generators if side == "generators" else self.discriminators
        return each * self.replicas * self.branches

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        groups = grouped(self.coupling, self.generators, self.discriminators, self.replicas)
        if (self.generators == 0) != (self.game == "classification"):
            raise BayesganError(
                "Without generators there is only classification: set generators to 0 and game to 'classification', "
                "or neither."
            )
        if self.consensus > 0 and self.data_share < 1:
            raise BayesganError(
                "A consensus needs points that all discriminators see: set consensus to 0 or data_share to 1."
            )
        if self.consensus > 0 and min(self.sweep, groups.discriminators) > 1:
            raise BayesganError(
                "A consensus needs all discriminators to move at once: set consensus to 0 or sweep to 1."
            )
        if 0 < self.burn_in < self.sweep:
            raise BayesganError(
                f"A burn-in of {self.burn_in} iterations does not move every chain, which takes a sweep of "
                f"{self.sweep}: raise burn_in, or lower sweep."
            )
        if self.faced is not None and self.marginal == "density":
            raise BayesganError(
                "The log of a mean density over chains has no unbiased estimate from a part of them: leave out faced, "
                "or choose marginal 'mean' or 'sum'."
            )
        if self.dynamics == "adam" and self.temperature > 0:
            raise BayesganError("Dynamics 'adam' have no noise: set the temperature to 0 or choose dynamics 'frozen'.")
        if self.family == "mean-field" and self.prior_variance is None:
            raise BayesganError("Gaussians over weights need a prior: set prior_variance to a number.")
        if self.family == "mean-field" and self.dynamics != "adam":
            raise BayesganError("Gaussians over weights are optimised, not sampled: choose dynamics 'adam' with them.")
        if self.dynamics in ("frozen", "running") and self.burn_in == 0:
            raise BayesganError(
                f"Dynamics '{self.dynamics}' take their mass from the Adam burn-in: "
                "set burn_in to at least 1 or choose dynamics 'plain'."
            )
        if self._needs_samples and self.iterations < self.burn_in + self.thin:
            raise BayesganError(
                f"{self.iterations} iterations end before the first sample is collected, {self.thin} iterations after "
                f"a burn-in of {self.burn_in}: raise iterations, or lower burn_in or thin."
            )
        return self


class ClassifierSettings(Settings):
    """The same where predictions are wanted, which need a sample at any temperature."""

    @property
    def _needs_samples(self) -> bool:
        return True


class VectorSettings(ClassifierSettings):
    """The same for vectors: two MLPs and their training."""

    hidden: Count = 200  # units of each network


class ImageSettings(ClassifierSettings):
    """The same for images: the DCGAN pair and its training."""

    noise_dim: Count = 100
    generator_width: Count = 64  # channels of the widest map; deeper ones have twice as many each
    discriminator_width: Count = 96
    features: Count = FEATURES  # units of the discriminator's hidden layer, which feature matching compares
    normalisation: Normalisation = "batch"

    # more tricks
    minibatch_discrimination: bool = False
    feature_normalisation: bool = False
    layer_noise: NotNegative = 0.0  # deviation of Gaussian noise on the inputs of every discriminator layer


S = TypeVar("S", bound=Settings)


def parse_settings(kind: type[S], /, **values: object) -> S:
    """Settings from untrusted values; one sentence on the first that is wrong."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise BayesganError(f"Setting {name} cannot be {first['input']!r}: {first['msg']}.") from None
