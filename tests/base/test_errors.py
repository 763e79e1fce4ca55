"""The exception for errors that a person can mend."""

import pytest

import bayesgan
from bayesgan.base.errors import BayesganError
from tests.helpers.commands import bayesgan as command


def test_it_is_the_packages_own_and_no_kind_of_anothers() -> None:
    assert bayesgan.BayesganError is BayesganError
    assert BayesganError.__bases__ == (Exception,)


def test_the_command_line_prints_its_text_and_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    done = command(capsys, "presets", "slow")
    assert (done.code, done.output) == (2, "")
    assert done.errors == "Error: 'slow' is not a preset: choose from paper, fast.\n"
