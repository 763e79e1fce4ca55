"""``bayesgan demo``; what it trains is tested with bayesgan.report.demo."""

from pathlib import Path
from typing import Any

import pytest

from bayesgan.report import demo
from tests.helpers.commands import bayesgan, refused


def test_the_errors_of_every_method_are_in_a_table_and_the_report_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[Any, ...]] = []

    def run(
        out: Path, subset: int, seed: int, device: Any, report: Any, iterations: int | None
    ) -> list[dict[str, Any]]:
        asked.append((out, subset, seed, device.type, iterations))
        report("dcgan", 0.5, {"log_likelihood": {"generators": -1.0}, "chains_error": 0.25, "average_error": None})
        figures = {"test_size": 500, "test_error": 0.246, "networks": 7, "seconds": 3.2}
        return [{"method": method, "test_errors": 123} | figures for method in demo.METHODS]

    monkeypatch.setattr(demo, "run", run)
    done = bayesgan(capsys, "demo", "--out", tmp_path, "--seed=4", "--subset=1", "--iterations=20", "--threads=1")
    assert done.code == 0, done.errors
    assert asked == [(tmp_path, 1, 4, "cpu", 20)]
    assert done.output == f"The report is {tmp_path / 'report.html'}.\n"
    for method in demo.METHODS:
        (line,) = (line for line in done.errors.splitlines() if f" {method} " in line and "123" in line)
        assert "24.6%" in line


def test_too_few_iterations_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "greater than or equal to 10" in refused(capsys, "demo", "--iterations=9")
