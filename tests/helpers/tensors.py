"""Random tensors, the same for the same seed."""

import torch
from torch import Tensor

from bayesgan.networks.dcgan import Shape


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pixels(number: int, shape: Shape, seed: int = 0) -> Tensor:
    """Images (number, *shape) in [−1, 1], in double precision."""
    return torch.rand(number, *shape, dtype=torch.double, generator=rng(seed)) * 2 - 1
