"""The one safetensors file of a fitted classifier: a record in its metadata, and the tensors."""

import hashlib
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from bayesgan import __version__
from bayesgan.base.errors import BayesganError
from bayesgan.base.files import open_tensors, write_tensors
from bayesgan.settings.names import Method, PresetName


class Saved(BaseModel):
    """The record of a classifier in its file, beside the tensors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    version: str
    method: Method
    preset: PresetName
    image_shape: tuple[int, ...] | None
    iterations: int | None
    settings: dict[str, Any] | None
    random_state: int | None
    classes: Annotated[list[bool] | list[int] | list[float] | list[str], Field(min_length=2)]
    kind: Annotated[str, Field(pattern=r"^(str|object|bool|u?int\d+|float\d+)$")]  # of the array of classes
    features: int
    names: list[str] | None
    pixels: tuple[int, int, int] | None
    range: tuple[float, float] | None
    run: dict[str, Any]


def write(path: Path, saved: Saved, tensors: dict[str, Tensor]) -> None:
    """Write record and tensors to ``path``, with a digest of both."""
    text = saved.model_dump_json()
    write_tensors(path, tensors, {"classifier": text, "sha256": digest_of(text, tensors)})


def read(path: Path) -> tuple[Saved, dict[str, Tensor]]:
    """Read what :func:`write` wrote to ``path``."""
    with open_tensors(path) as file:
        metadata = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    text = metadata.get("classifier", "")
    if not text:
        raise BayesganError(f"{path} was not written by the save of a BayesGANClassifier.")
    if metadata.get("sha256") != digest_of(text, tensors):
        raise BayesganError(f"{path} is damaged: take a copy of it, or fit the classifier again.")
    try:
        return Saved.model_validate_json(text), tensors
    except ValueError:
        raise foreign(path) from None


def foreign(path: Path) -> BayesganError:
    """Make the error for ``path``, which is whole but not what this version writes."""
    return BayesganError(
        f"{path} was written by another version of bayesgan than {__version__}, or changed since: load it with the "
        "version that wrote it, or fit the classifier again."
    )


def digest_of(text: str, tensors: dict[str, Tensor]) -> str:
    """Compute the sha256 of everything in a file: the format itself does not notice a changed byte."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tuple(tensors[name].shape)}".encode())
        digest.update(tensors[name].contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
