import pytest
from studies.choices import STUDIES

from studies import frontier


def test_smallest_has_the_cost_of_each_case(capsys: pytest.CaptureFixture[str]) -> None:
    costs = frontier.main(["digits", "--smallest"])
    assert list(costs) == list(STUDIES["digits"].cases)[:3]
    assert all(0 < cost < 100 for cost in costs.values())
    rows = capsys.readouterr().out.splitlines()[-3:]
    assert [row.split(" | ")[5] for row in rows] == ["2", "2", "2"]  # subsets
    assert rows[0].endswith("| frontier |")  # nothing is cheaper
