"""The presets against the text of the paper, and what can be replaced in them."""

import pytest

from bayesgan.data.names import IMAGE_SETS, ImageSetName
from bayesgan.settings.compose import image_settings, vector_settings
from bayesgan.settings.names import METHODS, PRESETS, Method, PresetName
from tests.helpers.values import chosen

# Section 4: "J_g = 10, J_d = 1, M = 2, n_d = n_g = 64", "a N(0, 10 I) prior", "5000 iterations and then collect weight
# samples every 1000"; the widths are those of the published code.
PAPER = {
    "generators": 10,
    "discriminators": 1,
    "replicas": 2,
    "coupling": "algorithm1",
    "real_batch": 64,
    "fake_batch": 64,
    "generator_prior": 10.0,
    "discriminator_prior": 10.0,
    "burn_in": 5000,
    "thin": 1000,
    "temperature": 1.0,
    "weighing": "printed",
    "generator_width": 64,
    "discriminator_width": 96,
    "game": "jensen-shannon",
    "family": "weights",
    "data_share": 1.0,
    "jitter": 0.0,
    "consensus": 0.0,
}
NO_TRICKS = {
    "feature_matching": False,
    "minibatch_discrimination": False,
    "feature_normalisation": False,
}


@pytest.mark.parametrize("dataset", IMAGE_SETS)
def test_the_paper_preset_has_the_papers_values(dataset: ImageSetName) -> None:
    settings = image_settings("paper", "bayesgan", dataset)
    assert chosen(settings, PAPER) == PAPER
    assert settings.length.iterations >= 6000  # at least one sample


@pytest.mark.parametrize("labels", [100, 8000])
def test_the_paper_preset_uses_all_labels_in_every_iteration(labels: int) -> None:
    """Section 2.2: "During every iteration we use […] all of the N_s labeled samples"; CIFAR-10 has up to 8000."""
    assert image_settings("paper", "bayesgan", "cifar10").batches.label_batch >= labels


@pytest.mark.parametrize("preset", PRESETS)
def test_the_bayesian_gan_has_no_tricks(preset: PresetName) -> None:
    for dataset in IMAGE_SETS:
        settings = image_settings(preset, "bayesgan", dataset)
        assert chosen(settings, NO_TRICKS) == NO_TRICKS
        assert settings.networks.layer_noise == 0.0


@pytest.mark.parametrize("method", ["dcgan", "wdcgan", "dcgan10"])
@pytest.mark.parametrize("dataset", IMAGE_SETS)
def test_the_papers_baselines_have_the_three_tricks_that_the_paper_names(method: Method, dataset: ImageSetName) -> None:
    settings = image_settings("paper", method, dataset)
    assert settings.networks.minibatch_discrimination
    assert settings.networks.feature_normalisation
    assert settings.networks.layer_noise > 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dataset", IMAGE_SETS)
def test_steps_rise_and_fall_for_all_methods_alike(method: Method, dataset: ImageSetName) -> None:
    ours, reference = image_settings("fast", method, dataset), image_settings("fast", "bayesgan", dataset)
    assert ours.sampler.schedule == "linear"
    assert ours.length.iterations == reference.length.iterations


@pytest.mark.parametrize("dataset", IMAGE_SETS)
def test_chains_of_the_fast_preset_agree_on_images_that_move(dataset: ImageSetName) -> None:
    settings = image_settings("fast", "bayesgan", dataset)
    assert (settings.densities.consensus, settings.densities.consensus_on) == (1.0, "plain")
    assert settings.length.averaging > 0
    for method in METHODS:
        ours = image_settings("fast", method, dataset)
        assert (ours.batches.jitter > 0) == (method != "plain")
        assert ours.networks.architecture == "whitened"


def test_only_images_of_nature_and_faces_are_mirrored() -> None:
    mirrored = {each for each in IMAGE_SETS if image_settings("fast", "bayesgan", each).batches.flip}
    assert mirrored == {"cifar10", "celeba"}


@pytest.mark.parametrize("preset", PRESETS)
def test_vectors_have_as_many_networks_as_the_paper_or_ten_pairs(preset: PresetName) -> None:
    settings = vector_settings(preset, "bayesgan")
    expected = (10, 1, "algorithm1") if preset == "paper" else (10, 10, "pairs")
    populations = settings.populations
    assert (populations.generators, populations.discriminators, populations.coupling) == expected
    assert (settings.batches.jitter, settings.densities.consensus) == (0.0, 0.0)
    assert settings.length.collected
