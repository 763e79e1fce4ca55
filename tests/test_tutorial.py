"""The commands and the Python of the tutorial do what it says, on few iterations."""

import re
import shlex
from pathlib import Path

import pytest

from tests.helpers.commands import bayesgan
from tests.helpers.quick import QUICK

TEXT = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tutorial")


def test_the_commands(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    commands = [shlex.split(line) for block in blocks("sh") for line in block.splitlines()]
    assert [command[1] for command in commands] == [
        "data", "train", "evaluate", "predict", "suggest", "generate", "report",
    ]  # fmt: skip
    for program, *arguments in commands:
        assert program == "bayesgan"
        done = bayesgan(capsys, *arguments, *(QUICK if arguments[0] == "train" else ()))
        assert done.code == 0, (arguments, done)
    for made in ("run/summary.json", "run/reliability.png", "run/suggestions.png", "sheet.png", "report.html"):
        assert (folder / made).stat().st_size > 0


def test_the_python(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(folder)  # the run is there
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(block, names)
    assert names["probabilities"].shape == (1, 10)  # type: ignore[attr-defined]
    assert names["new"].shape == (10, 8, 8)  # type: ignore[attr-defined]
