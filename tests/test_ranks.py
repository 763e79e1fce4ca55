"""Ranks: what each has, what crosses between them, and that a run does not depend on how many there are."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from bayesgan.coupling import Groups
from bayesgan.draws import SIDES, Labels
from bayesgan.errors import BayesganError
from bayesgan.gan import BayesianGAN
from bayesgan.networks import Discriminator, Generator, mlp
from bayesgan.ranks import ALONE, Ranks, Share, together
from bayesgan.settings import ImageSettings, parse_settings
from bayesgan.training import STATE_TENSORS

ROOT = Path(__file__).parents[1]
PATIENCE = 120.0  # seconds for processes that take a tenth of it, so that nothing hangs
SOON = 30.0  # seconds for a rank to find out that another one is gone
GIVEN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # by torchrun


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
    assert ALONE.agreed(True, torch.device("cpu"))
    assert not ALONE.agreed(False, torch.device("cpu"))


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
    "shared": SHARED | {"prior_variance": 0.5},
    "shared, density": SHARED | {"marginal": "density", "noise_batches": 2, "layer_noise": 0.1},
    "shared, sum": SHARED | {"marginal": "sum", "prior_variance": None, "discriminator_steps": 2, "data_share": 0.5},
    "shared, matching": SHARED | {"feature_matching": True, "dynamics": "running", "layer_noise": 0.1},
    "shared, wasserstein": SHARED | {"game": "wasserstein", "clip": 0.3, "label_weight": None},
    "shared, vectors": SHARED | {"vectors": True, "marginal": "density", "prior_variance": 0.5},
    "whole": WHOLE | {"feature_matching": True, "data_share": 0.5, "layer_noise": 0.1},
    "whole, parts": WHOLE | {"faced": 2, "sweep": 2, "marginal": "sum", "layer_noise": 0.1, "feature_matching": True},
    "whole, parts at random": WHOLE | {"sweep": 3, "scan": "random", "dynamics": "plain", "burn_in": 0, "faced": 1},
    "pairs": PAIRS | {"normalisation": "layer", "minibatch_discrimination": True, "label_batch": 3},
}


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def tiny(ranks: Ranks, *, vectors: bool = False, **values: Any) -> BayesianGAN:
    """Images of 8×8 with labels, or without labels what an MLP can see."""
    basics = {"noise_dim": NOISE_DIM, "real_batch": 4, "fake_batch": 3, "burn_in": 6, "iterations": 12, "thin": 1}
    settings = parse_settings(ImageSettings, **(basics | values))
    data = torch.rand(SIZE, 1, 8, 8, dtype=torch.double, generator=rng(7)) * 2 - 1
    if vectors:
        return BayesianGAN(settings, mlp(NOISE_DIM, 4, 8), mlp(8, 4, 1), data[:, 0, 0], 0, None, ranks)
    labels = Labels(torch.randperm(SIZE, generator=rng(8))[:LABELLED], torch.tensor([0, 1, 2, 2, 1]), CLASSES)
    discriminator = Discriminator(
        (1, 8, 8),
        CLASSES,
        2,
        settings.normalisation,
        settings.layer_noise,
        minibatch_discrimination=settings.minibatch_discrimination,
    )
    generator = Generator(NOISE_DIM, (1, 8, 8), 2, settings.normalisation)
    return BayesianGAN(settings, generator, discriminator, data, 0, labels, ranks)


def outcome(ranks: Ranks, values: dict[str, Any]) -> dict[str, Tensor]:
    """Everything that comes of a few iterations, on all ranks together."""
    gan = tiny(ranks, **values)
    found: dict[str, Tensor] = {}
    for iteration in range(1, gan.settings.iterations + 1):
        log_posteriors = gan.iterate()
        for side in SIDES:
            found[f"log posterior of {side}, {iteration}"] = ranks.total(getattr(log_posteriors, side).sum())
    found |= gan.sample()
    for name, ratios in gan.gradient_noise().items():
        found[f"gradient noise of {name}"] = torch.tensor([ratios["mean"], ratios["max"]], dtype=torch.double)
    for side in SIDES:
        state = getattr(gan, side)
        found |= {
            f"{name} of {side}": gan.everyones(getattr(state, name), side)
            for name in STATE_TENSORS
            if getattr(state, name) is not None
        }
    return found | {"seen": gan.seen.double()} | {name: each.get_state().double() for name, each in gan.rng.items()}


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
        found["agreed"] = [ranks.agreed(first == ranks.first, torch.device("cpu")) for first in (True, False)]
        found |= {name: outcome(ranks, values) for name, values in TINY.items()}
    torch.save(found, folder / f"{ranks.rank}.pt")


WORK = f"""
import sys, pathlib
sys.path.insert(0, {str(ROOT)!r})
from tests.test_ranks import work
work(pathlib.Path(sys.argv[1]))
"""


# Processes


class Ended(NamedTuple):
    code: int
    output: str
    errors: str


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def without_ranks() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in GIVEN} | {"OMP_NUM_THREADS": "1"}


@contextmanager
def started(command: Sequence[str], size: int, logs: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """The ``size`` ranks of ``command``, all gone in the end whatever happens; what they say is in ``logs``."""
    logs.mkdir(parents=True, exist_ok=True)
    port = free_port()
    processes: list[subprocess.Popen[str]] = []
    try:
        for rank in range(size):
            own = dict(zip(GIVEN, map(str, (rank, size, rank, size, "127.0.0.1", port)), strict=True))
            environment = without_ranks() | (own if size > 1 else {})
            with (logs / f"{rank}.out").open("w") as output, (logs / f"{rank}.err").open("w") as errors:
                processes.append(
                    subprocess.Popen(command, env=environment, cwd=logs, text=True, stdout=output, stderr=errors)
                )
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
        for process in processes:
            process.wait(SOON)


def ended(processes: list[subprocess.Popen[str]], logs: Path, patience: float = PATIENCE) -> list[Ended]:
    deadline = time.monotonic() + patience
    codes = [process.wait(max(0.1, deadline - time.monotonic())) for process in processes]
    return [
        Ended(code, (logs / f"{rank}.out").read_text(), (logs / f"{rank}.err").read_text())
        for rank, code in enumerate(codes)
    ]


def run(command: Sequence[str], size: int, logs: Path) -> list[Ended]:
    with started(command, size, logs) as processes:
        return ended(processes, logs)


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


@pytest.mark.parametrize("case", [name for name in TINY if not name.startswith("shared")])
def test_ranks_with_whole_groups_do_not_need_each_other(case: str, alone: dict[str, dict[str, Tensor]]) -> None:
    """No process group is there to send anything through."""
    gans = [tiny(Ranks(rank, 2), **TINY[case]) for rank in range(2)]
    for gan in gans:
        for _ in range(gan.settings.iterations):
            gan.iterate()
    for side in SIDES:
        for name in ("theta", "momentum"):
            ours = torch.cat([getattr(getattr(gan, side), name) for gan in gans])
            torch.testing.assert_close(ours, alone[case][f"{name} of {side}"], rtol=1e-8, atol=1e-10)


def test_a_diverged_chain_has_the_number_that_it_has_alone() -> None:
    """Pair 4 of 5 is the third of the second rank."""
    gan = tiny(Ranks(1, 2), **PAIRS)
    gan.iterate()
    gan.generators.theta[2, 0] = float("nan")
    with pytest.raises(BayesganError, match="generator chain 4 "):
        gan.iterate()


REFUSED = {
    "branches": (PAIRS | {"branches": 2}, "branches cannot be shared by ranks: start one process"),
    "mean-field": (
        PAIRS | {"family": "mean-field", "dynamics": "adam", "temperature": 0},
        "Gaussians over weights .* cannot be shared by ranks",
    ),
    "faced": (SHARED | {"faced": 1}, "cannot take mini-batches of them: leave out faced and sweep"),
    "sweep": (SHARED | {"sweep": 2}, "cannot take mini-batches of them: leave out faced and sweep"),
    "too many": (SHARED | {"discriminators": 1}, "2 ranks cannot share 1 × .*: start 1 or fewer"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_ranks_cannot_do_is_refused_by_each(case: str) -> None:
    values, sentence = REFUSED[case]
    for rank in range(2):
        with pytest.raises(BayesganError, match=sentence):
            tiny(Ranks(rank, 2), **values)
    tiny(ALONE, **values)


# Whole runs, as torchrun starts them

SETTINGS: dict[str, Any] = {"generator_width": 8, "discriminator_width": 8, "iterations": 30, "burn_in": 10, "thin": 5}
SETTINGS |= {"generator_rate": 2e-4, "discriminator_rate": 2e-4, "epsilon": 1e-3, "temperature": 0.01}
RUNS: dict[str, dict[str, Any]] = {
    "shared": {
        "coupling": "all",
        "generators": 5,
        "discriminators": 2,
        "marginal": "density",
        "noise_batches": 2,
        "layer_noise": 0.1,
    },
    "pairs": {"generators": 3, "discriminators": 3},
    "matching": {"coupling": "all", "generators": 3, "discriminators": 2, "feature_matching": True},
}


def training(folder: Path, **values: Any) -> list[str]:
    """``bayesgan train`` with a checkpoint after every iteration."""
    arguments = [
        "train",
        "--dataset=digits",
        "--labels=50",
        "--preset=fast",
        "--threads=1",
        "--checkpoint=0",
        "--every=5",
    ]
    changes = [f"--set={name}={json.dumps(value)}" for name, value in (SETTINGS | values).items()]
    return ["-m", "bayesgan", *arguments, *changes, "--out", str(folder)]


def train(size: int, folder: Path, logs: Path, **values: Any) -> list[Ended]:
    return run([sys.executable, *training(folder, **values)], size, logs)


def iteration_of(folder: Path) -> int:
    """That of the checkpoint; 0 while there is none."""
    path = folder / "checkpoint.safetensors"
    if not path.exists():
        return 0
    with safe_open(path, framework="pt") as tensors:
        return int(tensors.metadata()["iteration"])


# Gradients are sums in single precision, of relative rounding 2⁻²⁴ = 6e-8 a term, and the weights of the marginal
# "density" are exponentials of log posteriors of some thousands, which are known to 4e-4: no gradient is worse than
# that, nor is a step that Adam or SGHMC makes of it. The settings are such that differences do not grow: initial
# weights that differ by 1e-7 give last steps that differ by 3e-5 of their length at most (at the rates of the preset,
# by all of it). Other noise, or a gradient that lacks a term, makes another step altogether.
OF_A_STEP = 2e-3
IMAGES = 500  # to count errors on


def assert_same_run(ours: Path, expected: Path) -> None:
    """The same run to the rounding of single precision: checkpoint, samples, metrics, predictions, summary."""
    assert iteration_of(ours) == iteration_of(expected) > 0
    found, wanted = (load_file(folder / "checkpoint.safetensors") for folder in (ours, expected))
    assert found.keys() == wanted.keys()
    steps = {side: wanted[f"{side}.momentum"].norm(dim=1) for side in SIDES}
    for name, tensor in wanted.items():
        assert tensor.shape == found[name].shape, name
        if not tensor.is_floating_point() or name.endswith("adam_steps"):
            assert torch.equal(found[name], tensor), name
            continue
        side = next(side for side in SIDES if name.startswith(side))
        scale = steps[side] if name.endswith(("theta", "momentum")) else tensor.norm(dim=1)
        assert ((found[name] - tensor).norm(dim=1) <= OF_A_STEP * scale).all(), name

    files = [sorted(path.name for path in (folder / "samples").iterdir()) for folder in (ours, expected)]
    assert files[0] == files[1] != []
    for file in files[0]:
        found, wanted = (load_file(folder / "samples" / file) for folder in (ours, expected))
        assert found.keys() == wanted.keys()
        for name, tensor in wanted.items():
            scale = steps[name] if name in steps else tensor.norm(dim=1)
            assert ((found[name] - tensor).norm(dim=1) <= OF_A_STEP * scale).all(), f"{name} of {file}"

    our_lines, lines = ((folder / "metrics.jsonl").read_text().splitlines() for folder in (ours, expected))
    for line, wanted_line in zip(our_lines, lines, strict=True):
        assert_close_json(json.loads(line), json.loads(wanted_line))
    assert_close_json(*(json.loads((folder / "summary.json").read_text()) for folder in (ours, expected)))
    found, wanted = (load_file(folder / "predictions.safetensors") for folder in (ours, expected))
    assert found.keys() == wanted.keys()
    for name in wanted:
        torch.testing.assert_close(found[name], wanted[name], rtol=0, atol=1e-3)


def assert_close_json(ours: Any, expected: Any, name: str = "") -> None:
    """Figures to a thousandth, β̂/α to one per cent, shares of images to two of them; seconds and ranks may be any."""
    if isinstance(expected, dict):
        assert ours.keys() == expected.keys(), name
        for key in expected:
            assert_close_json(ours[key], expected[key], f"{name}.{key}")
    elif isinstance(expected, list):
        assert len(ours) == len(expected), name
        for our, each in zip(ours, expected, strict=True):
            assert_close_json(our, each, name)
    elif "seconds" in name or name == ".ranks":
        assert ours >= 0
    elif isinstance(expected, int | float) and ("error" in name or "called" in name):
        assert abs(ours - expected) <= (2 if isinstance(expected, int) else 2 / IMAGES), name
    elif isinstance(expected, float):
        assert ours == pytest.approx(expected, rel=1e-2 if "noise" in name else 1e-3), name
    else:
        assert ours == expected, name


@pytest.fixture(scope="module")
def by_one(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of runs of one process."""
    folders = {case: tmp_path_factory.mktemp("one") / "run" for case in RUNS}
    with ExitStack() as stack:
        commands = {case: [sys.executable, *training(folder, **RUNS[case])] for case, folder in folders.items()}
        logs = {case: folder.parent / "logs" for case, folder in folders.items()}
        running = {case: stack.enter_context(started(commands[case], 1, logs[case])) for case in RUNS}
        for case, processes in running.items():
            (done,) = ended(processes, logs[case])
            assert done.code == 0, done.errors
    return folders


@pytest.mark.parametrize("case", ["shared", "pairs"])
def test_two_ranks_make_the_run_of_one(case: str, by_one: dict[str, Path], tmp_path: Path) -> None:
    done = train(2, tmp_path / "run", tmp_path / "logs", **RUNS[case])
    assert [each.code for each in done] == [0, 0], done
    assert "errors on 500 test images" in done[0].output
    assert done[1][1:] == ("", "")  # one of them speaks for both
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["ranks"] == 2
    assert_same_run(tmp_path / "run", by_one[case])


def test_torchrun_makes_the_run_of_one(by_one: dict[str, Path], tmp_path: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-addr=127.0.0.1"]
    beside = Path(sys.executable).with_name("torchrun")
    if beside.exists():
        torchrun[:3] = [str(beside)]
    command = [*torchrun, f"--master-port={free_port()}", *training(tmp_path / "run", **RUNS["matching"])]
    (done,) = run(command, 1, tmp_path / "logs")
    assert done.code == 0, done.errors
    assert done.output.count("errors on 500 test images") == 1
    assert_same_run(tmp_path / "run", by_one["matching"])


def test_a_finished_run_is_not_repeated_by_two_ranks(by_one: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(by_one["pairs"], tmp_path / "run")
    done = train(2, tmp_path / "run", tmp_path / "logs", **RUNS["pairs"])
    assert [each.code for each in done] == [0, 0], done
    for name in ("metrics.jsonl", "checkpoint.safetensors", "predictions.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (by_one["pairs"] / name).read_bytes()


LEAVING = """
import atexit, sys
from torch import distributed
from bayesgan.cli import main
atexit.register(lambda: print("not left" if distributed.is_initialized() else "left"))
main()
"""


@pytest.mark.parametrize("fate", ["finished", "refused"])
def test_ranks_leave_the_group_before_they_end(fate: str, tmp_path: Path) -> None:
    """The threads of a group that is still there when the interpreter ends abort the process, one time in a few.

    Then torchrun ends the other ranks too, whatever they are at.
    """
    values: dict[str, Any] = {"iterations": 2, "burn_in": 1, "thin": 1, "coupling": "all"}
    values |= {"faced": 1} if fate == "refused" else {}
    command = [sys.executable, "-c", LEAVING, *training(tmp_path / "run", **values)[2:]]
    for done in run(command, 2, tmp_path / "logs"):
        assert done.output.splitlines()[-1] == "left", done
        assert done.code == (2 if fate == "refused" else 0), done


# A rank that dies


def killed(case: str, size: int, victim: int, folder: Path, logs: Path) -> list[Ended]:
    """SIGKILL for one rank in the middle of a run; the others end by themselves."""
    with started([sys.executable, *training(folder, **RUNS[case])], size, logs) as processes:
        deadline = time.monotonic() + PATIENCE
        while iteration_of(folder) < 13:  # after the burn-in, before the first sample
            assert time.monotonic() < deadline
            assert all(process.poll() is None for process in processes), "ended before it could be killed"
            time.sleep(0.01)
        processes[victim].send_signal(signal.SIGKILL)
        done = ended(processes, logs, SOON)
    assert done[victim].code == -signal.SIGKILL
    assert 13 <= iteration_of(folder) < SETTINGS["iterations"]
    return done


def assert_one_sentence(done: Ended, sentence: str) -> None:
    assert done.code not in (0, -signal.SIGKILL), done
    assert "Traceback" not in done.errors
    lines = [line for line in done.errors.splitlines() if line.strip()]
    assert [line for line in lines if line.startswith("Error: ")] == lines[-1:]
    assert sentence in lines[-1]


@pytest.fixture(scope="module", params=[("shared", 1), ("pairs", 0)], ids=str)
def bereft(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Ended]:
    """A run of two ranks of which one was killed: its folder, and the end of the other."""
    case, victim = request.param
    folder = tmp_path_factory.mktemp("killed") / "run"
    return case, folder, killed(case, 2, victim, folder, folder.parent / "logs")[1 - victim]


def test_a_rank_that_loses_another_ends_with_a_sentence(bereft: tuple[str, Path, Ended]) -> None:
    _, _, survivor = bereft
    assert_one_sentence(survivor, "Another rank")
    assert "give the same command to go on" in survivor.errors


def test_a_run_of_two_ranks_is_gone_on_with_by_one(
    bereft: tuple[str, Path, Ended], by_one: dict[str, Path], tmp_path: Path
) -> None:
    case, folder, _ = bereft
    (done,) = train(1, folder, tmp_path / "logs", **RUNS[case])
    assert done.code == 0, done.errors
    assert_same_run(folder, by_one[case])


@pytest.fixture(scope="module", params=["shared", "pairs"])
def halved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A run of one process that was killed half-way."""
    folder = tmp_path_factory.mktemp("halved") / "run"
    killed(request.param, 1, 0, folder, folder.parent / "logs")
    return request.param, folder


def test_a_run_of_one_is_gone_on_with_by_two_ranks(
    halved: tuple[str, Path], by_one: dict[str, Path], tmp_path: Path
) -> None:
    case, folder = halved
    done = train(2, folder, tmp_path / "logs", **RUNS[case])
    assert [each.code for each in done] == [0, 0], done
    assert_same_run(folder, by_one[case])


# What ranks cannot do


@pytest.mark.parametrize(
    ("values", "method", "sentence"),
    [
        ({"branches": 2}, "bayesgan", "branches cannot be shared by ranks"),
        (
            {"generators": 2, "discriminators": 2, "coupling": "pairs", "temperature": 0.0},
            "lfvi",
            "Gaussians over weights and branches cannot be shared by ranks",
        ),
        ({"coupling": "all", "faced": 1}, "bayesgan", "leave out faced and sweep, or start one process"),
        ({"coupling": "all", "sweep": 2}, "bayesgan", "leave out faced and sweep, or start one process"),
        (
            {"generators": 1, "discriminators": 1},
            "bayesgan",
            "2 ranks cannot share 1 × (1 generators, 1 discriminators)",
        ),
    ],
    ids=["branches", "lfvi", "faced", "sweep", "more ranks than chains"],
)
def test_what_ranks_cannot_do_gets_a_sentence_from_each(
    values: dict[str, Any], method: str, sentence: str, tmp_path: Path
) -> None:
    command = [sys.executable, *training(tmp_path / "run", **values), f"--method={method}"]
    for done in run(command, 2, tmp_path / "logs"):
        assert_one_sentence(done, sentence)
        assert done.output == ""
    assert not (tmp_path / "run").exists()


def test_a_folder_that_the_first_rank_refuses_stops_all(by_one: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(by_one["pairs"], folder)
    first, second = train(2, folder, tmp_path / "logs", **RUNS["pairs"], temperature=0.5)
    assert_one_sentence(first, "holds a run with other settings (settings;")
    assert_one_sentence(second, "Another rank")
