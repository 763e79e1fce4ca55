"""Several processes, the ranks, that share the chains: which has which, and what crosses between them.

``torchrun --nproc-per-node N -m bayesgan train …`` starts N of them. Whole groups of chains
(:mod:`bayesgan.sampler.coupling`) are shared out where there are enough of them; then no images cross. The chains of a
single group are shared out themselves; then generated batches cross, and the gradients with respect to them, which are
smaller than weights (docs/scaling.md).
"""

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, distributed

from bayesgan.base.errors import BayesganError
from bayesgan.sampler.coupling import Groups
from bayesgan.settings.names import Side

PATIENCE = timedelta(minutes=10)  # with a rank that says nothing; an evaluation may take minutes


@dataclass(frozen=True)
class Share:
    """The chains of one rank: some groups, and of each of these some generators and discriminators."""

    groups: range
    generators: range
    discriminators: range


@dataclass(frozen=True)
class Ranks:
    """Which process this is: number ``rank`` of ``size``."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the one that evaluates and writes files."""
        return self.rank == 0

    def shares(self, groups: Groups) -> list[Share]:
        """Share ``groups`` out over the ranks: whole groups if there are enough, or parts of the only one."""
        all_generators, all_discriminators = range(groups.generators), range(groups.discriminators)
        if groups.number >= self.size:
            return [Share(part, all_generators, all_discriminators) for part in self._parts(groups.number)]
        if groups.number > 1 or min(groups.generators, groups.discriminators) < self.size:
            alone = max(1, min(groups.generators, groups.discriminators))
            most = groups.number if groups.number > 1 else alone
            raise BayesganError(
                f"{self.size} ranks cannot share {groups.number} × ({groups.generators} generators, "
                f"{groups.discriminators} discriminators) that face each other: start {most} or fewer."
            )
        parts = zip(self._parts(groups.generators), self._parts(groups.discriminators), strict=True)
        return [Share(range(1), *part) for part in parts]

    def _parts(self, number: int) -> list[range]:
        bounds = [number * rank // self.size for rank in range(self.size + 1)]
        return [range(start, stop) for start, stop in pairwise(bounds)]

    def gathered(self, own: Tensor, sizes: Sequence[int], dim: int = 0) -> Tensor:
        """The tensors of all ranks joined along ``dim``, ``sizes[r]`` of rank r; gradients find their way back."""
        if self.size == 1:
            return own
        return _Gathered.apply(own, self, tuple(sizes), dim)  # type: ignore[no-untyped-call]

    def total(self, own: Tensor) -> Tensor:
        """The sum over ranks."""
        if self.size == 1:
            return own
        result = own.contiguous().clone()
        with _a_sentence():
            distributed.all_reduce(result)
        return result

    def as_first(self, decision: bool, device: torch.device) -> bool:
        """The first rank's decision."""
        if self.size == 1:
            return decision
        flag = torch.tensor([decision], dtype=torch.uint8, device=device)
        with _a_sentence():
            distributed.broadcast(flag, 0)
        return bool(flag)


ALONE = Ranks()


class _Gathered(torch.autograd.Function):
    """All ranks' tensors; a gradient is the sum of what all ranks found for it."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, ranks: Ranks, sizes: tuple[int, ...], dim: int) -> Tensor:
        ctx.ranks, ctx.dim, ctx.start, ctx.size = ranks, dim, sum(sizes[: ranks.rank]), sizes[ranks.rank]
        shape = list(own.shape)
        pieces = []
        for rank, size in enumerate(sizes):
            shape[dim] = size
            pieces.append(own.contiguous() if rank == ranks.rank else own.new_empty(shape))
        with _a_sentence():
            sent = [distributed.broadcast(piece, rank, async_op=True) for rank, piece in enumerate(pieces)]
            for each in sent:
                each.wait()
        return torch.cat(pieces, dim)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        return ctx.ranks.total(gradients[0]).narrow(ctx.dim, ctx.start, ctx.size), None, None, None


@contextmanager
def _a_sentence() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:  # of gloo or NCCL
        raise BayesganError(
            "Another rank has stopped or says nothing any more, so this one stops too; what was written is kept: give "
            f"the same command to go on ({str(error).splitlines()[0][:200]})."
        ) from None


@contextmanager
def together(device: torch.device) -> Iterator[Ranks]:
    """The ranks that torchrun has started, this one among them; a process that it did not start is alone."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield ALONE
        return
    with _a_sentence():
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
    try:
        yield Ranks(distributed.get_rank(), size)
    finally:  # threads of a group that is there when the interpreter ends may abort it: collected, it joins them
        distributed.destroy_process_group()
        gc.collect()


Chosen = slice | Tensor  # of the chains of each group, numbered from 0
ALL = slice(None)


class Members:
    """All chains, in groups, and which of them are here.

    What is drawn for the chains has a row for each, group by group. Every rank draws it for all of them and takes its
    own rows: a run does not depend on how many ranks share its chains.
    """

    def __init__(self, everyone: Groups, ranks: Ranks = ALONE) -> None:
        self.everyone = everyone
        self.ranks = ranks
        self.shares = ranks.shares(everyone)
        self.share = self.shares[ranks.rank]
        self.groups = len(self.share.groups)  # here
        self.split = ranks.size > 1 and everyone.number == 1  # the only group lives on several ranks

    def count(self, side: Side, chosen: Chosen = ALL) -> int:
        """How many chains are chosen on all ranks together."""
        chains = range(getattr(self.everyone, side))
        return self.everyone.number * len(chains[chosen] if isinstance(chosen, slice) else chosen)

    def here(self, side: Side) -> int:
        """How many chains of a side this rank has."""
        return self.groups * len(getattr(self.share, side))

    def own(self, drawn: Tensor, side: Side) -> Tensor:
        """Of a draw for all ranks, (all groups · chains of a group, …), the rows of the chains that are here."""
        if self.ranks.size == 1:
            return drawn
        groups, chains = self.share.groups, getattr(self.share, side)
        rows = drawn.unflatten(0, (self.everyone.number, -1))
        return rows[groups.start : groups.stop, chains.start : chains.stop].flatten(0, 1)

    def everyones(self, own: Tensor, side: Side) -> Tensor:
        """The rows of all ranks' chains, of which ``own`` are here."""
        sizes = [len(share.groups) * len(getattr(share, side)) for share in self.shares]
        return self.ranks.gathered(own, sizes)

    def rows(self, tensor: Tensor, chosen: Chosen) -> Tensor:
        """The rows of the ``chosen`` chains of each group here: a view where they all lie side by side."""
        return rows_of(tensor, chosen, self.groups)


def rows_of(tensor: Tensor, chosen: Chosen, groups: int) -> Tensor:
    """The rows of the ``chosen`` chains of each of so many groups."""
    return tensor if chosen is ALL else tensor.unflatten(0, (groups, -1))[:, chosen].flatten(0, 1)
