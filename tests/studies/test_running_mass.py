import pytest

from studies import running_mass


def test_smallest_ratios_are_near_one() -> None:
    rows = running_mass.main(smallest=True)
    assert len(rows) == 4
    assert all(ratio == pytest.approx(1, abs=0.6) for row in rows for ratio in row)
