"""A posterior of four networks that disagree, in memory and as a run folder."""

import json
from pathlib import Path

import numpy as np
import torch

import bayesgan
from bayesgan.posterior.posterior import Posterior
from bayesgan.posterior.samples import Held, SampleSet
from bayesgan.runs.images import Task
from bayesgan.runs.record import FORMAT
from bayesgan.sampler.gan import Sample
from bayesgan.settings.settings import ImageSettings
from tests.helpers.tensors import rng

SHAPE = (1, 8, 8)
CLASSES = ("no", "yes", "perhaps")
VALUES = {"generator_width": 2, "discriminator_width": 2, "noise_dim": 3, "generators": 2}
SETTINGS = ImageSettings.of(**VALUES)
IMAGES = np.random.default_rng(0).integers(0, 256, (7, 8, 8), np.uint8)
CPU = torch.device("cpu")


def sample(seed: int) -> Sample:
    """Two generators and two discriminators that disagree."""
    blank = Posterior(SETTINGS, SHAPE, CLASSES, Held({}), CPU)
    discriminators = 1.5 * blank._discriminator.initial(2, rng(seed))
    generators = blank._generator.initial(2, rng(seed + 50))
    seen = torch.rand(2, 20, *SHAPE, generator=rng(seed + 100)) * 2 - 1
    noise = torch.randn(2, 20, 3, generator=rng(seed + 150))
    return {
        "discriminators": discriminators,
        "discriminator_statistics": blank._discriminator.statistics(discriminators, seen),
        "generators": generators,
        "generator_statistics": blank._generator.statistics(generators, noise),
    }


def posterior() -> Posterior:
    return Posterior(SETTINGS, SHAPE, CLASSES, Held({10: sample(1), 20: sample(2)}), CPU)


def one_network() -> Posterior:
    one = {name: tensor[:1] for name, tensor in sample(1).items()}
    settings = ImageSettings.of(**(VALUES | {"generators": 1, "discriminators": 1}))
    return Posterior(settings, SHAPE, CLASSES, Held({10: one}), CPU)


def saved(folder: Path) -> Path:
    """A run folder with the same samples."""
    for iteration, seed in ((10, 1), (20, 2)):
        SampleSet(folder / "samples").append(iteration, sample(seed))
    config = Task("digits").identity | {
        "format": FORMAT,
        "version": bayesgan.__version__,
        "settings": SETTINGS.model_dump(mode="json"),
        "shape": SHAPE,
        "classes": CLASSES,
        "labelled_sha256": "",
        "test_sha256": "",
        "device": "cpu",
    }
    (folder / "config.json").write_text(json.dumps(config))
    return folder
