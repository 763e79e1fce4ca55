"""The examples in the docstrings of the library do what they say."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["bayesgan.posterior.posterior", "bayesgan.posterior.scores"])
def test_examples(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
