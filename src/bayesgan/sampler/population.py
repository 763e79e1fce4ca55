"""A population of networks as one flat (chains × weights) tensor."""

import copy
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from bayesgan.base.errors import BayesganError
from bayesgan.networks.layers import GaussianNoise, OfBatches, Whitening
from bayesgan.sampler.densities import log_prior
from bayesgan.settings.names import Precision, PriorScale


class _Unflatten(torch.autograd.Function):
    """Views of (chains, weights) as parameters, whose gradients are gathered in one copy.

    They are (chains, *shape) or, ``apart``, one of ``shape`` for each chain, chain by chain. Autograd's own split would
    copy each gradient two or three times: into the order of memory, into a stack of chains, then into the flat tensor.
    """

    @staticmethod
    def forward(ctx: Any, theta: Tensor, shapes: list[torch.Size], apart: bool) -> tuple[Tensor, ...]:
        ctx.size, ctx.shapes, ctx.apart = theta.shape, shapes, apart
        return _views(theta, shapes, apart)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        flat = gradients[0].new_empty(ctx.size)
        for part, gradient in zip(_views(flat, ctx.shapes, ctx.apart), gradients, strict=True):
            part.copy_(gradient)
        return flat, None, None


def _views(theta: Tensor, shapes: list[torch.Size], apart: bool) -> tuple[Tensor, ...]:
    parts = unflattened(theta, shapes)
    if not apart:
        return parts
    return tuple(view for row in zip(*(part.unbind(0) for part in parts), strict=True) for view in row)


def unflattened(theta: Tensor, shapes: list[torch.Size]) -> tuple[Tensor, ...]:
    """Views of ``theta`` (chains, weights), one (chains, *shape) for each of ``shapes``."""
    parts = torch.split(theta, [shape.numel() for shape in shapes], dim=1)
    return tuple(part.unflatten(1, shape) for part, shape in zip(parts, shapes, strict=True))


class Population:
    """Many weight vectors of one architecture, run in one call.

    ``theta`` is (chains, weights) and belongs to the caller; this class only knows how a row of it becomes the named
    parameters of ``network``, whose own weights are never used. Statistics of normalisations
    (:class:`bayesgan.networks.layers.OfBatches`) and of the data (:class:`bayesgan.networks.layers.Whitening`) have a
    row of a flat tensor for each chain too. Other buffers are constants that all chains share.
    """

    def __init__(self, network: nn.Module, precision: Precision = "float32") -> None:
        self._low = precision == "bfloat16"
        _refuse_what_cannot_be_sampled(network)
        self._network = copy.deepcopy(network).to("meta")
        self._names = [name for name, _ in network.named_parameters()]
        self._shapes = [weight.shape for weight in network.parameters()]
        statistics = {
            f"{name}.{each}".removeprefix(".")
            for name, part in network.named_modules()
            if isinstance(part, OfBatches | Whitening)
            for each, _ in part.named_buffers(recurse=False)
        }
        self._buffer_names = [name for name, _ in network.named_buffers() if name in statistics]
        self._buffer_shapes = [buffer.shape for name, buffer in network.named_buffers() if name in statistics]
        self._constants = {name: buffer for name, buffer in network.named_buffers() if name not in statistics}
        # vmap turns convolutions of many chains into grouped ones: slower than one chain after another on images of
        # 28 pixels and more (on 8 it is faster), and it cannot draw noise from a stream. Matrix products it joins.
        one_by_one = (nn.Conv2d, nn.ConvTranspose2d, OfBatches, GaussianNoise, Whitening)
        self._one_by_one = any(isinstance(part, one_by_one) for part in network.modules())
        self._noises = [part for part in self._network.modules() if isinstance(part, GaussianNoise)]
        self._of_batches = [part for part in self._network.modules() if isinstance(part, OfBatches)]
        self.weights = sum(shape.numel() for shape in self._shapes)
        self.buffers = sum(shape.numel() for shape in self._buffer_shapes)
        self._of_data = self._statistics_of_data(network)

    @property
    def noisy(self) -> bool:
        """Whether the network has noise on its layers, in training."""
        return len(self._noises) > 0

    def __call__(
        self, theta: Tensor, inputs: Tensor, statistics: Tensor | None = None, seeds: Tensor | None = None
    ) -> Tensor:
        """Outputs (chains, n, …) for inputs (chains, n, …): row c of ``theta`` sees ``inputs[c]``.

        With ``statistics`` (chains, buffers) these normalise, and each image is treated by itself; without, the
        images of a chain are normalised as one batch. ``seeds`` (chains,) are those of the noise on layers; without
        them there is none.
        """
        views = _Unflatten.apply(theta, self._shapes, self._one_by_one)  # type: ignore[no-untyped-call]
        with torch.autocast(theta.device.type, torch.bfloat16, enabled=self._low):
            if not self._one_by_one:
                constants = self._constants_like(theta)
                named = dict(zip(self._names, views, strict=True))
                outputs = torch.vmap(lambda own, x: functional_call(self._network, own | constants, (x,)))(
                    named, inputs
                )
            elif statistics is None:
                outputs = self._each(views, inputs, self._blank(theta), training=True, seeds=seeds)
            else:
                outputs = self._each(views, inputs, statistics, training=False)
        return outputs.to(theta.dtype)

    def of_batches(self, theta: Tensor, batches: Sequence[Tensor], seeds: Tensor | None = None) -> tuple[Tensor, ...]:
        """The same for several batches (chains, n, …), each normalised by itself."""
        if not self._one_by_one:  # they alone gain by it
            return tuple(self(theta, batch) for batch in batches)
        sizes = [batch.shape[1] for batch in batches]
        try:
            for layer in self._of_batches:
                layer.parts = sizes
            return self(theta, torch.cat(list(batches), 1), seeds=seeds).split(sizes, 1)
        finally:
            for layer in self._of_batches:
                layer.parts = ()

    def statistics(self, theta: Tensor, inputs: Tensor, seeds: Tensor | None = None) -> Tensor:
        """The statistics (chains, buffers) of ``inputs`` (chains, n, …), seen as one batch."""
        found = self._blank(theta)
        if found.numel() > 0:
            self._each(_views(theta, self._shapes, apart=True), inputs, found, training=True, seeds=seeds)
        return found

    def _statistics_of_data(self, network: nn.Module) -> Tensor:
        """A row of statistics, of which those of the data are known and the others are 0."""
        row = torch.zeros(1, self.buffers)
        parts = dict(
            zip(self._buffer_names, unflattened(row, self._buffer_shapes) if self.buffers else (), strict=True)
        )
        for name, part in network.named_modules():
            if isinstance(part, Whitening) and not part.filters.is_meta:
                parts[f"{name}.filters"].copy_(part.filters)
        return row

    def _blank(self, theta: Tensor) -> Tensor:
        """Statistics (chains, buffers) before a batch is seen; what they hold enters with weight 0, NaN too."""
        return self._of_data.to(theta).repeat(len(theta), 1)

    def _each(
        self,
        views: tuple[Tensor, ...],
        inputs: Tensor,
        statistics: Tensor,
        training: bool,
        seeds: Tensor | None = None,
    ) -> Tensor:
        rows = [views[start : start + len(self._names)] for start in range(0, len(views), len(self._names))]
        buffers = unflattened(statistics, self._buffer_shapes) if self.buffers else ()
        self._network.train(training)
        for noise in self._noises:
            noise.train(seeds is not None)
        outputs, constants = [], self._constants_like(views[0])
        for chain, row in enumerate(rows):
            # Not the views themselves: autograd would take writing to one for a change of all that it has saved.
            own = {name: part[chain].clone() for name, part in zip(self._buffer_names, buffers, strict=True)}
            named = dict(zip(self._names, row, strict=True)) | own | constants
            if seeds is not None:
                stream = torch.Generator(inputs.device).manual_seed(int(seeds[chain]))
                for noise in self._noises:
                    noise.stream = stream
            outputs.append(functional_call(self._network, named, (inputs[chain],), tie_weights=False))
            if training:
                for part, value in zip(buffers, own.values(), strict=True):
                    part[chain] = value
        return torch.stack(outputs)

    def _constants_like(self, theta: Tensor) -> dict[str, Tensor]:
        """Buffers that are no statistics, on the device and, where they are no whole numbers, of the kind of theta."""
        return {
            name: each.to(theta.device, theta.dtype if each.is_floating_point() else each.dtype)
            for name, each in self._constants.items()
        }

    def shape(self, *inputs: int) -> tuple[int, ...]:
        """The shape of the outputs (n, …) for ``inputs`` (n, …), found without computing."""
        self._network.eval()
        with torch.no_grad():
            return tuple(self._network(torch.empty(inputs, device="meta")).shape)

    def named(self, theta: Tensor) -> dict[str, Tensor]:
        """Views of ``theta`` (chains, weights) as named parameters (chains, *shape)."""
        return dict(zip(self._names, unflattened(theta, self._shapes), strict=True))

    def initial(self, chains: int, rng: torch.Generator, dtype: torch.dtype = torch.float32) -> Tensor:
        """Starting weights (chains, weights): N(0, 1/(3 fan-in)), as large as torch's own; biases N(0, 1/3).

        For inputs of variance one a bias is then as large as the rest of its unit's input, so that the units of
        different chains switch on at different places. Without it every network starts as a cone at the origin. The
        scales of normalisations start at 1.
        """
        theta = torch.empty(chains, self.weights, device=rng.device, dtype=dtype)
        for name, part in zip(self._names, unflattened(theta, self._shapes), strict=True):
            if part.dim() == 2 and name.endswith("weight"):  # a vector for each chain that is no bias
                part.fill_(1.0)
                continue
            fan_in = math.prod(part.shape[2:])  # 1 for a bias
            part.normal_(std=math.sqrt(1.0 / (3.0 * fan_in)), generator=rng)
        return theta

    def drawn(self, theta: Tensor, rng: torch.Generator) -> Tensor:
        """The weights (chains, weights) that ``theta`` stands for: itself."""
        return theta

    def precision(self, variance: float | None, scale: PriorScale, like: Tensor) -> Tensor | None:
        """1/σ² of the prior of each weight, (weights,); None: flat.

        The variance is the same for all or, with ``fan-in``, divided by the inputs of the unit, which leaves that of
        biases and of the scales of normalisations as it is.
        """
        if variance is None:
            return None
        row = torch.full((self.weights,), 1.0 / variance, device=like.device, dtype=like.dtype)
        if scale == "fan-in":
            for part in unflattened(row.unsqueeze(0), self._shapes):
                part.mul_(math.prod(part.shape[2:]))  # 1 for a bias
        return row

    def log_p(self, theta: Tensor, precision: Tensor | None) -> Tensor:
        """log p(θ) of each chain without any data: its prior, up to a constant."""
        return log_prior(theta, precision)

    def prior_draw(self, chains: int, precision: Tensor, rng: torch.Generator) -> Tensor:
        """Weights (chains, weights) drawn from the prior: step 1 of Section 2."""
        return torch.randn(chains, self.weights, device=rng.device, generator=rng) * precision.rsqrt()


def _refuse_what_cannot_be_sampled(network: nn.Module) -> None:
    """Refuse networks whose chains would not be what they seem."""
    every, tied = dict(network.named_parameters()), dict(network.named_parameters(remove_duplicate=False))
    if len(every) < len(tied):
        name = next(name for name in tied if name not in every)
        raise BayesganError(f"The parameter {name} is shared with another layer: give each layer its own.")
    for name, weight in every.items():
        if not weight.requires_grad:
            raise BayesganError(f"The parameter {name} is frozen, but chains move all weights: make it a buffer.")
    for part in network.modules():
        kind = type(part).__name__
        if isinstance(part, nn.modules.dropout._DropoutNd):
            raise BayesganError(
                f"{kind} draws from a stream that no seed of a run covers: use bayesgan.networks.layers.GaussianNoise."
            )
        if isinstance(part, nn.modules.batchnorm._NormBase) and part.track_running_stats:
            raise BayesganError(
                f"{kind} averages statistics over changing weights: use bayesgan.networks.layers.BatchNorm, or "
                "LayerNorm or GroupNorm, which need no batch."
            )
