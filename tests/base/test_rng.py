"""Random streams by name."""

import torch

from bayesgan.base.rng import stream

CPU = torch.device("cpu")


def drawn(seed: int, name: str) -> list[float]:
    return torch.rand(4, generator=stream(seed, name, CPU)).tolist()


def test_seed_and_name_give_the_same_numbers_again() -> None:
    assert drawn(3, "noise") == drawn(3, "noise")
    assert drawn(3, "noise") != drawn(4, "noise")
    assert drawn(3, "noise") != drawn(3, "data")
    assert drawn(1, "2/x") != drawn(12, "x")


def test_the_numbers_never_change() -> None:
    """Published results depend on them."""
    expected = [995947231, 643801834, 1421351454]
    assert torch.randint(2**31, (3,), generator=stream(0, "initial", CPU)).tolist() == expected


def test_torchs_own_state_is_not_touched() -> None:
    before = torch.get_rng_state()
    drawn(0, "noise")
    assert torch.equal(torch.get_rng_state(), before)
