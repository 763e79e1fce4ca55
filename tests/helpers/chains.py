"""Chains of numbers whose mixing is known."""

import numpy as np

SHAPE = (200, 3, 400)  # quantities, chains, draws


def autoregressive(correlation: float, shape: tuple[int, int, int] = SHAPE, seed: int = 0) -> np.ndarray:
    """Stationary, of variance 1; n draws are worth n (1 − ρ)/(1 + ρ) independent ones."""
    noise = np.random.default_rng(seed).normal(size=shape)
    chains = noise.copy()
    for draw in range(1, shape[-1]):
        chains[..., draw] = correlation * chains[..., draw - 1] + (1 - correlation**2) ** 0.5 * noise[..., draw]
    return chains
