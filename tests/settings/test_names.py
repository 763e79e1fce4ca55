"""The names that settings choose from."""

import subprocess
import sys

from bayesgan.settings.methods import METHOD_VALUES
from bayesgan.settings.names import METHOD_TITLES, METHODS


def test_every_method_has_a_title_and_a_definition() -> None:
    assert set(METHOD_TITLES) == set(METHODS) == set(METHOD_VALUES)


def test_names_bring_nothing_large_along() -> None:
    code = "import sys, bayesgan.settings.names, bayesgan.data.names; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not [name for name in ("torch", "numpy", "pydantic") if f"'{name}'" in loaded]
