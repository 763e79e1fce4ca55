"""The state of the sampler: everything that the next iteration depends on, and what a checkpoint holds."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from bayesgan.sampler.sghmc import Chains
from bayesgan.settings.names import SIDES, Side

Streams = dict[str, torch.Generator]  # one for each purpose
Rows = Callable[[Tensor, Side], Tensor]  # from some chains of a side to all of them, or back


@dataclass
class State:
    """Both populations and where the run stands."""

    iteration: int
    generators: Chains  # {θ_g^{j,m}}
    discriminators: Chains  # {θ_d^{j,m}}
    seen: Tensor  # (N,) of booleans: the unique real points so far, d of them
    given: Tensor  # (K,): how often a consensus gives each class, a moving average
    streams: Streams
    committee: Tensor | None = None  # (images, *point): generated, to stand for the generators once chains are sampled

    def of(self, side: Side) -> Chains:
        """The population of a side."""
        return self.generators if side == "generators" else self.discriminators

    def tensors(self, everyones: Rows) -> dict[str, Tensor]:
        """Every field but the iteration by name; ``everyones`` joins the rows of all ranks."""
        found = {"seen": self.seen, "given": self.given}
        found |= {} if self.committee is None else {"committee": self.committee}
        found |= {f"rng.{name}": rng.get_state() for name, rng in self.streams.items()}
        for side in SIDES:
            own = vars(self.of(side)).items()
            found |= {f"{side}.{name}": everyones(tensor, side) for name, tensor in own if tensor is not None}
        return found

    def take(self, iteration: int, tensors: dict[str, Tensor], own: Rows) -> None:
        """Become what :meth:`tensors` gave at ``iteration``; ``own`` takes the rows of this rank."""
        self.iteration = iteration
        self.seen = tensors["seen"].clone()
        self.given = tensors["given"].clone()
        self.committee = tensors["committee"].clone() if "committee" in tensors else None
        for name, rng in self.streams.items():
            rng.set_state(tensors[f"rng.{name}"].cpu())
        for side in SIDES:
            names = [field.name for field in fields(Chains) if f"{side}.{field.name}" in tensors]
            setattr(self, side, Chains(**{name: own(tensors[f"{side}.{name}"], side) for name in names}))
