"""Runs: the same bits through a kill and a resume, and sentences for folders that cannot be gone on with."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from bayesgan.base.errors import BayesganError
from bayesgan.runs.run import Metrics, Run
from tests.helpers.small_runs import content, evaluate, fresh, train

pytestmark = pytest.mark.usefixtures("one_thread")


class StoppedError(Exception):
    pass


def stop_at(iteration: int) -> Any:
    def progress(done: int, metrics: Metrics) -> None:
        if done == iteration:
            raise StoppedError

    return progress


@pytest.mark.parametrize("dynamics", ["plain", "frozen", "running"])
def test_stopped_and_resumed_gives_the_same_bits(tmp_path: Path, dynamics: str) -> None:
    settings = {"dynamics": dynamics}
    through = train(tmp_path / "through", settings=settings)
    for stop in (4, 10, 11, 33):  # in the burn-in, at the hand-over, just after it, while sampling
        with pytest.raises(StoppedError):
            train(tmp_path / "resumed", settings=settings, progress=stop_at(stop))
    resumed = train(tmp_path / "resumed", settings=settings)
    assert torch.equal(through.gan.state.generators.theta, resumed.gan.state.generators.theta)
    assert torch.equal(through.gan.state.discriminators.momentum, resumed.gan.state.discriminators.momentum)
    assert content(tmp_path / "through") == content(tmp_path / "resumed")


def test_chains_that_move_in_turn_go_on_with_the_same_bits(tmp_path: Path) -> None:
    settings = {"generators": 3, "discriminators": 3, "chain_batch": 2}
    train(tmp_path / "through", settings=settings)
    for stop in (5, 10, 21):  # in the middle of a sweep, at the hand-over, while sampling
        with pytest.raises(StoppedError):
            train(tmp_path / "resumed", settings=settings, progress=stop_at(stop))
    train(tmp_path / "resumed", settings=settings)
    assert content(tmp_path / "through") == content(tmp_path / "resumed")


KILLED = f"""
import os, signal, sys, pathlib
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
import torch
from bayesgan.runs.run import Run
from tests.helpers import small_runs
torch.set_num_threads(1)
folder, iterations, moment = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

def evaluate(gan, sample):
    if gan.state.iteration == moment:
        os.kill(os.getpid(), signal.SIGKILL)
    return small_runs.evaluate(gan, sample)

run = Run(small_runs.fresh(iterations=iterations, burn_in=100), folder, {{}}, checkpoint_seconds=0.0)
print("begin", flush=True)
run.train(evaluate, every=7)
"""
NEVER = "0"


def long_run(folder: Path, iterations: int) -> None:
    """What KILLED does where nothing happens to it."""
    Run(fresh(iterations=iterations, burn_in=100), folder, {}, checkpoint_seconds=0.0).train(evaluate, every=7)


def test_killed_between_a_sample_and_its_metrics_gives_the_same_bits(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "killed"), "150", "110"]
    assert subprocess.run(command, capture_output=True).returncode == -signal.SIGKILL
    assert (tmp_path / "killed" / "samples" / "00000110.safetensors").exists()
    assert json.loads((tmp_path / "killed" / "metrics.jsonl").read_text().splitlines()[-1])["iteration"] == 105
    for name in ("killed", "through"):
        long_run(tmp_path / name, 150)
    assert content(tmp_path / "killed") == content(tmp_path / "through")


@pytest.mark.slow
def test_killed_at_random_moments_gives_the_same_bits(tmp_path: Path) -> None:
    """SIGKILL, wherever it strikes: between a sample and its metrics, or within a write."""
    command = [sys.executable, "-c", KILLED, str(tmp_path / "killed"), "400", NEVER]
    kills = 0
    for delay in (0.3, 0.05, 0.6, 0.4):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"OMP_NUM_THREADS": "1"})
        assert process.stdout is not None
        process.stdout.readline()  # training has begun
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        process.stdout.close()
    assert kills >= 2
    for name in ("killed", "through"):
        long_run(tmp_path / name, 400)
    assert content(tmp_path / "killed") == content(tmp_path / "through")


def test_samples_start_after_the_burn_in_and_are_thinned(tmp_path: Path) -> None:
    run = train(tmp_path)
    assert run.samples.iterations == [20, 30, 40]
    assert torch.equal(run.samples.load(40, "generators"), run.gan.state.generators.theta)
    by_iteration = {record["iteration"]: record for record in run.metrics}
    assert sorted(by_iteration) == [7, 14, 20, 21, 28, 30, 35, 40]
    assert "gradient_noise_over_friction" in by_iteration[20]
    assert set(by_iteration[7]["log_posterior"]) == {"generators", "discriminators"}


def test_the_motion_of_every_chain_is_logged_where_samples_are_collected(tmp_path: Path) -> None:
    run = train(tmp_path)
    by_iteration = {record["iteration"]: record for record in run.metrics}
    assert [iteration for iteration, record in by_iteration.items() if "motion" in record] == [20, 30, 40]
    for side, chains in (("generators", 2), ("discriminators", 2)):
        found = by_iteration[40]["motion"][side]
        assert {name: len(values) for name, values in found.items()} == dict.fromkeys(
            ("kinetic", "configurational", "step", "norm"), chains
        )
        assert found["norm"] == run.gan.state.of(side).theta.norm(dim=1).tolist()  # type: ignore[arg-type]


def test_a_chain_that_did_not_move_has_no_temperature(tmp_path: Path) -> None:
    train(tmp_path, settings={"generators": 3, "discriminators": 3, "chain_batch": 2})
    last = json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[-1])
    assert [each is None for each in last["motion"]["generators"]["kinetic"]].count(True) == 1
    assert None not in last["motion"]["generators"]["norm"]


def test_chains_that_adam_moves_to_the_end_have_no_motion(tmp_path: Path) -> None:
    run = train(tmp_path, settings={"dynamics": "adam", "temperature": 0.0})
    assert all("motion" not in record for record in run.metrics)


def test_a_finished_run_is_not_repeated(tmp_path: Path) -> None:
    first = train(tmp_path)
    calls: list[int] = []
    again = train(tmp_path, progress=lambda done, metrics: calls.append(done))
    assert calls == []
    assert again.metrics == first.metrics


@pytest.mark.parametrize("damage", ["missing", "torn in the middle", "not a run"])
def test_a_finished_run_with_damaged_files_gets_a_sentence(tmp_path: Path, damage: str) -> None:
    train(tmp_path)
    path = tmp_path / "metrics.jsonl"
    if damage == "missing":
        path.unlink()
    elif damage == "torn in the middle":
        lines = path.read_text().splitlines()
        path.write_text("\n".join([*lines[:3], lines[3][:10], *lines[4:]]) + "\n")
    else:
        (tmp_path / "config.json").write_text("{")
    with pytest.raises(BayesganError, match="is damaged: delete"):
        train(tmp_path)


def test_the_conditions_of_every_session_are_kept(tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    with pytest.raises(StoppedError):
        train(tmp_path, progress=stop_at(5))
    torch.set_num_threads(threads + 1)
    run = train(tmp_path)
    torch.set_num_threads(threads)
    assert [each["threads"] for each in run.environments] == [threads, threads + 1]


def test_another_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    train(tmp_path)
    before = content(tmp_path)
    with pytest.raises(BayesganError, match=r"holds a run with other settings \(settings;"):
        train(tmp_path, settings={"temperature": 0.5})
    assert content(tmp_path) == before


def test_a_run_of_another_version_is_not_gone_on_with(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        train(tmp_path, progress=stop_at(5))
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": "0.0.1"}))
    before = content(tmp_path)
    with pytest.raises(BayesganError, match=r"was made by bayesgan 0\.0\.1, this is .*: go on with that version"):
        train(tmp_path)
    assert content(tmp_path) == before


@pytest.mark.parametrize("damage", ["truncate", "foreign", "text"])
def test_an_unusable_checkpoint_gets_a_sentence(tmp_path: Path, damage: str) -> None:
    train(tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    if damage == "truncate":
        path.write_bytes(path.read_bytes()[:100])
    elif damage == "foreign":
        save_file({"weights": torch.zeros(3)}, path, {"iteration": "3", "seconds": "1"})
    else:
        path.write_text("not a checkpoint")
    with pytest.raises(BayesganError, match=r"checkpoint\.safetensors"):
        train(tmp_path)


def test_a_diverged_run_keeps_what_it_wrote(tmp_path: Path) -> None:
    gan = fresh()
    run = Run(gan, tmp_path, {}, checkpoint_seconds=0.0)

    def progress(done: int, metrics: Metrics) -> None:
        if done == 25:
            gan.state.generators.theta[1, 0] = float("nan")

    with pytest.raises(BayesganError, match=r"generator chain 1 .* at iteration 26"):
        run.train(evaluate, every=7, progress=progress)
    assert run.samples.iterations == [20]
    assert [json.loads(line)["iteration"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()][-1] == 21
    assert Run(fresh(), tmp_path, {}).gan.state.iteration == 25
