import math

import pytest

from studies import ablations


def test_smallest_has_a_row_for_each_case(capsys: pytest.CaptureFixture[str]) -> None:
    rows = ablations.main(smallest=True)
    assert [row["case"] for row in rows] == list(ablations.CASES)[:2]
    for row in rows:
        assert list(row["jsd"]) == [1, 2, 3, 4]
        assert all(0 < value < math.log(2) for value in [*row["jsd"].values(), row["jsd_posterior"]])
        assert 0 <= row["coverage"] <= 0.1
    assert "| the default | 0." in capsys.readouterr().out


@pytest.mark.parametrize("name", ablations.CASES)
def test_every_case_has_settings_that_there_are(name: str) -> None:
    settings = ablations.Form().plan(ablations.CASES[name]).settings_for("bayesgan")
    assert ablations.CASES[name].items() <= settings.flat().items()
