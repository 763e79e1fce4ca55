"""Engines: processes that die, grids that are killed and go on, and the same bits from both engines."""

import csv
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file

from bayesgan.base.files import locked
from bayesgan.paper import workers
from bayesgan.paper.grid import attempt, found_in
from tests.helpers.commands import bayesgan, called, refused
from tests.helpers.grids import tiny

KILLS = int(os.environ.get("BAYESGAN_KILLS", "5"))  # random moments; more of them take longer, not other code
PATIENCE = 400  # seconds, on a machine that has other work
GRID = ["--datasets", "digits", "--labels", "20,50", "--methods", "bayesgan,dcgan", "--subsets", "2"]
LITTLE = ["--datasets", "digits", "--labels", "20", "--methods", "dcgan", "--subsets", "2"]
LOCAL = ["--workers", "2"]
SMALL = [
    *("generators=2", "discriminators=2", "generator_width=4", "discriminator_width=4"),
    *("features=8", "noise_dim=4", "iterations=100"),
]

pytestmark = pytest.mark.usefixtures("one_thread")


def words(out: Path, *more: str, grid: list[str] = GRID) -> list[str]:
    """Of ``bayesgan table1``."""
    changes = [word for each in SMALL for word in ("--set", each)]
    return ["table1", *grid, *changes, "--out", str(out), *(more or LOCAL)]


def command(out: Path, *more: str, grid: list[str] = GRID) -> list[str]:
    return [sys.executable, "-m", "bayesgan", *words(out, *more, grid=grid)]


def figures(out: Path) -> list[dict[str, str]]:
    """runs.csv but for what the clock says."""
    with (out / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [{name: value for name, value in row.items() if not name.startswith("seconds")} for row in rows]


def assert_same_predictions(ours: Path, expected: Path) -> None:
    folders = sorted(path.name for path in (expected / "runs").iterdir())
    assert folders == sorted(path.name for path in (ours / "runs").iterdir())
    assert folders != []
    for name in folders:
        here, there = (load_file(out / "runs" / name / "predictions.safetensors") for out in (ours, expected))
        assert here.keys() == there.keys()
        assert all(here[key].equal(there[key]) for key in here)


@pytest.fixture(scope="module")
def by_local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("local") / "grid"
    assert called(*words(out)) == 0
    assert [row["status"] for row in figures(out)] == ["done"] * 8
    return out


def test_processes_make_the_runs_that_this_one_would(tmp_path: Path) -> None:
    ours, theirs = (tiny(tmp_path / name, methods=["bayesgan", "supervised"]) for name in ("here", "there"))
    events = list(workers.local(theirs, workers=1))
    assert [event.status for event in events] == ["running", "done"] * 2
    assert [attempt(job) for job in ours] == [None, None]
    assert_same_predictions(tmp_path / "here", tmp_path / "there")


@pytest.mark.slow
def test_ray_gives_the_same_bits_as_local(by_local: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="engine ray needs the extra [ray]")
    out = tmp_path / "grid"
    subprocess.run(command(out, "--engine", "ray"), check=True, capture_output=True, timeout=PATIENCE)
    assert figures(out) == figures(by_local)
    assert_same_predictions(out, by_local)


def test_a_grid_killed_after_its_first_run_goes_on_with_the_others(tmp_path: Path) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    with subprocess.Popen(
        command(torn, "--workers", "1", grid=LITTLE), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + PATIENCE
        while not (ended := list(torn.glob("runs/*/summary.json"))):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    written = {path: path.stat().st_mtime_ns for path in ended}
    for out in (torn, whole):
        assert called(*words(out, grid=LITTLE)) == 0
    assert {path: path.stat().st_mtime_ns for path in ended} == written  # none was made again
    assert [row["status"] for row in figures(torn)] == ["done"] * 2
    assert figures(torn) == figures(whole)
    assert_same_predictions(torn, whole)


@pytest.mark.slow
def test_a_grid_killed_at_random_moments_ends_as_if_it_had_not_been(by_local: Path, tmp_path: Path) -> None:
    """Only the first process is killed, as by a lack of memory: those that it had started have to find out."""
    out, moments, ended = tmp_path / "grid", random.Random(0), dict[Path, int]()
    for _ in range(KILLS):
        with subprocess.Popen(command(out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(moments.uniform(2.0, 8.0))
            process.send_signal(signal.SIGKILL)
        for path, written in ended.items():
            assert path.stat().st_mtime_ns == written, f"{path} was made again"
        ended = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/summary.json")}
    subprocess.run(command(out), check=True, capture_output=True, timeout=PATIENCE)
    for path, written in ended.items():
        assert path.stat().st_mtime_ns == written, f"{path} was made again"
    assert figures(out) == figures(by_local)
    assert_same_predictions(out, by_local)


def test_a_process_of_a_killed_grid_lets_go_of_its_run(tmp_path: Path) -> None:
    """Long before the run would end by itself."""
    long = [*command(tmp_path), "--set", "iterations=20000"]
    folder = tmp_path / "runs" / "digits-20-dcgan-0"
    with subprocess.Popen(long, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + PATIENCE
        while not (folder / "metrics.jsonl").exists():  # it has begun
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    with locked(folder, patience=30.0):
        assert not (folder / "summary.json").exists()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--gpus-per-run", "1"], "--gpus-per-run is for --engine ray"),
        (["--engine", "ray", *LOCAL], "--workers is for --engine local"),
        (["--engine", "ray", "--gpus-per-run", "1"], "does not go with --device cpu"),
        (["--engine", "ray", "--gpus-per-run", "0", "--device", "cuda"], "does not go with --device cuda"),
        (["--engine", "ray", "--gpus-per-run", "1.5", "--device", "cuda"], "more than a run can use"),
        (["--engine", "ray", "--device", "cuda:1"], "give --device cuda, not cuda:1"),
        (["--labels", "1" * 5000], "is not a whole number of at least 1"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    more: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in refused(capsys, *words(tmp_path, *more))


def test_a_process_that_is_killed_fails_alone(tmp_path: Path) -> None:
    outcomes: dict[int, str] = {}
    jobs = tiny(tmp_path, subsets=3)
    for event in workers.local(jobs, workers=2):
        outcomes[event.job.task.subset] = event.status
        if event == (event.job, "running") and event.job.task.subset == 1:
            (victim,) = (each for each in multiprocessing.active_children() if each.name == event.job.name)
            victim.kill()
    assert outcomes[0] == outcomes[2] == "done"
    assert "signal 9" in outcomes[1]
    assert "signal 9" in found_in(tmp_path, ())[jobs[1].folder].row.status  # for the tables of other grids, too


def test_processes_end_with_whoever_stops_asking(tmp_path: Path) -> None:
    events = workers.local(tiny(tmp_path, subsets=3), workers=2)
    next(events)
    assert multiprocessing.active_children()
    events.close()
    assert not multiprocessing.active_children()


def test_one_run_that_fails_is_in_its_cell_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "grid"
    done = bayesgan(
        capsys, *words(out, grid=["--datasets=digits", "--labels=20,5000", "--methods=dcgan", "--subsets=2"])
    )
    assert done.code == 2
    assert "2 of 4 runs failed" in " ".join(done.errors.split())
    assert "Traceback" not in done.errors
    states = {(row["labels"], row["status"].partition(":")[0]) for row in figures(out)}
    assert states == {("20", "done"), ("5000", "failed")}
    assert "5000" in (out / "table1.md").read_text()
