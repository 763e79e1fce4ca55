"""Who faces whom: the groups that each coupling makes."""

import pytest

from bayesgan.sampler.coupling import grouped
from bayesgan.settings.names import Coupling
from bayesgan.settings.settings import Populations


@pytest.mark.parametrize(("coupling", "expected"), [("algorithm1", (2, 3, 4)), ("all", (1, 6, 8))])
def test_groups(coupling: Coupling, expected: tuple[int, int, int]) -> None:
    assert grouped(Populations(generators=3, discriminators=4, replicas=2, coupling=coupling)) == expected


def test_in_pairs_everybody_has_one_opponent() -> None:
    assert grouped(Populations(generators=3, discriminators=3, replicas=2, coupling="pairs")) == (6, 1, 1)


def test_without_generators_there_are_groups_of_discriminators() -> None:
    assert grouped(Populations(generators=0, discriminators=4, replicas=2)) == (2, 0, 4)
