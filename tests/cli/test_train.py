import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from bayesgan.base.files import locked

QUICK = [
    "--dataset=digits",
    "--labels=20",
    "--threads=1",
    "--set=iterations=10",
    "--set=generator_width=4",
    "--set=discriminator_width=4",
]


def bayesgan(*arguments: str, cwd: Path, file_limit: int | None = None) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        if file_limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

    return subprocess.run(
        [sys.executable, "-m", "bayesgan", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        preexec_fn=limit,
    )


def refused(*arguments: str, cwd: Path) -> str:
    """The one sentence of a command that is refused."""
    done = bayesgan(*arguments, cwd=cwd)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_train_prints_the_labelled_set_and_the_error_and_goes_on(tmp_path: Path) -> None:
    done = bayesgan("train", *QUICK, "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["labelled_sha256"] in done.stderr
    assert f"{summary['test_errors']} errors on 500 test images" in done.stdout
    wanted = (
        "dataset method preset labels subset labelled_sha256 seed iterations samples test_size test_errors test_error"
    )
    assert set(f"{wanted} seconds seconds_per_epoch threads".split()) <= set(summary)
    again = bayesgan("train", "--resume", "run", cwd=tmp_path)
    assert again.stdout == done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--dataset=mnist", "--data-dir=nowhere"], "bayesgan data get mnist"),
        (["--labels=many"], "neither a whole number nor 'all'"),
        (["--dataset=digits", "--labels=9999"], "9999 labelled images cannot be had"),
        (["--dataset=digits", "--set=nonsense=1"], "Setting nonsense"),
        (["--dataset=digits", "--set=temperature"], "not of the form NAME=VALUE"),
        (["--dataset=digits", "--set=temperature=hot"], "Setting temperature cannot be 'hot'"),
        (["--dataset=digits", "--set=iterations=ten"], "Setting iterations cannot be 'ten'"),
        (["--dataset=digits", "--set=generators=3"], "as many generators as discriminators"),
        (["--resume=nowhere"], "holds no run"),
        (["--resume=nowhere", "--set=temperature=0"], "leave out --set"),
        (["--resume=nowhere", "--seed=0"], "leave out --seed"),
        (["--dataset=digits", "--prior=wide"], "Setting prior_variance cannot be 'wide'"),
        (["--dataset=digits", "--set=preset=x"], "Setting preset"),
        (["--dataset=digits", "--set=kind=x"], "Setting kind"),
        (["--dataset=digits", "--set==5"], "not of the form NAME=VALUE"),
        (["--dataset=digits", "--method=dcgan", "--set=burn_in=1000"], "end before the first sample is collected"),
        (["--dataset=digits", "--set=noise_dim=1000000000"], "not enough memory"),
        (["--dataset=imagenet"], "imagenet"),
        (["--dataset=digits", "--device=abacus"], "cannot be used on this machine"),
    ],
)
def test_bad_input_gets_one_sentence(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    assert sentence in refused("train", *arguments, cwd=tmp_path).replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


def test_temperature_and_prior_are_settings_with_options_of_their_own(tmp_path: Path) -> None:
    options = ["--temperature=0", "--prior=flat", "--set=friction=0.4"]
    assert bayesgan("train", *QUICK, *options, "--out", "run", cwd=tmp_path).returncode == 0
    changed = json.loads((tmp_path / "run" / "summary.json").read_text())["changed"]
    assert {name: changed[name] for name in ("temperature", "prior_variance", "friction")} == {
        "temperature": 0.0,
        "prior_variance": None,
        "friction": 0.4,
    }


def test_two_processes_do_not_train_in_one_folder(tmp_path: Path) -> None:
    bayesgan("train", *QUICK, "--out", "run", cwd=tmp_path)
    with locked(tmp_path / "run"):
        assert "Another process is at work in run" in refused("train", "--resume=run", cwd=tmp_path)
    assert bayesgan("train", "--resume=run", cwd=tmp_path).returncode == 0


def test_another_data_set_or_version_in_the_folder_is_refused(tmp_path: Path) -> None:
    bayesgan("train", *QUICK, "--out", "run", cwd=tmp_path)
    assert "holds a run with other settings (labelled_sha256, subset" in refused(
        "train", *QUICK, "--subset=1", "--out=run", cwd=tmp_path
    )
    config = tmp_path / "run" / "config.json"
    text = config.read_text()
    config.write_text(text.replace('"version": "', '"version": "9'))
    assert "was made by bayesgan 9" in refused("train", "--resume=run", cwd=tmp_path)
    config.write_text(text.replace('"dataset": "digits"', '"dataset": "mnist"'))
    assert "mnist" in refused("train", "--resume=run", "--data-dir=nowhere", cwd=tmp_path)


def test_a_full_disk_gets_a_sentence_and_nothing_is_lost(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: the checkpoint no longer fits, the rest stays as it was."""
    bayesgan("train", *QUICK, "--out", "run", cwd=tmp_path)
    before = (tmp_path / "run" / "checkpoint.safetensors").read_bytes()
    done = bayesgan("train", *QUICK, "--out", "full", cwd=tmp_path, file_limit=100_000)
    assert done.returncode == 2
    assert "Cannot write" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "full").rglob(".partial*"))
    done = bayesgan("train", "--resume", "full", cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "run" / "checkpoint.safetensors").read_bytes() == before


def test_presets_are_printed_whole(tmp_path: Path) -> None:
    printed = json.loads(bayesgan("presets", cwd=tmp_path).stdout)
    assert set(printed) == {"paper", "fast"}
    assert printed["paper"]["bayesgan on mnist"]["generators"] == 10
    assert "layer_noise" in printed["paper"]["dcgan"]
    assert list(json.loads(bayesgan("presets", "fast", cwd=tmp_path).stdout)) == ["fast"]
    assert "'slow' is not a preset" in refused("presets", "slow", cwd=tmp_path)
