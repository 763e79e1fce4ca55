"""Options that commands share."""

from typing import Any

import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.cli.options import assignment, listed, note, numbers, say


def test_numbers_are_taken_once_in_their_order() -> None:
    assert numbers("--seeds", "3, 1,3,0", at_least=0) == (3, 1, 0)


@pytest.mark.parametrize("text", ["", "1,,2", "-1", "1.5", "1e3", "0", "9" * 10, "two"])
def test_what_is_no_number_is_named(text: str) -> None:
    with pytest.raises(BayesganError, match=r"^--dims: '.*' is not a whole number of at least 1\.$"):
        numbers("--dims", text, at_least=1)


def test_words_are_parsed_one_by_one() -> None:
    known = {"a": 1, "b": 2}
    assert listed("--of", "b, a,b", known.get, "a or b") == (2, 1)
    with pytest.raises(BayesganError, match="--of: 'c' is not a or b"):
        listed("--of", "a,c", known.get, "a or b")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("temperature=0.1", ("temperature", 0.1)),
        ("generator_prior=null", ("generator_prior", None)),
        ("adam_betas=[0.5, 0.9]", ("adam_betas", [0.5, 0.9])),
        ("feature_matching=true", ("feature_matching", True)),
        (" coupling = pairs ", ("coupling", "pairs")),
        ("a=b=c", ("a", "b=c")),
        ("a=", ("a", "")),
        ("a=" + "[" * 100_000, ("a", "[" * 100_000)),
    ],
)
def test_a_value_is_json_or_else_a_word(text: str, found: tuple[str, Any]) -> None:
    assert assignment(text) == found


@pytest.mark.parametrize("text", ["temperature", "=1", " =1", ""])
def test_an_assignment_needs_a_name_and_a_value(text: str) -> None:
    with pytest.raises(BayesganError, match="not of the form NAME=VALUE"):
        assignment(text)


def test_a_note_has_the_likelihoods_and_the_errors_that_there_are() -> None:
    assert note({}) == ""
    metrics = {"log_likelihood": {"generators": -0.7, "discriminators": -1.234}}
    assert note(metrics) == "G -0.70 D -1.23"
    assert (
        note(metrics | {"chains_error": 0.125, "average_error": 0.1}) == "G -0.70 D -1.23 chains 12.50% average 10.00%"
    )
    assert note(metrics | {"chains_error": None, "average_error": None}) == "G -0.70 D -1.23"


def test_a_line_is_said_on_stderr_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    line = "[bold]no markup[/bold] " + "and no wrapping " * 20
    say(line)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"{line}\n")
