"""``bayesgan evaluate``."""

import json
from pathlib import Path

import pytest

from tests.helpers.commands import bayesgan, refused


def test_evaluate(run: Path, pictures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = json.loads((run / "summary.json").read_text())
    done = bayesgan(capsys, "evaluate", run, "--against=noise", "--against", pictures / "test" / "0", "--format=json")
    assert done.code == 0, done.errors
    result = json.loads(done.output)
    assert result == json.loads((run / "evaluation.json").read_text())
    assert (result["errors"], result["test_size"]) == (summary["test_errors"], summary["test_size"])
    assert (run / "reliability.png").stat().st_size > 1000
    assert set(result["auroc"]) == {"noise", str(pictures / "test" / "0")}
    assert all(0 <= figure <= 1 for figures in result["auroc"].values() for figure in figures.values())
    text = bayesgan(capsys, "evaluate", run, "--against=inverted").output
    assert f"{summary['test_errors']} errors on 500 test images" in text
    assert "inverted" in text
    assert "mutual information *" in text
    assert "none of noise" in refused(capsys, "evaluate", run, "--against=nonsense")
    assert "--split is for the known image sets" in refused(capsys, "evaluate", run, "--split=validation")


def test_a_known_set_can_be_scored_on_its_validation_images(known: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = bayesgan(capsys, "evaluate", known, "--split=validation", "--against=inverted")
    assert done.code == 0, done.errors
    assert "errors on 297 validation images" in done.output
    assert "was trained with --split test: the validation images are among its training images" in done.errors
