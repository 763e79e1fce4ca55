"""From a preset, a method and a data set to settings: who overrides whom, and what follows from what."""

import re
from typing import Any, cast

import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.data.names import IMAGE_SETS, ImageSetName
from bayesgan.settings.compose import changes, described, image_settings, terms, vector_settings
from bayesgan.settings.names import METHODS, PRESETS, Method, PresetName
from tests.helpers.values import chosen


def every_combination() -> list[tuple[PresetName, Method, ImageSetName]]:
    return [(preset, method, dataset) for preset in PRESETS for method in METHODS for dataset in IMAGE_SETS]


@pytest.mark.parametrize(("preset", "method", "dataset"), every_combination())
def test_every_method_on_every_data_set_collects_something(
    preset: PresetName, method: Method, dataset: ImageSetName
) -> None:
    for values in ({}, {"iterations": 20}, {"iterations": 7}):
        settings = image_settings(preset, method, dataset, **values)
        sampled = settings.length.iterations - settings.length.burn_in
        assert sampled // settings.length.thin >= 1
        assert settings.length.iterations == values.get("iterations", settings.length.iterations)


@pytest.mark.parametrize(("preset", "method", "dataset"), every_combination())
def test_given_values_win(preset: PresetName, method: Method, dataset: ImageSetName) -> None:
    given: dict[str, Any] = {
        "generator_prior": 3.5,
        "discriminator_prior": 3.5,
        "weighing": "lowered-game",
        "real_batch": 9,
        "discriminator_width": 5,
        "layer_noise": 0.25,
    }
    given |= {"iterations": 50, "burn_in": 11, "thin": 13, "clip": 0.5, "minibatch_discrimination": True}
    given |= {"architecture": "dcgan"}
    settings = image_settings(preset, method, dataset, **given)
    assert chosen(settings, given) == given


@pytest.mark.parametrize(
    ("iterations", "burn_in", "thin"), [(20_000, 10_000, 2_000), (1_000, 500, 100), (100, 50, 10), (2, 1, 1)]
)
def test_burn_in_and_thinning_keep_their_share_of_the_iterations(iterations: int, burn_in: int, thin: int) -> None:
    settings = image_settings("paper", "bayesgan", "mnist", iterations=iterations)
    assert (settings.length.burn_in, settings.length.thin) == (burn_in, thin)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("iterations", range(2, 60))
def test_any_number_of_iterations_gives_a_sample(preset: PresetName, iterations: int) -> None:
    settings = image_settings(preset, "bayesgan", "mnist", iterations=iterations)
    assert settings.length.burn_in + settings.length.thin <= iterations


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"no_such": 1}, "There is no setting 'no_such'"),
        ({"iterations": "many"}, "Setting iterations cannot be 'many'"),
        ({"iterations": 0}, "Setting iterations cannot be 0"),
        ({"iterations": -10}, "Setting iterations cannot be -10"),
        ({"iterations": 1}, "1 iterations end before the first sample is collected"),
        ({"normalisation": "instance"}, "Setting normalisation cannot be 'instance'"),
        ({"layer_noise": -0.1}, "Setting layer_noise cannot be -0.1"),
        ({"data_share": 0}, "Setting data_share cannot be 0"),
        ({"weighing": "equal"}, "Setting weighing cannot be 'equal'"),
        ({"chain_batch": 0}, "Setting chain_batch cannot be 0"),
        ({"branches": 1}, "There is no setting 'branches'"),
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
    reference = image_settings(preset, "bayesgan", "mnist")
    assert table["bayesgan on mnist"] == reference.model_dump(mode="json")
    for method in METHODS[1:]:
        expected = image_settings(preset, method, "mnist").flat()
        said = {name: _number(value) for name, value in table[method].items()}
        assert reference.flat() | said == expected


def _number(value: object) -> object:
    """The number that a derived value starts with."""
    found = re.fullmatch(r"(\d+) \(.+\)", value) if isinstance(value, str) else None
    return value if found is None else int(found[1])


def test_a_derived_value_is_described_as_what_it_is() -> None:
    table = described("fast")["dcgan10"]
    assert table["thin"] == "333 (the last weights alone)"
    table = described("paper")
    assert table["dcgan"]["burn_in"] == "6667 (two thirds of the iterations; Adam to the end)"
    assert table["lfvi"]["burn_in"] == "9990 (10 draws in the last iterations)"
    assert "burn_in" not in table["ensemble"]


def test_a_number_of_iterations_with_an_exponent_is_a_number_of_iterations() -> None:
    assert image_settings("fast", "dcgan", "digits", iterations=1e3) == image_settings(
        "fast", "dcgan", "digits", iterations=1000
    )


def test_changes_are_what_is_not_the_presets() -> None:
    settings = image_settings("fast", "bayesgan", "digits", temperature=0.5, jitter=1.0)
    assert changes("fast", "bayesgan", "digits", settings) == {"temperature": 0.5}


@pytest.mark.parametrize("method", METHODS)
def test_vectors_take_any_method_and_given_values_win(method: Method) -> None:
    settings = vector_settings("fast", method, iterations=50, hidden=7, generator_prior=2.0, discriminator_prior=2.0)
    assert (settings.length.iterations, settings.networks.hidden, settings.prior.generator_prior) == (50, 7, 2.0)
    assert settings.length.collected


def test_settings_of_images_are_none_of_vectors() -> None:
    with pytest.raises(BayesganError, match="There is no setting 'generator_width'"):
        vector_settings("fast", "bayesgan", generator_width=8)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("supervised", ["labels", "changed images"]),
        ("dcgan", ["labels", "changed images", "game"]),
        ("dcgan-teacher", ["labels", "changed images", "game", "own teacher"]),
        ("discriminative", ["labels", "changed images", "consensus", "T = 0.01"]),
        ("ensemble", ["labels", "changed images", "game", "consensus"]),
        ("plain", ["labels", "game", "T = 0.01"]),
    ],
)
def test_terms_say_what_a_method_learns_from(method: Method, expected: list[str]) -> None:
    assert terms(image_settings("fast", method, "svhn")) == expected


def test_terms_name_the_tricks_too() -> None:
    tricks = {"architecture": "dcgan", "layer_noise": 0.3, "feature_matching": True}
    assert terms(image_settings("fast", "dcgan", "svhn", **tricks))[3:] == ["feature matching", "noise on layers"]
