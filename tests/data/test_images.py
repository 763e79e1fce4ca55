from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.data.images import Images, load
from bayesgan.data.names import IMAGE_SETS, ImageSetName
from tests.helpers.real import real

Split = Literal["test", "validation"]


@pytest.mark.parametrize("split", get_args(Split))
@pytest.mark.parametrize("name", IMAGE_SETS)
def test_all_sets_have_one_form(name: ImageSetName, split: Split) -> None:
    data = load(name, Path() if name == "digits" else real(name), split)
    assert data.name == name
    for images, labels in (data.train, data.train_labels), (data.test, data.test_labels):
        assert images.dtype == np.uint8
        assert labels.dtype == np.int64
        assert images.shape == (len(labels), *data.train.shape[1:])
        assert images.flags.c_contiguous
        assert images.flags.writeable
        assert images.min() == 0
        assert images.max() == 255
        assert labels.min() >= 0
        assert labels.max() < len(data.classes)
    assert len(np.unique(data.train_labels)) == len(data.classes) or name == "celeba"


@pytest.mark.parametrize("name", IMAGE_SETS)
def test_validation_images_are_no_test_images(name: ImageSetName) -> None:
    root = Path() if name == "digits" else real(name)
    tested, validated = load(name, root), load(name, root, "validation")
    with_validation = _contents(validated.test)
    assert not with_validation & _contents(validated.train) or name == "cifar10"  # which has a few images twice
    if name in ("mnist", "celeba"):
        np.testing.assert_array_equal(tested.train, validated.train)
    else:
        np.testing.assert_array_equal(tested.train, np.concatenate([validated.train, validated.test]))
        np.testing.assert_array_equal(
            tested.train_labels, np.concatenate([validated.train_labels, validated.test_labels])
        )
    assert len(with_validation & _contents(tested.test)) <= 1


def _contents(images: np.ndarray) -> set[bytes]:
    return {image.tobytes() for image in images}


@pytest.mark.parametrize("name", [name for name in IMAGE_SETS if name != "digits"])
@pytest.mark.parametrize("split", get_args(Split))
def test_missing_files_say_how_to_get_them(name: ImageSetName, split: Split, tmp_path: Path) -> None:
    with pytest.raises(BayesganError, match=rf"missing: run `bayesgan data get {name}`.*--data-dir or BAYESGAN_DATA"):
        load(name, tmp_path, split)


def test_images_cannot_be_exchanged() -> None:
    data = load("digits", Path())
    with pytest.raises(AttributeError):
        data.train = data.test  # type: ignore[misc]
    assert isinstance(data, Images)
