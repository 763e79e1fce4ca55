"""Log posteriors and gradients of a GAN's present chains, on points that a test chooses or that the GAN draws."""

from dataclasses import replace

import torch
from torch import Tensor

from bayesgan.sampler.distributed import ALL
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.gradients import Gradient
from bayesgan.sampler.minibatches import DiscriminatorBatch
from bayesgan.sampler.sghmc import Chains

NO_INDICES = torch.zeros(0, dtype=torch.long)


def generator_log_p(gan: BayesianGAN, theta_g: Tensor, theta_d: Tensor, noise: Tensor, real: Tensor | None) -> Tensor:
    return gan.gradients.log_p_of_generators(gan.state.streams, theta_g, theta_d, noise, real).posterior


def discriminator_log_p(
    gan: BayesianGAN,
    theta_d: Tensor,
    fakes: Tensor,
    real: Tensor,
    labelled: tuple[Tensor, Tensor] | None = None,
    consensus: float = 0.0,
) -> Tensor:
    batch = DiscriminatorBatch(ALL, NO_INDICES, real=real, labelled=labelled, consensus=consensus)
    facing = gan.gradients._facing(fakes, len(theta_d) // gan.members.groups)
    return gan.gradients.log_p_of_discriminators(gan.state, theta_d, facing, batch)[0].posterior


def generator_gradient(gan: BayesianGAN) -> Gradient:
    """On what the next iteration would draw."""
    return gan.gradients.of_generators(gan.state, gan.batches.for_generators(gan.state))


def discriminator_gradient(gan: BayesianGAN) -> Gradient:
    """On what the next iteration would draw."""
    return gan.gradients.of_discriminators(gan.state, gan.batches.for_discriminators(gan.state))


def discriminator_gradient_on(gan: BayesianGAN, indices: Tensor) -> Gradient:
    """On real points at ``indices``, the rest as the next iteration would draw it."""
    batch = replace(gan.batches.for_discriminators(gan.state), indices=indices, real=gan.batches.points(indices))
    return gan.gradients.of_discriminators(gan.state, batch)


def tensors(chains: Chains) -> dict[str, Tensor]:
    """Copies of all that a population has."""
    return {name: value.clone() for name, value in vars(chains).items() if value is not None}
