import json
import re
import shlex
import subprocess
import sys
from html import unescape
from pathlib import Path

import torch

from bayesgan.runs.images import Task, Training

SMALL = {"iterations": 10, "generator_width": 4, "discriminator_width": 4}


def bayesgan(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bayesgan", *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


def test_the_report_says_how_to_get_the_same_bits_again(tmp_path: Path, one_thread: None) -> None:
    task = Task("digits", 20, 1, seed=2, every=4, overrides=SMALL | {"prior_variance": None, "adam_betas": [0.4, 0.9]})
    summary = Training(task, tmp_path / "made", Path(), torch.device("cpu")).train()
    before = {path: path.read_bytes() for path in (tmp_path / "made").rglob("*.*") if path.is_file()}
    done = bayesgan("report", "made", "--out", "pages/made.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "The report is pages/made.html.\n"
    assert {path: path.read_bytes() for path in (tmp_path / "made").rglob("*.*") if path.is_file()} == before
    page = (tmp_path / "pages" / "made.html").read_text(encoding="utf-8")
    assert f"<td>{summary['test_errors']}" in page
    (line,) = re.findall("<pre><code>(bayesgan train .*?)</code></pre>", page)
    (tmp_path / "again").mkdir()
    again = bayesgan(*shlex.split(unescape(line))[1:], cwd=tmp_path / "again")
    assert again.returncode == 0, again.stderr
    for name in ("config.json", "predictions.safetensors", "samples/00000010.safetensors"):
        assert (tmp_path / "again" / "made" / name).read_bytes() == before[tmp_path / "made" / name]


def test_what_is_no_run_gets_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "[half]").mkdir()
    (tmp_path / "[half]" / "config.json").write_text(json.dumps({"settings": {}}))
    done = bayesgan("report", "[half]", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "[half] is not finished, it has no summary.json: 'bayesgan train --resume [half]' goes on" in done.stderr
    assert not (tmp_path / "report.html").exists()
