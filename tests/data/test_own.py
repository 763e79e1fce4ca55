"""A person's own pictures, in the forms that people have them in."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bayesgan.data.labels import labelled_set
from bayesgan.data.own import OwnImages, chosen_shape, held_out, listed, printable, read, read_labels, similar
from bayesgan.data.pictures import Header
from bayesgan.errors import BayesganError
from tests.data.test_pictures import enormous


def pictures(folder: Path, names: Sequence[str], shade: int = 100, size: tuple[int, int] = (8, 8)) -> None:
    """A PNG file for each name, all different."""
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.full(size, shade, np.uint8)
        pixels[0, 0] = number
        Image.fromarray(pixels).save(path, format="PNG")


def class_folders(folder: Path) -> OwnImages:
    pictures(folder, [f"cat/{number}.png" for number in range(10)], 50)
    pictures(folder, [f"dog/{number}.png" for number in range(5)], 150)
    pictures(folder, [f"unlabelled/{number}.png" for number in range(7)], 200)
    pictures(folder, ["lying about.png"], 250)
    return OwnImages(str(folder))


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
    pictures(tmp_path / "test", ["cat/a.png", "dog/b.png", "fish/c.png", "unlabelled/d.png"], 9)
    found = read(OwnImages(str(tmp_path / "pets"), test_images=str(tmp_path / "test")))
    assert found.images.test_labels.tolist() == [0, 1]
    assert len(found.labelled.indices) == 15
    assert found.skipped == ("fish/c.png: of the class 'fish', which no training picture has",)


def flat(folder: Path, text: str) -> OwnImages:
    pictures(folder, [f"{number:02d}.png" for number in range(12)])
    (folder / "labels.csv").write_text(text)
    return OwnImages(str(folder), str(folder / "labels.csv"))


def test_a_labels_file(tmp_path: Path) -> None:
    rows = "".join(f"{number:02d}.png,{'even' if number % 2 == 0 else 'odd'}\n" for number in range(6))
    found = read(flat(tmp_path, f"\ufefffile,label\n{rows}00.png,even\n11.png,\nnowhere.png,odd\n"))
    assert found.images.classes == ("even", "odd")
    assert len(found.images.test) == 2
    labels = dict(zip(found.files, found.images.train_labels.tolist(), strict=True))
    assert labels["11.png"] == labels["07.png"] == -1
    assert all(label == int(file[:2]) % 2 for file, label in labels.items() if label >= 0)
    assert found.skipped == (f"nowhere.png: in {tmp_path / 'labels.csv'}, but not in {tmp_path}",)


def test_one_labels_file_for_the_training_and_the_test_pictures(tmp_path: Path) -> None:
    pictures(tmp_path / "test", ["90.png", "91.png"])
    own = flat(tmp_path / "train", "file,label\n00.png,a\n01.png,b\n90.png,a\n91.png,b\nnowhere.png,a\n")
    found = read(replace(own, test_images=str(tmp_path / "test")))
    assert len(found.images.test) == 2
    where = f"{tmp_path / 'train'} or {tmp_path / 'test'}"
    assert found.skipped == (f"nowhere.png: in {own.labels_file}, but not in {where}",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "header file,label"),
        ("name,class\n00.png,a\n", "header file,label"),
        ("file,label\n00.png,a\n00.png,b\n", "gives 00.png two labels, 'a' and 'b'"),
        ("file,label\n00.png,a\n00.png,Unlabelled\n", "gives 00.png two labels, 'a' and none"),
        ("file,label\nx.png,a\n../y.png,b\n", "None of the files"),
        ("file,label\n00.png,a\n01.png,a\n", "are of the class 'a'"),
        ("file,label\n00.png,\n", "has a label"),
        ('file,label\n"00.png,a\n', "not a CSV file"),
    ],
)
def test_labels_files_that_cannot_be_used(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(BayesganError, match=sentence):
        read(flat(tmp_path, text))


def test_a_labels_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BayesganError, match="No such file"):
        read_labels(tmp_path / "nowhere.csv")


def test_a_labels_file_cannot_reach_outside(tmp_path: Path) -> None:
    pictures(tmp_path, ["secret.png"])
    own = flat(tmp_path / "pictures", "file,label\n../secret.png,a\n00.png,a\n01.png,b\n02.png,a\n03.png,b\n")
    found = read(own)
    assert not any("secret" in file for file in found.files)
    assert any("secret" in each for each in found.skipped)


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


def test_broken_files_are_named_and_left_out(tmp_path: Path) -> None:
    own = class_folders(tmp_path)
    (tmp_path / "cat" / "empty.png").touch()
    (tmp_path / "dog" / "text.png").write_text("woof")
    (tmp_path / "notes.txt").write_text("of no use")
    enormous(tmp_path / "dog" / "vast.png", 30_000)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.png").write_text("not looked at")
    found = read(own)
    assert sorted(found.skipped) == [
        "cat/empty.png: empty file",
        "dog/text.png: not a picture",
        "dog/vast.png: too large",
        "notes.txt: not named like a picture",
    ]
    assert len(found.images.train) == 20


def test_pictures_that_runs_drew_and_links_to_folders_are_left_out(tmp_path: Path) -> None:
    own = class_folders(tmp_path / "pets")
    pictures(tmp_path / "pets" / "pets-bayesgan-seed0", ["panels.png"])
    (tmp_path / "pets" / "pets-bayesgan-seed0" / "config.json").write_text("{}")
    pictures(tmp_path / "elsewhere", [f"{number}.png" for number in range(5)])
    (tmp_path / "pets" / "fish").symlink_to(tmp_path / "elsewhere")
    found = read(own)
    assert found.images.classes == ("cat", "dog")
    assert found.skipped == ("fish: a link to a folder, which is not followed",)


@pytest.mark.parametrize(("train", "test"), [("pets", "pets"), ("pets", "pets/cat"), ("pets/cat", "pets")])
def test_test_pictures_are_not_training_pictures(tmp_path: Path, train: str, test: str) -> None:
    class_folders(tmp_path / "pets")
    with pytest.raises(BayesganError, match="lie in one another"):
        read(OwnImages(str(tmp_path / train), test_images=str(tmp_path / test)))


def test_names_cannot_move_the_cursor() -> None:
    assert printable("a\x1b[2J\n\x9b.png") == "a\\x1b[2J\\x0a\\x9b.png"
    assert printable("日本語 & <b>") == "日本語 & <b>"


def test_names_that_are_not_utf_8(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.png")
    own = flat(tmp_path, "")
    try:
        (tmp_path / "00.png").rename(tmp_path / name)
    except OSError:
        pytest.skip("this file system has no such names")
    rows = "".join(f"{number:02d}.png,{'ab'[number % 2]}\n" for number in range(1, 6))
    (tmp_path / "labels.csv").write_bytes(b"file,label\ncaf\xe9.png,a\n" + rows.encode())
    found = read(own)
    everyone = [*found.files]
    assert len(everyone) == 12 - len(found.images.test)
    files, _ = listed(tmp_path, str(tmp_path / "labels.csv"))
    (odd,) = (file for file in files if file.name.startswith("caf"))
    assert (odd.name, odd.label) == ("caf\\xe9.png", "a")
    odd.name.encode()  # can be printed anywhere


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


def test_a_known_set_written_as_folders_is_read_back(tmp_path: Path) -> None:
    from bayesgan.data.folders import write_folders
    from bayesgan.data.images import load
    from bayesgan.data.labels import LabelledImages

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
