"""The presets against the text of the paper, and what can be replaced in them."""

from typing import Any, cast, get_args

import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.data.names import IMAGE_SETS, ImageSetName
from bayesgan.settings.names import METHODS, Method
from bayesgan.settings.names import PRESETS, PresetName
from bayesgan.settings.compose import described, image_settings
from bayesgan.settings.settings import ImageSettings

# Section 4: "J_g = 10, J_d = 1, M = 2, n_d = n_g = 64", "a N(0, 10 I) prior", "5000 iterations and then collect weight
# samples every 1000"; the widths are those of the published code.
PAPER = {
    "generators": 10,
    "discriminators": 1,
    "replicas": 2,
    "coupling": "algorithm1",
    "real_batch": 64,
    "fake_batch": 64,
    "prior_variance": 10.0,
    "burn_in": 5000,
    "thin": 1000,
    "temperature": 1.0,
    "label_weight": 1.0,
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
    "real_target": 1.0,
    "minibatch_discrimination": False,
    "feature_normalisation": False,
}


def values_of(settings: ImageSettings, names: Any) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in names}


@pytest.mark.parametrize("dataset", IMAGE_SETS)
def test_the_paper_preset_has_the_papers_values(dataset: ImageSetName) -> None:
    settings = image_settings("paper", "bayesgan", dataset)
    assert values_of(settings, PAPER) == PAPER
    assert settings.iterations >= 6000  # at least one sample


@pytest.mark.parametrize("labels", [100, 8000])
def test_the_paper_preset_uses_all_labels_in_every_iteration(labels: int) -> None:
    """Section 2.2: "During every iteration we use […] all of the N_s labeled samples"; CIFAR-10 has up to 8000."""
    assert image_settings("paper", "bayesgan", "cifar10").label_batch >= labels


def every_combination() -> list[tuple[PresetName, Method, ImageSetName]]:
    return [(preset, method, dataset) for preset in PRESETS for method in METHODS for dataset in IMAGE_SETS]


@pytest.mark.parametrize(("preset", "method", "dataset"), every_combination())
def test_every_method_on_every_data_set_collects_something(
    preset: PresetName, method: Method, dataset: ImageSetName
) -> None:
    for values in ({}, {"iterations": 20}, {"iterations": 7}):
        settings = image_settings(preset, method, dataset, **values)
        sampled = settings.iterations - settings.burn_in
        assert sampled // settings.thin >= 1
        assert settings.iterations == values.get("iterations", settings.iterations)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_bayesian_gan_has_no_tricks(preset: PresetName) -> None:
    for dataset in IMAGE_SETS:
        settings = image_settings(preset, "bayesgan", dataset)
        if (preset, dataset) == ("fast", "mnist"):  # the exception, stated in docs/choices.md
            assert values_of(settings, NO_TRICKS) == NO_TRICKS | {"feature_matching": True}
            assert settings.layer_noise == 0.3
        else:
            assert values_of(settings, NO_TRICKS) == NO_TRICKS
            assert settings.layer_noise == 0.0


@pytest.mark.parametrize("method", ["dcgan", "wdcgan", "dcgan10"])
@pytest.mark.parametrize("dataset", IMAGE_SETS)
def test_the_papers_baselines_have_the_three_tricks_that_the_paper_names(method: Method, dataset: ImageSetName) -> None:
    settings = image_settings("paper", method, dataset)
    assert settings.minibatch_discrimination
    assert settings.feature_normalisation
    assert settings.layer_noise > 0


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("dcgan", {"generators": 1, "discriminators": 1, "game": "jensen-shannon"}),
        ("wdcgan", {"generators": 1, "discriminators": 1, "game": "wasserstein"}),
        ("dcgan10", {"generators": 10, "discriminators": 10, "coupling": "pairs", "data_share": 0.8}),
        ("supervised", {"generators": 0, "discriminators": 1, "game": "classification"}),
    ],
)
def test_point_estimates_are_optimised_to_the_end_without_a_prior(
    preset: PresetName, method: Method, expected: dict[str, Any]
) -> None:
    settings = image_settings(preset, method, "mnist")
    assert values_of(settings, expected) == expected
    always = {"replicas": 1, "branches": 1, "temperature": 0.0, "dynamics": "adam", "prior_variance": None}
    always["consensus"] = 0.0
    assert values_of(settings, always) == always
    assert settings.burn_in + settings.thin == settings.iterations  # the last weights are the only sample
    assert (settings.clip is not None) == (method == "wdcgan")


@pytest.mark.parametrize("preset", PRESETS)
def test_lfvi_optimises_gaussians_against_the_same_prior(preset: PresetName) -> None:
    settings = image_settings(preset, "lfvi", "mnist")
    expected = {"family": "mean-field", "dynamics": "adam", "temperature": 0.0, "generators": 1, "discriminators": 1}
    expected["consensus"] = 0.0
    assert values_of(settings, expected) == expected
    assert settings.prior_variance == image_settings(preset, "bayesgan", "mnist").prior_variance
    assert (settings.iterations - settings.burn_in) // settings.thin == 10


@pytest.mark.parametrize("method", METHODS)
def test_steps_fall_for_all_systems_alike(method: Method) -> None:
    settings = image_settings("fast", method, "mnist")
    assert (settings.schedule, settings.burn_in, settings.iterations) == ("cyclical", 5_000, 6_000)


@pytest.mark.parametrize("dataset", IMAGE_SETS)
def test_chains_of_the_fast_preset_agree_on_images_that_move(dataset: ImageSetName) -> None:
    settings = image_settings("fast", "bayesgan", dataset)
    on = "shown" if dataset == "digits" else "plain"
    assert (settings.jitter, settings.consensus, settings.consensus_on) == (1.0, 1.0, on)
    assert image_settings("fast", "dcgan", dataset).jitter == 1.0


@pytest.mark.parametrize(("preset", "method", "dataset"), every_combination())
def test_given_values_win(preset: PresetName, method: Method, dataset: ImageSetName) -> None:
    given = {"prior_variance": 3.5, "label_weight": 7.0, "real_batch": 9, "discriminator_width": 5, "layer_noise": 0.25}
    given |= {"iterations": 50, "burn_in": 11, "thin": 13, "clip": 0.5, "minibatch_discrimination": True}
    settings = image_settings(preset, method, dataset, **given)
    assert values_of(settings, given) == given


@pytest.mark.parametrize(
    ("iterations", "burn_in", "thin"), [(20_000, 10_000, 2_000), (1_000, 500, 100), (100, 50, 10), (2, 1, 1)]
)
def test_burn_in_and_thinning_keep_their_share_of_the_iterations(iterations: int, burn_in: int, thin: int) -> None:
    settings = image_settings("paper", "bayesgan", "mnist", iterations=iterations)
    assert (settings.burn_in, settings.thin) == (burn_in, thin)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("iterations", range(2, 60))
def test_any_number_of_iterations_gives_a_sample(preset: PresetName, iterations: int) -> None:
    settings = image_settings(preset, "bayesgan", "mnist", iterations=iterations)
    assert settings.burn_in + settings.thin <= iterations


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"no_such": 1}, "Setting no_such cannot be 1"),
        ({"iterations": "many"}, "Setting iterations cannot be 'many'"),
        ({"iterations": 0}, "Setting iterations cannot be 0"),
        ({"iterations": -10}, "Setting iterations cannot be -10"),
        ({"iterations": 1}, "1 iterations end before the first sample is collected"),
        ({"normalisation": "instance"}, "Setting normalisation cannot be 'instance'"),
        ({"layer_noise": -0.1}, "Setting layer_noise cannot be -0.1"),
        ({"data_share": 0}, "Setting data_share cannot be 0"),
        ({"label_weight": 0}, "Setting label_weight cannot be 0"),
        ({"real_target": 1.1}, "Setting real_target cannot be 1.1"),
        ({"branches": 0}, "Setting branches cannot be 0"),
        ({"generators": 0}, "Without generators there is only classification"),
    ],
)
def test_bad_values_get_one_sentence(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BayesganError, match=f"^{sentence}.*\\.$"):
        image_settings("paper", "bayesgan", "mnist", **values)


@pytest.mark.parametrize("names", [("quick", "bayesgan", "mnist"), ("paper", "gan", "mnist"), ("paper", "dcgan", "m")])
def test_unknown_names_get_one_sentence(names: tuple[str, str, str]) -> None:
    preset, method, dataset = cast(PresetName, names[0]), cast(Method, names[1]), cast(ImageSetName, names[2])
    with pytest.raises(BayesganError, match=r"\.$"):
        image_settings(preset, method, dataset)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_description_says_all_that_the_methods_change(preset: PresetName) -> None:
    table = described(preset)
    reference = table["bayesgan on mnist"]
    assert reference == image_settings(preset, "bayesgan", "mnist").model_dump(mode="json")
    for method in get_args(Method)[1:]:
        assert reference | table[method] == image_settings(preset, method, "mnist").model_dump(mode="json")


def test_a_number_of_iterations_with_an_exponent_is_a_number_of_iterations() -> None:
    assert image_settings("fast", "dcgan", "digits", iterations=1e3) == image_settings(
        "fast", "dcgan", "digits", iterations=1000
    )
