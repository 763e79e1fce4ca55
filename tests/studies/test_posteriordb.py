"""The study of posteriors that others have found runs."""

from studies import posteriordb


def test_the_smallest_form_makes_a_row() -> None:
    table = posteriordb.main(["--smallest"])
    assert "eight_schools-eight_schools_noncentered" in table
