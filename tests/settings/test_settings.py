"""Every number that a run depends on: groups, names, and what is refused."""

import math
from typing import Any

import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.settings.settings import Group, ImageSettings, Length, Populations, Settings, VectorSettings


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"temperature": -1}, "Setting temperature cannot be -1: .*greater than or equal to 0"),
        ({"generators": -1}, "Setting generators cannot be -1"),
        ({"dynamics": "adam"}, "Dynamics 'adam' have no noise"),
        ({"family": "mean-field"}, "optimised, not sampled"),
        ({"friction": 1.5}, "Setting friction cannot be 1.5"),
        ({"marginal": "max"}, "Setting marginal cannot be 'max'"),
        ({"no_such": 1}, "There is no setting 'no_such'"),
        ({"burn_in": 0}, "take their mass from the Adam burn-in"),
        ({"coupling": "pairs"}, "as many generators as discriminators"),
        ({"temperature": math.nan}, "Setting temperature"),
        ({"iterations": 320}, "320 iterations end before the first sample is collected"),
    ],
)
def test_bad_settings_get_a_sentence(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BayesganError, match=sentence):
        Settings.of(**values)


def test_settings_survive_json() -> None:
    settings = Settings.of(generators=3, generator_prior=None, discriminator_prior=None)
    assert Settings.model_validate_json(settings.model_dump_json()) == settings


@pytest.mark.parametrize("kind", [Settings, VectorSettings, ImageSettings])
def test_no_two_groups_share_a_name_and_none_is_long(kind: type[Settings]) -> None:
    groups = [getattr(kind(), name) for name in kind.model_fields]
    assert all(isinstance(group, Group) for group in groups)
    names = [name for group in groups for name in group.model_dump()]
    assert len(names) == len(set(names)) == len(kind.places()) == len(kind().flat())
    assert all(len(getattr(kind(), group).model_dump()) <= 12 for group in kind.model_fields)


def test_a_setting_is_named_by_its_field_alone() -> None:
    settings = ImageSettings.of(temperature=0.25, generator_width=7)
    assert (settings.sampler.temperature, settings.networks.generator_width) == (0.25, 7)
    assert ImageSettings.of(**settings.flat()) == settings


def test_collected_are_the_iterations_every_thin_after_the_burn_in() -> None:
    assert list(Length(iterations=20, burn_in=5, thin=4).collected) == [9, 13, 17]
    assert list(Length(iterations=17, burn_in=5, thin=4).collected) == [9, 13, 17]
    assert not Length(iterations=8, burn_in=5, thin=4).collected


def test_a_sample_is_needed_where_something_is_sampled_or_predicted() -> None:
    values = {"iterations": 10, "burn_in": 10, "temperature": 0.0}
    assert not Settings.of(**values).length.collected
    with pytest.raises(BayesganError, match="10 iterations end before the first sample"):
        ImageSettings.of(**values)
    with pytest.raises(BayesganError, match="10 iterations end before the first sample"):
        Settings.of(**(values | {"temperature": 1.0}))


@pytest.mark.parametrize(
    ("values", "sizes", "turns"),
    [
        ({"generators": 10, "discriminators": 2}, (10, 2), 1),
        ({"generators": 10, "discriminators": 2, "chain_batch": 3}, (10, 2), 4),
        ({"generators": 4, "discriminators": 2, "replicas": 2, "coupling": "all", "chain_batch": 3}, (8, 4), 3),
        ({"generators": 4, "discriminators": 4, "replicas": 2, "coupling": "pairs", "chain_batch": 1}, (1, 1), 1),
    ],
)
def test_every_chain_has_moved_after_so_many_turns(values: dict[str, Any], sizes: tuple[int, int], turns: int) -> None:
    populations = Populations(**values)
    assert (populations.group_sizes, populations.turns) == (sizes, turns)


def test_only_a_game_of_probabilities_tells_what_is_generated() -> None:
    assert Settings().tells_fake
    assert not Settings.of(game="wasserstein").tells_fake
    assert not Settings.of(generators=0).tells_fake


def test_a_prior_counts_once_in_each_term_of_algorithm_1() -> None:
    printed = Settings.of(marginal="sum", generators=10, discriminators=3, noise_batches=2)
    assert (printed.prior_terms("generators"), printed.prior_terms("discriminators")) == (6, 20)
    assert Settings.of(generators=10, noise_batches=2).prior_terms("discriminators") == 1
