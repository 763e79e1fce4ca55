"""Which images and labels the training loop really touches: labelled sets, shares of the data, branches."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from bayesgan.data.images import Images
from bayesgan.data.labels import LabelledSet, labelled_set
from bayesgan.runs.images import image_gan
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.minibatches import ALL, Chosen
from bayesgan.settings.names import Coupling
from bayesgan.settings.settings import ImageSettings, parse_settings
from tests.helpers.labelled import CLASSES, IMAGE, LABEL_BATCH, LABELLED, dcgan, identified, populations, small_gan


class Watched:
    """Which points each discriminator chain was shown, as real ones and with labels, in each iteration."""

    def __init__(self, gan: BayesianGAN, monkeypatch: pytest.MonkeyPatch) -> None:
        self.real: list[Tensor] = []
        self.matched: list[Tensor] = []
        self.labelled: list[tuple[Tensor, Tensor]] = []
        discriminators, generators = gan.discriminator_log_posterior, gan.generator_log_posterior

        def watch_d(
            theta: Tensor, fakes: Tensor | None, real: Tensor, labelled: tuple[Tensor, Tensor], plain: None
        ) -> Tensor:
            self.real.append(identified(gan, real))
            self.labelled.append((identified(gan, labelled[0]), labelled[1]))
            return discriminators(theta, fakes, real, labelled, plain)

        def watch_g(theta_g: Tensor, theta_d: Tensor, noise: Tensor, real: Tensor) -> Tensor:
            self.matched.append(identified(gan, real))
            return generators(theta_g, theta_d, noise, real)

        monkeypatch.setattr(gan, "discriminator_log_posterior", watch_d)
        if gan.settings.feature_matching:
            monkeypatch.setattr(gan, "generator_log_posterior", watch_g)


def test_where_they_fit_all_labels_are_used_in_each_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    gan = small_gan(generators=2, discriminators=2, replicas=2, label_batch=LABELLED)
    assert gan.labels is not None
    watched = Watched(gan, monkeypatch)
    for _ in range(4):
        gan.iterate()
    expected = sorted(zip(gan.labels.indices.tolist(), gan.labels.classes.tolist(), strict=True))
    for indices, classes in watched.labelled:
        for chain in range(4):
            assert sorted(zip(indices[chain].tolist(), classes[chain].tolist(), strict=True)) == expected


def test_mini_batches_of_labels_are_each_chains_own_and_have_the_right_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    gan = small_gan(generators=2, discriminators=2, label_batch=LABEL_BATCH)
    assert gan.labels is not None
    watched = Watched(gan, monkeypatch)
    for _ in range(40):
        gan.iterate()
    true = dict(zip(gan.labels.indices.tolist(), gan.labels.classes.tolist(), strict=True))
    for indices, classes in watched.labelled:
        assert indices.shape == (2, LABEL_BATCH)
        assert [true[i] for i in indices.flatten().tolist()] == classes.flatten().tolist()
    used = torch.stack([indices for indices, _ in watched.labelled], 1)
    assert not torch.equal(used[0], used[1])
    for chain in range(2):
        assert set(used[chain].flatten().tolist()) == set(true)


def images_and_labels(size: int = 40) -> Images:
    """Every image has its number in its first two pixels."""
    pixels = np.random.default_rng(0).integers(0, 256, (size, *IMAGE), dtype=np.uint8)
    pixels[:, 0, 0, 0] = np.arange(size)
    labels = np.random.default_rng(1).integers(0, CLASSES, size)
    return Images("any", ("a", "b", "c"), pixels, labels, pixels[:1], labels[:1])


def image_run(images: Images, labelled: LabelledSet, monkeypatch: pytest.MonkeyPatch | None, **settings: Any) -> Any:
    values = {"generators": 2, "discriminators": 1, "replicas": 2, "real_batch": 8, "fake_batch": 4, "noise_dim": 2}
    values |= {"generator_width": 2, "discriminator_width": 2, "burn_in": 10, "iterations": 15, "thin": 1}
    gan = image_gan(parse_settings(ImageSettings, **(values | settings)), images, labelled, 0, torch.device("cpu"))
    touched: list[tuple[int, int]] = []
    original = gan.discriminator_log_posterior

    def watch(theta: Tensor, fakes: Tensor, real: Tensor, labels: tuple[Tensor, Tensor], plain: None) -> Tensor:
        numbers = ((labels[0][..., 0, 0, 0] + 1) * 127.5).round().long()
        touched.extend(zip(numbers.flatten().tolist(), labels[1].flatten().tolist(), strict=True))
        return original(theta, fakes, real, labels, plain)

    if monkeypatch is not None:
        monkeypatch.setattr(gan, "discriminator_log_posterior", watch)
    for _ in range(15):
        gan.iterate()
    return gan, touched


@pytest.mark.parametrize("label_batch", [3, 100])
def test_training_touches_the_labels_of_exactly_the_labelled_set(
    label_batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = images_and_labels()
    labelled = labelled_set("any", images.train_labels, 7, 0)
    _, touched = image_run(images, labelled, monkeypatch, label_batch=label_batch)
    expected = {(int(i), int(images.train_labels[i])) for i in labelled.indices}
    assert len(expected) == 7
    assert set(touched) == expected  # distinct images with their classes; 3 × 15 × 2 draws leave none out but by 1e-5


def test_no_label_outside_the_labelled_set_has_any_effect() -> None:
    images = images_and_labels()
    labelled = labelled_set("any", images.train_labels, 7, 0)
    hidden = np.full_like(images.train_labels, -999)
    hidden[labelled.indices] = images.train_labels[labelled.indices]
    blind = Images("any", images.classes, images.train, hidden, images.test, images.test_labels)
    (seeing, _), (unseeing, _) = image_run(images, labelled, None), image_run(blind, labelled, None)
    assert torch.equal(seeing.discriminators.theta, unseeing.discriminators.theta)
    assert torch.equal(seeing.generators.theta, unseeing.generators.theta)


# Shares of the data, branches


@pytest.mark.parametrize("matching", [False, True])
def test_each_chain_only_ever_sees_its_own_share_but_all_labels(
    matching: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 pairs (DCGAN-10) on 16 of 20 points each; 60 × 8 draws leave one of the 16 out with probability 1e-12."""
    gan = small_gan(
        size=20,
        generators=10,
        discriminators=10,
        coupling="pairs",
        data_share=0.8,
        real_batch=8,
        label_batch=100,
        feature_matching=matching,
        branches=2,
        burn_in=30,
        iterations=60,
    )
    watched = Watched(gan, monkeypatch)
    for _ in range(60):
        gan.iterate()
    assert gan.labels is not None
    subsets = []
    for chain in range(20):
        shown = watched.real[30:] if chain >= 10 else watched.real
        seen = set(torch.stack([each[chain] for each in shown]).flatten().tolist())
        assert len(seen) == 16
        subsets.append(seen)
        if matching:
            matched = watched.matched[30:] if chain >= 10 else watched.matched
            assert set(torch.stack([each[chain] for each in matched]).flatten().tolist()) == seen
    assert subsets[:10] == subsets[10:]  # a branch goes on with the share it has
    assert len({frozenset(each) for each in subsets}) == 10
    for indices, _ in watched.labelled:
        assert all(set(row.tolist()) == set(gan.labels.indices.tolist()) for row in indices)


def test_the_statistics_of_a_chain_come_from_its_own_share_too() -> None:
    gan = dcgan(size=20, generators=1, discriminators=1, data_share=0.5)
    subsets = gan._subsets
    assert subsets is not None
    outside = [point for point in range(20) if point not in subsets[0].tolist()]
    before = gan.sample()["discriminator_statistics"]
    gan.data[outside] += 1.0
    torch.testing.assert_close(gan.sample()["discriminator_statistics"], before)


@pytest.mark.parametrize("coupling", ["algorithm1", "all", "pairs"])
def test_branches_start_equal_after_the_burn_in_and_then_differ(
    coupling: Coupling, monkeypatch: pytest.MonkeyPatch
) -> None:
    gan = small_gan(**populations(coupling), branches=3, dynamics="frozen")
    chains = len(gan.generators.theta), len(gan.discriminators.theta)
    groups = gan.everyone
    started: list[tuple[Tensor, Tensor]] = []
    original = gan.generator_gradient

    def watch(stream: str | None = None, moving: Chosen = ALL) -> tuple[Tensor, Tensor]:
        started.append((gan.generators.theta.clone(), gan.discriminators.theta.clone()))
        return original(stream, moving)

    monkeypatch.setattr(gan, "generator_gradient", watch)
    for iteration in range(1, 4):  # the burn-in is that of one group of branches
        gan.iterate()
        assert (len(gan.generators.theta), len(gan.discriminators.theta)) == chains
        assert gan.everyone == groups
        assert gan.iteration == iteration
    end = gan.generators.theta.clone(), gan.discriminators.theta.clone()
    gan.iterate()
    assert gan.everyone == groups._replace(number=3 * groups.number)
    for side in range(2):
        for branch in started[3][side].chunk(3):
            assert torch.equal(branch, end[side])
    for state, number in zip((gan.generators, gan.discriminators), chains, strict=True):
        assert state.theta.shape[0] == state.momentum.shape[0] == 3 * number
        assert state.theta.unique(dim=0).shape[0] == 3 * number
    for _ in range(4):
        gan.iterate()
    assert len(gan.generators.theta) == 3 * chains[0]
