from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from bayesgan.base.errors import BayesganError
from bayesgan.data import svhn
from tests.helpers.real import real

COUNT = 20
IMAGES = np.random.default_rng(0).integers(256, size=(32, 32, 3, COUNT), dtype=np.uint8)
LABELS = (1 + np.arange(COUNT, dtype=np.uint8) % 10)[:, None]


def write(path: Path, images: np.ndarray = IMAGES, labels: np.ndarray = LABELS, compress: bool = True) -> Path:
    savemat(path, {"X": images, "y": labels}, do_compression=compress)
    return path


@pytest.mark.parametrize("compress", [False, True])
def test_layout_and_labels(compress: bool, tmp_path: Path) -> None:
    images, labels = svhn.read_mat(write(tmp_path / "a.mat", compress=compress))
    assert images.shape == (COUNT, 3, 32, 32)
    assert images[4, 2, 7, 9] == IMAGES[7, 9, 2, 4]
    assert labels.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0] * 2


def test_validation_is_the_last_tenth(tmp_path: Path) -> None:
    write(tmp_path / svhn.TRAIN_FILE)
    train, _, test, test_labels = svhn.read(tmp_path, validation=True)
    assert (len(train), len(test)) == (18, 2)
    assert test_labels.tolist() == [9, 0]
    with pytest.raises(BayesganError, match=r"test_32x32\.mat is missing"):
        svhn.read(tmp_path, validation=False)
    write(tmp_path / svhn.TEST_FILE)
    assert [len(part) for part in svhn.read(tmp_path, validation=False)] == [20] * 4


def test_wrong_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mat"
    wrong: list[tuple[np.ndarray, np.ndarray]] = [
        (IMAGES[:31], LABELS),
        (IMAGES[:, :, :2], LABELS),
        (IMAGES.astype(np.float64), LABELS),
        (IMAGES, LABELS[1:]),
        (IMAGES, LABELS - 1),
        (IMAGES, LABELS + 1),
        (IMAGES.astype(object), LABELS),
        (IMAGES, LABELS.astype(object)),
        (np.zeros((32, 32, 3, 0), np.uint8), LABELS[:0]),
    ]
    for images, labels in wrong:
        with pytest.raises(BayesganError, match=r"a\.mat is damaged .*bayesgan data get svhn"):
            svhn.read_mat(write(path, images, labels))
    savemat(path, {"other": IMAGES})
    with pytest.raises(BayesganError, match="damaged"):
        svhn.read_mat(path)
    monkeypatch.setattr(svhn, "MOST", COUNT - 1)
    with pytest.raises(BayesganError, match="damaged"):
        svhn.read_mat(write(path))


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    for compress in (False, True):
        whole = write(path, compress=compress).read_bytes()
        flipped = bytearray(whole)
        flipped[140:180] = b"\xff" * 40  # before the pixels
        for content in (b"", b"not a mat file", whole[:100], whole[:1000], whole[:-100], bytes(flipped)):
            path.write_bytes(content)
            with pytest.raises(BayesganError, match="damaged"):
                svhn.read_mat(path)


def test_real_images() -> None:
    """Digits of house numbers: more ones than nines, by far."""
    data = svhn.read(real("svhn") / "svhn", validation=False)
    shares = np.bincount(data.train_labels, minlength=10) / len(data.train_labels)
    assert shares.argmax() == 1
    assert 0.17 < shares[1] < 0.21
    assert 0.05 < shares[0] < 0.08
