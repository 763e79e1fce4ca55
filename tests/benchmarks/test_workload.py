import pytest
import torch
from benchmarks.workload import DCGAN, MINIBATCHED, TINY, TWO_OF_EACH, Clock, Layout, flops, kernels_alone, prepared


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(3, 4),
        torch.zeros(4, 3).T,
        torch.zeros(4).expand(3, 4),
        torch.zeros(3, 1).expand(3, 4),
        torch.zeros(()).expand(5),
        torch.zeros(2, 3, 4, 4).to(memory_format=torch.channels_last),
        torch.zeros(6).unfold(0, 3, 1),
        torch.zeros(0, 3),
        torch.tensor(0.0),
    ],
)
def test_a_layout_is_rebuilt_as_it_was(tensor: torch.Tensor) -> None:
    filled = Layout(tensor).filled()
    assert (filled.shape, filled.stride()) == (tensor.shape, tensor.stride())
    assert filled.isfinite().all()


def test_what_is_shared_in_an_expanded_tensor_is_shared_again() -> None:
    filled = Layout(torch.zeros(4).expand(3, 4)).filled()
    assert filled.untyped_storage().nbytes() == 4 * 4
    assert (filled == filled[0]).all()
    assert filled[0].unique().numel() == 4


@pytest.mark.parametrize(("settings", "moved"), [(MINIBATCHED, (1, 1)), (TWO_OF_EACH, (2, 2)), (DCGAN, (1, 1))])
def test_kernels_of_an_iteration_run_alone(settings: dict[str, object], moved: tuple[int, int]) -> None:
    gan = prepared(settings | TINY)
    found = gan.iterate()
    assert (len(found["generators"].posterior), len(found["discriminators"].posterior)) == moved
    assert flops(gan) > 0
    kernels_alone(gan)()


def test_a_clock_counts_what_it_wraps() -> None:
    clock = Clock()
    doubled = clock.timed(lambda value: 2 * value)
    assert doubled(value=4) == 8
    once = clock.seconds
    assert doubled(5) == 10
    assert clock.seconds > once > 0
