from pathlib import Path

import pytest
from studies.choices import STUDIES

from studies import choices


def test_smallest_has_a_summary_of_each_case(tmp_path: Path) -> None:
    study = STUDIES["digits"].smallest(tmp_path / "study")
    found = choices.compare(study, [101])
    assert list(found) == list(STUDIES["digits"].cases)[:3]
    for by_subset in found.values():
        assert by_subset[101]["test_size"] == 297
        assert 0 < by_subset[101]["test_errors"] < 297
    table = (study.results / "choices.md").read_text()
    assert "`python -m studies.choices digits`: 50 labels, 297 validation images." in table
    assert all(f"| {name} | 101: " in table for name in found)


def test_only_cases_with_the_word_are_trained_none_twice(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    study = STUDIES["digits"].smallest(tmp_path / "study")
    assert list(choices.compare(study, [100], "superv")) == ["supervised"]
    assert capsys.readouterr().out.startswith("100 supervised ")
    choices.compare(study, [100], "superv")
    assert capsys.readouterr().out == ""


def test_a_run_that_stops_is_a_row_too() -> None:
    stopped = {"1 pair": {100: {"stopped": "The weights are no longer finite."}}}
    assert choices.formatted(stopped).splitlines()[-1] == "| 1 pair | The weights are no longer finite. | | | | |"
