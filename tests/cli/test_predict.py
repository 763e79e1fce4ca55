"""From a folder of pictures to predictions, by the commands."""

import csv
import io
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import bayesgan as package
from tests.helpers.commands import bayesgan, refused

QUICK = ("--threads=1", "--set=iterations=12", "--set=generator_width=4", "--set=discriminator_width=4")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Digits as PNG files, 60 of them labelled."""
    from bayesgan.data.images import load
    from bayesgan.data.labels import LabelledImages, labelled_set
    from bayesgan.data.write import write_folders

    folder = tmp_path_factory.mktemp("digits")
    images = load("digits", Path())
    write_folders(LabelledImages(images, labelled_set("digits", images.train_labels, 60, 0)), folder)
    return folder


@pytest.fixture(scope="module")
def run(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few iterations on them."""
    from bayesgan.base import environment
    from bayesgan.data.folder import OwnImages
    from bayesgan.runs.images import Task, Training

    own = OwnImages(str(pictures / "train"), test_images=str(pictures / "test"))
    small = {"iterations": 12, "generator_width": 4, "discriminator_width": 4}
    task = Task("own", "all", overrides=small, own=own, like="digits")
    folder = tmp_path_factory.mktemp("run") / "run"
    Training(task, folder, Path(), environment.use("cpu", 1)).train()
    return folder


def test_train_on_own_pictures(pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(pictures / "train", tmp_path / "train")
    (tmp_path / "train" / "3" / "broken.png").touch()
    for number in range(12):
        (tmp_path / "train" / "0" / f"{number}.txt").touch()
    done = bayesgan(capsys, "train", "--images", tmp_path / "train", *QUICK, "--out", tmp_path / "run")
    assert done.code == 0, done.errors
    assert "1287 training images, 50 of them labelled" in done.errors  # ten are held out
    assert "Tested on 10 pictures held out" in done.errors
    assert "8×8 pixels, grey; settings: preset fast as for digits" in done.errors
    assert "3/broken.png: empty file\n  12 files: not named like a picture\n" in done.errors
    assert f"(all of it is in {tmp_path / 'run' / 'skipped.txt'})" in done.errors
    listed = (tmp_path / "run" / "skipped.txt").read_text().splitlines()
    assert (len(listed), listed[0]) == (13, "3/broken.png: empty file")
    assert "errors on 10 test images" in done.output
    again = bayesgan(capsys, "train", "--resume", tmp_path / "run")
    assert again.output == done.output
    (tmp_path / "train" / "4" / "000999.png").write_bytes(
        (tmp_path / "train" / "unlabelled" / "000000.png").read_bytes()
    )
    assert "other settings" in refused(capsys, "train", "--resume", tmp_path / "run")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--images=nowhere"], "is not a folder"),
        (["--images=nowhere", "--labels=20"], "--labels is for the known image sets"),
        (["--images=nowhere", "--dataset=digits"], "--dataset is for the known image sets"),
        (["--dataset=digits", "--size=16"], "--size is for your own pictures"),
        (["--dataset=digits", "--labels-file=x.csv"], "--labels-file is for your own pictures"),
        (["--images=nowhere", "--size=4"], "greater than or equal to 8"),
    ],
)
def test_options_that_do_not_fit(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sentence in refused(capsys, "train", *arguments)


def test_figures_are_of_the_known_image_sets(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"'bayesgan report {run}' draws its figures" in refused(capsys, "figures", run, "--out", tmp_path / "out")


def test_predict(run: Path, pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted((pictures / "test" / "3").iterdir())[:3]
    broken = tmp_path / "broken [bold].png"
    broken.write_text("no")
    done = bayesgan(capsys, "predict", run, *files, broken, "--format=csv")
    assert done.code == 0
    assert "broken [bold].png is left out: not a picture." in done.errors
    rows = list(csv.DictReader(io.StringIO(done.output)))
    assert [row["file"] for row in rows] == [str(file) for file in files]
    assert list(rows[0]) == ["file", "class", "probability", "entropy", "mutual_information", "fake"]
    posterior = package.load(run)
    x = np.stack([np.asarray(Image.open(file)) for file in files])
    found = posterior.uncertainty(x)
    for number, row in enumerate(rows):
        assert row["class"] == posterior.classes[found.probabilities[number].argmax()]
        assert float(row["probability"]) == pytest.approx(found.probabilities[number].max())
        assert float(row["entropy"]) == pytest.approx(found.total_entropy[number])
        assert float(row["mutual_information"]) == pytest.approx(found.mutual_information[number])
        assert float(row["fake"]) == pytest.approx(found.fake[number])
    as_json = json.loads(bayesgan(capsys, "predict", run, *files, "--format=json").output)
    assert [each["class"] for each in as_json] == [row["class"] for row in rows]
    table = bayesgan(capsys, "predict", run, *files).output
    assert f"{found.probabilities[0].max():.3f}" in table
    whole = json.loads(bayesgan(capsys, "predict", run, pictures / "test" / "3", "--format=json").output)
    assert len(whole) == len(list((pictures / "test" / "3").iterdir()))
    assert "None of the files" in refused(capsys, "predict", run, broken, tmp_path / "nowhere.png")
    (tmp_path / "empty").mkdir()
    mixed = tmp_path / "mixed"
    shutil.copytree(pictures / "test" / "3", mixed)
    (mixed / "photo.heic").touch()
    some = bayesgan(capsys, "predict", run, tmp_path / "empty", mixed, "--format=json")
    assert len(json.loads(some.output)) == len(whole)
    assert "empty has no pictures" in some.errors
    assert "photo.heic: not named like a picture; left out." in some.errors
    assert "holds no run" in refused(capsys, "predict", tmp_path, *files)


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


def test_generate(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "sheet.png"
    done = bayesgan(capsys, "generate", run, "-n", 8, "--generators", 3, "--out", out)
    assert done.code == 0, done.errors
    posterior = package.load(run)
    pictures = posterior.generate(8, posterior.generators[::-1][:3])
    with Image.open(out) as sheet:
        pixels = np.asarray(sheet)
    cell = 8 * 7 + 2  # each pixel seven times as large, and a gap
    for number, picture in enumerate(pictures):  # a row for each generator
        top, left = number % 3 * cell, number // 3 * cell
        assert np.array_equal(pixels[top : top + 56 : 7, left : left + 56 : 7], picture)
    assert pixels[2 * cell + 10, 2 * cell + 10] == 255  # the ninth is not there
    assert "ask for no more" in refused(capsys, "generate", run, "--generators", 1000, "--out", out)
    assert bayesgan(capsys, "generate", run, "--out", out).output.startswith("64 pictures by")


def test_evaluate(run: Path, pictures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = json.loads((run / "summary.json").read_text())
    done = bayesgan(capsys, "evaluate", run, "--against=noise", "--against", pictures / "test" / "0", "--format=json")
    assert done.code == 0, done.errors
    result = json.loads(done.output)
    assert result == json.loads((run / "evaluation.json").read_text())
    assert (result["errors"], result["test_size"]) == (summary["test_errors"], summary["test_size"])
    assert (run / "reliability.png").stat().st_size > 1000
    assert set(result["auroc"]) == {"noise", str(pictures / "test" / "0")}
    assert all(0 <= figure <= 1 for figures in result["auroc"].values() for figure in figures.values())
    text = bayesgan(capsys, "evaluate", run, "--against=inverted").output
    assert f"{summary['test_errors']} errors on 500 test images" in text
    assert "inverted" in text
    assert "mutual information *" in text
    assert "none of noise" in refused(capsys, "evaluate", run, "--against=nonsense")
    assert "--split is for the known image sets" in refused(capsys, "evaluate", run, "--split=validation")


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


def test_names_of_any_bytes_are_printed(
    run: Path, pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9 [|b]")
    try:
        odd.mkdir()
    except OSError:
        pytest.skip("this file system has no such names")
    done = bayesgan(capsys, "generate", run, "-n", 1, "--out", odd / "sheet.png")
    assert done.code == 0, done.errors
    assert "caf\\udce9 [|b]/sheet.png" in done.output
    shutil.copytree(pictures / "test" / "0", odd / "[/b]")
    done = bayesgan(capsys, "evaluate", run, "--against", odd / "[/b]")
    assert done.code == 0, done.errors
    assert "caf\\xe9 [|b]/[/b]" in done.output


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
