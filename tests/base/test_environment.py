"""Which device computes."""

import json

import pytest
import torch

import bayesgan
from bayesgan.base.environment import available, record, use
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


def test_a_number_of_threads_that_is_none_gets_a_sentence() -> None:
    with pytest.raises(BayesganError, match="at least 1, not 0"):
        use("cpu", 0)


def test_neighbours_on_a_machine_share_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", chosen.append)
    monkeypatch.setattr("bayesgan.base.environment.cores", lambda: 8)
    use("cpu", None)
    use("cpu", 3)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    use("cpu", None)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "16")
    use("cpu", None)
    assert chosen == [8, 3, 2, 1]


def test_the_record_names_what_results_depend_on() -> None:
    found = record(torch.device("cpu"))
    assert found["device"] == "cpu"
    assert found["threads"] == torch.get_num_threads()
    assert found["torch"] == torch.__version__
    assert found["bayesgan"] == bayesgan.__version__
    assert found["processor"]
    json.dumps(found)
