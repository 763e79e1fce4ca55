"""The checkpoint of a run: the sampler's state, all of it and nothing else, and how long it took."""

from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.base.files import open_tensors, write_tensors
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.settings.names import SIDES


class Seconds(NamedTuple):
    """Time over all sessions."""

    iterations: float
    total: float  # with evaluations and files


def write(path: Path, gan: BayesianGAN, seconds: Seconds) -> None:
    """Write the state of ``gan``, of all ranks together; the first rank has the file."""
    tensors = gan.state.tensors(gan.members.everyones)
    if not gan.members.ranks.first:
        return
    metadata = {
        "iteration": f"{gan.state.iteration:010d}",
        "seconds": f"{seconds.iterations:.17e}",  # of one length, like everything else in the file
        "total_seconds": f"{seconds.total:.17e}",
    }
    write_tensors(path, tensors, metadata)


def restore(path: Path, gan: BayesianGAN) -> Seconds:
    """Give a freshly made ``gan`` the state in ``path``, of which each rank takes its own part."""
    with open_tensors(path, str(gan.batches.data.device)) as file:
        try:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
            iteration = int(metadata["iteration"])
            _refuse_others(gan, iteration, tensors)
            gan.state.take(iteration, tensors, gan.members.own)
            return Seconds(float(metadata["seconds"]), float(metadata["total_seconds"]))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise BayesganError(
                f"{path} is not a checkpoint of this run ({error}): delete it to start again."
            ) from None


def _refuse_others(gan: BayesianGAN, iteration: int, tensors: dict[str, Tensor]) -> None:
    """Refuse a state that is not of this run."""
    length, dynamics = gan.settings.length, gan.settings.sampler.dynamics
    if not 0 <= iteration <= length.iterations:
        raise ValueError(f"iteration {iteration} of {length.iterations}")
    massive = iteration > length.burn_in and dynamics in ("frozen", "running", "prior")
    for name, fresh in gan.state.tensors(gan.members.everyones).items():
        if name not in tensors:
            raise ValueError(f"it lacks {name}")
        if tensors[name].shape != fresh.shape or tensors[name].dtype != fresh.dtype:
            raise ValueError(f"{name} has the shape {tuple(tensors[name].shape)} and is {tensors[name].dtype}")
    committee = gan.settings.populations.committee
    if committee is not None and iteration >= length.burn_in:
        wanted, there = (committee, *gan.batches.data.shape[1:]), tensors["committee"].shape
        if tuple(there) != wanted:
            raise ValueError(f"the committee has the shape {tuple(there)}")
    for side in SIDES:
        theta, mass = tensors[f"{side}.theta"], tensors.get(f"{side}.preconditioner")
        if (massive and len(theta) > 0) != (mass is not None) or (mass is not None and mass.shape != theta.shape):
            raise ValueError(f"the mass of the {side} does not fit iteration {iteration}")
