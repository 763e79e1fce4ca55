"""Grids of small real runs: which runs there are, how one is done, what is refused."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from safetensors.torch import load_file

from bayesgan.base.errors import BayesganError
from bayesgan.base.files import locked
from bayesgan.paper.board import Board
from bayesgan.paper.grid import Grid, Job, attempt, finished, folder, found_in
from bayesgan.runs.images import Training
from bayesgan.settings.methods import SAMPLED
from bayesgan.settings.names import METHODS, Method
from tests.helpers.grids import TINY, summary_of, tiny

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_grid_has_every_run_once_subset_after_subset(tmp_path: Path) -> None:
    jobs = Grid(["digits", "mnist"]).jobs(tmp_path, Path())
    assert len(jobs) == len({job.folder for job in jobs}) == 2 * 4 * len(METHODS) * 10
    assert [job.task.subset for job in jobs] == sorted(job.task.subset for job in jobs)
    assert {job.task.labels for job in jobs if job.task.dataset == "mnist"} == {20, 50, 100, 200}  # the paper's
    assert all(job.task.seed == job.task.subset for job in jobs)


def test_the_ensemble_is_the_bayesian_gan_at_temperature_0_with_a_flat_prior(tmp_path: Path) -> None:
    bayesian, ensemble = tiny(tmp_path, methods=["bayesgan", "ensemble"])
    settings = bayesian.task.settings
    assert settings.sampler.temperature > 0
    assert settings.prior.generator_prior is not None
    assert ensemble.task.settings.flat() == settings.flat() | {
        "temperature": 0.0,
        "generator_prior": None,
        "discriminator_prior": None,
    }


@pytest.mark.parametrize("method", METHODS)
def test_a_run_of_each_method_ends_in_a_row(method: Method, tmp_path: Path) -> None:
    (job,) = tiny(tmp_path, methods=[method])
    assert finished(job) is None
    assert attempt(job) is None
    found = finished(job)
    assert found is not None
    ours = found.row
    assert (ours.method, ours.status) == (method, "done")
    assert ours.test_size == 500
    assert ours.iterations == 6
    assert ours.test_errors == summary_of(job)["test_errors"]
    assert found.changed.items() >= TINY.items()
    assert "1 thread of " in (found.machine or "")
    assert len(ours.labelled_sha256 or "") == 64


def test_a_run_that_has_ended_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = tiny(tmp_path)
    assert attempt(job) is None
    monkeypatch.setattr(Training, "__init__", lambda *_: pytest.fail("trained again"))
    assert attempt(job) is None


def test_a_half_finished_run_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def looks(job: Job, end: int = 1000) -> int:
        """How often the run looked whether it is still wanted, until it was killed at the ``end``."""
        seen = count(1)

        def still_wanted() -> bool:
            if (number := next(seen)) == end:
                raise Killed
            return number < end

        with suppress(Killed):
            assert attempt(job, still_wanted) is None
        return next(seen) - 1

    monkeypatch.setattr("bayesgan.paper.grid.Training", partial(Training, checkpoint_seconds=0.0))
    (whole,), (halved,) = (tiny(tmp_path / name, methods=["bayesgan"]) for name in ("whole", "halved"))
    in_all = looks(whole)
    assert looks(halved, end=4) == 4
    assert finished(halved) is None
    assert looks(halved) < in_all
    ours, theirs = (load_file(job.folder / "predictions.safetensors") for job in (halved, whole))
    assert all(ours[key].equal(theirs[key]) for key in theirs)


def test_a_run_with_other_settings_in_its_place_is_refused(tmp_path: Path) -> None:
    (job,) = tiny(tmp_path)
    attempt(job)
    other = replace(job, task=replace(job.task, overrides=TINY | {"iterations": 7}))
    with pytest.raises(BayesganError, match="other settings"):
        finished(other)
    with pytest.raises(BayesganError, match="other settings"):
        Board([other])


def test_what_goes_wrong_is_a_reason_and_not_an_exception(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = tiny(tmp_path)
    (missing,) = tiny(tmp_path, datasets=["mnist"])
    assert "bayesgan data get mnist" in (attempt(missing) or "")
    (too_many,) = tiny(tmp_path, labels=[5000])
    assert "5000" in (attempt(too_many) or "")
    with locked(job.folder):
        monkeypatch.setattr("bayesgan.paper.grid.PATIENCE", 0.0)
        assert "Another process" in (attempt(job) or "")
        assert not (job.folder / "failure.txt").exists()  # it is the other process's folder
    monkeypatch.setattr(Training, "train", lambda *_: 1 / 0)
    assert attempt(job) == "ZeroDivisionError: division by zero"
    assert "1 / 0" in (job.folder / "failure.txt").read_text()


def test_changes_leave_alone_what_makes_a_method_what_it_is(tmp_path: Path) -> None:
    changes = TINY | {
        "temperature": 0.1,
        "generators": 3,
        "discriminators": 3,
        "generator_prior": 2.0,
        "discriminator_prior": 2.0,
        "thin": 1,
    }
    jobs = Grid(["digits"], subsets=1, labels=[20], overrides=changes).jobs(tmp_path, Path())
    settings = {job.task.method: job.task.settings for job in jobs}
    assert {name: each.populations.generators for name, each in settings.items()} == {
        **{"bayesgan": 3, "ensemble": 3, "dcgan": 1, "wdcgan": 1, "lfvi": 1, "dcgan10": 10, "supervised": 0},
        **{"plain": 3, "discriminative": 0, "dcgan-teacher": 1, "dcgan10-consensus": 10},
    }
    assert {name for name, each in settings.items() if each.sampler.temperature > 0} == {*SAMPLED} - {"ensemble"}
    assert {name for name, each in settings.items() if each.length.thin == 1} >= {"bayesgan", "ensemble"}
    dcgan = settings["dcgan"]
    assert dcgan.length.iterations - dcgan.length.burn_in == dcgan.length.thin  # one sample, the last
    assert dcgan.prior.generator_prior is None


def test_a_long_run_is_evaluated_twenty_times(tmp_path: Path) -> None:
    short, long = (Grid(["digits"], overrides={"iterations": each}).jobs(tmp_path, Path())[0] for each in (200, 10**4))
    assert (short.task.every, long.task.every) == (100, 500)


def test_a_folder_is_named_by_what_is_trained_in_it(tmp_path: Path) -> None:
    jobs = tiny(tmp_path, methods=["ensemble", "dcgan10"], labels=[20, 50], subsets=2)
    names = {job.folder.relative_to(tmp_path / "runs").name for job in jobs}
    assert names == {f"digits-{n}-{method}-{m}" for n in (20, 50) for method in ("ensemble", "dcgan10") for m in (0, 1)}
    assert all(folder(tmp_path, job.task) == job.folder for job in jobs)
    assert jobs[0].name == "digits, 20 labels, ensemble, subset 0"


def test_what_has_ended_or_failed_is_found_in_its_folder(tmp_path: Path) -> None:
    done, failed, _ = tiny(tmp_path, labels=[20, 5000, 50])
    assert attempt(done) is None
    reason = attempt(failed)
    found = found_in(tmp_path, ())
    assert {path: each.row.status for path, each in found.items()} == {
        done.folder: "done",
        failed.folder: f"failed: {reason}",
    }
    assert found[done.folder] == finished(done)
    assert found_in(tmp_path, {done.folder}).keys() == {failed.folder}
