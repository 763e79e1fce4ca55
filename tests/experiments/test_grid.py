"""Grids of small real runs: which runs there are, how one is done, what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bayesgan.errors import BayesganError
from bayesgan.experiments.engines import Event
from bayesgan.experiments.grid import SYSTEMS, Grid, Job, attempt, finished, row
from bayesgan.experiments.images import Training
from bayesgan.experiments.table1 import Board, fill
from bayesgan.experiments.table1_output import Caption
from bayesgan.files import locked

TINY: dict[str, Any] = {
    "generator_width": 2,
    "discriminator_width": 2,
    "features": 4,
    "noise_dim": 2,
    "real_batch": 4,
    "fake_batch": 4,
    "iterations": 6,
}

pytestmark = pytest.mark.usefixtures("one_thread")


def tiny(out: Path, **values: Any) -> list[Job]:
    chosen: dict[str, Any] = {"datasets": ["digits"], "systems": ["dcgan"], "subsets": 1, "labels": [20]} | values
    return Grid(**chosen, overrides=TINY).jobs(out, Path())


def test_the_grid_has_every_run_once_subset_after_subset(tmp_path: Path) -> None:
    jobs = Grid(["digits", "mnist"]).jobs(tmp_path, Path())
    assert len(jobs) == len({job.folder for job in jobs}) == 2 * 4 * len(SYSTEMS) * 10
    assert [job.task.subset for job in jobs] == sorted(job.task.subset for job in jobs)
    assert {job.task.labels for job in jobs if job.task.dataset == "mnist"} == {20, 50, 100, 200}  # the paper's
    assert all(job.task.seed == job.task.subset for job in jobs)


def test_the_ensemble_is_the_bayesian_gan_at_temperature_0_with_a_flat_prior(tmp_path: Path) -> None:
    bayesian, ensemble = tiny(tmp_path, systems=["bayesgan", "ensemble"])
    settings = bayesian.task.settings
    assert settings.temperature > 0
    assert settings.prior_variance is not None
    assert ensemble.task.settings == settings.model_copy(update={"temperature": 0.0, "prior_variance": None})


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_run_of_each_system_ends_in_a_row(system: str, tmp_path: Path) -> None:
    (job,) = tiny(tmp_path, systems=[system])
    assert finished(job) is None
    assert attempt(job) is None
    summary = finished(job)
    assert summary is not None
    ours = row(job, "done", summary)
    assert ours.method == system
    assert ours.test_size == 500
    assert ours.iterations == 6
    assert ours.test_errors == summary["test_errors"]
    assert len(ours.labelled_sha256 or "") == 64


def test_a_run_that_has_ended_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = tiny(tmp_path)
    assert attempt(job) is None
    monkeypatch.setattr(Training, "__init__", lambda *_: pytest.fail("trained again"))
    assert attempt(job) is None


def test_a_run_with_other_settings_in_its_place_is_refused(tmp_path: Path) -> None:
    (job,) = tiny(tmp_path)
    attempt(job)
    other = replace(job, task=replace(job.task, overrides=TINY | {"iterations": 7}))
    with pytest.raises(BayesganError, match="other settings"):
        finished(other)
    with pytest.raises(BayesganError, match="other settings"):
        Board([other])


def test_what_goes_wrong_is_a_reason_and_not_an_exception(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = tiny(tmp_path)
    (missing,) = tiny(tmp_path, datasets=["mnist"])
    assert "bayesgan data get mnist" in (attempt(missing) or "")
    (too_many,) = tiny(tmp_path, labels=[5000])
    assert "5000" in (attempt(too_many) or "")
    with locked(job.folder):
        monkeypatch.setattr("bayesgan.experiments.grid.PATIENCE", 0.0)
        assert "Another process" in (attempt(job) or "")
    monkeypatch.setattr(Training, "train", lambda *_: 1 / 0)
    assert attempt(job) == "ZeroDivisionError: division by zero"
    assert "1 / 0" in (job.folder / "failure.txt").read_text()


def test_a_damaged_summary_gets_a_sentence(tmp_path: Path) -> None:
    (job,) = tiny(tmp_path)
    attempt(job)
    (job.folder / "summary.json").write_text("{")
    with pytest.raises(BayesganError, match="damaged"):
        finished(job)


def test_the_board_counts_and_estimates(tmp_path: Path) -> None:
    jobs = tiny(tmp_path, systems=["dcgan", "supervised"], subsets=3)
    attempt(jobs[0])
    summary = json.loads((jobs[0].folder / "summary.json").read_text())
    (jobs[0].folder / "summary.json").write_text(json.dumps(summary | {"seconds": 10.0}))
    board = Board(jobs)
    assert board.waiting == jobs[1:]
    # Two more runs of the same system and three of one that never ran, which is taken for a typical one.
    assert board.seconds_left(workers=2) == pytest.approx(5 * 10.0 / 2)
    board.update(Event(jobs[1], "running"))
    board.update(Event(jobs[2], "failed: no luck"))
    assert board.seconds_left(workers=1) == pytest.approx((1 + 3) * 10.0)
    jobs[1].folder.mkdir(parents=True)
    record = {"iteration": 2, "seconds": 4.0, "chains_error": 0.5, "average_error": None}
    (jobs[1].folder / "metrics.jsonl").write_text(json.dumps(record) + '\n{"iterati')  # a line that is being written
    # Two of six iterations are done of the one that runs; two more like it wait, and one that takes 10 seconds.
    assert board.seconds_left(workers=1) == pytest.approx(8.0 + 2 * 12.0 + 10.0)
    assert board.underway == [(jobs[1], 2, 4.0, 0.5)]
    counts = board.counts()
    assert dict(counts["digits", 20, "dcgan"]) == {"done": 1, "failed": 1, "waiting": 1}
    assert dict(counts["digits", 20, "supervised"]) == {"running": 1, "waiting": 2}
    assert [each.status for each in board.rows][:3] == ["done", "running", "failed: no luck"]
    assert Board(jobs[1:]).seconds_left(1) is None


def test_the_table_shows_the_runs_of_every_grid_in_its_folder_and_their_commands(tmp_path: Path) -> None:
    caption = Caption(1, {}, "a machine", ["first"], "")
    (first,) = tiny(tmp_path)
    attempt(first)
    list(fill(Board([first]), [], caption, tmp_path))
    (second,) = tiny(tmp_path, systems=["supervised"])
    list(fill(Board([second]), [], replace(caption, commands=["second"]), tmp_path))
    rows = (tmp_path / "runs.csv").read_text().splitlines()
    assert [row.split(",")[2] for row in rows[1:]] == ["supervised", "dcgan"]  # the paper's order
    assert [row.rsplit(",", 1)[1] for row in rows[1:]] == ["waiting", "done"]
    assert (tmp_path / "commands.txt").read_text() == "first\nsecond\n"
    page = (tmp_path / "table1.md").read_text()
    assert "    first\n    second\n" in page
    assert "N = 1,297" in page


def test_the_caption_counts_the_subsets_of_the_largest_grid(tmp_path: Path) -> None:
    for job in tiny(tmp_path, systems=["supervised"], subsets=2):
        attempt(job)
    list(fill(Board(tiny(tmp_path)), [], Caption(1, {}, "", [], ""), tmp_path))
    assert "over 2 random labelled subsets" in (tmp_path / "table1.md").read_text()


@pytest.mark.parametrize("damage", ["{", "[]", '{"dataset": "digits"}'])
def test_a_damaged_summary_of_another_grid_gets_a_sentence(damage: str, tmp_path: Path) -> None:
    (job,) = tiny(tmp_path)
    path = tmp_path / "runs" / "digits-50-dcgan-0" / "summary.json"
    path.parent.mkdir(parents=True)
    path.write_text(damage)
    with pytest.raises(BayesganError, match="digits-50-dcgan-0 to train again"):
        list(fill(Board([job]), [], Caption(1, {}, "", [], ""), tmp_path))


def test_a_long_run_is_evaluated_fifty_times(tmp_path: Path) -> None:
    short, long = (Grid(["digits"], overrides={"iterations": each}).jobs(tmp_path, Path())[0] for each in (200, 10**4))
    assert (short.task.every, long.task.every) == (100, 200)
