"""Random draws: one named stream for each purpose, so that adding a draw to one does not shift another."""

import hashlib

import torch


def stream(seed: int, name: str, device: torch.device) -> torch.Generator:
    """A generator seeded by (seed, name) alone."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:8], "big") >> 1)
