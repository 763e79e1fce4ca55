"""``bayesgan generate``."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import bayesgan as package
from tests.helpers.commands import bayesgan, refused


def test_generate(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "sheet.png"
    done = bayesgan(capsys, "generate", run, "-n", 8, "--generators", 3, "--out", out)
    assert done.code == 0, done.errors
    posterior = package.load(run)
    pictures = posterior.generate(8, posterior.generators[::-1][:3])
    with Image.open(out) as sheet:
        pixels = np.asarray(sheet)
    cell = 8 * 7 + 2  # each pixel seven times as large, and a gap
    for number, picture in enumerate(pictures):  # a row for each generator
        top, left = number % 3 * cell, number // 3 * cell
        assert np.array_equal(pixels[top : top + 56 : 7, left : left + 56 : 7], picture)
    assert pixels[2 * cell + 10, 2 * cell + 10] == 255  # the ninth is not there
    assert "ask for no more" in refused(capsys, "generate", run, "--generators", 1000, "--out", out)
    assert bayesgan(capsys, "generate", run, "--out", out).output.startswith("64 pictures by")
