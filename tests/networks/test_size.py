"""How large networks are, counted by hand and by running an iteration."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from bayesgan.networks.build import pair
from bayesgan.networks.size import sizes
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.minibatches import Labels
from bayesgan.settings.settings import ImageSettings, VectorSettings


def test_an_mlp_by_hand() -> None:
    found = sizes(VectorSettings.of(hidden=7, noise_dim=2, generators=1, discriminators=1), (5,), 3, 4)
    assert found.generator is not None
    assert found.generator == (2, 2 * 7 + 7 + 7 * 5 + 5, 2 * (2 * 7 + 7 * 5))
    assert found.discriminator == (2, 5 * 7 + 7 + 7 * 3 + 3, 2 * (5 * 7 + 7 * 3))


def test_an_iteration_is_what_it_computes_but_for_gradients_of_images() -> None:
    """The gradient of a first layer's input is counted, and not computed where images are data."""
    for values in ({}, {"consensus": 1.0, "consensus_on": "plain"}, {"generators": 0, "coupling": "algorithm1"}):
        settings = ImageSettings.of(
            **(
                {
                    "architecture": "whitened",
                    "normalisation": "none",
                    "generator_width": 4,
                    "discriminator_width": 24,
                    "real_batch": 6,
                    "fake_batch": 4,
                    "label_batch": 5,
                    "coupling": "pairs",
                    "generators": 2,
                    "discriminators": 2,
                }
                | values
            )
        )
        data = torch.randint(256, (30, 1, 16, 16), dtype=torch.uint8)
        labels = Labels(torch.arange(8), torch.arange(8) % 2, 2)
        gan = BayesianGAN(settings, *pair(settings, (1, 16, 16), 2, data), data, 0, labels)
        gan.iterate()
        with FlopCounterMode(display=False) as counter:
            gan.iterate()
        counted = counter.get_total_flops()
        expected = sizes(settings, (1, 16, 16), 2, 8).iteration_flops
        assert counted <= expected <= 1.25 * counted
