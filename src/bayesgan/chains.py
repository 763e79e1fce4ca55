"""A population of networks as one flat (chains × weights) tensor."""

import copy
import math

import torch
from torch import Tensor, nn
from torch.func import functional_call


class Population:
    """Many weight vectors of one architecture, run in one call.

    ``theta`` is (chains, weights) and belongs to the caller; this class only knows how a row of it becomes
    the named parameters of ``network``.
    """

    def __init__(self, network: nn.Module) -> None:
        self._network = copy.deepcopy(network).to("meta")  # its own weights are never used
        self._shapes = {name: weight.shape for name, weight in network.named_parameters()}
        self._sizes = [shape.numel() for shape in self._shapes.values()]
        self.weights = sum(self._sizes)

    def __call__(self, theta: Tensor, inputs: Tensor) -> Tensor:
        """Outputs (chains, n, …) for inputs (chains, n, …): row c of ``theta`` sees ``inputs[c]``."""
        return torch.vmap(self._single)(theta, inputs)

    def _single(self, flat: Tensor, inputs: Tensor) -> Tensor:
        return functional_call(self._network, self.named(flat), (inputs,))

    def named(self, theta: Tensor) -> dict[str, Tensor]:
        """Views of ``theta`` (…, weights) as named parameters (…, *shape)."""
        parts = torch.split(theta, self._sizes, dim=-1)  # one split, so that its gradient is one concatenation
        named = zip(self._shapes.items(), parts, strict=True)
        return {name: part.unflatten(-1, shape) for (name, shape), part in named}

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
