from pathlib import Path

import pytest

from bayesgan.runs.tensorboard import flat
from tests.helpers.commands import bayesgan

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")

QUICK = ("--dataset=digits", "--labels=20", "--threads=1", "--set=generator_width=4", "--set=discriminator_width=4")


def test_every_number_has_a_name() -> None:
    metrics = {"iteration": 5, "a": 1, "none": None, "t": {"x": 2.5, "y": {"z": -1}}, "chains": [0.25, 0.5]}
    assert dict(flat(metrics)) == {"a": 1.0, "t/x": 2.5, "t/y/z": -1.0, "chains/0": 0.25, "chains/1": 0.5}


def test_training_writes_what_metrics_jsonl_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    arguments = (*QUICK, "--set=iterations=12", "--every=3", "--out", tmp_path / "run", "--tensorboard")
    assert bayesgan(capsys, "train", *arguments).code == 0
    written = accumulator.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    written.Reload()
    records = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    wanted = [(each["iteration"], each["log_likelihood"]["discriminators"]) for each in records]
    found = [(event.step, event.value) for event in written.Scalars("log_likelihood/discriminators")]
    assert [step for step, _ in found] == [step for step, _ in wanted]
    assert [value for _, value in found] == pytest.approx([value for _, value in wanted], rel=1e-6)
    averages = {each["iteration"]: each["average_error"] for each in records if each["average_error"] is not None}
    assert {event.step: event.value for event in written.Scalars("average_error")} == pytest.approx(averages, rel=1e-6)
