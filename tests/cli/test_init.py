"""The command line as a whole: it starts at once, and ends in a sentence."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bayesgan as package
from bayesgan.cli import app, main
from tests.helpers.commands import bayesgan, refused

LARGE = {"torch", "numpy", "pydantic", "sklearn", "PIL", "scipy", "matplotlib", "cv2", "gradio"}


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["--version"]], ids=" ".join)
def test_help_comes_at_once_because_nothing_large_is_imported(arguments: list[str]) -> None:
    code = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    code += "from bayesgan.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.strip()
    loaded = set(done.stderr.split())
    assert "bayesgan.cli" in loaded
    own = set() if arguments == ["--help"] else {"pydantic"}  # which Typer imports to read options
    assert not (LARGE - own) & loaded


def test_every_command_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    done = bayesgan(capsys, "--help")
    assert done.code == 0
    names = [command.callback.__name__ for command in app.registered_commands if command.callback is not None]
    assert len(names) == 13
    for name in (*names, "data"):
        assert f"│ {name} " in done.output
    assert bayesgan(capsys).output.split() == done.output.split()


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert bayesgan(capsys, "--version").output == f"{package.__version__}\n"


def test_an_unknown_command_and_an_unknown_option_get_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert "No such command 'trian'" in refused(capsys, "trian")
    assert "No such option: --speed" in refused(capsys, "train", "--speed=9")


class OutOfMemoryError(RuntimeError):
    """As torch names the error of a graphics card."""


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory"), OutOfMemoryError()]
)
def test_too_little_memory_gets_a_sentence(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(preset: str) -> None:
        raise error

    monkeypatch.setattr("bayesgan.settings.compose.described", fail)
    assert "There is not enough memory: lower the number of generators" in refused(capsys, "presets")


def test_an_error_of_the_programs_own_is_not_hidden(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(preset: str) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("bayesgan.settings.compose.described", fail)
    monkeypatch.setattr(sys, "argv", ["bayesgan", "presets"])
    with pytest.raises(RuntimeError, match="a bug"):
        main()


def test_ctrl_c_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stop(preset: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bayesgan.settings.compose.described", stop)
    done = bayesgan(capsys, "presets")
    assert done.code == 130
    assert done.errors.strip() == "Stopped; the same command goes on where it was."


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
