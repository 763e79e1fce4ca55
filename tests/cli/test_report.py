"""``bayesgan report``."""

import json
import re
import shlex
from html import unescape
from pathlib import Path

import pytest
import torch

from bayesgan.runs.images import Task, Training
from tests.helpers.commands import bayesgan, refused

SMALL = {"iterations": 10, "generator_width": 4, "discriminator_width": 4}


def test_the_report_says_how_to_get_the_same_bits_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    task = Task(
        "digits",
        20,
        1,
        seed=2,
        every=4,
        overrides=SMALL | {"generator_prior": None, "discriminator_prior": None, "adam_betas": [0.4, 0.9]},
    )
    summary = Training(task, tmp_path / "made", Path(), torch.device("cpu")).train()
    before = {path: path.read_bytes() for path in (tmp_path / "made").rglob("*.*") if path.is_file()}
    done = bayesgan(capsys, "report", "made", "--out", "pages/made.html")
    assert done.code == 0, done.errors
    assert done.output == "The report is pages/made.html.\n"
    assert {path: path.read_bytes() for path in (tmp_path / "made").rglob("*.*") if path.is_file()} == before
    page = (tmp_path / "pages" / "made.html").read_text(encoding="utf-8")
    assert f"<td>{summary['test_errors']}" in page
    (line,) = re.findall("<pre><code>(bayesgan train .*?)</code></pre>", page)
    (tmp_path / "again").mkdir()
    monkeypatch.chdir(tmp_path / "again")
    again = bayesgan(capsys, *shlex.split(unescape(line))[1:])
    assert again.code == 0, again.errors
    for name in ("config.json", "predictions.safetensors", "samples/00000010.safetensors"):
        assert (tmp_path / "again" / "made" / name).read_bytes() == before[tmp_path / "made" / name]


def test_what_is_no_run_gets_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "[half]").mkdir()
    (tmp_path / "[half]" / "config.json").write_text(json.dumps({"settings": {}}))
    assert "[half] is not finished, it has no summary.json: 'bayesgan train --resume [half]' goes on" in refused(
        capsys, "report", "[half]"
    )
    assert not (tmp_path / "report.html").exists()
