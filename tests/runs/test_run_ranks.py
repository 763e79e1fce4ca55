"""Whole runs by several ranks: the run of one, ranks that die, runs that go on with another number of them."""

import json
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from bayesgan.base.errors import BayesganError
from bayesgan.runs.images import Task, Training
from bayesgan.sampler.distributed import Ranks
from bayesgan.settings.names import SIDES, Method
from tests.helpers.commands import called
from tests.helpers.processes import PATIENCE, SOON, Ended, ended, free_port, run, started

pytestmark = pytest.mark.usefixtures("one_thread")


SETTINGS: dict[str, Any] = {"generator_width": 8, "discriminator_width": 8, "iterations": 30, "burn_in": 10, "thin": 5}
SETTINGS |= {"generator_rate": 2e-4, "discriminator_rate": 2e-4, "epsilon": 1e-3, "temperature": 0.01}
SETTINGS |= {"real_batch": 64, "fake_batch": 64, "label_batch": 100}
RUNS: dict[str, dict[str, Any]] = {
    "shared": {
        "coupling": "all",
        "generators": 5,
        "discriminators": 2,
        "marginal": "density",
        "noise_batches": 2,
        "architecture": "dcgan",
        "layer_noise": 0.1,
    },
    "pairs": {"generators": 3, "discriminators": 3, "balance": 0.5, "labels_first": 0.2, "change_generated": True},
    "matching": {"coupling": "all", "generators": 3, "discriminators": 2, "feature_matching": True},
}


def training(folder: Path, **values: Any) -> list[str]:
    """The words of ``bayesgan train`` with a checkpoint after every iteration."""
    arguments = ["--dataset=digits", "--labels=50", "--preset=fast", "--threads=1", "--checkpoint=0", "--every=5"]
    changes = [f"--set={name}={json.dumps(value)}" for name, value in (SETTINGS | values).items()]
    return ["train", *arguments, *changes, "--out", str(folder)]


def command(folder: Path, **values: Any) -> list[str]:
    return [sys.executable, "-m", "bayesgan", *training(folder, **values)]


# ``bayesgan``, and at the very end whether it is still in the group of ranks. The threads of a group that is there when
# the interpreter ends abort the process, one time in a few; then torchrun ends the other ranks too, whatever they do.
LEAVING = """
import atexit
from torch import distributed
from bayesgan.cli import main
atexit.register(lambda: print("not left" if distributed.is_initialized() else "left"))
main()
"""


def train(size: int, folder: Path, logs: Path, **values: Any) -> list[Ended]:
    return run(command(folder, **values), size, logs)


def iteration_of(folder: Path) -> int:
    """That of the checkpoint; 0 while there is none."""
    path = folder / "checkpoint.safetensors"
    if not path.exists():
        return 0
    with safe_open(path, framework="pt") as tensors:
        return int(tensors.metadata()["iteration"])


# Gradients are sums in single precision, of relative rounding 2⁻²⁴ = 6e-8 a term, and the weights of the marginal
# "density" are exponentials of log posteriors of some thousands, which are known to 4e-4. Differences stay small at
# these rates until a unit switches on for an image in one run and not in the other: initial weights that differ by
# 1e-7 give last steps that differ by 6e-7 of their length where none does, and by up to 2e-2 where some do (at the
# rates of the preset, by all of it). Other noise, or a gradient that lacks a term, makes another step altogether;
# gradients themselves are compared in tests/sampler/test_distributed.py, to rounding.
OF_A_STEP = 5e-2
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
        if name == "given":
            torch.testing.assert_close(found[name], tensor, rtol=OF_A_STEP, atol=0.0)
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
    for case, folder in folders.items():
        assert called(*training(folder, **RUNS[case])) == 0
    return folders


@pytest.fixture(scope="module", params=["shared", pytest.param("pairs", marks=pytest.mark.slow)])
def by_two(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, list[Ended]]:
    """A run of two ranks: which, its folder, and what they said."""
    folder = tmp_path_factory.mktemp("two") / "run"
    words = [sys.executable, "-c", LEAVING, *training(folder, **RUNS[request.param])]
    return request.param, folder, run(words, 2, folder.parent / "logs")


def test_two_ranks_make_the_run_of_one(by_two: tuple[str, Path, list[Ended]], by_one: dict[str, Path]) -> None:
    case, folder, done = by_two
    assert [each.code for each in done] == [0, 0], done
    assert "errors on 500 test images" in done[0].output
    assert done[1][1:] == ("left\n", "")  # one of them speaks for both
    assert json.loads((folder / "summary.json").read_text())["ranks"] == 2
    assert_same_run(folder, by_one[case])


def test_ranks_leave_the_group_before_they_end(by_two: tuple[str, Path, list[Ended]]) -> None:
    for done in by_two[2]:
        assert done.output.splitlines()[-1] == "left", done
        assert done.code == 0, done


@pytest.mark.slow
def test_torchrun_makes_the_run_of_one(by_one: dict[str, Path], tmp_path: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-addr=127.0.0.1"]
    beside = Path(sys.executable).with_name("torchrun")
    if beside.exists():
        torchrun[:3] = [str(beside)]
    words = ["-m", "bayesgan", *training(tmp_path / "run", **RUNS["matching"])]
    (done,) = run([*torchrun, f"--master-port={free_port()}", *words], 1, tmp_path / "logs")
    assert done.code == 0, done.errors
    assert done.output.count("errors on 500 test images") == 1
    assert_same_run(tmp_path / "run", by_one["matching"])


def test_a_finished_run_is_not_repeated_by_two_ranks(by_one: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(by_one["pairs"], tmp_path / "run")
    done = train(2, tmp_path / "run", tmp_path / "logs", **RUNS["pairs"])
    assert [each.code for each in done] == [0, 0], done
    for name in ("metrics.jsonl", "checkpoint.safetensors", "predictions.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (by_one["pairs"] / name).read_bytes()


# A rank that dies


def killed(case: str, size: int, victim: int, folder: Path, logs: Path) -> list[Ended]:
    """SIGKILL for one rank in the middle of a run; the others end by themselves."""
    with started(command(folder, **RUNS[case]), size, logs) as processes:
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


@pytest.fixture(scope="module", params=[("shared", 1), pytest.param(("pairs", 0), marks=pytest.mark.slow)], ids=str)
def bereft(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Ended]:
    """A run of two ranks of which one was killed: its folder, and the end of the other."""
    case, victim = request.param
    folder = tmp_path_factory.mktemp("killed") / "run"
    return case, folder, killed(case, 2, victim, folder, folder.parent / "logs")[1 - victim]


def test_a_rank_that_loses_another_ends_with_a_sentence(bereft: tuple[str, Path, Ended]) -> None:
    _, _, survivor = bereft
    assert_one_sentence(survivor, "Another rank")
    assert "give the same command to go on" in survivor.errors


def test_a_run_of_two_ranks_is_gone_on_with_by_one(bereft: tuple[str, Path, Ended], by_one: dict[str, Path]) -> None:
    case, folder, _ = bereft
    assert called(*training(folder, **RUNS[case])) == 0
    assert_same_run(folder, by_one[case])


@pytest.fixture(scope="module", params=["shared", pytest.param("pairs", marks=pytest.mark.slow)])
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


REFUSED: dict[str, tuple[Method, dict[str, Any], str]] = {
    "lfvi": (
        "lfvi",
        {"generators": 2, "discriminators": 2, "coupling": "pairs", "temperature": 0.0},
        "Gaussians over weights cannot be shared by ranks",
    ),
    "chain_batch": (
        "bayesgan",
        {"coupling": "all", "chain_batch": 1, "consensus": 0.0},
        "leave out chain_batch, or start one process",
    ),
    "more ranks than chains": (
        "bayesgan",
        {"generators": 1, "discriminators": 1},
        "2 ranks cannot share 1 × (1 generators, 1 discriminators)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_ranks_cannot_do_gets_a_sentence_before_anything_is_written(case: str, tmp_path: Path) -> None:
    method, values, sentence = REFUSED[case]
    task = Task("digits", 50, method=method, overrides=SETTINGS | values)
    for rank in range(2):
        with pytest.raises(BayesganError) as refusal:
            Training(task, tmp_path / "run", Path(), torch.device("cpu"), ranks=Ranks(rank, 2))
        assert sentence in str(refusal.value)
    assert not (tmp_path / "run").exists()


def test_what_ranks_cannot_do_gets_a_sentence_from_each_and_they_leave_the_group(tmp_path: Path) -> None:
    _, values, sentence = REFUSED["chain_batch"]
    words = [sys.executable, "-c", LEAVING, *training(tmp_path / "run", **values)]
    for done in run(words, 2, tmp_path / "logs"):
        assert_one_sentence(done, sentence)
        assert done.code == 2
        assert done.output == "left\n"
    assert not (tmp_path / "run").exists()


def test_a_folder_that_the_first_rank_refuses_stops_all(by_one: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(by_one["pairs"], folder)
    first, second = train(2, folder, tmp_path / "logs", **RUNS["pairs"], temperature=0.5)
    assert_one_sentence(first, "holds a run with other settings (settings;")
    assert_one_sentence(second, "Another rank")
