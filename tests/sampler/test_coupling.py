import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.sampler.coupling import grouped
from bayesgan.settings.names import Coupling


@pytest.mark.parametrize(("coupling", "expected"), [("algorithm1", (2, 3, 4)), ("all", (1, 6, 8)), ("pairs", None)])
def test_groups(coupling: Coupling, expected: tuple[int, int, int] | None) -> None:
    if expected is None:
        assert grouped("pairs", 3, 3, 2) == (6, 1, 1)
    else:
        assert grouped(coupling, 3, 4, 2) == expected


def test_pairs_need_equal_numbers() -> None:
    with pytest.raises(BayesganError, match="as many generators as discriminators"):
        grouped("pairs", 3, 1, 1)
