import builtins
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.data import cifar10
from tests.helpers.real import real

COUNT = 20


@pytest.fixture(autouse=True)
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.name != "test_real_images":
        monkeypatch.setattr(cifar10, "BATCH", COUNT)
        monkeypatch.setattr(cifar10, "VALIDATION", 7)


def batch(number: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(number)
    return rng.integers(256, size=(COUNT, 3072), dtype=np.uint8), rng.integers(10, size=COUNT, dtype=np.uint8)


def write_binary(folder: Path) -> None:
    (folder / cifar10.BINARY).mkdir()
    for number, name in enumerate((*cifar10.TRAIN_FILES, cifar10.TEST_FILE)):
        rows, labels = batch(number)
        (folder / cifar10.BINARY / f"{name}.bin").write_bytes(np.c_[labels, rows].tobytes())


def write_python(folder: Path, protocol: int = 2) -> None:
    (folder / cifar10.PYTHON).mkdir()
    for number, name in enumerate((*cifar10.TRAIN_FILES, cifar10.TEST_FILE)):
        rows, labels = batch(number)
        content = {b"batch_label": b"a batch", b"labels": labels.tolist(), b"data": rows, b"filenames": [b"a.png"]}
        (folder / cifar10.PYTHON / name).write_bytes(pickle.dumps(content, protocol))


def test_binary(tmp_path: Path) -> None:
    write_binary(tmp_path)
    train, train_labels, test, test_labels = cifar10.read(tmp_path, validation=False)
    assert train.shape == (5 * COUNT, 3, 32, 32)
    rows, labels = batch(1)
    # Row by row, a plane for each colour
    assert train[COUNT + 3, 2, 4, 5] == rows[3, 2 * 1024 + 4 * 32 + 5]
    np.testing.assert_array_equal(train_labels[COUNT : 2 * COUNT], labels)
    np.testing.assert_array_equal(test_labels, batch(5)[1])
    np.testing.assert_array_equal(test.reshape(COUNT, -1), batch(5)[0])


@pytest.mark.parametrize("protocol", range(2, 5))
def test_both_versions_hold_the_same(protocol: int, tmp_path: Path) -> None:
    (tmp_path / "binary").mkdir()
    (tmp_path / "python").mkdir()
    write_binary(tmp_path / "binary")
    write_python(tmp_path / "python", protocol)
    for validation in (False, True):
        parts = zip(
            cifar10.read(tmp_path / "binary", validation), cifar10.read(tmp_path / "python", validation), strict=True
        )
        for one, other in parts:
            np.testing.assert_array_equal(one, other)


def test_binary_comes_first(tmp_path: Path) -> None:
    write_binary(tmp_path)
    (tmp_path / cifar10.PYTHON).mkdir()
    assert len(cifar10.read(tmp_path, validation=False).train) == 5 * COUNT


@pytest.mark.parametrize("write", [write_binary, write_python])
def test_validation_does_not_open_the_test_file(write: Any, tmp_path: Path) -> None:
    write(tmp_path)
    next(tmp_path.glob(f"*/{cifar10.TEST_FILE}*")).unlink()
    train, _, test, test_labels = cifar10.read(tmp_path, validation=True)
    assert (len(train), len(test)) == (5 * COUNT - 7, 7)
    np.testing.assert_array_equal(test_labels, batch(4)[1][-7:])
    with pytest.raises(BayesganError, match=r"test_batch.* is missing"):
        cifar10.read(tmp_path, validation=False)


def test_damaged_binary(tmp_path: Path) -> None:
    rows, labels = batch(0)
    whole = np.c_[labels, rows].tobytes()
    path = tmp_path / "a.bin"
    for content, why in [
        (b"", "does not hold 20"),
        (whole[:-1], "does not hold 20"),
        (whole + b"\0", "longer than"),
        (b"\x0a" + whole[1:], "label"),
    ]:
        path.write_bytes(content)
        with pytest.raises(BayesganError, match=rf"a\.bin is damaged \(.*{why}"):
            cifar10.read_binary(path)


class Call:
    """Pickles into a call."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def refused(path: Path, content: bytes, why: str = "") -> None:
    path.write_bytes(content)
    with pytest.raises(BayesganError, match=rf"damaged \(it is not a pickle of images: .*{why}"):
        cifar10.read_pickle(path)


@pytest.mark.parametrize("protocol", range(5))
def test_malicious_pickles_do_nothing(protocol: int, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    code = f"open({str(mark)!r}, 'w')"
    rows, labels = batch(0)
    np.save(tmp_path / "a.npy", rows)
    for call, name in [
        (Call(os.system, f"touch {mark}"), r"(posix|nt)\.system"),
        (Call(eval, code), r"(builtins|__builtin__)\.eval"),
        (Call(exec, code), r"(builtins|__builtin__)\.exec"),
        (Call(getattr, "a", "upper"), r"(builtins|__builtin__)\.getattr"),
        (Call(builtins.open, str(mark), "w"), r"(io|_io)\.open"),
        (Call(np.load, str(tmp_path / "a.npy"), None, True), r"numpy\.load"),
        (Call(np.fromfile, str(tmp_path / "a.npy")), r"numpy.*\.fromfile"),
        (Call(pickle.loads, b""), r"pickle\.loads"),
        (Path("a"), "pathlib"),
        (np.float64(1), "scalar"),
    ]:
        for content in (call, {b"data": rows, b"labels": call}, {b"data": call, b"labels": labels.tolist()}):
            refused(tmp_path / "a", pickle.dumps(content, protocol), name)
    assert not mark.exists()


def test_other_arrays_are_refused(tmp_path: Path) -> None:
    rows, labels = batch(0)
    for array in (rows.astype(object), rows.astype(np.int8), rows.astype(np.float32), rows.astype("V1")):
        refused(tmp_path / "a", pickle.dumps({b"data": array, b"labels": labels.tolist()}, 2), "does not hold bytes")


def test_broken_pickles(tmp_path: Path) -> None:
    rows, labels = batch(0)
    path = tmp_path / "a"
    whole = pickle.dumps({b"data": rows, b"labels": labels.tolist()}, 2)
    for content in (b"", b"not a pickle", whole[:-1], whole[:100], pickle.dumps({b"data": rows})):
        refused(path, content)
    refused(path, pickle.dumps([1, 2]))
    refused(path, pickle.dumps({b"data": [1], b"labels": [1]}))
    refused(path, b"cnumpy\nndarray\n(I1000000000000\ntR.")
    refused(path, b"cnumpy\nndarray\n}b.")
    refused(path, b"cnumpy\ndtype\nN}(Vcode\nVx\nu\x86b.")
    refused(path, b"]r\xff\xff\xff\xff.")  # would take 32 GB in the unpickler written in C
    path.write_bytes(pickle.dumps({b"data": rows[:-1], b"labels": labels.tolist()}, 2))
    with pytest.raises(BayesganError, match="does not hold 20 images"):
        cifar10.read_pickle(path)
    path.write_bytes(pickle.dumps({b"data": rows, b"labels": [-1, *labels.tolist()[1:]]}, 2))
    with pytest.raises(BayesganError, match="a label is not in"):
        cifar10.read_pickle(path)


def test_column_order(tmp_path: Path) -> None:
    rows, labels = batch(0)
    (tmp_path / "a").write_bytes(pickle.dumps({b"data": np.asfortranarray(rows), b"labels": labels.tolist()}, 2))
    np.testing.assert_array_equal(cifar10.read_pickle(tmp_path / "a")[0].reshape(COUNT, -1), rows)


def test_real_images() -> None:
    """The first training images are known: a frog, two trucks, a deer, two cars, …"""
    data = cifar10.read(real("cifar10") / "cifar10", validation=False)
    names = [cifar10.CLASSES[label] for label in data.train_labels[:6]]
    assert names == ["frog", "truck", "truck", "deer", "automobile", "automobile"]
    assert np.bincount(data.test_labels).tolist() == [1000] * 10
    np.testing.assert_allclose(data.train.mean((0, 2, 3)) / 255, [0.4914, 0.4822, 0.4465], atol=1e-4)
