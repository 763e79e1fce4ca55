"""``bayesgan data``."""

import hashlib
from pathlib import Path

import pytest

from bayesgan.data import sources
from bayesgan.data.download import RemoteFile
from tests.helpers.commands import bayesgan, refused
from tests.helpers.server import serving


def test_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with serving(b"content") as server:
        file = RemoteFile("train_32x32.mat", (server.url(),), 7, hashlib.md5(b"content").hexdigest())
        monkeypatch.setattr(sources, "SVHN", (file,))
        done = bayesgan(capsys, "data", "get", "svhn", "digits", "svhn", "--data-dir", tmp_path)
    assert done.code == 0
    assert done.output.splitlines() == [
        f"svhn: in {tmp_path / 'svhn'}",
        "digits: comes with scikit-learn, nothing to get",
    ]
    assert (tmp_path / "svhn" / "train_32x32.mat").read_bytes() == b"content"
    assert len(server.requests) == 1


def test_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("BAYESGAN_DATA", str(tmp_path))
    done = bayesgan(capsys, "data", "check")
    assert done.code == 0
    lines = done.output.splitlines()
    assert lines[0] == "digits: comes with scikit-learn"
    assert lines[2] == f"cifar10: missing in {tmp_path / 'cifar10'}; run `bayesgan data get cifar10`"
    (tmp_path / "svhn").mkdir()
    (tmp_path / "svhn" / "test_32x32.mat").write_bytes(b"nothing")
    done = bayesgan(capsys, "data", "check", "svhn")
    assert done.output.splitlines() == [
        f"svhn: in {tmp_path / 'svhn'}",
        "  train_32x32.mat: missing",
        "  test_32x32.mat: damaged",
    ]
    assert done.code == 2
    assert "test_32x32.mat is damaged (" in done.errors


@pytest.mark.parametrize("command", ["get", "check"])
def test_unknown_names(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = refused(capsys, "data", command, "digits", "imagenet", "--data-dir", tmp_path)
    assert sentence == "Error: 'imagenet' is not an image set: give one of digits, mnist, cifar10, svhn, celeba."


def test_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    done = bayesgan(capsys, "data", "export", "digits", out, "--labels=30", "--subset=1")
    assert done.code == 0, done.errors
    assert done.output == (
        f"1297 training pictures, 30 of them in class folders, are in {out / 'train'}, "
        f"500 test pictures in {out / 'test'}.\n"
    )
    assert len(list((out / "train" / "unlabelled").iterdir())) == 1267
    assert [len(list((out / "train" / digit).iterdir())) for digit in "0123456789"] == [3] * 10
    assert "is not empty" in refused(capsys, "data", "export", "digits", out)
    assert "9999 labelled images cannot be had" in refused(capsys, "data", "export", "digits", out, "--labels=9999")
