"""The config.json of a run on images, read back: it may have been changed, torn or made by somebody else."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bayesgan import __version__
from bayesgan.base.errors import BayesganError
from bayesgan.base.files import parsed, read_text
from bayesgan.data.folder import OwnImages
from bayesgan.data.names import ImageSetName
from bayesgan.settings.names import Method, PresetName
from bayesgan.settings.settings import Count, ImageSettings, Whole

CONFIG = "config.json"
# Of config.json; 1 had its settings in no groups, and no number; in 1 and 2 the temperature tempered the prior too.
FORMAT = 3
# Settings of format 1 that are no more, with what they were by default.
DELETED: dict[str, Any] = {"branches": 1, "faced": None, "sweep": 1, "scan": "in-turn", "real_target": 1.0}

RENAMED = {"critic_weight": "game_weight"}  # of format 1
WEIGHING = {1.0: "printed", None: "raised-labels"}  # by the "label_weight" of formats 1 and 2

Pixels = Annotated[int, Field(ge=1, le=4096)]


class RunRecord(BaseModel):
    """What a run was trained on, and with which settings."""

    model_config = ConfigDict(frozen=True, strict=True)

    format: Literal[3]
    version: str
    dataset: ImageSetName | Literal["own"]
    labels: Whole | Literal["all"]
    subset: Whole
    method: Method
    preset: PresetName
    seed: Whole
    split: Literal["test", "validation"]
    every: Count
    own: OwnImages | None = None
    like: ImageSetName | None = None
    shape: tuple[Literal[1, 3], Pixels, Pixels]  # channels, height, width
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


def read_record(folder: Path) -> RunRecord:
    """The config.json of the run in ``folder``, of this format or an earlier one."""
    path = folder / CONFIG
    if not path.exists():
        raise BayesganError(f"{folder} holds no run: it has no config.json.")
    text, remedy = read_text(path), "without it the run cannot be read"
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or not isinstance(values.get("version"), str):
        raise BayesganError(f"{path} is damaged (it does not say which version made it): {remedy}.")
    made = values.get("format", 1)
    if made in (1, 2) and isinstance(values.get("settings"), dict):
        text = json.dumps(_from_earlier(values, made, folder))
    elif values.get("format") != FORMAT:
        raise BayesganError(
            f"{folder} was made by bayesgan {values['version']}, whose config.json this version, {__version__}, cannot "
            "read: use that version."
        )
    return parsed(RunRecord, text, path, remedy)


def _no_more(name: str, values: dict[str, Any], folder: Path) -> BayesganError:
    return BayesganError(
        f"{folder} was trained with the setting '{name}', which is no more: read it with bayesgan {values['version']}."
    )


def other_version(folder: Path, version: str) -> BayesganError:
    """The run in ``folder`` can be read, but not gone on with, by this version."""
    return BayesganError(f"{folder} was made by bayesgan {version}, this is {__version__}: go on with that version.")


def _from_earlier(values: dict[str, Any], made: int, folder: Path) -> dict[str, Any]:
    """The same in this format; what cannot be said in it is refused by name."""
    flat: dict[str, Any] = dict(values["settings"])
    if made == 2:  # format 2 had groups
        if not all(isinstance(group, dict) for group in flat.values()):
            raise BayesganError(f"{folder / CONFIG} is damaged (settings in no groups): the run cannot be read.")
        flat = {name: value for group in flat.values() for name, value in group.items()}
    for name, default in DELETED.items():
        if flat.pop(name, default) != default:
            raise _no_more(name, values, folder)
    if flat.get("consensus_on") == "shown":
        flat["consensus_on"] = "augmented"
    if flat.get("game") == "classification":
        flat.pop("game")  # without generators there is nothing else
    temperature, prior = flat.get("temperature", 1.0), flat.pop("prior_variance", 1.0)
    if isinstance(temperature, int | float) and isinstance(prior, int | float):
        prior *= temperature or 1.0  # N(0, σ²) was sampled as N(0, T σ²)
    flat |= {"generator_prior": prior, "discriminator_prior": prior}
    label_weight = flat.pop("label_weight", 1.0)
    if not isinstance(label_weight, int | float | None) or label_weight not in WEIGHING:
        raise _no_more("label_weight", values, folder)
    flat["weighing"] = WEIGHING[label_weight]
    places = ImageSettings.places()
    settings: dict[str, dict[str, Any]] = {}
    for old, value in flat.items():  # by their names then
        present: str = RENAMED.get(str(old), str(old))
        if present not in places:
            raise BayesganError(f"{folder / CONFIG} is damaged (there is no setting '{old}'): the run cannot be read.")
        settings.setdefault(places[present], {})[present] = value
    method = values.get("method")
    if method == "bayesgan" and temperature == 0 and prior is None:
        method = "ensemble"
    return values | {"format": FORMAT, "settings": settings, "method": method}
