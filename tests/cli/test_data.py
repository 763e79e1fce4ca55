import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bayesgan.base.errors import BayesganError
from bayesgan.cli.data import app
from bayesgan.data import sources
from bayesgan.data.download import File
from tests.helpers.server import serving


def run(*arguments: str) -> tuple[str, BaseException | None]:
    result = CliRunner().invoke(app, arguments)
    return result.stdout, result.exception


def test_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with serving(b"content") as server:
        file = File("train_32x32.mat", (server.url(),), 7, hashlib.md5(b"content").hexdigest())
        monkeypatch.setattr(sources, "SVHN", (file,))
        output, error = run("get", "svhn", "digits", "svhn", "--data-dir", str(tmp_path))
    assert error is None
    assert output.splitlines() == [f"svhn: in {tmp_path / 'svhn'}", "digits: comes with scikit-learn, nothing to get"]
    assert (tmp_path / "svhn" / "train_32x32.mat").read_bytes() == b"content"
    assert len(server.requests) == 1


def test_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAYESGAN_DATA", str(tmp_path))
    output, error = run("check")
    assert error is None
    assert output.splitlines()[0] == "digits: comes with scikit-learn"
    assert output.splitlines()[2] == f"cifar10: missing in {tmp_path / 'cifar10'}; run `bayesgan data get cifar10`"
    (tmp_path / "svhn").mkdir()
    (tmp_path / "svhn" / "test_32x32.mat").write_bytes(b"nothing")
    output, error = run("check", "svhn")
    assert output.splitlines() == [
        f"svhn: in {tmp_path / 'svhn'}",
        "  train_32x32.mat: missing",
        "  test_32x32.mat: damaged",
    ]
    assert isinstance(error, BayesganError)
    assert "test_32x32.mat is damaged (" in str(error)


@pytest.mark.parametrize("command", ["get", "check"])
def test_unknown_names(command: str, tmp_path: Path) -> None:
    _, error = run(command, "digits", "imagenet", "--data-dir", str(tmp_path))
    assert isinstance(error, BayesganError)
    assert str(error) == "'imagenet' is not an image set: give one of digits, mnist, cifar10, svhn, celeba."


def test_loading_the_commands_does_not_import_opencv_or_scikit_learn() -> None:
    code = (
        "import sys, bayesgan.cli.data; sys.exit(any(name in sys.modules for name in ('cv2', 'sklearn', 'scipy.io')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
