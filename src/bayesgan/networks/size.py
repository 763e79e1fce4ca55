"""How large networks are, and how much an iteration computes."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from bayesgan.networks.build import pair
from bayesgan.settings.settings import Settings

# A pass back costs as much as a forward pass for the gradients of weights, and as much for those of inputs.
LEARN, PASS_ON = 3, 2  # times a forward pass, with it
WEIGHTED = (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)


class Size(NamedTuple):
    """Of one network."""

    depth: int  # layers with a matrix of weights
    weights: int
    flops_of_a_point: int  # in a forward pass


class Sizes(NamedTuple):
    """Of both networks, and of an iteration of all chains."""

    generator: Size | None
    discriminator: Size
    iteration_flops: int


def sizes(settings: Settings, shape: tuple[int, ...], classes: int, labels: int) -> Sizes:
    """For points of ``shape`` in ``classes`` classes, of which ``labels`` show theirs."""
    generator, discriminator = pair(settings, shape, classes)
    judge = _size(discriminator, torch.empty(1, *shape, device="meta"))
    populations, batches = settings.populations, settings.batches
    labelled = min(labels, batches.label_batch)
    if populations.generators == 0:
        make = None
        seen = labelled + (batches.real_batch if settings.densities.consensus > 0 else 0)
    else:
        make = _size(generator, torch.empty(1, settings.networks.noise_dim, device="meta"))
        seen = labelled + batches.real_batch
    chains_g, chains_d = populations.chains("generators"), populations.chains("discriminators")
    group_g, group_d = populations.group_sizes
    fakes = batches.noise_batches * batches.fake_batch
    # Every discriminator learns from what it sees of the data and of the generators of its group,
    judged = chains_d * LEARN * (seen + group_g * fakes)
    if settings.densities.consensus > 0 and settings.densities.consensus_on == "plain":
        judged += chains_d * batches.real_batch  # and says what it thinks of unlabelled points;
    steps = settings.sampler.discriminator_steps
    flops = steps * judged * judge.flops_of_a_point
    if make is not None:
        # every generator learns from all discriminators of its group, and makes what they learn from.
        flops += chains_g * fakes * (LEARN + steps) * make.flops_of_a_point
        flops += chains_g * group_d * fakes * PASS_ON * judge.flops_of_a_point
    return Sizes(make, judge, flops)


def _size(network: nn.Module, point: Tensor) -> Size:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        network.eval()(point)
    depth = sum(isinstance(part, WEIGHTED) for part in network.modules())
    return Size(depth, sum(weight.numel() for weight in network.parameters()), counter.get_total_flops())
