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

from bayesgan.base.errors import BayesganError
from bayesgan.networks.mlp import mlp
from bayesgan.posterior.samples import Sample
from bayesgan.runs.run import Metrics, Run
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.settings.settings import Settings, parse_settings


def fresh(seed: int = 0, **settings: Any) -> BayesianGAN:
    values = {"generators": 2, "real_batch": 8, "fake_batch": 8, "burn_in": 10, "iterations": 40, "thin": 10}
    data = torch.randn(50, 3, generator=torch.Generator().manual_seed(7))
    return BayesianGAN(parse_settings(Settings, **(values | settings)), mlp(10, 8, 3), mlp(3, 8, 1), data, seed)


def evaluate(gan: BayesianGAN, sample: Sample) -> Metrics:
    return {"draw": gan.noise(1, 1, "evaluation").sum().item()}


class StoppedError(Exception):
    pass


def stop_at(iteration: int) -> Any:
    def progress(done: int, metrics: Metrics) -> None:
        if done == iteration:
            raise StoppedError

    return progress


def train(folder: Path, **arguments: Any) -> Run:
    run = Run(fresh(**arguments.pop("settings", {})), folder, {"seed": 0}, checkpoint_seconds=0.0)
    run.train(evaluate, every=7, **arguments)
    return run


def content(folder: Path) -> dict[str, Any]:
    """Everything in a run folder that must not depend on interruptions (seconds do)."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.name == "metrics.jsonl":
            records = [json.loads(line) for line in path.read_text().splitlines()]
            found[path.name] = [{k: v for k, v in record.items() if k != "seconds"} for record in records]
        elif path.name == "checkpoint.safetensors":
            found[path.name] = path.stat().st_size
        elif path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


@pytest.mark.parametrize("dynamics", ["plain", "frozen", "running"])
def test_stopped_and_resumed_gives_the_same_bits(tmp_path: Path, dynamics: str) -> None:
    settings = {"dynamics": dynamics}
    through = train(tmp_path / "through", settings=settings)
    for stop in (4, 10, 11, 33):  # in the burn-in, at the hand-over, just after it, while sampling
        with pytest.raises(StoppedError):
            train(tmp_path / "resumed", settings=settings, progress=stop_at(stop))
    resumed = train(tmp_path / "resumed", settings=settings)
    assert torch.equal(through.gan.generators.theta, resumed.gan.generators.theta)
    assert torch.equal(through.gan.discriminators.momentum, resumed.gan.discriminators.momentum)
    assert content(tmp_path / "through") == content(tmp_path / "resumed")


def test_killed_at_random_moments_gives_the_same_bits(tmp_path: Path) -> None:
    """SIGKILL, wherever it strikes: between a sample and its metrics, or within a write."""
    command = [sys.executable, "-c", KILLED, str(tmp_path / "killed")]
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
        subprocess.run([*command[:-1], str(tmp_path / name)], check=True, capture_output=True)
    assert content(tmp_path / "killed") == content(tmp_path / "through")


KILLED = f"""
import sys, pathlib
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
import torch
from tests.runs.test_run import fresh, evaluate
from bayesgan.training import Run
torch.set_num_threads(1)
run = Run(fresh(iterations=400, burn_in=100), pathlib.Path(sys.argv[1]), {{}}, checkpoint_seconds=0.0)
print("begin", flush=True)
run.train(evaluate, every=7)
"""


def test_samples_start_after_the_burn_in_and_are_thinned(tmp_path: Path) -> None:
    run = train(tmp_path)
    assert run.samples.iterations == [20, 30, 40]
    assert torch.equal(run.samples.load(40, "generators"), run.gan.generators.theta)
    by_iteration = {record["iteration"]: record for record in run.metrics}
    assert sorted(by_iteration) == [7, 14, 20, 21, 28, 30, 35, 40]
    assert "gradient_noise_over_friction" in by_iteration[20]
    assert set(by_iteration[7]["log_posterior"]) == {"generators", "discriminators"}


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


@pytest.mark.parametrize("damage", ["truncate", "foreign", "text"])
def test_an_unusable_checkpoint_gets_a_sentence(tmp_path: Path, damage: str) -> None:
    from safetensors.torch import save_file

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
            gan.generators.theta[1, 0] = float("nan")

    with pytest.raises(BayesganError, match=r"generator chain 1 .* at iteration 26"):
        run.train(evaluate, every=7, progress=progress)
    assert run.samples.iterations == [20]
    assert [json.loads(line)["iteration"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()][-1] == 21
    assert Run(fresh(), tmp_path, {}).gan.iteration == 25
