"""Finished runs read back: from their folders alone, and what is damaged in them."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.runs.images import Training
from bayesgan.runs.saved import find_runs, load, read_logged, read_run
from tests.helpers.trained import spoilt

COMMITTED = Path(__file__).parents[2] / "results" / "table1-dcgan" / "runs"

Once = tuple[Training, dict[str, Any]]


def test_a_run_is_read_back_from_its_folder_alone(once: Once) -> None:
    training, summary = once
    run = read_run(training.folder)
    assert run.folder == training.folder
    assert run.settings == run.record.settings == training.task.settings
    assert run.task.identity == training.task.identity
    assert run.changed == training.task.changed == summary["changed"]
    assert run.summary.test_errors == summary["test_errors"]
    assert run.environments == training.run.environments
    assert run.has_samples
    for found, wanted in zip(run.evaluations, training.run.metrics, strict=True):
        assert found.model_dump() == {name: wanted[name] for name in type(found).model_fields}


def test_its_posterior_makes_the_predictions_of_the_training(once: Once) -> None:
    training, summary = once
    images = training.images.test.transpose(0, 2, 3, 1)
    wanted = training.average.probabilities.numpy()
    for posterior in (read_run(training.folder).posterior(), load(str(training.folder))):
        assert posterior.shape == training.images.train.shape[1:]
        assert posterior.classes == training.images.classes
        assert len(posterior) == summary["samples"]
        np.testing.assert_allclose(posterior.predict_proba(images), wanted, atol=1e-6)


def test_a_committed_run_is_read_with_its_figures() -> None:
    run = read_run(COMMITTED / "mnist-100-bayesgan-0")
    assert (run.record.version, run.record.dataset, run.record.labels) == ("0.1.0", "mnist", 100)
    there = json.loads((run.folder / "summary.json").read_text())
    assert run.summary.test_errors == there["test_errors"]
    assert run.summary.test_size == 10_000
    lines = (run.folder / "metrics.jsonl").read_text().splitlines()
    assert [each.iteration for each in run.evaluations] == [json.loads(line)["iteration"] for line in lines]
    assert run.evaluations[-1].average_error == there["test_error"]
    assert run.environments == json.loads((run.folder / "environments.json").read_text())
    assert not run.has_samples
    with pytest.raises(BayesganError, match="has ended, but its weights are not there"):
        run.posterior()


def test_every_committed_run_is_finished() -> None:
    finished, unfinished = find_runs([COMMITTED])
    assert (len(finished), unfinished) == (len(list(COMMITTED.iterdir())), 0)
    assert all(run.evaluations[-1].iteration == run.summary.iterations for run in finished)


@pytest.mark.parametrize(
    "values",
    [
        {"dataset": "mnist"},
        {"labels": 31},
        {"subset": 1},
        {"method": "dcgan"},
        {"split": "validation"},
        {"labelled_sha256": "0"},
        {"iterations": 13},
    ],
    ids=str,
)
def test_the_summary_of_another_run_is_refused(folder: Path, values: dict[str, Any]) -> None:
    spoilt(folder, "summary.json", **values)
    with pytest.raises(BayesganError, match=r"summary\.json is of another run: leave out"):
        read_run(folder)
    with pytest.raises(BayesganError, match=r"summary\.json is of another run: train again\."):
        read_run(folder, "train again")


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl", "summary.json"])
@pytest.mark.parametrize("text", ["", "{", "[]", '{"settings": {"generators": -1}}'])
def test_a_damaged_file_is_named(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(BayesganError, match=f"run/{name} is damaged"):
        assert read_run(folder).evaluations


@pytest.mark.parametrize("text", [None, "{", "{}", "[1]", '[{"device": "cpu"}]'])
def test_machines_that_are_not_on_record_are_none(folder: Path, text: str | None) -> None:
    if text is None:
        (folder / "environments.json").unlink()
    else:
        (folder / "environments.json").write_text(text)
    assert read_run(folder).environments == []


def test_what_was_logged_of_the_chains_is_read_back(once: Once, folder: Path) -> None:
    """A kill may have torn the last line; a damaged one before it is named."""
    collected = list(once[0].gan.settings.length.collected)
    found = read_logged(folder)
    assert [each.iteration for each in found] == collected
    chains = once[0].gan.settings.populations.discriminators
    assert len(found[0].motion["discriminators"]["kinetic"]) == chains
    path = folder / "metrics.jsonl"
    whole = path.read_text()
    path.write_text(whole[: whole.index("\n") + 1] + whole[-30:-1])
    assert [each.iteration for each in read_logged(folder)] == []
    path.write_text("torn\n" + whole)
    with pytest.raises(BayesganError, match=r"metrics\.jsonl is damaged"):
        read_logged(folder)
    path.unlink()
    assert read_logged(folder) == []


def test_what_cannot_be_computed_on_is_refused(once: Once) -> None:
    with pytest.raises(BayesganError, match="Device 'tpu' cannot be used on this machine"):
        load(once[0].folder, "tpu")


def test_a_run_named_twice_counts_once(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "deep" / "other"
    shutil.copytree(folder, other)
    found, unfinished = find_runs([tmp_path, tmp_path / "deep", other, tmp_path / "deep" / ".." / "run"])
    assert {run.folder.resolve() for run in found} == {folder, other}
    assert len(found) == 2
    assert unfinished == 0


def test_unfinished_runs_are_counted_and_left_out(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "started").mkdir()
    (tmp_path / "started" / "config.json").write_text("{}")
    found, unfinished = find_runs([tmp_path])
    assert [run.folder for run in found] == [folder]
    assert unfinished == 1


def test_where_there_are_no_finished_runs_a_sentence_says_so(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BayesganError, match="is not a folder"):
        find_runs([tmp_path / "nowhere"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(BayesganError, match="There is no run in"):
        find_runs([tmp_path / "empty"])
    (folder / "summary.json").unlink()
    with pytest.raises(BayesganError, match="is finished"):
        find_runs([folder])
