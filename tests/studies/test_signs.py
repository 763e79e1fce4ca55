import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bayesgan.data import folder as own_folder
from studies import signs


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As many pictures as a split needs, each of another grey."""
    path = tmp_path_factory.mktemp("signs") / "signs.zip"
    with zipfile.ZipFile(path, "w") as pictures:
        for number in range(1300):
            file = io.BytesIO()
            Image.fromarray(np.full((8, 8, 3), [number // 256, number % 256, 0], np.uint8)).save(file, "png")
            pictures.writestr(f"{number % 10}/{number:04d}.png", file.getvalue())
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*.png")}


def test_splits_share_their_test_pictures_and_have_labels_of_their_own(archive: Path, tmp_path: Path) -> None:
    first, second = (signs.laid_out(archive, tmp_path / str(split), split) for split in (0, 1))
    tested = names(tmp_path / "0" / "test")
    assert tested == names(tmp_path / "1" / "test")
    assert len(tested) == 500
    assert not tested & names(tmp_path / "0" / "train")
    labels = [(tmp_path / str(split) / "labels.csv").read_text().splitlines()[1:] for split in (0, 1)]
    assert all(len(each) == len(set(each)) == 100 for each in labels)
    assert labels[0] != labels[1]
    counts = np.bincount([int(row[-1]) for row in labels[0]])
    assert counts.tolist() == [10] * 10
    data = own_folder.read(first)
    assert (len(data.images.train), len(data.labelled.indices), len(data.images.test)) == (800, 100, 500)
    assert data.images.train.shape[1:] == (3, 32, 32)
    assert own_folder.read(second).labelled.sha256 != data.labelled.sha256


def test_validation_does_not_look_at_test_pictures(archive: Path, tmp_path: Path) -> None:
    signs.laid_out(archive, tmp_path / "test", 100)
    signs.laid_out(archive, tmp_path / "validation", 100, validation=True)
    tested = names(tmp_path / "test" / "test")
    assert not tested & names(tmp_path / "validation")
    assert len(names(tmp_path / "validation" / "test")) == 500


def test_smallest_has_an_error_of_each_split(archive: Path) -> None:
    table = signs.main([str(archive), "supervised", "--smallest"])
    row = table.splitlines()[-1].split(" | ")
    assert row[0] == "| Supervised"
    assert len(row[1].split(", ")) == 3
