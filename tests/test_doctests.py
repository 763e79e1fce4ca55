"""The examples in the docstrings of the library do what they say."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import bayesgan

SOURCE = Path(str(bayesgan.__file__)).parent
ELSEWHERE = "bayesgan.estimator.classifier"  # whose example is tested beside it


def with_examples() -> list[str]:
    """Names of all modules that have an example."""
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if ">>> " in path.read_text()]
    parts = [path.relative_to(SOURCE.parent).with_suffix("").parts for path in paths]
    return [".".join(each).removesuffix(".__init__") for each in parts]


@pytest.mark.parametrize("name", [name for name in with_examples() if name != ELSEWHERE])
def test_examples(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.attempted > 0
    assert found.failed == 0


def test_the_modules_that_people_start_with_have_examples() -> None:
    assert {"bayesgan.posterior.posterior", "bayesgan.runs.saved", ELSEWHERE} <= set(with_examples())
