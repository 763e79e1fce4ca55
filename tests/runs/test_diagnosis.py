"""What a diagnosis leaves in a folder."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bayesgan.runs import diagnosis
from bayesgan.runs.saved import load
from tests.helpers.trained import trained

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with ten samples."""
    overrides = {"iterations": 26, "burn_in": 6, "thin": 2, "schedule": "constant"}
    training, _ = trained(tmp_path_factory.mktemp("sampled") / "run", overrides=overrides)
    return training.folder


def test_the_figures_are_written_as_json_that_all_can_read(folder: Path, tmp_path: Path) -> None:
    found = load(folder).diagnose()
    diagnosis.write(found, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["diagnosis.json", "diagnosis.png"]

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    content = json.loads((tmp_path / "diagnosis.json").read_text(), parse_constant=refuse)
    assert content["verdict"] == found.verdict
    assert content["kind"] == found.kind
    assert set(content["sides"]) == {"generators", "discriminators"}
    own = content["sides"]["discriminators"]
    assert own["sentence"] == found.verdicts["discriminators"].sentence
    assert own["kinetic"] == found.sides["discriminators"].kinetic
    assert own["mixing"]["predictions"]["within"]["median"] == pytest.approx(
        found.sides["discriminators"].mixing["predictions"].within.median
    )


def test_what_is_no_number_is_none() -> None:
    assert diagnosis._known({"a": {"b": math.nan}, "c": math.inf, "d": 1.5, "e": "x", "f": None}) == {
        "a": {"b": None},
        "c": None,
        "d": 1.5,
        "e": "x",
        "f": None,
    }


def test_the_temperatures_of_a_run_are_read_from_its_log(folder: Path) -> None:
    """With noise of temperature 0.01 steps are as hot, and hotter by what gradients and the burn-in leave."""
    found = load(folder).diagnose()
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    logged = np.array([line["motion"]["discriminators"]["kinetic"] for line in lines if "motion" in line]).T
    np.testing.assert_array_equal(found.traces["discriminators"].kinetic, logged)
    assert logged.shape == (3, 10)
    assert found.traces["discriminators"].logged == found.traces["discriminators"].iterations
    assert found.sides["discriminators"].kinetic == np.median(logged)


def test_the_chart_is_drawn_without_a_log_too(folder: Path, tmp_path: Path) -> None:
    posterior = load(folder)
    posterior._logged = list
    diagnosis.draw(posterior.diagnose(), tmp_path / "chart.png")
    with Image.open(tmp_path / "chart.png") as picture:
        assert picture.size == (1170, 910)
        assert len(picture.convert("RGB").getcolors(1 << 24) or []) > 50


def test_the_chart_of_a_single_sample(folder: Path, tmp_path: Path) -> None:
    diagnosis.draw(next(iter(load(folder))).diagnose(np.zeros((1, 8, 8), np.uint8)), tmp_path / "chart.png")
    assert (tmp_path / "chart.png").stat().st_size > 10_000
