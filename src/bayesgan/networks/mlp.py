"""The two-layer networks of Section 4.1."""

from torch import nn


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """The two-layer ReLU networks of Section 4.1: inputs-hidden-outputs, linear at the end."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))
