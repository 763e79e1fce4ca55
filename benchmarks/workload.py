"""What the benchmarks on images time: iterations on random images of MNIST's shape, and their kernels alone."""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only
from torch.utils.flop_counter import FlopCounterMode

from bayesgan.networks.build import pair
from bayesgan.sampler.distributed import ALONE, Ranks
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.minibatches import Labels
from bayesgan.settings.settings import ImageSettings

SHAPE, CLASSES, IMAGES, LABELLED = (1, 28, 28), tuple("0123456789"), 10_000, 100
BURN_IN = 2
COMMON: dict[str, Any] = {
    "coupling": "all",
    "weighing": "raised-labels",
    "burn_in": BURN_IN,
    "temperature": 0.01,
    "generator_rate": 1e-6,  # what is timed is the work, not what it leads to on random images
    "discriminator_rate": 1e-6,
    "generator_width": 64,
    "discriminator_width": 64,
}
EXACT = COMMON | {"generators": 10, "discriminators": 1, "replicas": 2}
DCGAN = COMMON | {
    "generators": 1,
    "discriminators": 1,
    "dynamics": "adam",
    "temperature": 0.0,
    "generator_prior": None,
    "discriminator_prior": None,
}
# One generator and one discriminator move in an iteration: every chain has moved after ten of them.
MINIBATCHED = COMMON | {"generators": 10, "discriminators": 2, "chain_batch": 1, "burn_in": 10}
TWO_OF_EACH = MINIBATCHED | {"chain_batch": 2}  # two generators, and both discriminators
TINY: dict[str, Any] = {
    "generator_width": 2,
    "discriminator_width": 2,
    "features": 4,
    "noise_dim": 3,
    "real_batch": 4,
    "fake_batch": 4,
    "label_batch": 4,
}  # instead of the sizes above, to see that a benchmark runs


def prepared(settings: dict[str, Any], ranks: Ranks = ALONE) -> BayesianGAN:
    """A GAN past its burn-in, so that what is timed is an iteration of the sampler."""
    rng = torch.Generator().manual_seed(0)
    data = torch.randint(256, (IMAGES, *SHAPE), generator=rng, dtype=torch.uint8)
    labels = Labels(torch.arange(LABELLED), torch.arange(LABELLED) % len(CLASSES), len(CLASSES))
    chosen = ImageSettings.of(**settings)
    gan = BayesianGAN(chosen, *pair(chosen, SHAPE, len(CLASSES)), data, 0, labels, ranks)
    for _ in range(chosen.length.burn_in + 1):
        gan.iterate()
    return gan


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Of one call, averaged over ``times`` of them."""
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times


class Clock:
    """The seconds spent in some functions."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, function: Callable[..., Any]) -> Any:
        """The same function, with its time counted."""

        def run(*arguments: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds += time.perf_counter() - start

        return run


def flops(gan: BayesianGAN) -> int:
    """Of one iteration, by torch's counter."""
    with FlopCounterMode(display=False) as counter:
        gan.iterate()
    return counter.get_total_flops()


class _Kernels(TorchDispatchMode):
    """Notes every convolution and matrix product, forward and backward, with the shape and layout of its arguments."""

    NOTED = (
        torch.ops.aten.convolution,
        torch.ops.aten.convolution_backward,
        torch.ops.aten.im2col,  # with col2im, convolutions that are done as matrix products
        torch.ops.aten.col2im,
        torch.ops.aten.mm,
        torch.ops.aten.addmm,
        torch.ops.aten.bmm,
    )

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[tuple[Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket in self.NOTED:
            self.calls.append((func, *tree_map_only(torch.Tensor, Layout, (args, kwargs or {}))))
        return func(*args, **(kwargs or {}))


class Layout:
    """Size and strides of a tensor."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.key = (tuple(tensor.shape), tuple(tensor.stride()))

    def filled(self) -> torch.Tensor:
        """A tensor of this layout with random numbers; where it was expanded, they are shared as they were."""
        shape, strides = self.key
        last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        return torch.randn(max(0, last) + 1).as_strided(shape, strides)


def kernels_alone(gan: BayesianGAN) -> Callable[[], None]:
    """A function that runs the convolutions and matrix products of one iteration, and nothing else."""
    with _Kernels() as noted:
        gan.iterate()
    tensors: dict[Any, torch.Tensor] = {}

    def tensor(place: int, layout: Layout) -> torch.Tensor:
        key = (place, layout.key)  # the arguments of one call are different tensors; calls may share theirs
        if key not in tensors:
            tensors[key] = layout.filled()
        return tensors[key]

    calls = []
    for func, args, kwargs in noted.calls:
        real = [tensor(place, each) if isinstance(each, Layout) else each for place, each in enumerate(args)]
        calls.append((func, real, kwargs))

    def run() -> None:
        for func, args, kwargs in calls:
            func(*args, **kwargs)

    return run
