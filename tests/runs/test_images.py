import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from bayesgan.base.errors import BayesganError
from bayesgan.base.files import open_tensors
from bayesgan.data.names import ImageSetName
from bayesgan.runs.images import Task, Training, resumed
from tests.helpers.real import real

SMALL = {"iterations": 12, "burn_in": 6, "thin": 3, "generator_width": 4, "discriminator_width": 4, "noise_dim": 5}
CPU = torch.device("cpu")


def task(**values: Any) -> Task:
    overrides = SMALL | values.pop("overrides", {})
    if values.get("method", "bayesgan") != "bayesgan":
        overrides = {name: value for name, value in overrides.items() if name not in ("burn_in", "thin")}
    return Task(**({"dataset": "digits", "labels": 30, "every": 4, "overrides": overrides} | values))


def trained(folder: Path, **values: Any) -> tuple[Training, dict[str, Any]]:
    training = Training(task(**values), folder, Path(), CPU)
    return training, training.train()


@pytest.mark.parametrize("method", ["bayesgan", "dcgan", "wdcgan", "dcgan10", "supervised", "lfvi"])
def test_every_system_goes_from_data_to_a_summary(tmp_path: Path, method: str) -> None:
    training, summary = trained(tmp_path, method=method)
    assert json.loads((tmp_path / "summary.json").read_text()) == summary
    assert summary["test_size"] == 500
    assert summary["test_error"] == summary["test_errors"] / 500
    assert summary["labels"] == 30
    assert summary["labelled_sha256"] == training.labelled.sha256
    assert summary["samples"] == {"bayesgan": 2, "lfvi": 10}.get(method, 1)
    wanted = {"config.json", "metrics.jsonl", "samples", "checkpoint.safetensors", "summary.json"}
    assert wanted <= {path.name for path in tmp_path.iterdir()}
    assert (tmp_path / "panels.png").exists() == (method != "supervised")
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert all(
        {"iteration", "seconds", "log_likelihood", "chains_error", "average_error"} <= set(each) for each in lines
    )
    assert lines[-1]["average_error"] == summary["test_error"]


def test_the_reported_error_is_that_of_all_samples_and_chains(tmp_path: Path) -> None:
    """Eq. 5, written out: softmax over the K+1 logits (the first is 0), fake class removed, renormalised, averaged."""
    training, summary = trained(tmp_path)
    total = torch.zeros(500, 10, dtype=torch.double)
    for path in sorted((tmp_path / "samples").glob("*.safetensors")):
        with open_tensors(path) as tensors:
            theta, statistics = tensors.get_tensor("discriminators"), tensors.get_tensor("discriminator_statistics")
        images = (torch.from_numpy(training.images.test) / 127.5 - 1).float()
        with torch.no_grad():
            logits = training.gan.discriminator(theta, images.expand(len(theta), *images.shape), statistics)[..., :10]
        joint = torch.cat([torch.zeros_like(logits[..., :1]), logits], -1).double().softmax(-1)
        total += (joint[..., 1:] / (1 - joint[..., :1])).sum(0)
    assert summary["test_errors"] == (total.argmax(1).numpy() != training.images.test_labels).sum()


def test_without_labels_it_is_the_unsupervised_gan(tmp_path: Path) -> None:
    training, summary = trained(tmp_path, labels=0)
    assert training.gan.classes == 1
    assert summary["test_errors"] is None
    assert summary["test_error"] is None
    assert (tmp_path / "panels.png").exists()


def test_all_labels(tmp_path: Path) -> None:
    _, summary = trained(tmp_path, labels="all")
    assert summary["labels"] == 1297


def test_choosing_settings_never_looks_at_the_test_set(tmp_path: Path) -> None:
    training, summary = trained(tmp_path, split="validation")
    assert summary["test_size"] == 297
    assert len(training.images.train) == 1000


@pytest.mark.parametrize("dataset", ["mnist", "svhn", "cifar10", "celeba"])
def test_official_files_become_a_summary(tmp_path: Path, dataset: ImageSetName) -> None:
    root = real(dataset)
    small = task(dataset=dataset, labels=100, overrides={"iterations": 8, "burn_in": 4, "thin": 4})
    training = Training(small, tmp_path, root, CPU)
    summary = training.train()
    assert 0 < summary["test_error"] < 1
    assert summary["test_size"] == len(training.images.test)
    assert (tmp_path / "panels.png").exists()


def test_a_second_run_of_the_same_task_repeats_nothing_and_says_the_same(tmp_path: Path) -> None:
    _, first = trained(tmp_path)
    _, again = trained(tmp_path)
    assert again == first


@pytest.mark.parametrize("other", [{"seed": 1}, {"labels": 31}, {"method": "dcgan"}, {"overrides": {"friction": 0.3}}])
def test_the_folder_of_another_run_is_refused_and_kept(tmp_path: Path, other: dict[str, Any]) -> None:
    trained(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(BayesganError, match="holds a run with other settings"):
        trained(tmp_path, **other)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_run_is_resumed_from_its_folder_alone(tmp_path: Path) -> None:
    training, _ = trained(tmp_path, method="dcgan", subset=3, seed=5)
    again = resumed(tmp_path)
    assert again.identity == training.task.identity
    assert again.settings == training.task.settings


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "it has no config.json"),
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ('{"version": "0.0.1"}', "was made by bayesgan 0.0.1"),
    ],
)
def test_what_is_not_a_run_cannot_be_resumed(tmp_path: Path, text: str | None, sentence: str) -> None:
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(BayesganError, match=sentence):
        resumed(tmp_path)


@pytest.mark.parametrize("damage", ["truncated", "empty", "other shapes"])
def test_a_damaged_checkpoint_gets_a_sentence_and_stays(tmp_path: Path, damage: str) -> None:
    trained(tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    if damage == "other shapes":
        trained(tmp_path / "other", overrides={"discriminator_width": 5})
        path.write_bytes((tmp_path / "other" / "checkpoint.safetensors").read_bytes())
    else:
        path.write_bytes(path.read_bytes()[: 1000 if damage == "truncated" else 0])
    content = path.read_bytes()
    with pytest.raises(BayesganError, match="checkpoint"):
        trained(tmp_path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("method", ["bayesgan", "dcgan", "supervised"])
def test_a_lost_sample_is_named_and_the_summary_stays(tmp_path: Path, method: str) -> None:
    trained(tmp_path, method=method)
    summary = (tmp_path / "summary.json").read_text()
    next((tmp_path / "samples").glob("*.safetensors")).unlink()
    with pytest.raises(BayesganError, match="lacks the sample of iteration"):
        trained(tmp_path, method=method)
    assert (tmp_path / "summary.json").read_text() == summary


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", "50x"),
        ("labels", 1.5),
        ("labels", None),
        ("labels", [1]),
        ("subset", "a"),
        ("split", "x"),
        ("seed", -1),
    ],
)
def test_a_config_with_wrong_values_gets_a_sentence(tmp_path: Path, name: str, value: Any) -> None:
    trained(tmp_path, method="supervised")
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    with pytest.raises(BayesganError, match="is damaged"):
        resumed(tmp_path)


def test_a_metrics_file_torn_in_the_middle_is_refused_and_kept(tmp_path: Path) -> None:
    trained(tmp_path)
    path = tmp_path / "metrics.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:20], *lines[2:]]) + "\n")
    content = path.read_text()
    with pytest.raises(BayesganError, match="is damaged"):
        trained(tmp_path)
    assert path.read_text() == content


def test_a_supervised_classifier_needs_labels(tmp_path: Path) -> None:
    with pytest.raises(BayesganError, match="nothing to learn from"):
        trained(tmp_path, method="supervised", labels=0)


LONG = ["--set=iterations=60", "--set=burn_in=20", "--set=thin=5", "--set=generator_width=4"]


def command(folder: Path, resume: bool) -> list[str]:
    start = [sys.executable, "-m", "bayesgan", "train", "--threads", "1", "--checkpoint", "0"]
    if resume:
        return [*start, "--resume", str(folder)]
    options = ["--dataset", "digits", "--labels", "40", "--every", "10", "--set=discriminator_width=4"]
    return [*start, *options, *LONG, "--set=branches=2", "--set=layer_noise=0.1", "--out", str(folder)]


def test_killed_at_random_moments_it_ends_in_the_same_bits(tmp_path: Path) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    subprocess.run(command(whole, resume=False), check=True, capture_output=True)
    moments = random.Random(0)
    kills = 0
    for attempt in range(40):
        resume = (torn / "config.json").exists()
        process = subprocess.Popen(command(torn, resume), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if kills < 4:
            metrics = torn / "metrics.jsonl"
            before = metrics.stat().st_mtime_ns if metrics.exists() else 0
            while process.poll() is None and not (metrics.exists() and metrics.stat().st_mtime_ns != before):
                time.sleep(0.005)
            time.sleep(moments.uniform(0.0, 0.4))
            process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break
        kills += process.returncode == -signal.SIGKILL
        assert attempt < 39, "never finished"
    assert kills >= 3
    kept = [
        [{key: value for key, value in json.loads(line).items() if key != "seconds"} for line in text.splitlines()]
        for text in ((folder / "metrics.jsonl").read_text() for folder in (whole, torn))
    ]
    assert kept[0] == kept[1]
    names = {path.relative_to(whole) for path in whole.rglob("*.safetensors")} | {Path("panels.png")}
    timed = {Path("checkpoint.safetensors")}  # it holds the seconds
    for name in names - timed:
        assert (torn / name).read_bytes() == (whole / name).read_bytes(), name
    first, second = (json.loads((folder / "summary.json").read_text()) for folder in (whole, torn))
    for name in first.keys() - {"seconds", "seconds_per_epoch"}:
        assert first[name] == second[name], name
