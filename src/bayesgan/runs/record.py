"""The config.json of a run on images, read back: it may have been changed, torn or made by somebody else."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bayesgan import __version__
from bayesgan.base.errors import BayesganError
from bayesgan.base.files import parsed, read_text
from bayesgan.data.folder import OwnImages
from bayesgan.data.images import ImageSetName
from bayesgan.settings.methods import ImageMethod
from bayesgan.settings.presets import PresetName
from bayesgan.settings.settings import Count, ImageSettings, Whole

Side = Annotated[int, Field(ge=1, le=4096)]  # pixels


class _Made(BaseModel):
    version: str


class RunConfig(BaseModel):
    """What a run was trained on, and with which settings."""

    model_config = ConfigDict(frozen=True, strict=True)

    version: str
    dataset: ImageSetName | Literal["own"]
    labels: Whole | Literal["all"]
    subset: Whole
    method: ImageMethod
    preset: PresetName
    seed: Whole
    split: Literal["test", "validation"]
    every: Count
    own: OwnImages | None = None
    like: ImageSetName | None = None
    shape: tuple[Literal[1, 3], Side, Side]  # channels, height, width
    classes: tuple[str, ...]  # none for a run without labels
    labelled_sha256: str
    test_sha256: str
    device: str
    settings: ImageSettings

    @model_validator(mode="after")
    def _own_pictures_are_like_others(self) -> Self:
        if not (self.dataset == "own") == (self.own is not None) == (self.like is not None):
            raise ValueError("own pictures have a folder and settings of a similar image set, others have neither")
        return self


def read_config(folder: Path) -> RunConfig:
    """The config.json of the run in ``folder``."""
    path = folder / "config.json"
    if not path.exists():
        raise BayesganError(f"{folder} holds no run: it has no config.json.")
    text, remedy = read_text(path), "without it the run cannot be read"
    made = parsed(_Made, text, path, remedy)
    try:
        return parsed(RunConfig, text, path, remedy)
    except BayesganError:
        if made.version == __version__:
            raise
        raise other_version(folder, made.version) from None


def other_version(folder: Path, version: str) -> BayesganError:
    """The run in ``folder`` was not made by this version."""
    return BayesganError(f"{folder} was made by bayesgan {version}, this is {__version__}: go on with that version.")
