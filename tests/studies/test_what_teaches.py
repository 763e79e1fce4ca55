from pathlib import Path

import pytest
from studies.smallest import TINY
from studies.what_teaches import ALL, CASES, PARTS, Study

from bayesgan.base.errors import BayesganError
from studies import what_teaches


def test_smallest_has_a_row_of_each_case() -> None:
    table = what_teaches.main(["digits", "--smallest"])
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == [f"| {case}" for case in list(CASES)[:3]]


@pytest.mark.parametrize("name", ["digits", "mnist", "svhn"])
def test_every_case_is_a_run_that_can_be_made(name: str) -> None:
    for case in CASES:
        task = Study().task(name, case, 100)
        assert task.split == "validation"
        assert task.settings.length.collected
        assert task.labels == PARTS[name].labels


def test_a_case_that_changes_nothing_is_left_out(tmp_path: Path) -> None:
    """The preset of digits has no brightness."""
    study = Study(tmp_path / "results", tmp_path / "runs", extra=TINY)
    what_teaches.compare(study, ["digits"], [ALL, "without brightness and contrast", "β₁ = 0.5"], most=1)
    assert {path.parent.parent.name for path in (tmp_path / "runs").rglob("summary.json")} == {"all-together", "0-5"}
    table = (tmp_path / "results" / "README.md").read_text()
    assert "| all together |" in table
    assert "| β₁ = 0.5 |" in table
    assert "brightness" not in table


def test_a_run_that_stops_says_why(tmp_path: Path) -> None:
    assert what_teaches._cell({100: {"stopped": "No more."}}) == "No more."
    with pytest.raises(BayesganError, match="read from a zip"):
        Study(runs=tmp_path).task("signs", ALL, 100)


def test_a_cell_is_the_mean_over_subsets_with_its_standard_error() -> None:
    runs = {100: {"test_error": 0.02, "seconds": 60.0}, 101: {"test_error": 0.04, "seconds": 120.0}}
    assert what_teaches._cell(runs) == "3.0 ± 1.0 (1.5 min)"
