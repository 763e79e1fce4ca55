"""Which device computes."""

import pytest
import torch

from bayesgan.base.environment import available
from bayesgan.base.errors import BayesganError


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a graphics card")
@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:7", "abacus", ""])
def test_a_device_that_is_not_there_gets_a_sentence(device: str) -> None:
    with pytest.raises(BayesganError, match=f"'{device}' cannot be used on this machine"):
        available(device)


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_graphics_card_with_and_without_its_number(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    monkeypatch.setattr(torch._C, "_cuda_setDevice", chosen.append, raising=False)
    monkeypatch.setattr(torch, "zeros", lambda _, device: None)
    monkeypatch.setattr(torch, "Generator", lambda device: None)
    assert available(device) == torch.device(device)
    assert chosen == ([1] if device == "cuda:1" else [])
