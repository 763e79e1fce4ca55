"""The methods that are compared, as the paper describes them."""

from typing import Any

import pytest

from bayesgan.data.names import IMAGE_SETS, ImageSetName
from bayesgan.settings.compose import image_settings
from bayesgan.settings.methods import SYNTHETIC_VALUES, synthetic_settings
from bayesgan.settings.names import PRESETS, SYNTHETIC_METHODS, Method, PresetName
from tests.helpers.values import chosen


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("dcgan", {"generators": 1, "discriminators": 1, "game": "jensen-shannon"}),
        ("wdcgan", {"generators": 1, "discriminators": 1, "game": "wasserstein"}),
        ("dcgan10", {"generators": 10, "discriminators": 10, "coupling": "pairs", "data_share": 0.8}),
        ("supervised", {"generators": 0, "discriminators": 1}),
    ],
)
def test_point_estimates_are_optimised_to_the_end_without_a_prior(
    preset: PresetName, method: Method, expected: dict[str, Any]
) -> None:
    settings = image_settings(preset, method, "mnist")
    assert chosen(settings, expected) == expected
    always = {
        "replicas": 1,
        "temperature": 0.0,
        "dynamics": "adam",
        "generator_prior": None,
        "discriminator_prior": None,
    }
    always["consensus"] = 0.0
    assert chosen(settings, always) == always
    assert list(settings.length.collected) == [settings.length.iterations]  # the last weights are the only sample
    assert (settings.sampler.clip is not None) == (method == "wdcgan")


@pytest.mark.parametrize("preset", PRESETS)
def test_lfvi_optimises_gaussians_against_the_same_prior(preset: PresetName) -> None:
    settings = image_settings(preset, "lfvi", "mnist")
    expected = {"family": "mean-field", "dynamics": "adam", "temperature": 0.0, "generators": 1, "discriminators": 1}
    expected["consensus"] = 0.0
    assert chosen(settings, expected) == expected
    assert settings.prior.generator_prior == image_settings(preset, "bayesgan", "mnist").prior.generator_prior
    assert (settings.length.iterations - settings.length.burn_in) // settings.length.thin == 10


@pytest.mark.parametrize("preset", PRESETS)
def test_the_ensemble_is_the_bayesian_gan_without_noise_and_prior(preset: PresetName) -> None:
    ours, bayesgan = (
        image_settings(preset, "ensemble", "mnist").flat(),
        image_settings(preset, "bayesgan", "mnist").flat(),
    )
    differ = {name: value for name, value in ours.items() if value != bayesgan[name]}
    assert differ == {"temperature": 0.0, "generator_prior": None, "discriminator_prior": None}


def test_synthetic_methods_but_the_bayesian_gan_have_one_network_a_side_and_adam_to_the_end() -> None:
    assert set(SYNTHETIC_VALUES) == set(SYNTHETIC_METHODS)
    for method in SYNTHETIC_METHODS:
        settings = synthetic_settings(method, iterations=500, burn_in=100, generators=4, discriminators=3)
        if method == "bayesgan":
            assert (settings.populations.generators, settings.length.burn_in) == (4, 100)
        else:
            assert (settings.populations.generators, settings.length.burn_in) == (1, 500)
            assert settings.prior.generator_prior is None
    assert synthetic_settings("wgan").sampler.clip is not None


@pytest.mark.parametrize("dataset", IMAGE_SETS)
def test_plain_has_nothing_that_the_paper_has_not(dataset: ImageSetName) -> None:
    settings = image_settings("fast", "plain", dataset)
    batches, densities = settings.batches, settings.densities
    assert (batches.jitter, batches.brightness, batches.cut, batches.flip) == (0.0, 0.0, 0.0, False)
    assert (densities.consensus, densities.feature_matching, settings.networks.layer_noise) == (0.0, False, 0.0)
    assert (settings.length.labels_first, settings.length.averaging) == (0.0, 0.0)
    assert settings.populations == image_settings("fast", "bayesgan", dataset).populations


@pytest.mark.parametrize("dataset", IMAGE_SETS)
def test_discriminative_is_the_bayesian_gan_without_generators(dataset: ImageSetName) -> None:
    ours, bayesgan = (image_settings("fast", method, dataset).flat() for method in ("discriminative", "bayesgan"))
    differ = {name: value for name, value in ours.items() if value != bayesgan[name]}
    assert differ == {"generators": 0, "coupling": "algorithm1"}


@pytest.mark.parametrize("dataset", IMAGE_SETS)
def test_baselines_with_a_teacher_are_the_baselines_with_a_consensus(dataset: ImageSetName) -> None:
    compared: tuple[tuple[Method, Method, int], ...] = (
        *(("dcgan-teacher", "dcgan", 1), ("dcgan10-consensus", "dcgan10", 10)),
    )
    for name, baseline, networks in compared:
        ours, theirs = (image_settings("fast", each, dataset).flat() for each in (name, baseline))
        assert (ours["generators"], ours["discriminators"]) == (networks, networks)
        differ = {each: value for each, value in ours.items() if value != theirs[each]}
        assert {"consensus", "consensus_on"} <= differ.keys()
        assert differ.keys() <= {"consensus", "consensus_on", "labels_first", "data_share", "burn_in", "thin"}
        bayesgan = image_settings("fast", "bayesgan", dataset).flat()
        same = ("labels_first", "burn_in", "consensus", "consensus_on", "balance", "confidence", "averaging")
        assert {each: ours[each] for each in same} == {each: bayesgan[each] for each in same}
        assert ours["averaging"] > 0
