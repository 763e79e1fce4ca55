"""``bayesgan suggest``."""

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from tests.helpers.commands import bayesgan, refused
from tests.helpers.quick import QUICK


def test_a_run_whose_pictures_are_named_by_nonsense(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(run, tmp_path / "run")
    config = json.loads((run / "config.json").read_text())
    for own in (5, {"images": 5}, {"images": "x", "size": "large"}):
        (tmp_path / "run" / "config.json").write_text(json.dumps(config | {"own": own}))
        assert "is damaged" in refused(capsys, "suggest", tmp_path / "run")


def test_suggest(run: Path, pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet = tmp_path / "sheet.png"
    done = bayesgan(capsys, "suggest", run, "--budget=5", "--format=json", "--sheet", sheet)
    assert done.code == 0, done.errors
    names = [each["file"] for each in json.loads(done.output)]
    assert len(set(names)) == 5
    for name in names:  # unlabelled ones, by names that can be found again
        assert name.startswith("unlabelled/")
        assert (pictures / "train" / name).exists()
    information = [each["mutual_information"] for each in json.loads(done.output)]
    assert information == sorted(information, reverse=True)
    with Image.open(sheet) as picture:
        assert picture.width > 5 * 56


def test_new_pictures_to_suggest_may_be_of_another_shape(
    run: Path, pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(pictures / "train", tmp_path / "train")
    shutil.copytree(run, tmp_path / "run")
    config = tmp_path / "run" / "config.json"
    config.write_text(config.read_text().replace(str(pictures / "train"), str(tmp_path / "train")))
    for file in (tmp_path / "train" / "unlabelled").iterdir():
        with Image.open(file) as picture:
            picture.convert("RGB").resize((20, 30)).save(file)
    done = bayesgan(capsys, "suggest", tmp_path / "run", "--budget=2", "--format=json")
    assert done.code == 0, done.errors
    assert len(json.loads(done.output)) == 2
    assert "have changed since" in done.errors


def test_one_network_is_gone_by_for_its_entropy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = ("--dataset=digits", "--labels=20", "--method=dcgan", *QUICK)
    assert bayesgan(capsys, "train", *task, "--out", tmp_path / "run").code == 0
    done = bayesgan(capsys, "suggest", tmp_path / "run", "--budget=5", "--format=json")
    assert "has only one network" in done.errors
    entropies = [each["entropy"] for each in json.loads(done.output)]
    assert entropies == sorted(entropies, reverse=True)
    assert len(set(entropies)) == 5
    text = bayesgan(capsys, "evaluate", tmp_path / "run").output
    assert "total entropy *" in text
    assert "information *" not in text
    assert json.loads((tmp_path / "run" / "evaluation.json").read_text())["score"] == "total_entropy"


@pytest.mark.parametrize("change", ["a label", "a class", "a test picture"])
def test_pictures_that_have_changed_since_are_noticed(
    change: str, pictures: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(pictures, tmp_path / "pictures")
    shutil.copytree(run, tmp_path / "run")
    config = tmp_path / "run" / "config.json"
    config.write_text(config.read_text().replace(str(pictures), str(tmp_path / "pictures")))
    train, test = tmp_path / "pictures" / "train", tmp_path / "pictures" / "test"
    assert bayesgan(capsys, "evaluate", tmp_path / "run").code == 0
    if change == "a label":
        moved = next((train / "unlabelled").iterdir())
        moved.rename(train / "3" / moved.name)
    elif change == "a class":
        for folder in (train, test):
            (folder / "3").rename(folder / "three")
    else:
        next((test / "3").iterdir()).unlink()
    for command in (["evaluate"], ["report", "--out", tmp_path / "report.html"]):
        assert "are not those that" in refused(capsys, command[0], tmp_path / "run", *command[1:])
    done = bayesgan(capsys, "suggest", tmp_path / "run", "--budget=2")  # of what has no label now
    assert done.code == 0
    assert "have changed since" in done.errors
