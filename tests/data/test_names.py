"""Names of the data sets, and where they are looked for."""

import subprocess
import sys
from pathlib import Path

import pytest

from bayesgan.data.names import (
    IMAGE_SET_TITLES,
    IMAGE_SETS,
    LARGEST_SIDE,
    LEAST_HELD_OUT,
    MOST_HELD_OUT,
    SMALLEST_SIDE,
    default_folder,
)
from bayesgan.networks.build import SMALLEST


def test_default_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAYESGAN_DATA", "somewhere")
    assert default_folder() == Path("somewhere")
    for value in ("", None):
        monkeypatch.setenv("BAYESGAN_DATA", value) if value is not None else monkeypatch.delenv("BAYESGAN_DATA")
        assert default_folder() == Path.home() / ".cache" / "bayesgan"


def test_every_image_set_has_a_title_and_digits_come_first() -> None:
    assert tuple(IMAGE_SET_TITLES) == IMAGE_SETS
    assert IMAGE_SETS[0] == "digits"


def test_the_limits_leave_pictures_to_train_on_that_the_networks_take() -> None:
    assert 0 < LEAST_HELD_OUT < MOST_HELD_OUT < 1
    assert SMALLEST <= SMALLEST_SIDE < LARGEST_SIDE


def test_nothing_large_is_imported_for_names() -> None:
    code = "import sys, bayesgan.data.names; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "numpy", "pydantic", "sklearn", "PIL"} & set(done.stdout.split())
