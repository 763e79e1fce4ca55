"""Runs on images: from data to a summary, gone on with after a kill, and what is refused."""

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
from bayesgan.data.folder import OwnImages
from bayesgan.data.names import ImageSetName
from bayesgan.runs.images import Task, Training, data_of_run, task_of
from bayesgan.runs.record import read_record
from bayesgan.settings.names import METHODS, Method
from tests.helpers.commands import called
from tests.helpers.real import real
from tests.helpers.trained import CPU, copied, task, trained

pytestmark = pytest.mark.usefixtures("one_thread")

Once = tuple[Training, dict[str, Any]]


@pytest.fixture(scope="module")
def of_method(once: Once, tmp_path_factory: pytest.TempPathFactory) -> dict[Method, Once]:
    """A finished run of every method."""
    root = tmp_path_factory.mktemp("methods")
    return {method: once if method == "bayesgan" else trained(root / method, method=method) for method in METHODS}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_goes_from_data_to_a_summary(of_method: dict[Method, Once], method: Method) -> None:
    training, summary = of_method[method]
    folder = training.folder
    assert json.loads((folder / "summary.json").read_text()) == summary
    assert summary["test_size"] == 500
    assert summary["test_error"] == summary["test_errors"] / 500
    assert summary["labels"] == 30
    assert summary["labelled_sha256"] == training.labelled.sha256
    assert summary["samples"] == {"bayesgan": 2, "ensemble": 2, "lfvi": 10}.get(method, 1)
    wanted = {"config.json", "metrics.jsonl", "samples", "checkpoint.safetensors", "summary.json"}
    assert wanted <= {path.name for path in folder.iterdir()}
    assert (folder / "panels.png").exists() == (method not in ("supervised", "discriminative"))
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert all(
        {"iteration", "seconds", "log_likelihood", "chains_error", "average_error"} <= set(each) for each in lines
    )
    assert lines[-1]["average_error"] == summary["test_error"]


def test_the_reported_error_is_that_of_all_samples_and_chains(once: Once) -> None:
    """Eq. 5, written out: softmax over the K+1 logits (the first is 0), fake class removed, renormalised, averaged."""
    training, summary = once
    total = torch.zeros(500, 10, dtype=torch.double)
    for path in sorted((training.folder / "samples").glob("*.safetensors")):
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
    assert training.gan.labels is None
    features = 2 * training.task.settings.networks.discriminator_width
    points = training.test[None, :2].float() / 127.5 - 1
    chain = training.gan.state.discriminators.theta[:1]
    assert training.gan.discriminator(chain, points).shape[-1] == 1 + features  # one logit: real or generated
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


def test_a_second_run_of_the_same_task_repeats_nothing_and_says_the_same(once: Once, folder: Path) -> None:
    stamp = (folder / "checkpoint.safetensors").stat().st_mtime_ns
    _, again = trained(folder)
    assert again == once[1]
    assert (folder / "checkpoint.safetensors").stat().st_mtime_ns == stamp


@pytest.mark.parametrize("other", [{"seed": 1}, {"labels": 31}, {"method": "dcgan"}, {"overrides": {"friction": 0.3}}])
def test_the_folder_of_another_run_is_refused_and_kept(folder: Path, other: dict[str, Any]) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(BayesganError, match="holds a run with other settings"):
        trained(folder, **other)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_the_task_of_a_run_is_in_its_folder_alone(tmp_path: Path) -> None:
    training, _ = trained(tmp_path, method="dcgan", subset=3, seed=5)
    again = task_of(read_record(tmp_path))
    assert again.identity == training.task.identity
    assert again.settings == training.task.settings


def test_a_task_says_which_settings_are_not_the_presets() -> None:
    settings = Task("digits", overrides={"temperature": 0.5}).settings
    assert Task("digits", overrides={"temperature": 0.5}).changed == {"temperature": 0.5}
    assert Task("digits", overrides=settings.flat()).changed == {"temperature": 0.5}
    assert Task("digits").changed == {}


def test_the_data_of_a_run_are_read_again_and_refused_if_they_have_changed(once: Once, folder: Path) -> None:
    training, _ = once
    data = data_of_run(folder, Path())
    assert (data.images.test == training.images.test).all()
    assert (data.labelled.indices == training.labelled.indices).all()
    config = (folder / "config.json").read_text()
    for name in ("labelled_sha256", "test_sha256"):
        (folder / "config.json").write_text(json.dumps(json.loads(config) | {name: "0" * 64}))
        with pytest.raises(BayesganError, match=r"are not those that .* was trained on"):
            data_of_run(folder, Path())


@pytest.mark.parametrize("damage", ["truncated", "empty", "other shapes"])
def test_a_damaged_checkpoint_gets_a_sentence_and_stays(folder: Path, tmp_path: Path, damage: str) -> None:
    path = folder / "checkpoint.safetensors"
    if damage == "other shapes":
        trained(tmp_path / "other", overrides={"discriminator_width": 5})
        path.write_bytes((tmp_path / "other" / "checkpoint.safetensors").read_bytes())
    else:
        path.write_bytes(path.read_bytes()[: 1000 if damage == "truncated" else 0])
    content = path.read_bytes()
    with pytest.raises(BayesganError, match="checkpoint"):
        trained(folder)
    assert path.read_bytes() == content


@pytest.mark.parametrize("method", ["bayesgan", "dcgan", "supervised"])
def test_a_lost_sample_is_named_and_the_summary_stays(
    of_method: dict[Method, Once], tmp_path: Path, method: Method
) -> None:
    folder = copied(of_method[method][0], tmp_path / "run")
    summary = (folder / "summary.json").read_text()
    next((folder / "samples").glob("*.safetensors")).unlink()
    with pytest.raises(BayesganError, match="lacks the sample of iteration"):
        trained(folder, method=method)
    assert (folder / "summary.json").read_text() == summary


def test_a_metrics_file_torn_in_the_middle_is_refused_and_kept(folder: Path) -> None:
    path = folder / "metrics.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:20], *lines[2:]]) + "\n")
    content = path.read_text()
    with pytest.raises(BayesganError, match="is damaged"):
        trained(folder)
    assert path.read_text() == content


def test_a_supervised_classifier_needs_labels(tmp_path: Path) -> None:
    with pytest.raises(BayesganError, match="nothing to learn from"):
        trained(tmp_path, method="supervised", labels=0)


LONG = ["--set=iterations=60", "--set=burn_in=20", "--set=thin=5", "--set=generator_width=4"]
IN_TURN = ["--set=coupling=all", "--set=consensus=0", "--set=chain_batch=3"]
IN_TURN += ["--set=architecture=dcgan", "--set=layer_noise=0.1"]

# ``bayesgan``, killed when half of a checkpoint is written.
TORN = """
import os, pathlib, signal
from bayesgan.cli import main
whole = pathlib.Path.write_bytes
written = []

def half(path, content):
    if path.name == ".partial-checkpoint.safetensors":
        written.append(path)
        if len(written) == 33:
            whole(path, content[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
    return whole(path, content)

pathlib.Path.write_bytes = half
main()
"""


def command(folder: Path, resume: bool) -> list[str]:
    start = ["train", "--threads", "1", "--checkpoint", "0"]
    if resume:
        return [*start, "--resume", str(folder)]
    options = ["--dataset", "digits", "--labels", "40", "--every", "10", "--set=discriminator_width=4"]
    return [*start, *options, *LONG, *IN_TURN, "--out", str(folder)]


def assert_same_bits(whole: Path, torn: Path) -> None:
    kept = [
        [{key: value for key, value in json.loads(line).items() if key != "seconds"} for line in text.splitlines()]
        for text in ((folder / "metrics.jsonl").read_text() for folder in (whole, torn))
    ]
    assert kept[0] == kept[1]
    names = {path.relative_to(whole) for path in whole.rglob("*.safetensors")} | {Path("panels.png")}
    timed = {Path("checkpoint.safetensors")}  # it holds the seconds
    assert len(names - timed) == 8 + 2  # samples, predictions and panels
    for name in names - timed:
        assert (torn / name).read_bytes() == (whole / name).read_bytes(), name
    first, second = (json.loads((folder / "summary.json").read_text()) for folder in (whole, torn))
    for name in first.keys() - {"seconds", "seconds_per_epoch"}:
        assert first[name] == second[name], name


def test_killed_while_it_writes_a_checkpoint_it_ends_in_the_same_bits(tmp_path: Path) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    killed = subprocess.run([sys.executable, "-c", TORN, *command(torn, resume=False)], capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert called(*command(whole, resume=False)) == called(*command(torn, resume=True)) == 0
    assert_same_bits(whole, torn)


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_in_the_same_bits(tmp_path: Path) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    assert called(*command(whole, resume=False)) == 0
    moments = random.Random(0)
    kills = 0
    for attempt in range(40):
        words = [sys.executable, "-m", "bayesgan", *command(torn, resume=(torn / "config.json").exists())]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
    assert_same_bits(whole, torn)


def test_own_pictures_are_mirrored_and_balanced_only_if_somebody_says_so() -> None:
    own = OwnImages("somewhere")
    careful = Task("own", "all", own=own, like="cifar10")
    assert (careful.settings.batches.flip, careful.settings.densities.balance) == (False, 0.0)
    assert careful.changed == {}
    bold = Task("own", "all", own=own, like="cifar10", overrides={"flip": True})
    assert bold.settings.batches.flip
    assert bold.changed == {"flip": True}
