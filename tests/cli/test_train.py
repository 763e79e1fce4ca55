"""``bayesgan train``."""

import json
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bayesgan.base.files import locked
from tests.helpers.commands import bayesgan, refused
from tests.helpers.quick import DIGITS, QUICK


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def copied(known: Path, here: Path) -> Path:
    """A finished run in the folder to work in, to go on with or to spoil."""
    return Path(shutil.copytree(known, here / "run"))


def test_train_prints_the_labelled_set_and_the_error_and_goes_on(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = bayesgan(capsys, "train", *DIGITS, "--out", "run")
    assert done.code == 0, done.errors
    summary = json.loads((here / "run" / "summary.json").read_text())
    assert summary["labelled_sha256"] in done.errors
    assert f"{summary['test_errors']} errors on 500 test images" in done.output
    wanted = (
        "dataset method preset labels subset labelled_sha256 seed iterations samples test_size test_errors test_error"
    )
    assert set(f"{wanted} seconds seconds_per_epoch threads".split()) <= set(summary)
    again = bayesgan(capsys, "train", "--resume", "run")
    assert again.output == done.output


def test_the_folder_is_named_after_the_task(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = bayesgan(capsys, "train", *DIGITS, "--method=supervised", "--subset=2", "--seed=3")
    assert done.code == 0, done.errors
    assert [path.name for path in here.iterdir()] == ["digits-20-supervised-subset2-seed3"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--dataset=mnist", "--data-dir=nowhere"], "bayesgan data get mnist"),
        (["--labels=many"], "neither a whole number nor 'all'"),
        (["--dataset=digits", "--labels=9999"], "9999 labelled images cannot be had"),
        (["--dataset=digits", "--set=nonsense=1"], "There is no setting 'nonsense'"),
        (["--dataset=digits", "--set=temperature"], "not of the form NAME=VALUE"),
        (["--dataset=digits", "--set=temperature=hot"], "Setting temperature cannot be 'hot'"),
        (["--dataset=digits", "--set=iterations=ten"], "Setting iterations cannot be 'ten'"),
        (["--dataset=digits", "--set=generators=4"], "as many generators as discriminators"),
        (["--resume=nowhere"], "holds no run"),
        (["--resume=nowhere", "--set=temperature=0"], "leave out --set"),
        (["--resume=nowhere", "--seed=0"], "leave out --seed"),
        (["--dataset=digits", "--prior=wide"], "Setting generator_prior cannot be 'wide'"),
        (["--dataset=digits", "--set=preset=x"], "There is no setting 'preset'"),
        (["--dataset=digits", "--set=kind=x"], "There is no setting 'kind'"),
        (["--dataset=digits", "--set==5"], "not of the form NAME=VALUE"),
        (["--dataset=digits", "--method=dcgan", "--set=burn_in=1000"], "end before the first sample is collected"),
        (["--dataset=digits", "--set=noise_dim=1000000000"], "not enough memory"),
        (["--dataset=imagenet"], "imagenet"),
        (["--dataset=digits", "--device=abacus"], "cannot be used on this machine"),
    ],
)
def test_bad_input_gets_one_sentence(
    here: Path, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in refused(capsys, "train", *arguments)
    assert list(here.iterdir()) == []


def test_temperature_and_prior_are_settings_with_options_of_their_own(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--temperature=0", "--prior=flat", "--set=friction=0.4"]
    assert bayesgan(capsys, "train", *DIGITS, *options, "--out", "run").code == 0
    changed = json.loads((here / "run" / "summary.json").read_text())["changed"]
    assert {name: changed[name] for name in ("temperature", "generator_prior", "discriminator_prior", "friction")} == {
        "temperature": 0.0,
        "generator_prior": None,
        "discriminator_prior": None,
        "friction": 0.4,
    }


def test_two_processes_do_not_train_in_one_folder(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with locked(copied):
        assert "Another process is at work in run" in refused(capsys, "train", "--resume=run")
    assert bayesgan(capsys, "train", "--resume=run").code == 0


def test_another_data_set_or_version_in_the_folder_is_refused(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "holds a run with other settings (labelled_sha256, subset" in refused(
        capsys, "train", *DIGITS, "--subset=1", "--out=run"
    )
    config = copied / "config.json"
    text = config.read_text()
    config.write_text(text.replace('"version": "', '"version": "9'))
    assert "was made by bayesgan 9" in refused(capsys, "train", "--resume=run")
    config.write_text(text.replace('"dataset": "digits"', '"dataset": "mnist"'))
    assert "mnist" in refused(capsys, "train", "--resume=run", "--data-dir=nowhere")


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_gets_a_sentence_and_nothing_is_lost(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A limit on the size of files stands for the disk: the checkpoint no longer fits, the rest stays as it was."""
    before = (copied / "checkpoint.safetensors").read_bytes()
    with largest_file(100_000):
        assert "Cannot write" in refused(capsys, "train", *DIGITS, "--out", "full")
    assert not list(Path("full").rglob(".partial*"))
    done = bayesgan(capsys, "train", "--resume", "full")
    assert done.code == 0
    assert (copied / "checkpoint.safetensors").read_bytes() == before


# Pictures of one's own


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


def test_own_pictures_are_mirrored_where_that_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bayesgan(capsys, "data", "export", "digits", "pictures", "--labels", "20").code == 0
    quick = ["--images", "pictures/train", *QUICK]
    assert bayesgan(capsys, "train", *quick, "--flip", "--out", "run").code == 0
    assert json.loads((here / "run" / "config.json").read_text())["settings"]["batches"]["flip"] is True
    assert "--flip is for your own pictures" in refused(capsys, "train", *DIGITS, "--flip", "--out", "other")


def test_chains_that_do_not_get_anywhere_are_spoken_of_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Steps a million times smaller than usual."""
    slow = ("--set=step_ratio=1e-12", "--set=temperature=1", "--set=thin=1", "--set=burn_in=60", "--set=iterations=64")
    done = bayesgan(capsys, "train", *DIGITS, *slow, "--out", "run")
    assert done.code == 0, done.errors
    assert done.errors.count("are frozen, they will move by about") == 1
    assert "are frozen" not in bayesgan(capsys, "train", *DIGITS, "--out", "other").errors
