"""Ranks: what each has, what crosses between them, and that a run does not depend on how many there are."""

import re
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.networks.dcgan import Discriminator, Generator
from bayesgan.networks.mlp import mlp
from bayesgan.sampler.coupling import Groups
from bayesgan.sampler.distributed import ALONE, Ranks, Share, together
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.minibatches import Labels
from bayesgan.settings.names import SIDES
from bayesgan.settings.settings import ImageSettings
from tests.helpers.gradients import tensors
from tests.helpers.processes import GIVEN, run

ROOT = Path(__file__).parents[2]


pytestmark = pytest.mark.usefixtures("one_thread")


# What each rank has


def chains_of(share: Share, groups: Groups) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(group, number) of the generators and of the discriminators."""
    generators = list(product(share.groups, share.generators))
    return generators, list(product(share.groups, share.discriminators))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(
    "groups", [Groups(8, 1, 1), Groups(9, 3, 2), Groups(1, 8, 8), Groups(1, 13, 9), Groups(8, 0, 1)]
)
def test_every_chain_is_on_exactly_one_rank(groups: Groups, size: int) -> None:
    """Nearly as many on each, and whole groups where these are enough: then nobody faces a chain of another rank."""
    shares = Ranks(0, size).shares(groups)
    assert len(shares) == size
    for side, chains in enumerate((groups.generators, groups.discriminators)):
        found = [chain for share in shares for chain in chains_of(share, groups)[side]]
        assert sorted(found) == list(product(range(groups.number), range(chains)))
        assert len(set(found)) == len(found)
    whole = groups.number >= size
    for share in shares:
        assert (share.generators, share.discriminators) == (
            range(groups.generators),
            range(groups.discriminators),
        ) or not whole
        assert len(share.groups) > 0
        assert len(share.discriminators) > 0
    kinds: list[Callable[[Share], range]] = [lambda share: share.groups]
    kinds += [] if whole else [lambda share: share.generators, lambda share: share.discriminators]
    for part in kinds if size > 1 else []:
        numbers = [len(part(share)) for share in shares]
        assert max(numbers) - min(numbers) <= 1
    assert shares == Ranks(size - 1, size).shares(groups)  # all ranks agree


def test_shares_of_uneven_numbers() -> None:
    """Whole groups, then the chains of one: in order, the first ones on the first rank."""
    everyone = range(4), range(3)
    assert Ranks(0, 2).shares(Groups(3, 4, 3)) == [Share(range(1), *everyone), Share(range(1, 3), *everyone)]
    assert Ranks(1, 2).shares(Groups(1, 5, 2)) == [
        Share(range(1), range(2), range(1)),
        Share(range(1), range(2, 5), range(1, 2)),
    ]
    assert Ranks(0, 1).shares(Groups(1, 5, 2)) == [Share(range(1), range(5), range(2))]


@pytest.mark.parametrize(
    ("groups", "size", "sentence"),
    [
        (Groups(3, 1, 1), 4, r"4 ranks cannot share 3 × \(1 generators, 1 discriminators\).*: start 3 or fewer"),
        (Groups(1, 5, 2), 3, r"3 ranks cannot share 1 × \(5 generators, 2 discriminators\).*: start 2 or fewer"),
        (Groups(1, 2, 5), 3, r"start 2 or fewer"),
        (Groups(2, 9, 9), 3, r"3 ranks cannot share 2 × \(9 generators, 9 discriminators\).*: start [29] or fewer"),
        (Groups(1, 0, 4), 2, r"start 1 or fewer"),
    ],
)
def test_more_ranks_than_can_share_are_refused(groups: Groups, size: int, sentence: str) -> None:
    with pytest.raises(BayesganError, match=sentence):
        Ranks(0, size).shares(groups)


@pytest.mark.parametrize(
    "groups", [Groups(2, 9, 9), Groups(3, 1, 1), Groups(2, 1, 3), Groups(1, 5, 2), Groups(1, 3, 3)]
)
def test_as_many_ranks_as_the_refusal_names_can_share(groups: Groups) -> None:
    with pytest.raises(BayesganError) as refusal:
        Ranks(0, 20).shares(groups)
    most = int(str(refusal.value).split("start ")[1].split()[0])
    for size in range(1, most + 1):
        assert len(Ranks(0, size).shares(groups)) == size


def test_alone_nothing_is_sent_and_nothing_copied() -> None:
    tensor = torch.randn(3, 2, requires_grad=True)
    assert ALONE.first
    assert ALONE.gathered(tensor, [3]) is tensor
    assert ALONE.total(tensor) is tensor
    assert ALONE.as_first(True, torch.device("cpu"))
    assert not ALONE.as_first(False, torch.device("cpu"))


def test_a_process_that_nobody_started_or_a_world_of_one_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in GIVEN:
        monkeypatch.delenv(name, raising=False)
    with together(torch.device("cpu")) as ranks:
        assert ranks == ALONE
    monkeypatch.setenv("WORLD_SIZE", "1")
    with together(torch.device("cpu")) as ranks:
        assert ranks == ALONE


# A few iterations of small networks in double precision, alone and shared

CLASSES, LABELLED, NOISE_DIM, SIZE = 3, 5, 2, 12
SHARED: dict[str, Any] = {"coupling": "all", "generators": 5, "discriminators": 3}
WHOLE: dict[str, Any] = {"coupling": "algorithm1", "generators": 4, "discriminators": 3, "replicas": 3}
PAIRS: dict[str, Any] = {"coupling": "pairs", "generators": 5, "discriminators": 5}
TINY: dict[str, dict[str, Any]] = {
    "shared": SHARED | {"generator_prior": 0.5, "discriminator_prior": 0.5},
    "shared, density": SHARED | {"marginal": "density", "noise_batches": 2, "layer_noise": 0.1},
    "shared, sum": SHARED
    | {
        "marginal": "sum",
        "generator_prior": None,
        "discriminator_prior": None,
        "discriminator_steps": 2,
        "data_share": 0.5,
    },
    "shared, matching": SHARED | {"feature_matching": True, "dynamics": "running", "layer_noise": 0.1},
    "shared, wasserstein": SHARED | {"game": "wasserstein", "clip": 0.3, "weighing": "raised-labels"},
    "shared, vectors": SHARED
    | {"vectors": True, "marginal": "density", "generator_prior": 0.5, "discriminator_prior": 0.5},
    "whole": WHOLE | {"feature_matching": True, "data_share": 0.5, "layer_noise": 0.1},
    "whole, parts": WHOLE | {"chain_batch": 2, "marginal": "sum", "layer_noise": 0.1, "feature_matching": True},
    "whole, one at a time": WHOLE | {"chain_batch": 1, "dynamics": "plain", "burn_in": 0},
    "pairs": PAIRS | {"normalisation": "layer", "minibatch_discrimination": True, "label_batch": 3},
    "pairs that agree": PAIRS | {"consensus": 0.7, "jitter": 1.0, "label_batch": 3},
    "shared, that agree": SHARED | {"consensus": 0.7, "jitter": 1.0, "feature_matching": True},
    "pairs that agree on plain images": PAIRS | {"consensus": 0.7, "consensus_on": "plain", "layer_noise": 0.1},
    "pairs that agree by averages": PAIRS
    | {"consensus": 0.7, "consensus_on": "plain", "balance": 1.0, "averaging": 0.9, "labels_first": 0.2}
    | {"jitter": 1.0, "change_generated": True, "schedule": "linear"},
    "pairs before a committee": PAIRS | {"burn_in": 10, "iterations": 14, "committee": 12, "jitter": 1.0},
    "shared, that agree by averages": SHARED
    | {"consensus": 0.7, "consensus_on": "plain", "balance": 1.0, "averaging": 0.9, "labels_first": 0.2}
    | {"jitter": 1.0, "change_generated": True},
}


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def tiny(ranks: Ranks, *, vectors: bool = False, **values: Any) -> BayesianGAN:
    """Images of 8×8 with labels, or without labels what an MLP can see."""
    basics = {"noise_dim": NOISE_DIM, "real_batch": 4, "fake_batch": 3, "burn_in": 6, "iterations": 12, "thin": 1}
    settings = ImageSettings.of(**(basics | values))
    data = torch.rand(SIZE, 1, 8, 8, dtype=torch.double, generator=rng(7)) * 2 - 1
    if vectors:
        return BayesianGAN(settings, mlp(NOISE_DIM, 4, 8), mlp(8, 4, 1), data[:, 0, 0], 0, None, ranks)
    labels = Labels(torch.randperm(SIZE, generator=rng(8))[:LABELLED], torch.tensor([0, 1, 2, 2, 1]), CLASSES)
    discriminator = Discriminator(
        (1, 8, 8),
        CLASSES,
        2,
        settings.networks.normalisation,
        settings.networks.layer_noise,
        minibatch_discrimination=settings.networks.minibatch_discrimination,
    )
    generator = Generator(NOISE_DIM, (1, 8, 8), 2, settings.networks.normalisation)
    return BayesianGAN(settings, generator, discriminator, data, 0, labels, ranks)


def outcome(ranks: Ranks, values: dict[str, Any]) -> dict[str, Tensor]:
    """Everything that comes of a few iterations, on all ranks together."""
    gan = tiny(ranks, **values)
    found: dict[str, Tensor] = {}
    for iteration in range(1, gan.settings.length.iterations + 1):
        for side, log_densities in gan.iterate().items():
            found[f"log posterior of {side}, {iteration}"] = ranks.total(log_densities.posterior.sum())
    found |= gan.sample()
    for name, ratios in gan.gradient_noise().items():
        found[f"gradient noise of {name}"] = torch.tensor([ratios["mean"], ratios["max"]], dtype=torch.double)
    state = gan.state
    for side in SIDES:
        own = tensors(state.of(side))
        found |= {f"{name} of {side}": gan.members.everyones(tensor, side) for name, tensor in own.items()}
    streams = {name: each.get_state().double() for name, each in state.streams.items()}
    return found | {"seen": state.seen.double()} | streams


PIECES = (2, 1, 3)  # rows of each rank


def piece(rank: int, dim: int) -> Tensor:
    shape = [4, 4, 4]
    shape[dim] = PIECES[rank]
    return torch.randn(shape, dtype=torch.double, generator=rng(rank))


def judged(rank: int, everything: Tensor) -> Tensor:
    """What rank ``rank`` makes of everything, (PIECES[rank], all pieces): each entry depends on a row of the pieces."""
    weights = torch.randn(PIECES[rank], *everything.shape[1:], dtype=torch.double, generator=rng(10 + rank))
    return torch.einsum("kab,jab->kj", weights, torch.sin(everything))


def concerns(rank: int, judgements: Tensor) -> Tensor:
    """What rank ``rank`` wants of all judgements: something else than any other rank."""
    weights = torch.randn(judgements.shape, dtype=torch.double, generator=rng(20 + rank))
    return (weights * judgements**2).sum()


def gathered_gradient(ranks: Ranks, dim: int) -> dict[str, Tensor]:
    """As in an iteration: pieces cross, every rank judges all of them, and the judgements cross."""
    own = piece(ranks.rank, dim).requires_grad_()
    sizes = PIECES[: ranks.size]
    laid_out_otherwise = own.transpose(1, 2).contiguous().transpose(1, 2)
    everything = ranks.gathered(laid_out_otherwise * 2.0, sizes, dim)
    judgements = ranks.gathered(judged(ranks.rank, everything.transpose(0, dim)), sizes)
    loss = concerns(ranks.rank, judgements) + concerns(ranks.rank, everything)
    (gradient,) = torch.autograd.grad(loss, own)
    unused = ranks.gathered(own.detach(), sizes, dim)
    assert not unused.requires_grad
    return {"everything": everything.detach(), "judgements": judgements.detach(), "gradient": gradient}


def work(folder: Path) -> None:
    """What the processes that are started here do."""
    torch.set_num_threads(1)
    with together(torch.device("cpu")) as ranks:
        found: dict[str, Any] = {f"gathered along {dim}": gathered_gradient(ranks, dim) for dim in range(3)}
        own = torch.full((2, 3), 10.0**ranks.rank)
        found["total"] = {"sum": ranks.total(own.t()), "own": own}
        found["agreed"] = [ranks.as_first(first == ranks.first, torch.device("cpu")) for first in (True, False)]
        found |= {name: outcome(ranks, values) for name, values in TINY.items()}
    torch.save(found, folder / f"{ranks.rank}.pt")


WORK = f"""
import sys, pathlib
sys.path.insert(0, {str(ROOT)!r})
from tests.sampler.test_distributed import work
work(pathlib.Path(sys.argv[1]))
"""


# The same numbers, to the rounding of double precision


@pytest.fixture(scope="module")
def alone() -> dict[str, dict[str, Tensor]]:
    return {name: outcome(ALONE, values) for name, values in TINY.items()}


@pytest.fixture(scope="module", params=[2, 3])
def worked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each of several ranks found."""
    folder = tmp_path_factory.mktemp("work")
    done = run([sys.executable, "-c", WORK, str(folder)], request.param, folder / "logs")
    assert [each.code for each in done] == [0] * request.param, done
    return [torch.load(folder / f"{rank}.pt") for rank in range(request.param)]


@pytest.mark.parametrize("case", TINY)
def test_several_ranks_compute_what_one_does(
    worked: list[dict[str, Any]], alone: dict[str, dict[str, Tensor]], case: str
) -> None:
    """Sums in another order differ by 1e-16 of their terms in double precision; a dozen iterations add little to it."""
    for found in (each[case] for each in worked):
        assert found.keys() == alone[case].keys()
        for name, expected in alone[case].items():
            assert torch.allclose(found[name], expected, rtol=1e-8, atol=1e-10), name
    assert alone[case]["momentum of generators"].abs().max() > 1e-5  # they did move


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gradients_through_what_was_gathered_are_those_of_one_process(worked: list[dict[str, Any]], dim: int) -> None:
    size = len(worked)
    pieces = [piece(rank, dim).requires_grad_() for rank in range(size)]
    everything = torch.cat(pieces, dim) * 2.0
    judgements = torch.cat([judged(rank, everything.transpose(0, dim)) for rank in range(size)])
    loss = sum(
        (concerns(rank, judgements) + concerns(rank, everything) for rank in range(size)),
        torch.zeros((), dtype=torch.double),
    )
    expected = torch.autograd.grad(loss, pieces)
    for rank, found in enumerate(each[f"gathered along {dim}"] for each in worked):
        torch.testing.assert_close(found["everything"], everything.detach(), rtol=0, atol=0)
        torch.testing.assert_close(found["judgements"], judgements.detach())
        torch.testing.assert_close(found["gradient"], expected[rank], rtol=1e-12, atol=1e-12)


def test_totals_and_decisions(worked: list[dict[str, Any]]) -> None:
    size = len(worked)
    for rank, found in enumerate(worked):
        assert torch.equal(found["total"]["sum"], torch.full((3, 2), (10.0**size - 1) / 9))
        assert torch.equal(found["total"]["own"], torch.full((2, 3), 10.0**rank))
        assert found["agreed"] == [True, False]  # what the first says, not what this one says


@pytest.mark.parametrize("case", [name for name in TINY if not re.search("shared|agree|committee", name)])
def test_ranks_with_whole_groups_do_not_need_each_other(case: str, alone: dict[str, dict[str, Tensor]]) -> None:
    """No process group is there to send anything through."""
    gans = [tiny(Ranks(rank, 2), **TINY[case]) for rank in range(2)]
    for gan in gans:
        for _ in range(gan.settings.length.iterations):
            gan.iterate()
    for side in SIDES:
        for name in ("theta", "momentum"):
            ours = torch.cat([getattr(gan.state.of(side), name) for gan in gans])
            torch.testing.assert_close(ours, alone[case][f"{name} of {side}"], rtol=1e-8, atol=1e-10)


def test_a_diverged_chain_has_the_number_that_it_has_alone() -> None:
    """Pair 4 of 5 is the third of the second rank."""
    gan = tiny(Ranks(1, 2), **PAIRS)
    gan.iterate()
    gan.state.generators.theta[2, 0] = float("nan")
    with pytest.raises(BayesganError, match="generator chain 4 "):
        gan.iterate()


REFUSED = {
    "mean-field": (
        PAIRS | {"family": "mean-field", "dynamics": "adam", "temperature": 0},
        "Gaussians over weights cannot be shared by ranks",
    ),
    "chain_batch": (SHARED | {"chain_batch": 1}, "cannot take mini-batches of them: leave out chain_batch"),
    "too many": (SHARED | {"discriminators": 1}, "2 ranks cannot share 1 × .*: start 1 or fewer"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_ranks_cannot_do_is_refused_by_each(case: str) -> None:
    values, sentence = REFUSED[case]
    for rank in range(2):
        with pytest.raises(BayesganError, match=sentence):
            tiny(Ranks(rank, 2), **values)
    tiny(ALONE, **values)
