"""Layers against torch's own, in double precision."""

import math
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from bayesgan.base.errors import BayesganError
from bayesgan.networks import layers
from bayesgan.networks.layers import (
    BatchNorm,
    Bias,
    Convolution,
    GaussianNoise,
    GroupNorm,
    MinibatchDiscrimination,
    OfBatches,
    TransposedConvolution,
    Whitening,
    channels_last,
)
from tests.helpers.tensors import rng


def maps(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.double, generator=rng())


def biased(layer: BatchNorm | GroupNorm | Bias) -> Tensor:
    """Give the layer a bias that is not zero."""
    layer.double()
    with torch.no_grad():
        layer.bias.copy_(torch.randn(layer.bias.shape, generator=rng(3)))
    return layer.bias.detach()


def test_batch_norm_is_torchs_without_a_scale_and_keeps_the_last_statistics() -> None:
    layer, inputs = BatchNorm(3), 5 + 2 * maps(6, 3, 4, 5)
    bias = biased(layer)
    expected = functional.batch_norm(inputs, None, None, None, bias, training=True)
    torch.testing.assert_close(layer(inputs), expected)
    torch.testing.assert_close(layer.mean, inputs.mean((0, 2, 3)))
    torch.testing.assert_close(layer.variance, inputs.var((0, 2, 3)))
    layer.eval()
    alone = functional.batch_norm(inputs[:1], layer.mean, layer.variance, None, bias)
    torch.testing.assert_close(layer(inputs[:1]), alone)


def test_one_value_a_channel_cannot_be_normalised() -> None:
    with pytest.raises(BayesganError, match="more than one image of this size"):
        BatchNorm(3)(torch.ones(1, 3, 1, 1))


def test_several_batches_in_one_call_are_normalised_each_by_itself() -> None:
    layer, inputs = BatchNorm(3).double(), maps(7, 3, 4, 4)
    alone = torch.cat([layer(part) for part in inputs.split([2, 5])])
    layer.parts = (2, 5)
    torch.testing.assert_close(layer(inputs), alone)
    layer.eval()
    as_one = layer(inputs)
    layer.parts = ()
    assert torch.equal(as_one, layer(inputs))  # parts are a matter of training


def test_a_layer_of_batches_has_to_do_something() -> None:
    with pytest.raises(TypeError, match="OfBatches does nothing"):
        OfBatches()(maps(2, 3))


def test_group_norm_is_torchs_with_a_bias_for_each_channel_and_one_group_is_layer_norm() -> None:
    inputs = 5 + 2 * maps(6, 12, 4, 5)
    for groups, expected in (
        (1, functional.layer_norm(inputs, (12, 4, 5))),
        (6, functional.group_norm(inputs, 6)),
        (5, functional.layer_norm(inputs, (12, 4, 5))),  # which are not equal
        (8, functional.layer_norm(inputs, (12, 4, 5))),  # of one channel each, which may be one pixel
    ):
        layer = GroupNorm(12, groups)
        bias = biased(layer)
        torch.testing.assert_close(layer(inputs), expected + bias.view(12, 1, 1))


def test_whitened_patches_are_uncorrelated_and_of_variance_one() -> None:
    mixed = torch.einsum("ij,njhw->nihw", maps(3, 3), maps(200, 3, 6, 6)).cumsum(-1)
    layer = Whitening(3).double()
    layer.fit(mixed)
    responses = layer(mixed)
    assert responses.shape == (200, 24, 5, 5)
    torch.testing.assert_close(responses[:, 12:], -responses[:, :12])
    seen = responses[:, :12].transpose(0, 1).flatten(1)
    covariance = seen.cov(correction=0)
    variances = torch.linalg.eigvalsh(functional.unfold(mixed, 2).transpose(1, 2).flatten(0, 1).t().cov(correction=0))
    torch.testing.assert_close(covariance, (variances / (variances + 1e-3)).flip(0).diag(), atol=1e-6, rtol=1e-6)


def test_whitening_of_images_of_one_colour_stays_finite() -> None:
    layer = Whitening(1)
    layer.fit(torch.full((5, 1, 4, 4), 0.3))
    assert layer.filters.isfinite().all()
    assert layer.filters.abs().max() < 50  # 1/√0.001 at most


def test_a_bias_alone_is_added_to_each_channel() -> None:
    layer, inputs = Bias(3), maps(6, 3, 4, 5)
    bias = biased(layer)
    assert torch.equal(layer(inputs) - inputs, (inputs + bias.view(3, 1, 1)) - inputs)
    assert torch.equal(layer(inputs[..., 0, 0]), inputs[..., 0, 0] + bias)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_noise_is_added_in_training_only_from_the_stream_that_is_set(layout: torch.memory_format) -> None:
    layer, inputs = GaussianNoise(0.3), maps(50, 4, 8, 8).contiguous(memory_format=layout)
    layer.stream = rng(1)
    first = layer(inputs)
    layer.stream = rng(1)
    assert torch.equal(layer(inputs), first)
    assert abs((first - inputs).std().item() / 0.3 - 1) < 5 / (2 * inputs.numel()) ** 0.5
    assert first.stride() == inputs.stride()
    layer.eval()
    assert torch.equal(layer(inputs), inputs)


def test_minibatch_discrimination_is_a_double_loop_over_the_batch() -> None:
    """o(xᵢ)_b = Σ_{j≠i} exp(−‖M_{i,b} − M_{j,b}‖₁)/(n−1), M = T f(x), and a linear function of o as the logit."""
    module = MinibatchDiscrimination(6).double()
    features = torch.randn(4, 6, dtype=torch.double, generator=rng())
    kernels = (features @ module.kernels.weight.T).view(4, 32, 5)
    for i, logit in enumerate(module(features)):
        closeness = torch.zeros(32, dtype=torch.double)
        for j in range(4):
            for b in range(32):
                if i != j:
                    closeness[b] += math.exp(-(kernels[i, b] - kernels[j, b]).abs().sum().item()) / 3
        torch.testing.assert_close(logit, module.closeness.weight @ closeness)


@pytest.mark.parametrize("size", [(4, 4), (3, 4), (2, 2)])
@pytest.mark.parametrize("kernel", [3, 5])
def test_convolutions_by_matrix_products_are_convolutions(
    size: tuple[int, int], kernel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways round, with gradients, against torch's own kernels in double precision."""
    monkeypatch.setattr(layers, "MANY", 1)
    images = torch.randn(3, 4, *size, dtype=torch.double, generator=rng(), requires_grad=True)
    weight = torch.randn(5, 4, kernel, kernel, dtype=torch.double, generator=rng(1), requires_grad=True)
    down = Convolution(4, 5, kernel, stride=2, padding=kernel // 2, bias=False)
    ours = functional_call(down, {"weight": weight}, images)
    theirs = functional.conv2d(images, weight, stride=2, padding=kernel // 2)
    same_with_gradients(ours, theirs, images, weight)
    for extra in (0, 1):
        up = TransposedConvolution(5, 4, kernel, stride=2, padding=kernel // 2, output_padding=extra, bias=False)
        maps = ours.detach().clone().requires_grad_()
        again = functional_call(up, {"weight": weight}, maps)
        expected = functional.conv_transpose2d(maps, weight, stride=2, padding=kernel // 2, output_padding=extra)
        same_with_gradients(again, expected, maps, weight)


def same_with_gradients(ours: Tensor, theirs: Tensor, *inputs: Tensor) -> None:
    """Equal values, and equal gradients of a random sum of them."""
    torch.testing.assert_close(ours, theirs)
    direction = torch.randn(theirs.shape, dtype=torch.double, generator=rng(2))
    torch.testing.assert_close(
        torch.autograd.grad(ours, inputs, direction), torch.autograd.grad(theirs, inputs, direction)
    )


@pytest.mark.parametrize("channels", [1, 3])
def test_the_layout_of_images_changes_no_value_and_is_kept_by_convolutions(channels: int) -> None:
    images = torch.randn(4, channels, 7, 6, generator=rng(), requires_grad=True)
    arranged = channels_last(images)
    same_with_gradients(arranged.double(), images.double(), images)
    maps = nn.Conv2d(channels, 8, 3)(arranged)
    assert maps.is_contiguous(memory_format=torch.channels_last)
    assert not maps.is_contiguous()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sides", [(8, 12), (7, 8), (28, 28)])
def test_layers_of_grey_images_are_torchs_own(sides: tuple[int, int], bias: bool) -> None:
    """Outputs and all gradients, in double precision, whichever form is computed."""
    images = torch.randn(3, 1, *sides, dtype=torch.double, generator=rng(), requires_grad=True)
    down = Convolution(1, 5, 5, stride=2, padding=2, bias=bias).double()
    form = partial(functional.conv2d, images, down.weight, down.bias, stride=2, padding=2)
    same_with_gradients(down(images), form(), images, *down.parameters())
    same_with_gradients(down(images.detach()), form(), *down.parameters())
    extra = ((sides[0] + 1) % 2, (sides[1] + 1) % 2)
    up = TransposedConvolution(5, 1, 5, stride=2, padding=2, output_padding=extra, bias=bias).double()
    maps = form().detach().requires_grad_()
    back = functional.conv_transpose2d(maps, up.weight, up.bias, stride=2, padding=2, output_padding=extra)
    assert back.shape[2:] == sides
    same_with_gradients(up(maps), back, maps, *up.parameters())
