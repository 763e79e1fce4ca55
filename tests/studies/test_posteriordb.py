"""The study of posteriors that others have found runs, and finds them."""

import pytest

from bayesgan.sampler.density import Mass
from studies import posteriordb

FAST_ENOUGH = ("arK-arK", "eight_schools-eight_schools_noncentered")  # with a mass of one; the study has the others


def test_the_smallest_form_makes_a_row() -> None:
    table = posteriordb.main(["--smallest"])
    assert "eight_schools-eight_schools_noncentered" in table


QUICK = (posteriordb.ALL[1], posteriordb.ALL[3])  # with exact gradients


def off(posterior: posteriordb.Posterior, dynamics: Mass) -> None:
    """A Monte Carlo error of 0.013, at most 2 % by the step and by the noise, and 2 % of the deviation of tau."""
    found = posteriordb.found(posterior, dynamics, posteriordb.INFLATIONS[0], posteriordb.DRAWS)
    for parameter, (mean, deviation) in posterior.errors(found).items():
        assert abs(mean) < 0.1, (posterior.name, parameter)
        assert abs(deviation) < 0.05, (posterior.name, parameter)


@pytest.mark.parametrize("each", QUICK)
def test_two_of_them_in_seconds(each: posteriordb.Make) -> None:
    off(each()[0], "frozen")


@pytest.mark.slow
@pytest.mark.parametrize("dynamics", ["frozen", "plain"])
@pytest.mark.parametrize("each", posteriordb.ALL)
def test_means_and_deviations_are_those_of_the_reference(each: posteriordb.Make, dynamics: Mass) -> None:
    for posterior in each():
        if dynamics == "frozen" or posterior.batch or posterior.name in FAST_ENOUGH:
            off(posterior, dynamics)
