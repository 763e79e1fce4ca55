"""The checkpoint of a run: the sampler's state, all of it and nothing else, and how long it took."""

from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

from bayesgan.base.errors import BayesganError
from bayesgan.base.files import open_tensors, write_tensors
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.sghmc import Chains
from bayesgan.settings.names import SIDES


class Seconds(NamedTuple):
    """Time over all sessions."""

    iterations: float
    total: float  # with evaluations and files


def write(path: Path, gan: BayesianGAN, seconds: Seconds) -> None:
    """Write the state of ``gan``, of all ranks together; the first rank has the file."""
    state = gan.state
    tensors = {"seen": state.seen} | {f"rng.{name}": rng.get_state() for name, rng in state.streams.items()}
    for side in SIDES:
        for name, tensor in vars(state.chains(side)).items():
            if tensor is not None:
                tensors[f"{side}.{name}"] = gan.members.everyones(tensor, side)
    if not gan.members.ranks.first:
        return
    metadata = {
        "iteration": f"{state.iteration:010d}",
        "seconds": f"{seconds.iterations:.17e}",  # of one length, like everything else in the file
        "total_seconds": f"{seconds.total:.17e}",
    }
    write_tensors(path, tensors, metadata)


def restore(path: Path, gan: BayesianGAN) -> Seconds:
    """Give a freshly made ``gan`` the state in ``path``, of which each rank takes its own part."""
    state = gan.state
    with open_tensors(path, str(gan.batches.data.device)) as tensors:
        try:
            metadata, names = tensors.metadata(), set(tensors.keys())
            state.iteration = int(metadata["iteration"])
            seen = tensors.get_tensor("seen")
            if seen.shape != state.seen.shape:
                raise ValueError(f"{len(seen)} data points")
            state.seen = seen
            for name, rng in state.streams.items():
                rng.set_state(tensors.get_tensor(f"rng.{name}").cpu())
            for side in SIDES:
                values = {
                    field.name: tensors.get_tensor(f"{side}.{field.name}")
                    for field in fields(Chains)
                    if f"{side}.{field.name}" in names
                }
                chains, weights = gan.members.count(side), state.chains(side).theta.shape[1]
                for name, tensor in values.items():
                    if tensor.shape != ((chains,) if name == "adam_steps" else (chains, weights)):
                        raise ValueError(f"{name} of the {side} has the shape {tuple(tensor.shape)}")
                massive = gan.sampling and gan.settings.sampler.dynamics in ("frozen", "running")
                if massive != ("preconditioner" in values):
                    raise ValueError(f"the mass of the {side} does not fit iteration {state.iteration}")
                own = {name: gan.members.own(tensor, side) for name, tensor in values.items()}
                setattr(state, side, Chains(**own))
            return Seconds(float(metadata["seconds"]), float(metadata["total_seconds"]))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise BayesganError(
                f"{path} is not a checkpoint of this run ({error}): delete it to start again."
            ) from None
