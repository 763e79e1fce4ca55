"""Figures of errors, and which figures there are of which runs."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from bayesgan.base.errors import BayesganError
from bayesgan.cli.figures import figures
from bayesgan.paper.figures import (
    LINES,
    Curve,
    _mark,
    by_settings,
    draw,
    errors,
    joined,
    one_line,
    reported_share,
)
from bayesgan.runs.images import Training
from bayesgan.runs.saved import Evaluation, find_runs, read_run
from bayesgan.settings.names import METHODS
from tests.helpers.trained import spoilt, with_setting

pytestmark = pytest.mark.usefixtures("one_thread")


def evaluations(points: dict[int, float | None], pace: float) -> list[Evaluation]:
    return [
        Evaluation(iteration=iteration, seconds=pace * iteration, chains_error=error, average_error=None)
        for iteration, error in points.items()
    ]


def test_curves_are_joined_on_the_iterations_that_all_runs_have() -> None:
    first = evaluations({10: None, 20: 0.5, 30: 0.4, 40: 0.3, 45: 0.2}, pace=1.0)
    second = evaluations({20: 0.7, 25: 0.6, 40: 0.1, 45: None}, pace=2.0)
    curve = joined([first, second], "chains_error")
    np.testing.assert_array_equal(curve.iterations, [20, 40])
    np.testing.assert_array_equal(curve.seconds, [[20, 40], [40, 80]])
    np.testing.assert_array_equal(curve.errors, [[0.5, 0.3], [0.7, 0.1]])
    assert len(joined([first, second], "average_error").iterations) == 0


def test_one_line_ends_in_the_model_average_and_leaves_single_draws_out() -> None:
    *before, ninth, last = evaluations({2: 0.5, 4: 0.4, 8: 0.6, 9: 0.7, 10: 0.8}, pace=1.0)
    averages = [ninth.model_copy(update={"average_error": 0.3}), last.model_copy(update={"average_error": 0.2})]
    line = one_line([*before, *averages])
    assert [(each.iteration, each.chains_error) for each in line] == [(2, 0.5), (4, 0.4), (8, 0.6), (10, 0.2)]


def test_one_line_shows_draws_that_are_far_apart() -> None:
    falling = [
        each.model_copy(update={"average_error": 0.3})
        for each in evaluations({100: 0.5, 200: 0.4, 300: 0.35}, pace=1.0)
    ]
    line = one_line(falling)
    assert [(each.iteration, each.chains_error) for each in line] == [(100, 0.5), (200, 0.4), (300, 0.3)]


def test_runs_kept_without_their_weights_show_their_errors(grid: Path, tmp_path: Path) -> None:
    for samples in grid.rglob("samples"):
        shutil.rmtree(samples)
    files = draw(find_runs([grid])[0], tmp_path)
    assert {file.name for file in files} == {"errors-digits-20.png", "errors-digits-20.svg"}


def test_every_figure_is_written_twice_the_same(grid: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (grid / "started").mkdir()
    (grid / "started" / "config.json").write_text("{}")
    content = []
    for out in (grid / "a", grid / "b"):
        figures([grid], out)
        content.append({path.name: path.read_bytes() for path in out.iterdir()})
    names = [
        f"{name}.{kind}"
        for name in ("errors-digits-20", "generators-digits", "samples-digits", "styles-digits")
        for kind in ("png", "svg")
    ]
    assert sorted(content[0]) == sorted(names)
    assert content[0] == content[1]
    assert not any(b"dc:date" in each for each in content[0].values())
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "Finished runs: 6; unfinished ones, left out: 1."
    assert sorted(said[1:9]) == sorted(str(grid / "a" / name) for name in names)


def test_runs_are_named_by_what_tells_them_apart(grid: Path) -> None:
    found = by_settings(find_runs([grid])[0])
    assert {name: len(runs) for name, runs in found.items()} == {
        "BayesGAN": 2,
        "BayesGAN, temperature=0.0": 1,
        "DCGAN": 2,
        "DCGAN-10": 1,
    }


def test_a_run_of_an_older_preset_is_by_settings(grid: Path) -> None:
    """Whatever its summary says that it changed: presets change, too."""
    with_setting(grid / "dcgan-1", epsilon=0.5)
    named = by_settings(find_runs([grid / "dcgan-0", grid / "dcgan-1"])[0])
    assert {name: len(runs) for name, runs in named.items()} == {"DCGAN": 1, "DCGAN, epsilon=0.5": 1}


def test_the_axes_hold_the_mean_over_runs(grid: Path) -> None:
    runs = find_runs([grid])[0]
    left, right = errors(runs).axes
    pair = [read_run(grid / name).evaluations for name in ("dcgan-0", "dcgan-1")]
    values = {
        key: np.mean([[getattr(each, key) for each in run] for run in pair], axis=0)
        for key in ("iteration", "seconds", "chains_error")
    }
    for axes, key in ((left, "iteration"), (right, "seconds")):
        line = next(line for line in axes.lines if line.get_label() == "DCGAN (2 runs)")
        np.testing.assert_allclose(np.asarray(line.get_xdata(), float), values[key])
        np.testing.assert_allclose(np.asarray(line.get_ydata(), float), values["chains_error"])


@pytest.mark.parametrize(("dataset", "share"), [("mnist", 0.0079), ("svhn", None), ("digits", None)])
def test_the_papers_error_is_a_share_where_the_paper_has_one(dataset: str, share: float | None) -> None:
    assert reported_share(dataset, 100) == (None if share is None else pytest.approx(share))


def test_a_ring_marks_where_a_curve_first_passes_the_papers_error() -> None:
    left, right = Figure().subplots(1, 2)
    steps, seconds = np.array([10, 20, 30]), np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])
    passes = Curve(steps, seconds, np.array([[0.2, 0.12, 0.1], [0.2, 0.12, 0.08]]))  # the mean at the second step
    never = Curve(steps, seconds, np.full((2, 3), 0.5))
    _mark(left, right, [passes, never], 0.129)
    for axes, place in ((left, 20), (right, 3.0)):
        line, ring = axes.lines
        assert set(np.asarray(line.get_ydata())) == {0.129}
        assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (place, pytest.approx(0.12))


def test_without_dcgans_there_is_no_panel_of_them(grid: Path, tmp_path: Path) -> None:
    files = draw(find_runs([grid / "deep"])[0], tmp_path / "out")
    assert {path.stem for path in files} == {"errors-digits-20", "samples-digits", "styles-digits"}


def test_errors_on_different_images_are_not_drawn_together(grid: Path) -> None:
    for name in ("config.json", "summary.json"):
        spoilt(grid / "dcgan-1", name, split="validation")
    with pytest.raises(BayesganError, match="name runs of one kind"):
        draw(find_runs([grid])[0], grid / "out")


def test_pictures_of_the_posterior_are_not_those_of_the_ensemble(
    ensemble: Training, grid: Path, tmp_path: Path
) -> None:
    files = draw(find_runs([ensemble.folder, grid / "dcgan-0"])[0], tmp_path / "out")
    assert {file.stem for file in files} == {"errors-digits-20"}


def test_the_ensemble_has_a_line_of_its_average_as_the_bayesian_gan_has(ensemble: Training, grid: Path) -> None:
    left, _ = errors(find_runs([grid / "deep", ensemble.folder])[0]).axes
    named = {str(line.get_label()): line for line in left.lines}
    for name in ("BayesGAN (2 runs)", "Ensemble"):
        assert f"{name}: model average" in named
        assert f"{name}: present chains" in named
    averages = {each.iteration: each.average_error for each in read_run(ensemble.folder).evaluations}
    line = named["Ensemble: model average"]
    found = dict(zip(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()), strict=True))
    assert found == {iteration: error for iteration, error in averages.items() if error is not None}


def test_every_method_has_a_look_of_its_own() -> None:
    looks = {method: tuple(sorted((key, str(value)) for key, value in LINES[method].items())) for method in METHODS}
    assert len({*looks.values()}) == len(METHODS)
    assert len({str(look["color"]) for look in LINES.values()}) == len(LINES)


def test_where_there_is_nothing_to_draw_a_sentence_says_so(grid: Path, tmp_path: Path) -> None:
    for name in ("config.json", "summary.json"):
        spoilt(grid / "dcgan-1", name, labels=0)
    with pytest.raises(BayesganError, match="neither errors nor"):
        draw(find_runs([grid / "dcgan-1"])[0], tmp_path / "out")
    metrics = grid / "cold" / "metrics.jsonl"
    metrics.write_text(json.dumps(json.loads(metrics.read_text().splitlines()[0]) | {"average_error": None}))
    with pytest.raises(BayesganError, match="There is no iteration with average_error"):
        draw(find_runs([grid / "cold"])[0], tmp_path / "out")


def test_damaged_evaluations_are_named(grid: Path) -> None:
    (grid / "dcgan-0" / "metrics.jsonl").write_text("{")
    with pytest.raises(BayesganError, match=r"dcgan-0/metrics\.jsonl is damaged"):
        draw(find_runs([grid])[0], grid / "out")


def test_own_pictures_are_for_the_report(grid: Path) -> None:
    own = {"images": "/pictures", "labels_file": None, "test_images": None, "held_out": 0.2, "size": None}
    for name, values in (("config.json", {"own": own, "like": "digits"}), ("summary.json", {})):
        spoilt(grid / "dcgan-1", name, dataset="own", **values)
    with pytest.raises(BayesganError, match=r"is of your own pictures: 'bayesgan report .*/dcgan-1' draws"):
        draw(find_runs([grid])[0], grid / "out")
