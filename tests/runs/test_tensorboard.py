import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.runs.tensorboard import TensorBoard, flat
from tests.helpers.commands import bayesgan

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")

QUICK = ("--dataset=digits", "--labels=20", "--threads=1", "--set=generator_width=4", "--set=discriminator_width=4")


def events(folder: Path) -> Any:
    written = accumulator.EventAccumulator(str(folder))
    written.Reload()
    return written


def test_every_number_has_a_name() -> None:
    metrics = {"iteration": 5, "a": 1, "none": None, "t": {"x": 2.5, "y": {"z": -1}}, "chains": [0.25, 0.5]}
    assert dict(flat(metrics)) == {"a": 1.0, "t/x": 2.5, "t/y/z": -1.0, "chains/0": 0.25, "chains/1": 0.5}


def test_training_writes_what_metrics_jsonl_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (*QUICK, "--set=iterations=12", "--every=3", "--out", tmp_path / "run", "--tensorboard")
    assert bayesgan(capsys, "train", *arguments).code == 0
    written = events(tmp_path / "run" / "tensorboard")
    records = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    wanted = [(each["iteration"], each["log_likelihood"]["discriminators"]) for each in records]
    found = [(event.step, event.value) for event in written.Scalars("log_likelihood/discriminators")]
    assert [step for step, _ in found] == [step for step, _ in wanted]
    assert [value for _, value in found] == pytest.approx([value for _, value in wanted], rel=1e-6)
    averages = {each["iteration"]: each["average_error"] for each in records if each["average_error"] is not None}
    assert {event.step: event.value for event in written.Scalars("average_error")} == pytest.approx(averages, rel=1e-6)


def test_what_a_killed_run_wrote_beyond_its_checkpoint_is_undone(tmp_path: Path) -> None:
    with TensorBoard(tmp_path, 0) as board:
        for iteration in (3, 6, 9):
            board.write({"iteration": iteration, "a": -1.0})
    with TensorBoard(tmp_path, 5) as board:  # gone on with from iteration 5
        board.write({})
        for iteration in (3, 6, 6):  # an old one, and one that is told twice
            board.write({"iteration": iteration, "a": 2.0})
    assert [(event.step, event.value) for event in events(tmp_path).Scalars("a")] == [(3, -1.0), (6, 2.0)]


def test_without_tensorboard_a_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(BayesganError, match=r"pip install 'bayesgan\[tensorboard\]'"):
        TensorBoard(tmp_path, 0)
