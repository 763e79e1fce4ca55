"""The study of where sampling pays: its labels, its budget and its verdicts."""

from pathlib import Path

import numpy as np
import pytest
import torch
from studies.sampling import Study
from studies.sampling_cells import CELLS, Choice

from bayesgan.base.errors import BayesganError
from studies import sampling, sampling_table

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize(("name", "wrong"), [("clean 200", 0), ("wrong 20 %", 40), ("wrong 40 %", 80)])
def test_so_many_labels_are_wrong_and_each_of_them_is_another_class(name: str, wrong: int) -> None:
    labels = sampling.labels_of(CELLS[name], 3, "test")
    images, _ = sampling.digits("test")
    assert int((labels.classes != torch.from_numpy(images.train_labels)[labels.indices]).sum()) == wrong
    assert labels.classes.min() >= 0
    assert labels.classes.max() < 10


@pytest.mark.parametrize("temperature", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("members", [8, 32])
def test_everybody_has_as_many_gradients(temperature: float, members: int) -> None:
    chosen = sampling.settings(CELLS["clean 50"], temperature, Choice("printed", 1.0, members), 9600, 1297)
    length = chosen.length
    assert (length.iterations - length.burn_in) * chosen.populations.discriminators == 9600
    assert chosen.populations.discriminators == members
    assert (len(length.collected) == 1) == (temperature == 0)


def test_what_is_left_to_somebody_else_is_what_is_least_certain() -> None:
    """Of four, surest first: right, wrong, right, wrong: errors of 0, 1/2, 1/3 and 1/2."""
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.6, 0.4]])
    assert sampling.rejection(probabilities, np.array([0, 0, 0, 1])) == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)


def test_an_interval_is_students_of_the_paired_difference() -> None:
    """Differences −2, −1, 0: mean −1, deviation 1, t with 2 degrees of freedom 4.3027; theirs 10 on average."""
    ratio, low, high = sampling_table.interval([7.0, 9.0, 11.0], [9.0, 10.0, 11.0])
    half = 4.302653 / 3**0.5 / 10
    assert (ratio, low, high) == pytest.approx((0.9, 0.9 - half, 0.9 + half))
    assert sampling_table.verdict((0.8, 0.7, 0.9)).endswith("better")
    assert sampling_table.verdict((1.2, 1.1, 1.3)).endswith("worse")
    assert sampling_table.verdict((1.0, 0.9, 1.1)).endswith("not told apart")


def test_a_posterior_is_compared_with_the_ensemble_that_is_best_on_the_same_images() -> None:
    one = Choice("printed", 1.0, 8)
    runs = {"flat ensemble": (4.0, 5.0), "MAP ensemble": (2.0, 5.0), "T = 0.1": (3.0, 3.0), "T = 1": (1.0, 2.0)}
    tested = {title: (one, [{"errors": each} for each in errors]) for title, errors in runs.items()}
    assert sampling_table.best_ensemble(tested, "errors") == "MAP ensemble"
    assert sampling_table.against(tested, "T = 1", "errors")[0] == pytest.approx(1.5 / 3.5)


def test_the_smallest_form_has_rows_for_everybody() -> None:
    table = sampling.main(["--smallest"])
    for title in ("flat ensemble", "MAP ensemble", "T = 0.1", "T = 1", "T = 0.1, prior of T = 1"):
        assert f"\n| {title} |" in table


def test_a_table_is_of_all_cells_that_have_ended(tmp_path: Path) -> None:
    study = Study(tmp_path)
    for name in ("clean 50", "clean 20"):
        study.keep(f"{name} | ended", {})
    study.keep("wrong 20 % | T = 1 | printed 1.0 8 0.001 | test 9", {"errors": 7})
    assert study.ended() == ["clean 20", "clean 50"]


def test_what_is_known_is_not_computed_again(tmp_path: Path) -> None:
    study = Study(tmp_path)
    choice = Choice("printed", 1.0, 8)
    study.keep("clean 20 | T = 1 | printed 1.0 8 0.001 | test 0", {"errors": 7})
    assert study.found("clean 20", "T = 1", choice, 0, "test") == {"errors": 7}


def test_an_unknown_cell_is_refused() -> None:
    with pytest.raises(BayesganError, match="'clean' is none of clean 20"):
        sampling.main(["clean"])
