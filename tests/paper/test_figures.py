import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from bayesgan.base.errors import BayesganError
from bayesgan.cli.figures import figures
from bayesgan.paper.figures import draw, errors, joined, one_line, systems
from bayesgan.paper.sheets import dcgans, most_different
from bayesgan.runs.images import Task, Training
from bayesgan.runs.saved import Evaluation, find_runs, latest, read_run
from bayesgan.settings.systems import ENSEMBLE

SMALL = {"iterations": 6, "generator_width": 4, "discriminator_width": 4, "features": 8, "noise_dim": 5}
CPU = torch.device("cpu")


def trained(folder: Path, **values: Any) -> Training:
    overrides = SMALL | values.pop("overrides", {})
    training = Training(Task("digits", 20, every=2, overrides=overrides, **values), folder, Path(), CPU)
    training.train()
    return training


@pytest.fixture(scope="module")
def trainings(tmp_path_factory: pytest.TempPathFactory, one_thread: None) -> dict[str, Training]:
    """Two subsets of two systems, an ensemble of DCGANs and the same chains at temperature 0, by folder."""
    root = tmp_path_factory.mktemp("grid")
    short = {"generators": 4, "discriminators": 4, "burn_in": 2, "thin": 2}  # two samples of four chains
    tasks: list[tuple[str, dict[str, Any]]] = [
        ("deep/down/bayesgan-0", {"overrides": short}),
        ("deep/bayesgan-1", {"overrides": short, "subset": 1}),
        ("dcgan-0", {"method": "dcgan"}),
        ("dcgan-1", {"method": "dcgan", "subset": 1}),
        ("dcgan10", {"method": "dcgan10"}),
        ("cold", {"overrides": short | {"temperature": 0.0}}),
    ]
    return {name: trained(root / name, **values) for name, values in tasks}


@pytest.fixture
def grid(trainings: dict[str, Training], tmp_path: Path) -> Path:
    """A copy of the run folders, to spoil."""
    return Path(shutil.copytree(trainings["cold"].folder.parent, tmp_path / "grid"))


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


def test_a_run_named_twice_counts_once(grid: Path) -> None:
    found, unfinished = find_runs([grid / "deep", grid / "deep" / "bayesgan-1", grid / "deep" / ".." / "deep"])
    assert [run.summary.subset for run in found] == [0, 1]
    assert unfinished == 0


def test_systems_are_named_by_what_tells_them_apart(grid: Path) -> None:
    found = systems(find_runs([grid])[0])
    assert {name: len(runs) for name, runs in found.items()} == {
        "BayesGAN": 2,
        "BayesGAN, temperature=0.0": 1,
        "DCGAN": 2,
        "DCGAN-10": 1,
    }


def test_a_run_of_an_older_preset_is_another_system(grid: Path) -> None:
    """Whatever its summary says that it changed: presets change, too."""
    trained_with(grid / "dcgan-1", epsilon=0.5)
    named = systems(find_runs([grid / "dcgan-0", grid / "dcgan-1"])[0])
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


def test_pictures_are_those_of_the_training(trainings: dict[str, Training]) -> None:
    training = trainings["deep/down/bayesgan-0"]
    drawn = latest(read_run(training.folder), 6, 10)
    assert [(each.iteration, each.chain) for each in drawn] == [(6, 1), (6, 2), (6, 3), (6, 4), (4, 1), (4, 2)]
    assert torch.equal(torch.stack([each.pictures for each in drawn]), training.pictures(6, 10))


def test_beside_a_posterior_stand_as_many_dcgans_as_there_are(grid: Path) -> None:
    runs = find_runs([grid])[0]
    beside = dcgans(runs[0], runs)
    assert [(run.summary.method, chain) for run, chain in beside] == [("dcgan10", chain) for chain in range(6)]
    apart = [run for run in runs if run.summary.method != "dcgan10"]
    assert [(run.summary.subset, chain) for run, chain in dcgans(runs[0], apart)] == [(0, 0), (1, 0)]
    assert dcgans(runs[0], runs[:1]) == []


def test_without_dcgans_there_is_no_panel_of_them(grid: Path, tmp_path: Path) -> None:
    files = draw(find_runs([grid / "deep"])[0], tmp_path / "out")
    assert {path.stem for path in files} == {"errors-digits-20", "samples-digits", "styles-digits"}


def test_the_pixels_of_pictures_stay_squares(grid: Path, tmp_path: Path) -> None:
    """A sheet in the PNG is its panel, dot for dot: of 8×8 pictures every 7×7 block has one grey."""
    draw(find_runs([grid / "deep"])[0], tmp_path)
    with Image.open(tmp_path / "samples-digits.png") as image:
        pixels = np.asarray(image.convert("L"))
    left, top = 24, 56 + 36  # margin, head and title
    drawn = latest(read_run(grid / "deep" / "down" / "bayesgan-0"), 1, 64)[0].pictures[0, 0].numpy()
    np.testing.assert_array_equal(pixels[top : top + 56, left : left + 56], drawn.repeat(7, 0).repeat(7, 1))


def test_the_two_means_that_differ_most() -> None:
    means = torch.zeros(4, 1, 2, 2, dtype=torch.double)
    means[1, 0, 0, 0], means[3] = 4.0, -2.0
    first, second, distance = most_different(means)
    assert (first, second) == (1, 3)
    assert distance == pytest.approx(12**0.5)  # squares 36, 4, 4, 4; their mean 12


def spoilt(folder: Path, name: str, **values: Any) -> None:
    content = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(content | values))


def trained_with(folder: Path, **settings: Any) -> None:
    """Make it a run of other settings."""
    spoilt(folder, "config.json", settings=json.loads((folder / "config.json").read_text())["settings"] | settings)


def test_errors_on_different_images_are_not_drawn_together(grid: Path) -> None:
    spoilt(grid / "dcgan-1", "summary.json", split="validation")
    with pytest.raises(BayesganError, match="name runs of one kind"):
        draw(find_runs([grid])[0], grid / "out")


@pytest.mark.parametrize("damage", ["lost", "torn", "other"])
def test_a_sample_that_is_no_good_is_named(grid: Path, damage: str) -> None:
    path = grid / "deep" / "down" / "bayesgan-0" / "samples" / "00000006.safetensors"
    if damage == "lost":
        path.unlink()
    elif damage == "torn":
        path.write_bytes(path.read_bytes()[:100])
    else:
        path.write_bytes(next((grid / "dcgan-0" / "samples").iterdir()).read_bytes())
    with pytest.raises(BayesganError, match=r"bayesgan-0/samples/00000006\.safetensors"):
        draw(find_runs([grid])[0], grid / "out")


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl", "summary.json"])
@pytest.mark.parametrize("text", ["", "{", "[]", '{"settings": {"generators": -1}}'])
def test_a_damaged_file_is_named(grid: Path, name: str, text: str) -> None:
    (grid / "dcgan-0" / name).write_text(text)
    with pytest.raises(BayesganError, match=f"dcgan-0/{name} is damaged"):
        find_runs([grid])


def test_pictures_of_the_posterior_are_not_those_of_the_ensemble(grid: Path, tmp_path: Path) -> None:
    trained_with(grid / "cold", **ENSEMBLE)
    files = draw(find_runs([grid / "cold", grid / "dcgan-0"])[0], tmp_path / "out")
    assert {file.stem for file in files} == {"errors-digits-20"}


def test_where_there_is_nothing_to_draw_a_sentence_says_so(grid: Path, tmp_path: Path) -> None:
    with pytest.raises(BayesganError, match="is not a folder"):
        find_runs([tmp_path / "nowhere"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(BayesganError, match="There is no run in"):
        find_runs([tmp_path / "empty"])
    (grid / "dcgan-0" / "summary.json").unlink()
    with pytest.raises(BayesganError, match="is finished"):
        find_runs([grid / "dcgan-0"])
    spoilt(grid / "dcgan-1", "summary.json", labels=0)
    with pytest.raises(BayesganError, match="neither errors nor"):
        draw(find_runs([grid / "dcgan-1"])[0], tmp_path / "out")
    metrics = grid / "cold" / "metrics.jsonl"
    metrics.write_text(json.dumps(json.loads(metrics.read_text().splitlines()[0]) | {"average_error": None}))
    with pytest.raises(BayesganError, match="There is no iteration with average_error"):
        draw(find_runs([grid / "cold"])[0], tmp_path / "out")
