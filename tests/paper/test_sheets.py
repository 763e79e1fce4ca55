"""Sheets of pictures: by which generators, where they stand, and that every pixel stays a square."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from bayesgan.base.errors import BayesganError
from bayesgan.data.contact_sheet import draw_panels
from bayesgan.paper.figures import draw
from bayesgan.paper.sheets import dcgans, generators, most_different, samples, sheet, styles
from bayesgan.runs.images import Training
from bayesgan.runs.saved import find_runs, read_run

pytestmark = pytest.mark.usefixtures("one_thread")


def test_pictures_are_those_of_the_training(trainings: dict[str, Training], tmp_path: Path) -> None:
    training = trainings["deep/down/bayesgan-0"]
    drawn = read_run(training.folder).posterior().latest(6, 10, training.task.seed)
    assert [(each.iteration, each.chain) for each in drawn] == [(6, 1), (6, 2), (6, 3), (6, 4), (4, 1), (4, 2)]
    shown = torch.stack([each.pictures for each in drawn])
    for ours, theirs in zip(drawn, training.posterior.latest(6, 10, training.task.seed), strict=True):
        assert torch.equal(ours.pictures, theirs.pictures)
    draw_panels(shown, tmp_path / "panels.png")
    assert (tmp_path / "panels.png").read_bytes() == (training.folder / "panels.png").read_bytes()


def test_beside_a_posterior_stand_as_many_dcgans_as_there_are(trainings: dict[str, Training]) -> None:
    runs = [read_run(each.folder) for each in trainings.values()]
    beside = dcgans(runs[0], runs)
    assert [(run.record.method, chain) for run, chain in beside] == [("dcgan10", chain) for chain in range(6)]
    apart = [run for run in runs if run.record.method != "dcgan10"]
    assert [(run.summary.subset, chain) for run, chain in dcgans(runs[0], apart)] == [(0, 0), (1, 0)]
    assert dcgans(runs[0], runs[:1]) == []


def test_the_pixels_of_pictures_stay_squares(grid: Path, tmp_path: Path) -> None:
    """A sheet in the PNG is its panel, dot for dot: of 8×8 pictures every 7×7 block has one grey."""
    draw(find_runs([grid / "deep"])[0], tmp_path)
    with Image.open(tmp_path / "samples-digits.png") as image:
        pixels = np.asarray(image.convert("L"))
    left, top = 24, 56 + 36  # margin, head and title
    posterior = read_run(grid / "deep" / "down" / "bayesgan-0").posterior()
    drawn = posterior.latest(1, 64, seed=0)[0].pictures[0, 0].numpy()
    np.testing.assert_array_equal(pixels[top : top + 56, left : left + 56], drawn.repeat(7, 0).repeat(7, 1))


def test_the_two_means_that_differ_most() -> None:
    means = torch.zeros(4, 1, 2, 2, dtype=torch.double)
    means[1, 0, 0, 0], means[3] = 4.0, -2.0
    first, second, distance = most_different(means)
    assert (first, second) == (1, 3)
    assert distance == pytest.approx(12**0.5)  # squares 36, 4, 4, 4; their mean 12


@pytest.mark.parametrize("damage", ["lost", "torn", "other"])
def test_a_sample_that_is_no_good_is_named(grid: Path, damage: str) -> None:
    path = grid / "deep" / "down" / "bayesgan-0" / "samples" / "00000006.safetensors"
    if damage == "lost":
        path.unlink()
    elif damage == "torn":
        path.write_bytes(path.read_bytes()[:100])
    else:
        path.write_bytes(next((grid / "dcgan-0" / "samples").iterdir()).read_bytes())
    sentences = {
        "lost": "bayesgan-0 lacks the sample of iteration 6",
        "torn": r"bayesgan-0/samples/00000006\.safetensors",
        "other": "bayesgan-0: The generators of iteration 6 do not fit",
    }
    with pytest.raises(BayesganError, match=sentences[damage]):
        draw(find_runs([grid])[0], grid / "out")


def test_a_sheet_of_large_pictures_is_halved() -> None:
    small, large = (sheet(torch.zeros(2, 3, 1, side, side, dtype=torch.uint8), "title") for side in (8, 128))
    assert (small.title, small.label) == ("title", 0)
    assert small.image.height == 2 * 56 + 2  # 7 dots a pixel, and a gap
    assert large.image.height == (2 * 128 + 2) // 2
    named = sheet(torch.zeros(2, 3, 1, 8, 8, dtype=torch.uint8), "title", ["one", "two\nlines"])
    assert named.label == 11 * len(" lines")


def test_generators_stand_beside_dcgans_with_their_names(trainings: dict[str, Training]) -> None:
    run, *dcgan = [read_run(trainings[name].folder) for name in ("deep/down/bayesgan-0", "dcgan-0", "dcgan-1")]
    ours, theirs = generators(run, dcgans(run, dcgan)).axes
    assert (ours.get_title(), theirs.get_title()) == ("BayesGAN", "DCGAN")
    rows = [
        f"iteration {iteration}\nchain {chain}"
        for iteration, chain in [*((6, n) for n in (1, 2, 3, 4)), (4, 1), (4, 2)]
    ]
    assert [label.get_text() for label in ours.get_yticklabels()] == rows
    assert [label.get_text() for label in theirs.get_yticklabels()] == ["subset 0\nseed 0", "subset 1\nseed 0"]


def test_samples_are_a_panel_for_each_generator(trainings: dict[str, Training]) -> None:
    figure = samples(read_run(trainings["deep/bayesgan-1"].folder))
    assert [axes.get_title() for axes in figure.axes] == [f"iteration 6, chain {chain}" for chain in (1, 2, 3, 4)]
    caption = " ".join(figure.texts[1].get_text().split())
    assert "Trained with 20 labels (subset 1, seed 0, preset fast, " in caption
    assert caption.endswith("for 6 iterations.")


def test_styles_are_the_two_chains_whose_mean_pictures_differ_most(trainings: dict[str, Training]) -> None:
    figure = styles(read_run(trainings["deep/bayesgan-1"].folder))
    first, second, means = figure.axes
    assert means.get_title() == "mean picture"
    names = [label.get_text() for label in means.get_yticklabels()]
    assert [first.get_title(), second.get_title()] == [f"iteration 6, {name}" for name in names]
    assert len(set(names)) == 2
