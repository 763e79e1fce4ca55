"""The real image sets, for tests that need them."""

import os
from pathlib import Path

import pytest


def real(name: str) -> Path:
    """The data root, if it holds the image set ``name``; otherwise the test is skipped."""
    root = os.environ.get("BAYESGAN_DATA")
    if not root:
        pytest.skip("BAYESGAN_DATA does not name a folder with the real image sets")
    if not (Path(root) / name).is_dir():
        pytest.skip(f"{name} is not in the folder that BAYESGAN_DATA names")
    return Path(root)
