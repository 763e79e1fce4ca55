"""Convert pixels between bytes, as images are stored, and numbers, as networks take them."""

import torch
from torch import Tensor


def as_numbers(pixels: Tensor) -> Tensor:
    """Bytes 0 … 255 as numbers from −1 to 1, the range of the generator's tanh."""
    return pixels.to(torch.float32).div_(127.5).sub_(1.0)


def as_bytes(numbers: Tensor) -> Tensor:
    """Numbers from −1 to 1 as bytes 0 … 255."""
    return numbers.add(1.0).mul(127.5).round().clamp(0, 255).to(torch.uint8)
