import pytest

from studies import suggestions


def test_smallest_takes_one_step_both_ways() -> None:
    result = suggestions.main(["digits", "--smallest"])
    assert result["labels"] == [20, 40]
    assert result["command"] == "python -m studies.suggestions digits 0 test"
    for way in ("random", "suggested"):
        assert all(0 < error < 1 for error in result["mean"][way])
        assert result["errors"][way] == {0: result["mean"][way]}
    assert result["mean"]["random"][0] == result["mean"]["suggested"][0]  # the same start


def test_labels_needed_are_read_off_straight_lines() -> None:
    assert suggestions.needed([20, 40, 60], [0.5, 0.3, 0.1], 0.2) == pytest.approx(50)
    assert suggestions.needed([20, 40, 60], [0.5, 0.3, 0.3], 0.2) is None
