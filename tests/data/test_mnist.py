import gzip
from pathlib import Path

import numpy as np
import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.data import mnist

SHAPE = (3, 2, 2)
VALUES = np.arange(12, dtype=np.uint8).reshape(SHAPE)
HEADER = bytes([0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 2])


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content))
    return path


def test_idx(tmp_path: Path) -> None:
    values = mnist.read_idx(write(tmp_path / "a.gz", HEADER + VALUES.tobytes()), SHAPE)
    np.testing.assert_array_equal(values, VALUES)
    assert values.flags.writeable


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "does not start"),
        (HEADER[:3], "does not start"),
        (b"\0\0\x0d\3" + HEADER[4:] + VALUES.tobytes(), "does not start"),
        (b"\0\0\x08\1" + HEADER[4:] + VALUES.tobytes(), "does not start"),
        (HEADER[:10], "dimensions"),
        (HEADER[:4] + b"\xff\xff\xff\xff" + HEADER[8:] + VALUES.tobytes(), "dimensions"),
        (HEADER[:-1] + b"\3" + VALUES.tobytes(), "dimensions"),
        (HEADER + VALUES.tobytes()[:-1], "less than 12"),
        (HEADER + VALUES.tobytes() + b"\0", "more than 12"),
    ],
)
def test_wrong_content(content: bytes, why: str, tmp_path: Path) -> None:
    with pytest.raises(BayesganError, match=rf"damaged \(.*{why}.*\): delete it and run `bayesgan data get mnist`"):
        mnist.read_idx(write(tmp_path / "a.gz", content), SHAPE)


def test_damaged_compression(tmp_path: Path) -> None:
    whole = gzip.compress(HEADER + VALUES.tobytes())
    broken = bytearray(whole)
    broken[-6] ^= 1  # in the checksum
    middle = bytearray(whole)
    middle[12] ^= 0xFF
    for content in (whole[:-1], whole[:20], b"", b"not gzip", bytes(broken), bytes(middle), whole + b"garbage"):
        (tmp_path / "a.gz").write_bytes(content)
        with pytest.raises(BayesganError, match="damaged"):
            mnist.read_idx(tmp_path / "a.gz", SHAPE)


def test_a_bomb_is_not_decompressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.gz", HEADER + bytes(50_000_000))
    received = []
    read = gzip.GzipFile.read

    def counted(self: gzip.GzipFile, size: int | None = -1) -> bytes:
        content = read(self, size)
        received.append(len(content))
        return content

    monkeypatch.setattr(gzip.GzipFile, "read", counted)
    with pytest.raises(BayesganError, match="more than 12 bytes"):
        mnist.read_idx(path, SHAPE)
    assert sum(received) == len(HEADER) + VALUES.size + 1


def test_labels_out_of_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "t10k-labels-idx1-ubyte.gz"
    monkeypatch.setitem(mnist.SHAPES, name, (3,))
    assert mnist.read_file(write(tmp_path / name, b"\0\0\x08\1\0\0\0\3\0\5\x09")).tolist() == [0, 5, 9]
    with pytest.raises(BayesganError, match="a label is 10"):
        mnist.read_file(write(tmp_path / name, b"\0\0\x08\1\0\0\0\3\0\5\x0a"))


def test_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"train": 6, "t10k": 2}
    monkeypatch.setattr(mnist, "VALIDATION", 2)
    for prefix, count in sizes.items():
        images, labels = f"{prefix}-images-idx3-ubyte.gz", f"{prefix}-labels-idx1-ubyte.gz"
        monkeypatch.setitem(mnist.SHAPES, images, (count, 28, 28))
        monkeypatch.setitem(mnist.SHAPES, labels, (count,))
        numbers = np.arange(count, dtype=np.uint8)
        header = bytes([0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 28, 0, 0, 0, 28])
        write(tmp_path / images, header + numbers.repeat(784).tobytes())
        write(tmp_path / labels, bytes([0, 0, 8, 1, 0, 0, 0, count]) + numbers.tobytes())
    test = mnist.read(tmp_path, validation=False)
    assert test.train_labels.tolist() == test.train[:, 0, 5, 5].tolist() == [0, 1, 2, 3]
    assert test.test_labels.tolist() == test.test[:, 0, 0, 0].tolist() == [0, 1]
    (tmp_path / "t10k-images-idx3-ubyte.gz").unlink()  # is not looked at
    validation = mnist.read(tmp_path, validation=True)
    assert validation.train_labels.tolist() == [0, 1, 2, 3]
    assert validation.test_labels.tolist() == validation.test[:, 0, 0, 0].tolist() == [4, 5]
