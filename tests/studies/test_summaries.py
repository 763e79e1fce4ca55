from pathlib import Path

import pytest
import torch
from studies.smallest import TINY

from bayesgan.runs.images import Task, Training
from studies import summaries


def test_a_run_has_a_row_and_its_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = Task("digits", 20, 3, "dcgan", seed=5, every=2, overrides=TINY)
    summary = Training(task, tmp_path / "run", Path(), torch.device("cpu")).train()
    summaries.main([str(tmp_path / "run")])
    printed = capsys.readouterr().out.splitlines()
    assert printed[2].startswith(f"| digits, 20, 3 | dcgan | {summary['test_errors']} of 500 | ")
    assert printed[2].count("|") == printed[0].count("|") == len(summaries.COLUMNS) + 1
    command = (
        "bayesgan train --dataset digits --labels 20 --subset 3 --method dcgan --preset fast --seed 5 --split test"
    )
    assert printed[-2].startswith(f"{command} --every 2 --threads 1 --set ")
    assert "--set iterations=3" in printed[-2]
