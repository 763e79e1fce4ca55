"""Small runs on digits to explore."""

from pathlib import Path

import torch

from bayesgan.explore.answers import Explorer
from bayesgan.runs.images import Task, Training
from bayesgan.runs.saved import load
from bayesgan.settings.names import Method

SMALL = {"iterations": 10, "burn_in": 4, "thin": 3, "generators": 2, "discriminators": 2, "generator_width": 4}
SMALL |= {"discriminator_width": 4}


def explored(folder: Path, method: Method = "bayesgan", labels: int = 50, **changes: object) -> Explorer:
    """A finished run in ``folder``, with its images."""
    training = Training(
        Task("digits", labels, method=method, overrides=SMALL | changes), folder, folder, torch.device("cpu")
    )
    training.train()
    return Explorer(load(folder), training.data)
