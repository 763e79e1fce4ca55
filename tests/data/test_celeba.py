from pathlib import Path

import numpy as np
import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.data import celeba
from tests.helpers.pictures import NO_FACE, ONE_FACE, write_celeba
from tests.helpers.real import real

GREYS = [(ONE_FACE, "0"), (NO_FACE, "0"), (ONE_FACE, "1"), (ONE_FACE, "2"), (ONE_FACE, "0"), (NO_FACE, "2")]


def test_classes() -> None:
    assert len(set(celeba.CLASSES)) == 32
    assert celeba.CLASSES[0] == "none"
    assert celeba.CLASSES[0b10000] == "blond"
    assert celeba.CLASSES[0b01101] == "glasses male young"
    assert celeba.CLASSES[31] == "blond glasses male pale young"


@pytest.mark.usefixtures("detector")
def test_parts_and_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_celeba(tmp_path, GREYS)
    tested = celeba.read(tmp_path, validation=False)
    assert "celeba: 2 of 5 pictures are left out" in capsys.readouterr().err
    assert tested.train_labels.tolist() == [1, 5]  # the number of the picture
    assert tested.test_labels.tolist() == [4]
    assert not (tmp_path / "faces-1.safetensors").exists()
    validated = celeba.read(tmp_path, validation=True)
    assert "celeba: 1 of 4 pictures are left out" in capsys.readouterr().err
    assert validated.test_labels.tolist() == [3]
    np.testing.assert_array_equal(validated.train, tested.train)


@pytest.mark.usefixtures("detector")
def test_only_some_of_the_pictures_need_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_celeba(tmp_path, [*GREYS, (ONE_FACE, "0")])
    (tmp_path / celeba.PICTURES / "000001.jpg").unlink()
    assert celeba.read(tmp_path, validation=False).train_labels.tolist() == [5, 7]
    monkeypatch.setattr(celeba, "MOST_TRAIN", 1)
    assert celeba.read(tmp_path, validation=False).train_labels.tolist() == [5]
    (tmp_path / celeba.PICTURES / "000003.jpg").unlink()
    with pytest.raises(BayesganError, match=r"000003\.jpg is missing"):
        celeba.read(tmp_path, validation=True)


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        (celeba.ATTRIBUTES, "Male", "Female", "'Male' is not in list"),
        (celeba.ATTRIBUTES, "000002.jpg  1", "000002.jpg", "does not have 7 entries"),
        (celeba.ATTRIBUTES, " 1 -1", " 1  2", "an attribute is '2'"),
        (celeba.ATTRIBUTES, "000004.jpg", "000044.jpg", "does not list all pictures"),
        (celeba.PARTITION, "jpg 1", "jpg 3", "a line is not a name and 0, 1 or 2"),
        (celeba.PARTITION, "jpg 1", "jpg", "a line is not a name and 0, 1 or 2"),
        (celeba.PARTITION, "jpg 1", "jpg 2", "does not name all three parts"),
    ],
)
def test_damaged_lists(name: str, old: str, new: str, why: str, tmp_path: Path) -> None:
    write_celeba(tmp_path, GREYS)
    text = (tmp_path / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new))
    with pytest.raises(BayesganError, match=rf"{name} is damaged \(.*{why}"):
        celeba.read(tmp_path, validation=False)


def test_empty_and_binary_lists(tmp_path: Path) -> None:
    write_celeba(tmp_path, GREYS)
    for content, why in (b"", "fewer than three lines"), (b"\xff" * 100, "Cannot read"):
        (tmp_path / celeba.ATTRIBUTES).write_bytes(content)
        with pytest.raises(BayesganError, match=why):
            celeba.read(tmp_path, validation=False)


def test_real_lists() -> None:
    folder = real("celeba") / "celeba"
    labels, parts = celeba.read_labels(folder / celeba.ATTRIBUTES), celeba.read_partition(folder / celeba.PARTITION)
    assert len(labels) == len(parts) == 202_599
    sizes = [list(parts.values()).count(part) for part in (celeba.TRAIN, celeba.VALIDATION, celeba.TEST)]
    assert sizes == [162_770, 19_867, 19_962]
    # Known shares of the whole set: 14.8 % blond, 6.5 % with glasses, 41.7 % male, 4.3 % pale, 77.4 % young
    bits = np.array(list(labels.values()))[:, None] >> np.arange(4, -1, -1) & 1
    np.testing.assert_allclose(bits.mean(0), [0.148, 0.065, 0.417, 0.043, 0.774], atol=5e-4)
