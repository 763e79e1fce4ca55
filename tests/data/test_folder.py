"""A person's own pictures: what is read of them, how large, and what is held out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bayesgan.base.errors import BayesganError
from bayesgan.data.decode import Header
from bayesgan.data.folder import OwnImages, chosen_shape, held_out, read, similar
from tests.helpers.own_folders import class_folders, enormous, pictures


def test_class_folders(tmp_path: Path) -> None:
    found = read(class_folders(tmp_path / "pets"))
    images = found.images
    assert (images.name, images.classes) == ("pets", ("cat", "dog"))
    assert len(images.test) == 3  # a fifth of ten and of five
    assert sorted(images.test_labels.tolist()) == [0, 0, 1]
    assert images.train.shape == (20, 1, 8, 8)
    # The shade says what a picture is of; whatever has no label is not of a class.
    shades = {0: 50, 1: 150}
    for pixels, label, file in zip(images.train, images.train_labels, found.files, strict=True):
        assert pixels[0, -1, -1] == shades.get(int(label), 250 if file == "lying about.png" else 200)
    for pixels, label in zip(images.test, images.test_labels, strict=True):
        assert pixels[0, -1, -1] == shades[int(label)]
    assert found.labelled.indices.tolist() == np.flatnonzero(images.train_labels >= 0).tolist()
    assert len(found.labelled.indices) == 12
    assert not found.skipped


def test_the_hash_knows_the_pictures_and_their_labels(tmp_path: Path) -> None:
    first = read(class_folders(tmp_path / "one")).labelled.sha256
    assert read(class_folders(tmp_path / "two")).labelled.sha256 == first
    pictures(tmp_path / "two", ["cat/0.png"], 51)
    second = read(OwnImages(str(tmp_path / "two"))).labelled.sha256
    assert second != first
    (tmp_path / "one" / "cat" / "3.png").rename(tmp_path / "one" / "dog" / "a.png")
    assert read(OwnImages(str(tmp_path / "one"))).labelled.sha256 not in (first, second)


def test_a_folder_of_test_pictures(tmp_path: Path) -> None:
    class_folders(tmp_path / "pets")
    pictures(tmp_path / "test", ["cat/a.png", "dog/b.png", "fish/c.png", "unlabelled/d.png", "e.png"], 9)
    found = read(OwnImages(str(tmp_path / "pets"), test_images=str(tmp_path / "test")))
    assert found.images.test_labels.tolist() == [0, 1]
    assert len(found.labelled.indices) == 15
    assert found.skipped == (
        f"2 of the pictures in {tmp_path / 'test'}: without a label to test with",
        "fish/c.png: of the class 'fish', which no training picture has",
    )


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    def sentence(folder: Path) -> str:
        with pytest.raises(BayesganError) as refused:
            read(OwnImages(str(folder)))
        return str(refused.value)

    assert "is not a folder" in sentence(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "has no pictures" in sentence(tmp_path / "empty")
    pictures(tmp_path / "single", ["cat/1.png"])
    assert "has 1 usable picture:" in sentence(tmp_path / "single")
    pictures(tmp_path / "one class", [f"cat/{number}.png" for number in range(12)])
    assert "are of the class 'cat': two are needed" in sentence(tmp_path / "one class")
    pictures(tmp_path / "no class", [f"{number}.png" for number in range(12)])
    assert "has a label" in sentence(tmp_path / "no class")
    pictures(tmp_path / "one each", ["cat/1.png", "dog/1.png", *[f"unlabelled/{number}.png" for number in range(12)]])
    assert "can be held out to test on" in sentence(tmp_path / "one each")


def test_broken_files_are_named_first_and_left_out(tmp_path: Path) -> None:
    own = class_folders(tmp_path)
    (tmp_path / "a.txt").write_text("of no use")
    (tmp_path / "cat" / "empty.png").touch()
    (tmp_path / "dog" / "text.png").write_text("woof")
    (tmp_path / "notes.txt").write_text("of no use")
    enormous(tmp_path / "dog" / "vast.png", 30_000)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.png").write_text("not looked at")
    found = read(own)
    assert found.skipped == (
        "cat/empty.png: empty file",
        "dog/text.png: not a picture",
        "dog/vast.png: too large",
        "a.txt: not named like a picture",
        "notes.txt: not named like a picture",
    )
    assert len(found.images.train) == 20


@pytest.mark.parametrize("size", [None, 16])
def test_a_broken_picture_decides_neither_size_nor_colour(size: int | None, tmp_path: Path) -> None:
    own = replace(class_folders(tmp_path), size=size)
    noise = np.random.default_rng(0).integers(0, 256, (48, 48, 3), np.uint8)
    for number in range(30):
        path = tmp_path / "unlabelled" / f"half {number}.png"
        Image.fromarray(noise).save(path)
        path.write_bytes(path.read_bytes()[:3000])  # its header is whole
    found = read(own)
    assert found.images.train.shape == (20, 1, size or 8, size or 8)
    assert len(found.skipped) == 30


def test_pictures_are_brought_to_a_shape_that_is_given(tmp_path: Path) -> None:
    images = read(class_folders(tmp_path), (3, 12, 10)).images
    assert images.train.shape == (20, 3, 12, 10)
    assert images.test.shape == (3, 3, 12, 10)


@pytest.mark.parametrize(("train", "test"), [("pets", "pets"), ("pets", "pets/cat"), ("pets/cat", "pets")])
def test_test_pictures_are_not_training_pictures(tmp_path: Path, train: str, test: str) -> None:
    class_folders(tmp_path / "pets")
    with pytest.raises(BayesganError, match="lie in one another"):
        read(OwnImages(str(tmp_path / train), test_images=str(tmp_path / test)))


@pytest.mark.parametrize(
    ("headers", "shape"),
    [
        ([Header(28, 20, True)] * 3, (1, 20, 28)),  # of one size, which is kept
        ([Header(28, 20, True), Header(28, 20, False)], (3, 20, 28)),
        ([Header(640, 480, False)] * 2, (3, 64, 64)),
        ([Header(7, 9, True)], (1, 8, 8)),
        ([Header(40, 33, True), Header(90, 31, True), Header(35, 35, True)], (1, 32, 32)),
        ([Header(20, 30, False), Header(200, 300, False), Header(17, 90, False)], (3, 16, 16)),
    ],
)
def test_the_size_is_chosen_from_the_pictures(headers: list[Header], shape: tuple[int, int, int]) -> None:
    assert chosen_shape(headers) == shape
    assert chosen_shape(headers, 24)[1:] == (24, 24)


def test_settings_are_those_of_a_similar_set() -> None:
    shapes = [(1, 8, 8), (3, 16, 12), (1, 28, 28), (3, 32, 32), (3, 64, 64), (1, 40, 40)]
    assert [similar(shape) for shape in shapes] == ["digits", "digits", "mnist", "cifar10", "celeba", "celeba"]


def test_held_out_is_a_share_of_each_class() -> None:
    labels = np.array([0] * 10 + [1] * 3 + [2] + [-1] * 20)
    images = np.arange(len(labels))
    held = held_out(labels, 0.3, images)
    assert [int((held & (labels == each)).sum()) for each in (0, 1, 2, -1)] == [3, 1, 0, 0]
    assert np.array_equal(held, held_out(labels, 0.3, images))
    assert int(held_out(labels, 0.9, images).sum()) == 9 + 2


def test_what_is_held_out_mostly_stays_so_when_more_is_labelled() -> None:
    images = np.arange(200)
    few = np.where(np.arange(200) < 100, np.arange(200) % 2, -1)
    more = np.where(np.arange(200) < 120, np.arange(200) % 2, -1)
    before, after = held_out(few, 0.2, images), held_out(more, 0.2, images)
    assert (before.sum(), after.sum()) == (20, 24)
    assert (before & after).sum() >= 16  # any new one has a chance of a fifth, and pushes out one at most
    shuffled = np.random.default_rng(0).permutation(200)  # wherever the files are
    assert np.array_equal(held_out(few[shuffled], 0.2, images[shuffled]), before[shuffled])
