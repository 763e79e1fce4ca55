"""``bayesgan figures``."""

from pathlib import Path

import pytest

from tests.helpers.commands import bayesgan, refused


def test_figures_are_of_the_known_image_sets(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"'bayesgan report {run}' draws its figures" in refused(capsys, "figures", run, "--out", tmp_path / "out")


def test_every_figure_that_is_written_is_named(known: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = bayesgan(capsys, "figures", known, "--out", tmp_path / "out")
    assert done.code == 0, done.errors
    first, *files = done.output.splitlines()
    assert first == "Finished runs: 1; unfinished ones, left out: 0."
    assert sorted(files) == sorted(map(str, (tmp_path / "out").iterdir()))
    assert files


def test_a_folder_without_a_run_gets_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "There is no run in" in refused(capsys, "figures", tmp_path)
