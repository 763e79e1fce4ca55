"""A population of networks as one flat (chains × weights) tensor."""

import copy
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call


class _Unflatten(torch.autograd.Function):
    """Views of (chains, weights) as parameters (chains, *shape), whose gradients are gathered in one copy.

    Autograd's own split would copy each gradient twice: into the order of memory, then into the flat tensor.
    """

    @staticmethod
    def forward(ctx: Any, theta: Tensor, shapes: list[torch.Size]) -> tuple[Tensor, ...]:
        ctx.size, ctx.shapes = theta.shape, shapes
        return unflattened(theta, shapes)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        flat = gradients[0].new_empty(ctx.size)
        for part, gradient in zip(unflattened(flat, ctx.shapes), gradients, strict=True):
            part.copy_(gradient)
        return flat, None


def unflattened(theta: Tensor, shapes: list[torch.Size]) -> tuple[Tensor, ...]:
    """Views of ``theta`` (chains, weights), one (chains, *shape) for each of ``shapes``."""
    parts = torch.split(theta, [shape.numel() for shape in shapes], dim=1)
    return tuple(part.unflatten(1, shape) for part, shape in zip(parts, shapes, strict=True))


class Population:
    """Many weight vectors of one architecture, run in one call.

    ``theta`` is (chains, weights) and belongs to the caller; this class only knows how a row of it becomes
    the named parameters of ``network``.
    """

    def __init__(self, network: nn.Module) -> None:
        self._network = copy.deepcopy(network).to("meta")  # its own weights are never used
        self._names = [name for name, _ in network.named_parameters()]
        self._shapes = [weight.shape for weight in network.parameters()]
        self.weights = sum(shape.numel() for shape in self._shapes)

    def __call__(self, theta: Tensor, inputs: Tensor) -> Tensor:
        """Outputs (chains, n, …) for inputs (chains, n, …): row c of ``theta`` sees ``inputs[c]``."""
        parts = _Unflatten.apply(theta, self._shapes)  # type: ignore[no-untyped-call]
        return torch.vmap(self._single)(dict(zip(self._names, parts, strict=True)), inputs)

    def _single(self, parameters: dict[str, Tensor], inputs: Tensor) -> Tensor:
        return functional_call(self._network, parameters, (inputs,))

    def named(self, theta: Tensor) -> dict[str, Tensor]:
        """Views of ``theta`` (chains, weights) as named parameters (chains, *shape)."""
        return dict(zip(self._names, unflattened(theta, self._shapes), strict=True))

    def initial(self, chains: int, rng: torch.Generator, dtype: torch.dtype = torch.float32) -> Tensor:
        """Starting weights (chains, weights): N(0, 1/(3 fan-in)), as large as torch's own; biases N(0, 1/3).

        For inputs of variance one a bias is then as large as the rest of its unit's input, so that the units of
        different chains switch on at different places. Without it every network starts as a cone at the origin.
        """
        theta = torch.empty(chains, self.weights, device=rng.device, dtype=dtype)
        for part in self.named(theta).values():
            fan_in = part[0, 0].numel() if part.dim() > 2 else 1
            part.normal_(std=math.sqrt(1.0 / (3.0 * fan_in)), generator=rng)
        return theta

    def prior_draw(self, chains: int, variance: float, rng: torch.Generator) -> Tensor:
        """Weights (chains, weights) drawn from the prior N(0, variance · I): step 1 of Section 2."""
        return torch.randn(chains, self.weights, device=rng.device, generator=rng) * math.sqrt(variance)
