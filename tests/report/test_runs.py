"""Which runs a report takes, and what it says of each: what is refused, the command, the paper's error."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bayesgan.base.errors import BayesganError
from bayesgan.data.folder import OwnImages
from bayesgan.posterior.posterior import Posterior
from bayesgan.report.report import write_report
from bayesgan.report.runs import command, examined, finished, paper_error
from bayesgan.runs import saved
from bayesgan.runs.images import Task, Training

CPU = torch.device("cpu")
MACHINE = {"threads": 1, "device": "cpu"}

Finished = tuple[list[Training], list[dict[str, Any]]]

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize(
    ("task", "labels", "error"),
    [
        (Task("mnist", 100), 100, "79 ± 5.8 errors"),
        (Task("cifar10", 1000, method="dcgan"), 1000, "58.2 ± 2.8 %"),
        (Task("mnist", 100, split="validation"), 100, ""),
        (Task("mnist", 101), 101, ""),
        (Task("mnist", 100, method="ensemble"), 100, ""),
        (Task("mnist", 20, method="supervised"), 20, ""),
        (Task("digits", 100), 100, ""),
        (Task("own", "all", own=OwnImages("mnist"), like="mnist"), 100, ""),
    ],
)
def test_the_papers_error_stands_only_where_it_is_of_the_same_task(task: Task, labels: int, error: str) -> None:
    assert paper_error(task, labels) == error


@pytest.mark.parametrize(
    ("task", "ranks", "line"),
    [
        (
            Task(
                "mnist",
                "all",
                2,
                "dcgan",
                "paper",
                1,
                "validation",
                50,
                {"iterations": 20, "generator_prior": 2.0, "discriminator_prior": 2.0},
            ),
            1,
            "bayesgan train --dataset mnist --labels all --subset 2 --method dcgan --preset paper --set "
            "generator_prior=2.0 --set discriminator_prior=2.0 --set iterations=20 --set burn_in=13 --set thin=7 "
            "--seed 1 --every 50 --threads 1 --split validation --out run",
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
            write_report(finished([supervised.folder, folder], Path()), tmp_path / "report.html")
        return str(error.value)

    def without(name: str) -> Callable[[Path], object]:
        return lambda folder: (folder / name).unlink()

    assert "holds no run" in refused(shutil.rmtree)
    assert "holds no run" in refused(without("config.json"))
    for name in ("summary.json", "predictions.safetensors"):
        assert f"run is not finished, it has no {name}" in refused(without(name))
    assert "is damaged (dataset: Field required)" in refused(lambda folder: (folder / "summary.json").write_text("{}"))
    assert "safetensors" in refused(lambda folder: (folder / "predictions.safetensors").write_text("no"))
    assert "is damaged" in refused(lambda folder: (folder / "config.json").write_text("{"))
    assert not (tmp_path / "report.html").exists()


def test_a_report_needs_neither_the_checkpoint_nor_the_device_of_the_run(supervised: Training, tmp_path: Path) -> None:
    folder = tmp_path / "supervised"
    shutil.copytree(supervised.folder, folder)
    (folder / "checkpoint.safetensors").unlink()
    config = json.loads((folder / "config.json").read_text()) | {"device": "cuda"}
    (folder / "config.json").write_text(json.dumps(config))
    pages = []
    for number, each in enumerate((supervised.folder, folder)):
        write_report(finished([each], Path()), tmp_path / f"{number}.html")
        pages.append((tmp_path / f"{number}.html").read_text(encoding="utf-8").replace(str(each), "run"))
    assert pages[0] == pages[1]


def test_runs_are_opened_on_the_very_device_that_was_asked_for(
    supervised: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    load = saved.load

    def noted(folder: Path, device: str) -> Posterior:
        opened.append(device)
        return load(folder, device)

    monkeypatch.setattr(saved, "load", noted)
    ((run, data),) = finished([supervised.folder], Path())
    examined(run, data, "cpu:0")  # as cuda:1 would be
    assert opened == ["cpu:0"]


def test_the_same_images_are_read_once_and_a_run_named_twice_is_one(three: Finished) -> None:
    folders = [each.folder for each in three[0]]
    found = list(finished([*folders, folders[0] / ".." / "dcgan"], Path()))
    assert [run.folder.resolve() for run, _ in found] == folders
    assert len({id(data) for _, data in found}) == 1


def test_what_is_said_of_a_run_is_in_its_folder(three: Finished) -> None:
    for training, summary in zip(*three, strict=True):
        ((run, data),) = finished([training.folder], Path())
        report = examined(run, data)
        assert report.summary.test_errors == summary["test_errors"]
        assert report.scores is not None
        assert report.scores.errors == summary["test_errors"]
        assert report.settings == training.task.settings.flat()
        assert report.environments == training.run.environments
        assert [each.iteration for each in report.evaluations] == [each["iteration"] for each in training.run.metrics]
        bayesian = training.task.method == "bayesgan"
        assert set(report.planes) == ({"generators", "discriminators"} if bayesian else set())
        drawn = training.posterior.latest(6, 10, training.task.seed)
        assert len(drawn) == {"bayesgan": 6, "dcgan": 1, "supervised": 0}[training.task.method]
        for row, wanted in zip(report.rows, drawn, strict=True):
            assert (row.iteration, row.chain) == (wanted.iteration, wanted.chain)
            np.testing.assert_array_equal(row.pictures, wanted.pictures.numpy())


def test_the_least_sure_images_stand_before_the_surest(three: Finished) -> None:
    ((run, data),) = finished([three[0][0].folder], Path())
    certainty = examined(run, data).certainty
    assert certainty is not None
    assert [(share, number) for share, number, _ in certainty.parts] == [(0.1, 50), (0.5, 250)]
    entropies = [each.entropy for each in certainty.least] + [each.entropy for each in reversed(certainty.surest)]
    assert entropies == sorted(entropies, reverse=True)
    assert (len(certainty.least), len(certainty.surest)) == (24, 12)
    assert all(0 <= each.disagreement <= each.entropy + 1e-6 for each in certainty.least + certainty.surest)


def test_predictions_of_other_images_are_refused(supervised: Training, tmp_path: Path) -> None:
    shutil.copytree(supervised.folder, tmp_path / "run")
    other = Training(replace(supervised.task, split="validation"), tmp_path / "other", Path(), CPU)
    other.train()
    shutil.copy(tmp_path / "other" / "predictions.safetensors", tmp_path / "run")
    with pytest.raises(BayesganError, match="is not of this run"):
        write_report(finished([tmp_path / "run"], Path()), tmp_path / "report.html")
