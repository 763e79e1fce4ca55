"""The demonstration, short: three runs, one report, gone on with where it was."""

from pathlib import Path
from typing import Any

import pytest
import torch

from bayesgan.report.demo import METHODS, run
from bayesgan.runs.run import Metrics
from bayesgan.runs.saved import read_run
from tests.helpers.pages import headings, words

CPU = torch.device("cpu")

pytestmark = pytest.mark.usefixtures("one_thread")


class Seen:
    """What the progress bar is told."""

    def __init__(self) -> None:
        self.methods: list[str] = []
        self.shares: list[float] = []

    def __call__(self, method: str, share: float, metrics: Metrics) -> None:
        self.methods.append(method)
        self.shares.append(share)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Seen, list[dict[str, Any]]]:
    out, seen = tmp_path_factory.mktemp("demo"), Seen()
    return out, seen, run(out, 2, 5, CPU, seen, iterations=10)


def test_three_methods_are_trained_on_the_same_labels(made: tuple[Path, Seen, list[dict[str, Any]]]) -> None:
    out, _, summaries = made
    assert [each["method"] for each in summaries] == list(METHODS)
    assert {(each["labels"], each["subset"], each["seed"], each["iterations"]) for each in summaries} == {
        (50, 2, 5, 10)
    }
    assert len({each["labelled_sha256"] for each in summaries}) == 1
    for method, summary in zip(METHODS, summaries, strict=True):
        assert read_run(out / method).summary.test_errors == summary["test_errors"]


def test_the_progress_goes_from_nothing_to_all(made: tuple[Path, Seen, list[dict[str, Any]]]) -> None:
    _, seen, _ = made
    assert list(dict.fromkeys(seen.methods)) == list(METHODS)
    assert seen.shares == sorted(seen.shares)
    assert 0 < seen.shares[0] < seen.shares[-1] == pytest.approx(1.0)


def test_the_report_has_all_three_and_the_command_that_makes_it(made: tuple[Path, Seen, list[dict[str, Any]]]) -> None:
    out, _, _ = made
    page = (out / "report.html").read_text(encoding="utf-8")
    assert headings(page)[0] == "Bayesian GAN: Digits, 50 labels, subset 2"
    assert "bayesgan demo --seed 5 --subset 2 --threads 1 --iterations 10" in words(page)
    for name in ("BayesGAN", "DCGAN", "Supervised"):
        assert name in words(page)


def test_the_same_demonstration_again_repeats_nothing(made: tuple[Path, Seen, list[dict[str, Any]]]) -> None:
    out, _, summaries = made
    stamps = {path: path.stat().st_mtime_ns for path in out.rglob("checkpoint.safetensors")}
    page = (out / "report.html").read_text(encoding="utf-8")
    seen = Seen()
    assert run(out, 2, 5, CPU, seen, iterations=10) == summaries
    assert seen.shares == []
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    assert len(stamps) == 3
    assert (out / "report.html").read_text(encoding="utf-8") == page
