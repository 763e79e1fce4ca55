from benchmarks.time_to_dcgan10 import reached

from benchmarks import time_to_dcgan10


def test_smallest_compares_one_subset_with_both_references() -> None:
    figures = time_to_dcgan10.main(smallest=True)
    assert list(figures) == ["time_to_dcgan10", "time_to_dcgan10_consensus"]
    for figure in figures.values():
        (row,) = figure["runs"]
        assert 0 < row["reference_error"] < 1
        assert 0 < row["bayesgan_last_error"] < 1
        assert row["reference_seconds"] > 0
        assert row["bayesgan_all_seconds"] > 0
        assert len(figure["by_subset"]) == 1


def test_an_error_is_reached_at_the_third_evaluation_in_a_row() -> None:
    errors = [0.5, 0.2, 0.3, 0.2, 0.1, 0.2, 0.4]
    records = [{"average_error": error, "chains_error": 0.0, "seconds": second} for second, error in enumerate(errors)]
    assert reached(records, 0.2) == 5
    assert reached(records, 0.1) is None
    assert reached([record | {"average_error": None} for record in records], 0.1) == 2  # no sample yet: the chains'
