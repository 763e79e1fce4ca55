import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from bayesgan.data import cifar10, mnist, sources
from bayesgan.data.check import check
from bayesgan.data.download import md5
from tests.helpers.pictures import ONE_FACE, write_celeba
from tests.helpers.real import real


def states(name: str, folder: Path) -> dict[str, str]:
    return {finding.path.name: finding.state for finding in check(name, folder)}


@pytest.mark.parametrize(("name", "files"), [("digits", 0), ("mnist", 4), ("cifar10", 6), ("svhn", 2), ("celeba", 3)])
def test_nothing_there(name: str, files: int, tmp_path: Path) -> None:
    assert list(states(name, tmp_path).values()) == ["missing"] * files


def test_mnist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "t10k-labels-idx1-ubyte.gz"
    monkeypatch.setitem(mnist.SHAPES, name, (3,))
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / name).write_bytes(gzip.compress(b"\0\0\x08\1\0\0\0\3\0\5\x09"))
    (tmp_path / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(b"nothing")
    expected = {file.name: "missing" for file in sources.MNIST}
    expected |= {name: "readable, but not the official file", "train-images-idx3-ubyte.gz": "damaged"}
    assert states("mnist", tmp_path) == expected
    damaged = next(finding for finding in check("mnist", tmp_path) if finding.state == "damaged")
    assert "train-images-idx3-ubyte.gz is damaged (" in damaged.note


def test_cifar10(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cifar10, "BATCH", 1)
    python, binary = tmp_path / "cifar10" / cifar10.PYTHON, tmp_path / "cifar10" / cifar10.BINARY
    python.mkdir(parents=True)
    batch = {b"data": np.zeros((1, 3072), np.uint8), b"labels": [3]}
    (python / "data_batch_1").write_bytes(pickle.dumps(batch, 2))
    (python / "test_batch").write_bytes(pickle.dumps([], 2))
    found = states("cifar10", tmp_path)
    assert found["data_batch_1"] == "readable, but not the official file"
    assert found["data_batch_2"] == "missing"
    assert found["test_batch"] == "damaged"
    binary.mkdir()
    (binary / "test_batch.bin").write_bytes(bytes(3073))
    assert states("cifar10", tmp_path)["test_batch.bin"] == "readable, but not the official file"
    monkeypatch.setitem(sources.CIFAR10_BINARY, "test_batch.bin", md5(binary / "test_batch.bin"))
    assert states("cifar10", tmp_path)["test_batch.bin"] == "official"


def test_svhn(tmp_path: Path) -> None:
    (tmp_path / "svhn").mkdir()
    images = np.zeros((32, 32, 3, 4), np.uint8)
    savemat(tmp_path / "svhn" / "train_32x32.mat", {"X": images, "y": np.ones((4, 1), np.uint8)})
    (tmp_path / "svhn" / "test_32x32.mat").write_bytes(b"nothing")
    expected = {"train_32x32.mat": "readable, but not the official file", "test_32x32.mat": "damaged"}
    assert states("svhn", tmp_path) == expected


def test_celeba(tmp_path: Path) -> None:
    write_celeba(tmp_path / "celeba", [(ONE_FACE, part) for part in "012"])
    assert [(finding.state, finding.note) for finding in check("celeba", tmp_path)] == [
        ("readable, but not the official file", ""),
        ("readable, but not the official file", ""),
        ("there", "3 of 202,599 pictures"),
    ]


@pytest.mark.parametrize("name", ["mnist", "cifar10", "svhn", "celeba"])
def test_real_files_are_not_damaged(name: str) -> None:
    found = set(states(name, real(name)).values())
    assert found <= {"official", "readable, but not the official file", "there"}
