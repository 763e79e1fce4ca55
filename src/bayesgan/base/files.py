"""Write files under a temporary name and rename them; read files, with a sentence for one that cannot be read."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

try:
    import fcntl
except ImportError:  # not on Windows, where nothing keeps two processes out of one folder
    fcntl = None  # type: ignore[assignment]

from pydantic import BaseModel, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from bayesgan.base.errors import BayesganError

M = TypeVar("M", bound=BaseModel)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path`` to write to; it replaces ``path`` only when all went well."""
    # Always the same name, so that what a kill left behind is replaced by the next try.
    temporary = path.with_name(f".partial-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except OSError as error:
        raise BayesganError(f"Cannot write {path}: {error.strerror or error}.") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, all of it or nothing."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_text(path: Path) -> str:
    """Read the text of ``path``."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BayesganError(f"Cannot read {path}: {error}.") from None


def parsed(kind: type[M], text: str, path: Path, remedy: str) -> M:
    """Parse ``text``, the JSON of ``path``, as a record of ``kind``; the error of a damaged one ends in ``remedy``."""
    try:
        return kind.model_validate_json(text)
    except (ValidationError, BayesganError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        reason = str(error).rstrip(".") if first is None else ": ".join([*map(str, first["loc"]), first["msg"]])
        raise BayesganError(f"{path} is damaged ({reason}): {remedy}.") from None


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """Write named tensors as safetensors, all of them or nothing."""
    with replacing(path) as temporary:
        # Not save_file: a kill would leave behind a temporary file of its own.
        temporary.write_bytes(save({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata))


@contextmanager
def open_tensors(path: Path, device: str = "cpu") -> Iterator[safe_open]:
    """Open a safetensors file lazily: nothing is read until it is asked for."""
    try:
        with safe_open(path, framework="pt", device=device) as tensors:
            yield tensors
    except (OSError, SafetensorError) as error:
        raise BayesganError(f"Cannot read {path}, which should be a safetensors file: {error}.") from None


@contextmanager
def locked(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Keep every other process out of ``folder``; the lock ends with the process that has it, however that ends.

    Wait at most ``patience`` seconds for another process that has it.
    """
    deadline = time.monotonic() + patience
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise BayesganError(f"Cannot write to {folder}: {error.strerror or error}.") from None
    with lock:
        while fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise BayesganError(
                        f"Another process is at work in {folder}: wait for it, or choose another folder."
                    ) from None
                time.sleep(0.2)
        yield
