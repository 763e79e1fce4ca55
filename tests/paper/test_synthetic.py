"""The experiment end to end, small, and its command line."""

import io
import json
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bayesgan.base.errors import BayesganError
from bayesgan.paper import synthetic
from tests.helpers.commands import bayesgan, called

SMALL = ["--dims", "20,30", "--seeds", "0,1", "--generators", "3"]
SMALL += ["--iterations", "30", "--burn-in", "10", "--thin", "5"]

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, printed = tmp_path_factory.mktemp("synthetic"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.chdir(folder)
        assert called("synthetic", *SMALL, "--threads", "1", "--out", "result") == 0
    assert printed.getvalue().splitlines()[-1] == (
        f"The picture is {Path('result/figure1.png')}, its numbers are in {Path('result/results.json')}."
    )
    return folder / "result"


def results(folder: Path) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads((folder / "results.json").read_text())["runs"]
    return runs


def test_results_hold_every_run(out: Path) -> None:
    runs = results(out)
    found = {(run["method"], run["dim"], run["seed"]) for run in runs}
    assert found == {(m, d, s) for m in ("ml-gan", "wgan", "bayesgan") for d in (20, 30) for s in (0, 1)}
    for run in runs:
        assert run["data"] == "clusters"
        assert [iteration for iteration, _ in run["jsd"]][-1] == 30
        assert all(0 <= value <= np.log(2) for _, value in run["jsd"])
        assert sum(run["coverage"]) == pytest.approx(1)
        assert len(run["coverage"]) == 10
        assert run["seconds"] > 0
        assert 0 < run["jsd_floor"] < 0.01
        assert (run["jsd_posterior"] is not None) == (run["method"] == "bayesgan")
    noise = [each for run in runs if run["method"] == "bayesgan" for each in run["gradient_noise_over_friction"]]
    assert [iteration for iteration, _ in noise] == [15, 20, 25, 30] * 4
    assert all(0 < value["mean"] < value["max"] for _, both in noise for value in both.values())
    settings = {run["method"]: run["settings"] for run in runs}
    assert settings["ml-gan"]["generator_prior"] is None
    assert settings["ml-gan"]["temperature"] == 0
    assert settings["ml-gan"]["burn_in"] == 30
    assert settings["ml-gan"]["generators"] == settings["ml-gan"]["discriminators"] == 1
    assert settings["bayesgan"]["generators"] == 3


def test_the_command_draws_both_pictures(out: Path) -> None:
    assert {path.name for path in out.iterdir()} == {"figure1.png", "prior.png", "results.json", "runs"}


@pytest.mark.slow
def test_bayesian_gan_reaches_the_bars_of_the_experiment(tmp_path: Path) -> None:
    """At temperature 1, JSD at most 0.02 and no cluster with under 2 % of the samples (ML-GAN: about 0.2 and 0 %)."""
    plan = synthetic.Plan(dims=(100,), methods=("bayesgan",), seeds=(0,))
    (finished,) = synthetic.run(plan, tmp_path, torch.device("cpu"), "a test")
    assert finished.result["temperature"] == 1.0
    assert finished.result["jsd"][-1][1] <= 0.02
    assert min(finished.result["coverage"]) >= 0.02


def test_the_environment_is_recorded(out: Path) -> None:
    for run in results(out):
        (environment,) = run["environments"]
        assert environment["threads"] == 1
        assert environment["device"] == "cpu"
        assert environment["torch"].startswith("2.")


def test_the_same_command_again_repeats_nothing(
    out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = results(out)
    samples = out / "runs" / "clusters-20-bayesgan-0" / "checkpoint.safetensors"
    stamp = samples.stat().st_mtime_ns
    monkeypatch.chdir(out.parent)
    done = bayesgan(capsys, "synthetic", *SMALL, "--threads", "2", "--out", "result")
    assert done.code == 0, done.errors
    assert samples.stat().st_mtime_ns == stamp
    assert results(out) == before


def test_other_settings_in_the_same_folder_are_refused(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = bayesgan(capsys, "synthetic", *SMALL, "--temperature", "0.5", "--out", out)
    assert done.code == 2
    assert "holds a run with other settings" in done.errors


def test_plane_has_no_clusters_and_no_samples_without_sampling(tmp_path: Path) -> None:
    plan = synthetic.Plan("plane", (10,), ("ml-gan",), (0,), size=500, settings={"iterations": 4})
    (finished,) = synthetic.run(plan, tmp_path, torch.device("cpu"), "a test")
    assert finished.result["coverage"] == []
    assert finished.result["jsd_posterior"] is None
    assert finished.projected_prior is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--dims", "100,x"], "--dims: 'x' is not a whole number of at least 2."),
        (["--methods", "vae"], "--methods: 'vae' is not one of ml-gan, wgan, bayesgan."),
        (["--seeds", ""], "--seeds: '' is not a whole number of at least 0."),
        (["--temperature", "-1"], "Setting temperature cannot be -1.0"),
        (["--generators", "0"], "Without generators there is only classification"),
        (["--dynamics", "frozen", "--burn-in", "0"], "take their mass from the Adam burn-in"),
        (["--device", "tpu"], "Device 'tpu' cannot be used on this machine"),
        (["--threads", "0"], "The number of threads must be at least 1"),
        (["--seed", "-1"], "Invalid value for '--seed'"),
        (["--iterations", "300", "--burn-in", "300"], "300 iterations end before the first sample is collected"),
        (["--device", "meta"], "Device 'meta' cannot be used"),
        (["--data", "moons"], "Invalid value for '--data'"),
        (["--no-such-option"], "No such option"),
        (["--out", "/proc/nothing/here"], "/proc/nothing"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(
    words: list[str],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = bayesgan(capsys, "synthetic", "--dims", "5", *words)
    assert done.code == 2
    lines = [line for line in done.errors.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1
    assert sentence in lines[0]
    assert "Traceback" not in done.errors
    assert list(tmp_path.rglob("*.json")) == []


def test_interrupted_says_how_to_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bayesgan", "synthetic", "--dims", "50", "--out", str(tmp_path / "out")]
    # A shell without job control lets its background jobs ignore Ctrl-C, and this process may be one.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        signal.signal(signal.SIGINT, inherited)
        while not list(tmp_path.rglob("metrics.jsonl")):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        printed = process.stderr.read()
    assert process.returncode == 130
    assert "Stopped; the same command goes on where it was." in printed
    assert "Traceback" not in printed


def test_help_and_version_read_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert bayesgan(capsys, "--version").output.strip().count(".") == 2
    commands = bayesgan(capsys, "--help").output
    for command in ("synthetic", "demo"):
        assert command in commands
        options = bayesgan(capsys, command, "--help").output
        assert all(option in options for option in ("--seed", "--iterations", "--threads", "--device", "--out"))


def test_without_generators_nothing_is_trained() -> None:
    with pytest.raises(BayesganError, match="Without generators there is only classification"):
        synthetic.Plan(settings={"generators": 0}).settings_for("bayesgan")
