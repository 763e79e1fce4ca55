"""A trained posterior against plain networks, one network and one image at a time."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import bayesgan
from bayesgan.base.errors import BayesganError
from bayesgan.posterior.posterior import Posterior
from bayesgan.posterior.samples import Held, SampleSet
from bayesgan.settings.settings import VectorSettings
from tests.helpers.plain_networks import PlainDiscriminator, PlainGenerator, set_statistics, with_weights
from tests.helpers.sampled import CLASSES, CPU, IMAGES, SETTINGS, SHAPE, one_network, posterior, sample, saved
from tests.helpers.tensors import rng


def plain_probabilities(*seeds: int) -> tuple[list[Tensor], list[Tensor]]:
    """Of each network: class probabilities (n, K) given real, and the probability of being fake (n,)."""
    probabilities, fake = [], []
    for each in map(sample, seeds):
        for weights, statistics in zip(each["discriminators"], each["discriminator_statistics"], strict=True):
            network = set_statistics(with_weights(PlainDiscriminator(SHAPE, 3, 2), weights), statistics)
            numbers = torch.from_numpy(IMAGES).float()[:, None] / 127.5 - 1
            with torch.no_grad():
                odds = network(numbers)[:, :3].double().exp()
            probabilities.append(odds / odds.sum(1, keepdim=True))
            fake.append(1 / (1 + odds.sum(1)))
    return probabilities, fake


def entropy(row: Tensor) -> float:
    return -sum(p * math.log(p) for p in row.tolist() if p > 0)


def test_predictions_and_their_uncertainty() -> None:
    probabilities, fake = plain_probabilities(1, 2)
    average = torch.stack(probabilities).mean(0)
    found = posterior().uncertainty(IMAGES)
    np.testing.assert_allclose(found.probabilities, average, atol=1e-6)
    np.testing.assert_allclose(posterior().predict_proba(IMAGES), average, atol=1e-6)
    total = [entropy(row) for row in average]
    expected = [np.mean([entropy(each[i]) for each in probabilities]) for i in range(len(IMAGES))]
    np.testing.assert_allclose(found.total_entropy, total, atol=1e-6)
    np.testing.assert_allclose(found.expected_entropy, expected, atol=1e-6)
    np.testing.assert_allclose(found.mutual_information, np.subtract(total, expected), atol=1e-6)
    np.testing.assert_allclose(found.fake, torch.stack(fake).mean(0), atol=1e-6)
    assert found.mutual_information.min() > 1e-3  # the networks do disagree
    np.testing.assert_allclose(posterior().predict_proba_each(IMAGES), torch.stack(probabilities), atol=1e-6)
    assert posterior().predict(IMAGES) == [CLASSES[i] for i in average.argmax(1)]


def test_one_network_alone_has_no_mutual_information() -> None:
    assert one_network().uncertainty(IMAGES).mutual_information.max() == 0.0
    assert one_network().doubt == "total_entropy"
    assert posterior().doubt == "mutual_information"
    assert [each.doubt for each in posterior()] == ["mutual_information"] * 2  # two chains each


def test_iteration_gives_each_collected_iteration_by_itself() -> None:
    whole = posterior()
    parts = list(whole)
    assert [len(each) for each in parts] == [1, 1]
    mean = np.mean([each.predict_proba(IMAGES) for each in parts], axis=0)
    np.testing.assert_allclose(whole.predict_proba(IMAGES), mean, atol=1e-12)


def test_samples_count_once_and_later_ones_not_yet(tmp_path: Path) -> None:
    samples = SampleSet(tmp_path)
    for seed in (1, 2, 3):
        samples.append(10 * seed, sample(seed))
    model = Posterior(SETTINGS, SHAPE, CLASSES, samples, CPU)
    average = model.averaging(torch.from_numpy(IMAGES[:, None]))
    for upto, included in ((9, []), (20, [1, 2]), (20, [1, 2]), (29, [1, 2]), (30, [1, 2, 3]), (None, [1, 2, 3])):
        model.include(average, upto)
        assert average.included == {10 * seed for seed in included}
        if included:
            expected = torch.stack(plain_probabilities(*included)[0]).mean(0)
            torch.testing.assert_close(average.probabilities, expected, rtol=0, atol=1e-6)
    everything = model.averaging(torch.from_numpy(IMAGES[:, None]))
    model.include(everything)
    torch.testing.assert_close(everything.probabilities, average.probabilities, rtol=1e-12, atol=1e-14)


def test_the_latest_pictures_are_by_the_last_sample_and_then_by_those_before_it() -> None:
    model = posterior()
    rows = model.latest(3, 4, seed=5)
    assert [(row.iteration, row.chain) for row in rows] == [(20, 1), (20, 2), (10, 1)]
    assert all(row.pictures.shape == (4, *SHAPE) and row.pictures.dtype == torch.uint8 for row in rows)
    again, other = model.latest(2, 4, seed=5), model.latest(2, 4, seed=6)
    for row, same, different in zip(rows, again, other, strict=False):
        assert torch.equal(row.pictures, same.pictures)
        assert not torch.equal(row.pictures, different.pictures)
    assert len(model.latest(99, 1, seed=0)) == 4


def test_every_generator_of_an_iteration_draws_its_own_noise() -> None:
    model = posterior()
    noise = torch.stack([model.noise(3, seed) for seed in (1, 2)])
    for chain, row in enumerate(model.drawn(20, noise)):
        assert (row.iteration, row.chain) == (20, chain + 1)
        expected = model.draw(noise[chain], [(20, chain)])
        np.testing.assert_array_equal(row.pictures[:, 0].numpy(), expected)


def test_generators_take_turns() -> None:
    model = posterior()
    assert model.generators == [(10, 0), (10, 1), (20, 0), (20, 1)]
    chosen = [(20, 1), (10, 0)]
    images = model.generate(5, chosen, seed=4)
    assert images.shape == (5, 8, 8)
    assert images.dtype == np.uint8
    noise = model.noise(5, seed=4)
    for number in range(5):
        iteration, chain = chosen[number % 2]
        each = sample(iteration // 10)
        network = PlainGenerator(3, SHAPE, 2)
        set_statistics(with_weights(network, each["generators"][chain]), each["generator_statistics"][chain])
        with torch.no_grad():
            pixels = (network(noise[number][None])[0, 0] + 1) * 127.5
        assert np.abs(images[number] - pixels.numpy()).max() <= 0.51
    assert np.array_equal(images, model.generate(5, chosen, seed=4))
    assert not np.array_equal(images, model.generate(5, chosen, seed=5))


def test_a_walk_between_generators_ends_at_both() -> None:
    model, noise = posterior(), posterior().noise(2)
    one, other = (10, 0), (20, 1)
    assert np.array_equal(model.between(one, other, 0.0, noise), model.draw(noise, [one]))
    assert np.array_equal(model.between(one, other, 1.0, noise), model.draw(noise, [other]))
    assert not np.array_equal(model.between(one, other, 0.5, noise), model.draw(noise, [one]))


def test_features_are_the_hidden_layer() -> None:
    each = sample(2)
    network = PlainDiscriminator(SHAPE, 3, 2)
    set_statistics(with_weights(network, each["discriminators"][0]), each["discriminator_statistics"][0])
    with torch.no_grad():
        wanted = network(torch.from_numpy(IMAGES).float()[:, None] / 127.5 - 1)[:, 3:]
    np.testing.assert_allclose(posterior().features(IMAGES), wanted, atol=1e-5)


def test_vectors() -> None:
    settings = VectorSettings.of(hidden=5, noise_dim=2, generators=1, discriminators=1)
    blank = Posterior(settings, (3,), CLASSES, Held({}), CPU)
    theta = blank._discriminator.initial(1, rng(0))
    empty = torch.zeros(1, 0)
    generators = blank._generator.initial(1, rng(1))
    held = {"discriminators": theta, "discriminator_statistics": empty}
    held |= {"generators": generators, "generator_statistics": empty}
    model = Posterior(settings, (3,), CLASSES, Held({1: held}), CPU)
    x = np.random.default_rng(0).standard_normal((4, 3))
    first, bias, second, last = (
        part[0].double() for part in blank._discriminator.named(theta).values()
    )  # (5, 3), (5,), (3, 5), (3,)
    logits = (torch.from_numpy(x) @ first.T + bias).relu() @ second.T + last
    np.testing.assert_allclose(model.predict_proba(x), logits.softmax(1), atol=1e-5)
    assert model.generate(6).shape == (6, 3)
    assert model.features(x).shape == (4, 3)


@pytest.mark.parametrize(
    ("images", "sentence"),
    [
        (IMAGES.astype(float), "bytes from 0 to 255"),
        (IMAGES[:, :7], "height 8, width 8 and 1 channel"),
        (np.zeros((2, 8, 8, 3), np.uint8), "height 8, width 8 and 1 channel"),
    ],
)
def test_images_that_do_not_fit_are_refused(images: np.ndarray, sentence: str) -> None:
    with pytest.raises(BayesganError, match=sentence):
        posterior().predict_proba(images)


def test_what_a_run_does_not_have_is_refused() -> None:
    with pytest.raises(BayesganError, match="no generator"):
        posterior().generate(1, [(10, 2)])
    with pytest.raises(BayesganError, match="no generator"):
        posterior().between((10, 0), (11, 0), 0.5, posterior().noise(1))
    with pytest.raises(BayesganError, match="No generator is named"):
        posterior().generate(1, [])
    with pytest.raises(BayesganError, match="at least one"):
        posterior().generate(0)
    unlabelled = Posterior(SETTINGS, SHAPE, (), Held({}), CPU)
    with pytest.raises(BayesganError, match="without labels"):
        unlabelled.predict_proba(IMAGES)


def test_load_reads_a_run(tmp_path: Path) -> None:
    loaded = bayesgan.load(saved(tmp_path))
    assert np.array_equal(loaded.predict_proba(IMAGES), posterior().predict_proba(IMAGES))
    assert loaded.classes == CLASSES


@pytest.mark.parametrize("text", ["{", "[]", '{"settings": {}}', "[" * 100_000])
def test_a_damaged_config_is_refused(tmp_path: Path, text: str) -> None:
    (saved(tmp_path) / "config.json").write_text(text)
    with pytest.raises(BayesganError, match="damaged"):
        bayesgan.load(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"dataset": "foo"},
        {"dataset": [1]},
        {"dataset": "own"},
        {"like": "digits"},
        {"shape": [1, 8, 1e999]},
        {"shape": [2, 8, 8]},
        {"shape": [1, 8]},
        {"classes": "ab"},
        {"labels": 1.5},
        {"seed": True},
        {"settings": {"generators": 0}},
        {"settings": {"populations": {"discriminators": 0}}},
        {"settings": {"networks": {"noise_dim": 10**18}}},
        {"dataset": "own", "like": "digits", "own": {"images": "x", "size": -5}},
        {"dataset": "own", "like": "digits", "own": {"images": "x", "held_out": float("nan")}},
    ],
)
def test_a_config_with_a_wrong_value_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    path = saved(tmp_path) / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | wrong))
    with pytest.raises(BayesganError, match="damaged"):
        bayesgan.load(tmp_path)


def test_a_config_of_another_version_says_so(tmp_path: Path) -> None:
    (saved(tmp_path) / "config.json").write_text('{"version": "99"}')
    with pytest.raises(BayesganError, match="was made by bayesgan 99"):
        bayesgan.load(tmp_path)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BayesganError, match="holds no run"):
        bayesgan.load(tmp_path)
    saved(tmp_path)
    for path in (tmp_path / "samples").iterdir():
        path.unlink()
    with pytest.raises(BayesganError, match="no samples yet"):
        bayesgan.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda tensor: tensor[:, :-1], "do not fit"),
        (lambda tensor: tensor[:1], "do not fit"),
        (lambda tensor: tensor[:0], "do not fit"),
        (lambda tensor: tensor[0], "do not fit"),
        (lambda tensor: tensor[0, 0], "do not fit|should be a safetensors file"),
        (lambda tensor: tensor.half(), "do not fit"),
        (lambda tensor: tensor / 0, "not finite"),
    ],
)
def test_samples_of_other_networks_are_refused(
    tmp_path: Path, change: Callable[[Tensor], Tensor], sentence: str
) -> None:
    other = {name: change(tensor) for name, tensor in sample(1).items()}
    SampleSet(saved(tmp_path) / "samples").append(10, other)
    for asked in (lambda it: it.predict_proba(IMAGES), lambda it: it.generate(4), Posterior.check):
        with pytest.raises(BayesganError, match=sentence):
            asked(bayesgan.load(tmp_path))


def test_a_diagnosis_follows_all_chains() -> None:
    found = posterior().diagnose(IMAGES)
    assert (found.images, set(found.sides)) == (len(IMAGES), {"generators", "discriminators"})
    assert (found.sides["discriminators"].chains, found.sides["discriminators"].draws) == (2, 2)
    with pytest.raises(BayesganError, match="do not fit"):
        posterior().diagnose(IMAGES[:, :4])
