"""Labels by folders and by a file, and names of every kind."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.data.folder import read
from bayesgan.data.listing import listed, printable, read_labels
from tests.helpers.own_folders import class_folders, flat, pictures


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


def test_a_name_in_both_folders_is_not_one_picture(tmp_path: Path) -> None:
    pictures(tmp_path / "test", ["01.png", "02.png", "91.png"])
    own = flat(tmp_path / "train", "file,label\n00.png,a\n01.png,b\n02.png,\n91.png,b\n")
    with pytest.raises(BayesganError, match=r"labels.csv names 01.png, which is in .*train and in .*test too"):
        read(replace(own, test_images=str(tmp_path / "test")))
    (tmp_path / "test" / "01.png").rename(tmp_path / "test" / "92.png")
    found = read(replace(own, test_images=str(tmp_path / "test")))  # 02.png has no label in either
    assert len(found.images.test) == 1


def test_test_pictures_that_a_labels_file_does_not_name_may_lie_in_class_folders(tmp_path: Path) -> None:
    pictures(tmp_path / "test", ["a/90.png", "b/91.png", "b/92.png"])
    own = flat(tmp_path / "train", "file,label\n00.png,a\n01.png,b\n")
    found = read(replace(own, test_images=str(tmp_path / "test")))
    assert found.images.test_labels.tolist() == [0, 1, 1]
    assert not found.skipped


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


def test_pictures_that_runs_drew_and_links_to_folders_are_left_out(tmp_path: Path) -> None:
    own = class_folders(tmp_path / "pets")
    for name, mark in (("one", "metrics.jsonl"), ("two", "samples/1")):
        pictures(tmp_path / "pets" / name, ["panels.png", mark])
        (tmp_path / "pets" / name / "config.json").write_text("{}")
    pictures(tmp_path / "elsewhere", [f"{number}.png" for number in range(5)])
    (tmp_path / "pets" / "fish").symlink_to(tmp_path / "elsewhere")
    found = read(own)
    assert found.images.classes == ("cat", "dog")
    assert found.skipped == (
        "fish: a link to a folder, which is not followed",
        "one: the folder of a run",
        "two: the folder of a run",
    )


def test_a_class_folder_may_hold_any_file(tmp_path: Path) -> None:
    own = class_folders(tmp_path)
    (tmp_path / "dog" / "config.json").write_text("{}")
    found = read(own)
    assert found.images.classes == ("cat", "dog")
    assert found.skipped == ("dog/config.json: not named like a picture",)


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
