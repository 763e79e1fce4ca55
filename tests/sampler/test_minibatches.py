"""What an iteration draws: which points, labels and chains the training really touches."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.data.images import Images
from bayesgan.data.labels import LabelledSet, labelled_set
from bayesgan.runs.images import image_gan
from bayesgan.sampler.coupling import grouped
from bayesgan.sampler.distributed import ALL, Chosen
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.minibatches import DiscriminatorBatch, GeneratorBatch
from bayesgan.sampler.state import State
from bayesgan.settings.names import SIDES, Coupling, Dynamics, Marginal, Side
from bayesgan.settings.settings import ImageSettings, Settings
from tests.helpers.gradients import discriminator_log_p, tensors
from tests.helpers.labelled import CLASSES, IMAGE, LABEL_BATCH, LABELLED, dcgan, identified
from tests.helpers.labelled import small_gan as labelled_gan
from tests.helpers.laws import equally_often
from tests.helpers.unlabelled import small_gan

pytestmark = pytest.mark.usefixtures("one_thread")


class Watched:
    """What the iterations of a GAN drew for both sides."""

    def __init__(self, gan: BayesianGAN, monkeypatch: pytest.MonkeyPatch) -> None:
        self.generators: list[GeneratorBatch] = []
        self.discriminators: list[DiscriminatorBatch] = []
        for side, log in (("generators", self.generators), ("discriminators", self.discriminators)):
            monkeypatch.setattr(gan.batches, f"for_{side}", self._watching(getattr(gan.batches, f"for_{side}"), log))

    def _watching(self, draw: Callable[[State], Any], log: list[Any]) -> Callable[[State], Any]:
        def watch(state: State) -> Any:
            log.append(draw(state))
            return log[-1]

        return watch

    def labelled(self, gan: BayesianGAN) -> list[tuple[Tensor, Tensor]]:
        """Indices and classes of each iteration, a row for each chain."""
        found = []
        for each in self.discriminators:
            assert each.labelled is not None
            found.append((identified(gan, each.labelled[0]), each.labelled[1]))
        return found


# Labels


def test_where_they_fit_all_labels_are_used_in_each_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    gan = labelled_gan(generators=2, discriminators=2, replicas=2, label_batch=LABELLED)
    assert gan.labels is not None
    watched = Watched(gan, monkeypatch)
    for _ in range(4):
        gan.iterate()
    expected = sorted(zip(gan.labels.indices.tolist(), gan.labels.classes.tolist(), strict=True))
    for indices, classes in watched.labelled(gan):
        for chain in range(4):
            assert sorted(zip(indices[chain].tolist(), classes[chain].tolist(), strict=True)) == expected


def test_at_first_labels_alone_teach_and_then_the_consensus_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    gan = labelled_gan(labels_first=0.5, consensus=0.8, consensus_on="plain", burn_in=8, iterations=10)
    watched = Watched(gan, monkeypatch)
    found = [gan.iterate() for _ in range(10)]
    first, later = watched.discriminators[:4], watched.discriminators[4:]
    assert all(each.real is None and each.noise is None and each.consensus == 0 for each in first)
    assert all(each.labelled is not None and each.labelled[0].shape[1] == LABEL_BATCH for each in first)
    assert ["generators" in each for each in found] == [False] * 4 + [True] * 6
    assert [each.consensus for each in later] == pytest.approx([0.4, 0.8, 0.8, 0.8, 0.8, 0.8])
    assert all(each.real is not None and each.noise is not None and each.plain is not None for each in later)
    assert len(watched.generators) == 6


def test_without_anything_but_labels_steps_become_as_small_as_with_more() -> None:
    """The schedule γ/d counts the points that are drawn, whether or not there is something to learn from them."""
    gan = labelled_gan(generators=0, burn_in=20, iterations=40)
    for _ in range(30):
        gan.iterate()
    assert gan.state.seen.all()
    sampler, size = gan.settings.sampler, gan.batches.size
    gamma = sampler.step_ratio * sampler.friction * sampler.discriminator_rate
    assert gan.update["discriminators"].step_size(gan.state) == pytest.approx(gamma / size)


@pytest.mark.parametrize("values", [{"labels_first": 1.0}, {"labels_first": 0.5, "chain_batch": 1, "generators": 3}])
def test_generators_need_a_burn_in_of_their_own(values: dict[str, Any]) -> None:
    with pytest.raises(BayesganError, match="lower labels_first"):
        labelled_gan(**({"burn_in": 4, "iterations": 8} | values))


def test_mini_batches_of_labels_are_each_chains_own_and_have_the_right_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    gan = labelled_gan(generators=2, discriminators=2, label_batch=LABEL_BATCH)
    assert gan.labels is not None
    watched = Watched(gan, monkeypatch)
    for _ in range(40):
        gan.iterate()
    true = dict(zip(gan.labels.indices.tolist(), gan.labels.classes.tolist(), strict=True))
    for indices, classes in watched.labelled(gan):
        assert indices.shape == (2, LABEL_BATCH)
        assert [true[i] for i in indices.flatten().tolist()] == classes.flatten().tolist()
    used = torch.stack([indices for indices, _ in watched.labelled(gan)], 1)
    assert not torch.equal(used[0], used[1])
    for chain in range(2):
        assert set(used[chain].flatten().tolist()) == set(true)


def images_and_labels(size: int = 40) -> Images:
    """Every image has its number in its first two pixels."""
    pixels = np.random.default_rng(0).integers(0, 256, (size, *IMAGE), dtype=np.uint8)
    pixels[:, 0, 0, 0] = np.arange(size)
    labels = np.random.default_rng(1).integers(0, CLASSES, size)
    return Images("any", ("a", "b", "c"), pixels, labels, pixels[:1], labels[:1])


def image_run(images: Images, labelled: LabelledSet, **settings: Any) -> BayesianGAN:
    values = {"generators": 2, "discriminators": 1, "replicas": 2, "real_batch": 8, "fake_batch": 4, "noise_dim": 2}
    values |= {"generator_width": 2, "discriminator_width": 2, "burn_in": 10, "iterations": 15, "thin": 1}
    return image_gan(ImageSettings.of(**(values | settings)), images, labelled, 0, torch.device("cpu"))


@pytest.mark.parametrize("label_batch", [3, 100])
def test_training_touches_the_labels_of_exactly_the_labelled_set(
    label_batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = images_and_labels()
    labelled = labelled_set("any", images.train_labels, 7, 0)
    gan = image_run(images, labelled, label_batch=label_batch)
    watched = Watched(gan, monkeypatch)
    for _ in range(15):
        gan.iterate()
    touched: set[tuple[int, int]] = set()
    for each in watched.discriminators:
        assert each.labelled is not None
        numbers = ((each.labelled[0][..., 0, 0, 0] + 1) * 127.5).round().long()
        touched |= set(zip(numbers.flatten().tolist(), each.labelled[1].flatten().tolist(), strict=True))
    expected = {(int(i), int(images.train_labels[i])) for i in labelled.indices}
    assert len(expected) == 7
    assert touched == expected  # distinct images with their classes; 3 × 15 × 2 draws leave none out but by 1e-5


def test_no_label_outside_the_labelled_set_has_any_effect() -> None:
    images = images_and_labels()
    labelled = labelled_set("any", images.train_labels, 7, 0)
    hidden = np.full_like(images.train_labels, -999)
    hidden[labelled.indices] = images.train_labels[labelled.indices]
    blind = Images("any", images.classes, images.train, hidden, images.test, images.test_labels)
    seeing, unseeing = image_run(images, labelled), image_run(blind, labelled)
    for _ in range(15):
        seeing.iterate()
        unseeing.iterate()
    for side in SIDES:
        assert torch.equal(seeing.state.of(side).theta, unseeing.state.of(side).theta)


# Shares of the data


@pytest.mark.parametrize("matching", [False, True])
def test_each_chain_only_ever_sees_its_own_share_but_all_labels(
    matching: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 pairs (DCGAN-10) on 16 of 20 points each; 60 × 8 draws leave one of the 16 out with probability 1e-12."""
    values: dict[str, Any] = {"generators": 10, "discriminators": 10, "coupling": "pairs", "data_share": 0.8}
    values |= {"real_batch": 8, "label_batch": 100, "feature_matching": matching, "burn_in": 30, "iterations": 60}
    gan = labelled_gan(size=20, **values)
    watched = Watched(gan, monkeypatch)
    for _ in range(60):
        gan.iterate()
    assert gan.labels is not None
    real = torch.stack([identified(gan, each.real) for each in watched.discriminators if each.real is not None])
    subsets = [set(real[:, chain].flatten().tolist()) for chain in range(10)]
    assert [len(each) for each in subsets] == [16] * 10
    assert len({frozenset(each) for each in subsets}) == 10
    if matching:
        matched = torch.stack([identified(gan, each.real) for each in watched.generators if each.real is not None])
        assert [set(matched[:, chain].flatten().tolist()) for chain in range(10)] == subsets
    for indices, _ in watched.labelled(gan):
        assert all(set(row.tolist()) == set(gan.labels.indices.tolist()) for row in indices)


def test_the_statistics_of_a_chain_come_from_its_own_share_too() -> None:
    gan = dcgan(size=20, generators=1, discriminators=1, data_share=0.5)
    subsets = gan.batches._subsets
    assert subsets is not None
    outside = [point for point in range(20) if point not in subsets[0].tolist()]
    before = gan.sample()["discriminator_statistics"]
    gan.batches.data[outside] += 1.0
    torch.testing.assert_close(gan.sample()["discriminator_statistics"], before)


# Mini-batches of chains: those that move

POPULATIONS = [
    pytest.param({"generators": 10, "discriminators": 2}, 2, id="ten and two"),
    pytest.param({"generators": 10, "discriminators": 2, "coupling": "all"}, 1, id="ten and two, all"),
    pytest.param({"generators": 5, "discriminators": 3, "replicas": 2}, 1, id="replicas"),
    pytest.param({"generators": 4, "discriminators": 2, "replicas": 2, "coupling": "all"}, 3, id="replicas, all"),
    pytest.param({"generators": 7, "discriminators": 4}, 3, id="seven in three parts"),
    pytest.param({"generators": 7, "discriminators": 7, "replicas": 3}, 3, id="seven in three parts, replicas"),
    pytest.param({"generators": 3, "discriminators": 3, "replicas": 2, "coupling": "pairs"}, 5, id="pairs"),
]


@pytest.mark.parametrize("dynamics", ["frozen", "adam"])
@pytest.mark.parametrize(("population", "chain_batch"), POPULATIONS)
def test_every_chain_moves_once_in_turn_and_otherwise_keeps_all_it_has(
    population: dict[str, Any], chain_batch: int, dynamics: Dynamics
) -> None:
    """Of C chains in batches of B every one moves once in ⌈C/B⌉ iterations."""
    values = population | {"chain_batch": chain_batch, "dynamics": dynamics, "burn_in": 21, "iterations": 60}
    gan = small_gan(**values, temperature=0.0 if dynamics == "adam" else 1.0)
    groups = grouped(gan.settings.populations)
    sizes: dict[Side, int] = {"generators": groups.generators, "discriminators": groups.discriminators}
    moved: dict[Side, list[Tensor]] = {side: [] for side in SIDES}
    for iteration in range(1, 43):
        if iteration == 22:  # the hand-over concerns every chain: before it is looked
            gan._hand_over()
            gan._hand_over = lambda: None  # type: ignore[method-assign]
        before = {side: tensors(gan.state.of(side)) for side in SIDES}
        gan.iterate()
        for side in SIDES:
            after = tensors(gan.state.of(side))
            moves = (before[side]["theta"] != after["theta"]).any(1)
            for name, tensor in after.items():
                assert torch.equal(before[side][name][~moves], tensor[~moves]), f"{name} of {side}"
            assert (before[side]["momentum"] != after["momentum"]).any(1)[moves].all()
            moved[side].append(moves)
    for side in SIDES:
        moves, parts = torch.stack(moved[side]), -(-sizes[side] // min(chain_batch, sizes[side]))
        assert (moves.unfold(0, parts, 1).sum(-1) == 1).all()
        adam_moves = moves if dynamics == "adam" else moves[:21]
        assert gan.state.of(side).adam_steps.tolist() == adam_moves.sum(0).tolist()
        # In each group as many as in any other, in parts that differ by one at most.
        of_groups = moves.unflatten(1, (groups.number, -1)).sum(2)
        assert (of_groups == of_groups[:, :1]).all()
        assert int(of_groups.max() - of_groups.min()) <= (sizes[side] % parts > 0)
        assert int(of_groups.max()) <= chain_batch


def test_several_discriminator_steps_are_all_of_the_same_chains() -> None:
    values: dict[str, Any] = {"generators": 2, "discriminators": 4, "chain_batch": 1, "discriminator_steps": 3}
    gan = small_gan(**values, burn_in=20, iterations=30)
    for _ in range(6):
        gan.iterate()
    assert gan.state.discriminators.adam_steps.tolist() == [6, 6, 3, 3]


@pytest.mark.parametrize("coupling", ["algorithm1", "all"])
def test_the_gradient_of_chains_that_move_does_not_depend_on_those_that_do_not(coupling: Coupling) -> None:
    gan = labelled_gan(generators=4, discriminators=3, replicas=2, coupling=coupling, label_batch=100)
    batches, gradients, rows = gan.batches, gan.gradients, gan.members.rows
    batch_g, batch_d = batches.for_generators(gan.state), batches.for_discriminators(gan.state)
    all_g, all_d = gradients.of_generators(gan.state, batch_g), gradients.of_discriminators(gan.state, batch_d)
    assert batch_d.real is not None
    assert batch_d.labelled is not None
    for moving in (slice(0, 1), slice(1, 3), slice(2, 3)):
        some_g = gradients.of_generators(gan.state, replace(batch_g, moving=moving, noise=rows(batch_g.noise, moving)))
        real, (points, classes) = rows(batch_d.real, moving), batch_d.labelled
        labelled = rows(points, moving), rows(classes, moving)
        some_d = gradients.of_discriminators(gan.state, replace(batch_d, moving=moving, real=real, labelled=labelled))
        for some, whole in ((some_g, all_g), (some_d, all_d)):
            torch.testing.assert_close(some.values, rows(whole.values, moving), rtol=1e-10, atol=1e-12)
            ours, expected = some.log_densities.posterior, whole.log_densities.posterior
            torch.testing.assert_close(ours, rows(expected, moving), rtol=1e-10, atol=1e-12)


# Mini-batches of chains: those that are faced


@pytest.mark.parametrize(
    ("make", "matching"),
    [
        pytest.param(small_gan, False, id="unlabelled"),
        pytest.param(labelled_gan, False, id="labelled"),
        pytest.param(labelled_gan, True, id="labelled, matching features"),
    ],
)
@pytest.mark.parametrize("marginal", ["mean", "sum"])
@pytest.mark.parametrize("coupling", ["algorithm1", "all"])
@pytest.mark.parametrize("faced", [1, 2])
def test_averaged_over_all_draws_of_faced_chains_gradients_are_those_of_all(
    make: Callable[..., BayesianGAN], matching: bool, marginal: Marginal, coupling: Coupling, faced: int
) -> None:
    """Every draw enumerated, in double precision: nothing is left but rounding."""
    values: dict[str, Any] = {"generators": 4, "discriminators": 3, "replicas": 2, "noise_batches": 2}
    values |= {
        "coupling": coupling,
        "marginal": marginal,
        "generator_prior": 0.5,
        "discriminator_prior": 0.5,
        "feature_matching": matching,
    }
    values |= {"label_batch": 100}  # all of them: nothing is drawn
    gan = make(**values)
    batches, gradients, rows = gan.batches, gan.gradients, gan.members.rows
    batch_g, batch_d = batches.for_generators(gan.state), batches.for_discriminators(gan.state)
    assert batch_d.noise is not None
    noise = batch_d.noise

    def of_generators(chosen: Chosen) -> Tensor:
        real = None if batch_g.real is None else rows(batch_g.real, chosen)
        return gradients.of_generators(gan.state, replace(batch_g, faced=chosen, real=real)).values

    def of_discriminators(chosen: Chosen) -> Tensor:
        return gradients.of_discriminators(gan.state, replace(batch_d, faced=chosen, noise=rows(noise, chosen))).values

    groups = gan.members.everyone
    for find, others in ((of_generators, groups.discriminators), (of_discriminators, groups.generators)):
        draws = [torch.tensor(each) for each in itertools.combinations(range(others), faced)]
        found = [find(draw) for draw in draws]
        expected = find(ALL)
        assert any(not torch.allclose(each, expected) for each in found)
        torch.testing.assert_close(torch.stack(found).mean(0), expected, rtol=1e-10, atol=1e-10)


def test_the_draws_of_faced_chains_do_not_depend_on_the_order() -> None:
    """So that combinations above stand for all draws."""
    gan = small_gan(generators=4, discriminators=3, replicas=2, marginal="sum")
    rows, noise = gan.members.rows, gan.batches.noise(gan.state.streams)
    for draw in ([0, 2], [1, 3]):
        found = []
        for order in (draw, draw[::-1]):
            chosen = torch.tensor(order)
            fakes = gan.gradients.generated(
                gan.state.streams, rows(gan.state.generators.theta, chosen), rows(noise, chosen)
            )
            real = gan.batches.data[:3].expand(6, 3, 3)
            found.append(discriminator_log_p(gan, gan.state.discriminators.theta, fakes, real))
        torch.testing.assert_close(*found, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("chain_batch", [1, 3])
def test_every_chain_is_faced_equally_often_and_never_twice_at_once(chain_batch: int) -> None:
    draws = 3000
    gan = small_gan(generators=7, discriminators=5, replicas=2, chain_batch=chain_batch, burn_in=7)
    sides: dict[Side, int] = {"generators": 7, "discriminators": 5}
    for side, chains in sides.items():
        counts, pairs = [0] * chains, [0] * math.comb(chains, 2)
        for _ in range(draws):
            drawn = gan.batches.faced(side, gan.state.streams)
            assert isinstance(drawn, Tensor)
            chosen = sorted(drawn.tolist())
            assert len(set(chosen)) == len(chosen) == chain_batch
            for chain in chosen:
                counts[chain] += 1
            for number, pair in enumerate(itertools.combinations(range(chains), 2)):
                pairs[number] += set(pair) <= set(chosen)
        assert sum(counts) == chain_batch * draws
        assert equally_often(counts, draws)
        if chain_batch > 1:
            assert equally_often(pairs, draws)


def test_each_side_faces_chains_of_the_other_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    gan = small_gan(generators=9, discriminators=8, chain_batch=4, burn_in=3)
    watched = Watched(gan, monkeypatch)
    for _ in range(8):
        gan.iterate()
    drawn = {tuple(each.faced.tolist()) for each in watched.generators if isinstance(each.faced, Tensor)}
    assert all(max(each) < 8 for each in drawn)
    drawn |= {tuple(each.faced.tolist()) for each in watched.discriminators if isinstance(each.faced, Tensor)}
    assert len(drawn) > 12  # of 16; there are thousands of draws


@pytest.mark.parametrize("coupling", ["algorithm1", "all", "pairs"])
def test_a_batch_of_as_many_chains_as_there_are_is_everybody_bit_for_bit(coupling: Coupling) -> None:
    values: dict[str, Any] = {"generators": 3, "discriminators": 3, "replicas": 2, "coupling": coupling}
    exact, batched = (labelled_gan(**values, marginal="sum", chain_batch=number) for number in (None, 6))
    for _ in range(8):
        ours, expected = batched.iterate(), exact.iterate()
        for side in SIDES:
            assert torch.equal(ours[side].posterior, expected[side].posterior)
    for side in SIDES:
        ours_now, expected_now = tensors(batched.state.of(side)), tensors(exact.state.of(side))
        assert ours_now.keys() == expected_now.keys()
        assert all(torch.equal(ours_now[name], expected_now[name]) for name in ours_now)


def test_the_density_over_a_part_of_the_chains_is_refused() -> None:
    with pytest.raises(BayesganError, match="no unbiased estimate from a part of them: leave out chain_batch"):
        Settings.of(marginal="density", chain_batch=2)
    Settings.of(marginal="density")


def test_for_a_measurement_all_chains_move() -> None:
    gan = small_gan(generators=4, discriminators=3, chain_batch=2, burn_in=5)
    gan.state.iteration = 1
    for draw in (gan.batches.for_generators, gan.batches.for_discriminators):
        assert draw(gan.state).moving != ALL
        assert draw(gan.state, everybody=True).moving == ALL
