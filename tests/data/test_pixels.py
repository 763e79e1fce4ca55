"""Pixels as bytes and as numbers."""

import torch

from bayesgan.data.pixels import as_bytes, as_numbers


def test_black_is_minus_one_and_white_is_one() -> None:
    numbers = as_numbers(torch.tensor([0, 51, 255], dtype=torch.uint8))
    assert numbers.dtype == torch.float32
    torch.testing.assert_close(numbers, torch.tensor([-1.0, -0.6, 1.0]))


def test_every_byte_comes_back() -> None:
    every = torch.arange(256, dtype=torch.uint8).view(2, 1, 8, 16)
    kept = every.clone()
    assert torch.equal(as_bytes(as_numbers(every)), every)
    assert torch.equal(every, kept)


def test_numbers_are_rounded_to_the_nearest_byte_and_clipped() -> None:
    given = torch.tensor([-7.0, -1.0, 0.5 / 127.5 - 1.01, 1.6 / 127.5 - 1, 0.999, 1.0, 1e9])
    kept = given.clone()
    assert as_bytes(given).tolist() == [0, 0, 0, 2, 255, 255, 255]
    assert as_bytes(given).dtype == torch.uint8
    assert torch.equal(given, kept)
