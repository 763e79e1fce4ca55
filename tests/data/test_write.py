"""Image sets written as folders of pictures."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bayesgan.base.errors import BayesganError
from bayesgan.data.folder import OwnImages, read
from bayesgan.data.images import Images, load
from bayesgan.data.labels import LabelledImages, LabelledSet, labelled_set
from bayesgan.data.write import write_folders


def test_a_known_set_written_as_folders_is_read_back(tmp_path: Path) -> None:
    images = load("digits", Path())
    labelled = labelled_set("digits", images.train_labels, 40, 0)
    train, test = write_folders(LabelledImages(images, labelled), tmp_path)
    found = read(OwnImages(str(train), test_images=str(test)))
    assert found.images.classes == images.classes
    shown = np.flatnonzero(found.images.train_labels >= 0)
    numbers = [int(Path(found.files[index]).stem) for index in shown]
    assert sorted(numbers) == labelled.indices.tolist()
    assert np.array_equal(found.images.train[shown], images.train[numbers])
    assert np.array_equal(found.images.train_labels[shown], images.train_labels[numbers])
    assert sorted(found.images.test_labels.tolist()) == sorted(images.test_labels.tolist())
    with pytest.raises(BayesganError, match="is not empty"):
        write_folders(LabelledImages(images, labelled), tmp_path)


def test_every_picture_has_its_number_and_its_class(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    train, test = rng.integers(0, 256, (3, 3, 9, 8), np.uint8), rng.integers(0, 256, (1, 3, 9, 8), np.uint8)
    images = Images("pets", ("cat", "dog"), train, np.array([1, 0, 1]), test, np.array([0]))
    write_folders(LabelledImages(images, LabelledSet(np.array([2]), "")), tmp_path / "out")
    written = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.png"))
    assert written == [
        "test/cat/000000.png",
        "train/dog/000002.png",
        "train/unlabelled/000000.png",
        "train/unlabelled/000001.png",
    ]
    with Image.open(tmp_path / "out" / "train" / "dog" / "000002.png") as picture:
        np.testing.assert_array_equal(np.asarray(picture).transpose(2, 0, 1), train[2])
