"""``bayesgan diagnose``."""

import json
import shutil
from pathlib import Path

import pytest

from bayesgan.runs.images import Task
from tests.cli.conftest import SMALL, trained
from tests.helpers.commands import bayesgan, refused


def test_diagnose(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = bayesgan(capsys, "diagnose", run)
    assert done.code == 0, done.errors
    found = json.loads((run / "diagnosis.json").read_text())
    assert done.output.endswith(f"Verdict: {found['verdict']}\n")
    assert found["kind"] == "too few"
    assert (found["images"], found["generated"]) == (200, False)
    assert "On 200 held-out images" in done.output
    assert (run / "diagnosis.png").stat().st_size > 10_000
    for words in ("kinetic temperature", "the prior's radius", "predictions of discriminators", "norm of generators"):
        assert words in done.output


def test_without_its_test_images_a_run_is_diagnosed_on_its_own(
    known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(known, tmp_path / "run"))
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"test_sha256": "other"}))
    done = bayesgan(capsys, "diagnose", copy)
    assert done.code == 0, done.errors
    assert "Without them the run is diagnosed on images of its own generators" in " ".join(done.errors.split())
    assert "On 200 generated images" in done.output
    assert "are not those" in refused(capsys, "diagnose", copy, "--data-dir", tmp_path)


def test_what_cannot_be_diagnosed_is_refused(tmp_path: Path, known: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "holds no run" in refused(capsys, "diagnose", tmp_path)
    copy = Path(shutil.copytree(known, tmp_path / "bare", ignore=shutil.ignore_patterns("samples")))
    assert "its weights are not there" in refused(capsys, "diagnose", copy)
    torn = Path(shutil.copytree(known, tmp_path / "torn"))
    (torn / "metrics.jsonl").write_text("nothing\n")
    assert "metrics.jsonl is damaged" in refused(capsys, "diagnose", torn)


def test_a_run_that_was_optimised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = trained(Task("digits", 20, method="dcgan", every=100, overrides=SMALL), tmp_path / "run")
    done = bayesgan(capsys, "diagnose", folder)
    assert done.code == 0, done.errors
    assert "Verdict: optimised, not sampled: Adam moved the weights" in done.output
