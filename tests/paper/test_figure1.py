"""Figure 1 of small runs: a panel for everything, and the weights in a plane."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from bayesgan.paper import synthetic
from bayesgan.paper.figure1 import figure1, prior_and_posterior, scaled

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> list[synthetic.Finished]:
    plan = synthetic.Plan(
        dims=(5, 6), seeds=(0, 1), size=300, settings={"iterations": 12, "burn_in": 2, "thin": 5, "generators": 3}
    )
    return synthetic.run(plan, tmp_path_factory.mktemp("runs"), torch.device("cpu"), "a test")


def test_figure_1_has_a_row_for_each_dimension_and_shows_every_chain(
    finished: list[synthetic.Finished], tmp_path: Path
) -> None:
    sampled = [each for each in finished if each.result["method"] == "bayesgan"]
    assert [tuple(each.weights.shape[:2]) for each in sampled] == [(2, 3), (0,), (2, 3), (0,)]
    axes = np.array(figure1(finished, tmp_path / "figure1.png").axes).reshape(2, 6)
    for row, dim in zip(axes, (5, 6), strict=True):
        titles = [each.get_title().split(",")[0] for each in row]
        assert titles[:4] == ["Data", "ML-GAN", "Wasserstein GAN", "Bayesian GAN"]
        assert f"D = {dim}" in row[0].get_ylabel()
        assert [len(each.collections) for each in row[:4]] == [1, 1, 1, 3]
        assert len(row[4].lines) == 5  # three methods, the floor, the end of the burn-in
        assert [line.get_xydata().shape for line in row[5].lines] == [(2, 2)] * 3  # a path of two samples a chain


@pytest.mark.parametrize("name", ["figure1.png", "prior.png"])
def test_the_pictures_show_something(finished: list[synthetic.Finished], name: str, tmp_path: Path) -> None:
    if name == "figure1.png":
        figure1(finished, tmp_path / name)
    else:
        prior_and_posterior(next(each for each in finished if each.projected_prior is not None), tmp_path / name)
    pixels = np.asarray(Image.open(tmp_path / name).convert("L"))
    assert pixels.shape[0] > 300
    assert pixels.shape[1] > 600
    assert 0.01 < (pixels < 200).mean() < 0.5


def test_without_samples_the_plane_says_so(finished: list[synthetic.Finished], tmp_path: Path) -> None:
    optimised = [each for each in finished if each.result["method"] == "ml-gan"]
    figure = figure1(optimised, tmp_path / "figure1.png")
    assert [text.get_text() for text in figure.axes[-1].texts] == ["no samples collected"]


def test_mds_keeps_distances() -> None:
    """Points that lie in a plane of a larger space come back with their distances."""
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(12, 2))
    points = plane @ np.linalg.qr(rng.normal(size=(50, 2)))[0].T

    def distances(of: np.ndarray) -> np.ndarray:
        return np.linalg.norm(of[:, None] - of[None], axis=-1)

    np.testing.assert_allclose(distances(scaled(points)), distances(plane), atol=1e-3)
