"""``bayesgan explore``; the page itself is tested in tests/explore."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from bayesgan.explore.answers import Explorer
from tests.helpers.commands import bayesgan


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore what the command sets."""
    monkeypatch.setenv("GRADIO_ANALYTICS_ENABLED", "")


def test_without_gradio_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "gradio", None)
    monkeypatch.delitem(sys.modules, "bayesgan.explore.page", raising=False)
    done = bayesgan(capsys, "explore", tmp_path)
    assert done.code == 2
    assert done.errors.strip() == "Error: Gradio is missing: pip install 'bayesgan[explore]'."


def test_the_run_is_explored_with_its_images_where_they_are_there(
    run: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("gradio", reason="Gradio is not installed")
    launched: list[tuple[Any, ...]] = []

    def launch(explorer: Explorer, title: str, host: str, port: int, started: Any) -> None:
        launched.append((explorer, title, host, port))
        started(f"http://{host}:{port}/")

    monkeypatch.setattr("bayesgan.explore.page.launch", launch)
    done = bayesgan(capsys, "explore", run, "--port=7999")
    assert done.code == 0, done.errors
    assert "The page is at http://127.0.0.1:7999/ (Ctrl-C ends it)." in done.errors
    explorer, *place = launched[0]
    assert place == ["run", "127.0.0.1", 7999]
    assert explorer.no_images is None
    assert os.environ["GRADIO_ANALYTICS_ENABLED"] == "False"
    shutil.copytree(run, tmp_path / "run")
    config = tmp_path / "run" / "config.json"
    config.write_text(config.read_text().replace(str(pictures), str(tmp_path / "nowhere")))
    assert bayesgan(capsys, "explore", tmp_path / "run").code == 0
    explorer = launched[1][0]
    assert "is not a folder" in explorer.no_images
    assert explorer.no_pictures is None
