"""Which runs a report takes, and what it says of each: what is refused, the command, the paper's error."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bayesgan.base.errors import BayesganError
from bayesgan.data.folder import OwnImages
from bayesgan.posterior import posterior
from bayesgan.posterior.posterior import Posterior
from bayesgan.report import runs
from bayesgan.report.report import write_report
from bayesgan.report.runs import command, finished, paper_error
from bayesgan.runs.images import Task, Training

CPU = torch.device("cpu")
SMALL = {"iterations": 6, "generator_width": 4, "discriminator_width": 4}
MACHINE = {"threads": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def supervised(tmp_path_factory: pytest.TempPathFactory, one_thread: None) -> Training:
    task = Task("digits", 50, 3, "supervised", "fast", 7, overrides=SMALL)
    training = Training(task, tmp_path_factory.mktemp("runs") / "supervised", Path(), CPU)
    training.train()
    return training


@pytest.mark.parametrize(
    ("task", "labels", "system", "error"),
    [
        (Task("mnist", 100), 100, "bayesgan", "79 ± 5.8 errors"),
        (Task("cifar10", 1000, method="dcgan"), 1000, "dcgan", "58.2 ± 2.8 %"),
        (Task("mnist", 100, split="validation"), 100, "bayesgan", ""),
        (Task("mnist", 101), 101, "bayesgan", ""),
        (Task("mnist", 100), 100, "ensemble", ""),
        (Task("mnist", 20, method="supervised"), 20, "supervised", ""),
        (Task("digits", 100), 100, "bayesgan", ""),
        (Task("own", "all", own=OwnImages("mnist"), like="mnist"), 100, "bayesgan", ""),
    ],
)
def test_the_papers_error_stands_only_where_it_is_of_the_same_task(
    task: Task, labels: int, system: str, error: str
) -> None:
    assert paper_error(task, labels, system) == error


@pytest.mark.parametrize(
    ("task", "ranks", "line"),
    [
        (
            Task("mnist", "all", 2, "dcgan", "paper", 1, "validation", 50, {"iterations": 20, "prior_variance": 2.0}),
            1,
            "bayesgan train --dataset mnist --labels all --subset 2 --method dcgan --preset paper --set "
            "prior_variance=2.0 --set iterations=20 --set burn_in=13 --set thin=7 --seed 1 --every 50 --threads 1 "
            "--split validation --out run",
        ),
        (
            Task("own", "all", own=OwnImages("/a b", "/l.csv", None, 0.3, 16), like="digits"),
            2,
            "torchrun --nproc-per-node 2 -m bayesgan train --images '/a b' --labels-file /l.csv --held-out 0.3 --size "
            "16 --method bayesgan --preset fast --seed 0 --every 100 --threads 1 --out run",
        ),
        (
            Task("own", "all", own=OwnImages("/a", None, "/t"), like="digits"),
            1,
            "bayesgan train --images /a --test-images /t --method bayesgan --preset fast --seed 0 --every 100 "
            "--threads 1 --out run",
        ),
    ],
)
def test_the_command_names_all_that_a_run_depends_on(task: Task, ranks: int, line: str) -> None:
    assert command(task, Path("some/run"), MACHINE, ranks) == line


def test_what_is_no_finished_run_is_refused_before_any_is_opened(supervised: Training, tmp_path: Path) -> None:
    def refused(change: Callable[[Path], object]) -> str:
        folder = tmp_path / "run"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(supervised.folder, folder)
        change(folder)
        with pytest.raises(BayesganError) as error:
            write_report(finished([supervised.folder, folder], Path(), CPU), tmp_path / "report.html")
        return str(error.value)

    def without(name: str) -> Callable[[Path], object]:
        return lambda folder: (folder / name).unlink()

    assert "holds no run" in refused(shutil.rmtree)
    assert "holds no run" in refused(without("config.json"))
    for name in ("summary.json", "predictions.safetensors", "checkpoint.safetensors"):
        assert f"run is not finished, it has no {name}" in refused(without(name))
    assert "is damaged (dataset: Field required)" in refused(lambda folder: (folder / "summary.json").write_text("{}"))
    assert "safetensors" in refused(lambda folder: (folder / "predictions.safetensors").write_text("no"))
    config = (supervised.folder / "config.json").read_text()
    cuda = config.replace('"device": "cpu"', '"device": "cuda"')
    assert "give --device cuda" in refused(lambda folder: (folder / "config.json").write_text(cuda))
    assert not (tmp_path / "report.html").exists()


def test_runs_are_opened_on_the_very_device_that_was_asked_for(
    supervised: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def load(folder: Path, device: str) -> Posterior:
        opened.append(device)
        return posterior.load(folder, device)

    monkeypatch.setattr(runs, "load", load)
    next(finished([supervised.folder], Path(), torch.device("cpu:0")))  # as cuda:1 would be
    assert opened == ["cpu:0"]


def test_predictions_of_other_images_are_refused(supervised: Training, tmp_path: Path) -> None:
    shutil.copytree(supervised.folder, tmp_path / "run")
    other = Training(replace(supervised.task, split="validation"), tmp_path / "other", Path(), CPU)
    other.train()
    shutil.copy(tmp_path / "other" / "predictions.safetensors", tmp_path / "run")
    with pytest.raises(BayesganError, match="is not of this run"):
        write_report(finished([tmp_path / "run"], Path(), CPU), tmp_path / "report.html")
