from pathlib import Path

import pytest
import torch

from bayesgan.base.errors import BayesganError
from bayesgan.posterior.samples import Chosen, Held, SampleSet


def filled(folder: Path) -> SampleSet:
    samples = SampleSet(folder)
    for iteration in (100, 20, 3):
        samples.append(
            iteration, {"generators": torch.full((2, 4), float(iteration)), "discriminators": torch.zeros(1, 3)}
        )
    return samples


def test_samples_come_back_in_the_order_of_iterations(tmp_path: Path) -> None:
    samples = filled(tmp_path / "samples")
    assert samples.iterations == [3, 20, 100]
    assert len(samples) == 3
    assert [each[0, 0].item() for each in samples.each("generators")] == [3.0, 20.0, 100.0]
    assert samples.load(20, "generators").tolist() == [[20.0] * 4] * 2
    assert samples.load(20, "discriminators").shape == (1, 3)


def test_an_empty_set_is_empty(tmp_path: Path) -> None:
    assert len(SampleSet(tmp_path / "nothing")) == 0


def test_a_half_written_file_is_not_a_sample(tmp_path: Path) -> None:
    samples = filled(tmp_path)
    (tmp_path / ".partial-00000200.safetensors").write_bytes(b"half")
    assert samples.iterations == [3, 20, 100]


def test_a_damaged_file_gets_a_sentence(tmp_path: Path) -> None:
    samples = filled(tmp_path)
    path = tmp_path / "00000020.safetensors"
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(BayesganError, match=r"Cannot read .*00000020.safetensors, which should be a safetensors file"):
        samples.load(20, "generators")


def test_samples_in_memory_come_back_in_the_order_of_iterations() -> None:
    held = Held({20: {"generators": torch.ones(2, 4)}, 3: {"generators": torch.zeros(2, 4)}})
    assert held.iterations == [3, 20]
    assert [held.load(each, "generators")[0, 0].item() for each in held.iterations] == [0.0, 1.0]
    assert Held({}).iterations == []


def test_some_of_the_iterations_can_be_chosen() -> None:
    held = Held({each: {"generators": torch.full((1, 2), float(each))} for each in (10, 20, 30)})
    some = Chosen(held, [30, 10])
    assert some.iterations == [30, 10]
    assert torch.equal(some.load(30, "generators"), held.load(30, "generators"))
