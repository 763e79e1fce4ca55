import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import log_loss

from bayesgan.base.errors import BayesganError
from bayesgan.data.images import Images
from bayesgan.posterior.average import Uncertainty
from bayesgan.runs.evaluation import CANDIDATES, evaluate, strangers, told_apart
from bayesgan.runs.images import Training
from bayesgan.runs.saved import read_run
from tests.helpers.own_folders import pictures

TEST = np.random.default_rng(0).integers(0, 256, (30, 1, 12, 12), np.uint8)
IMAGES = Images("own", ("a", "b"), TEST, np.zeros(30, np.int64), TEST, np.zeros(30, np.int64))


def unsure(level: float, fake: float) -> Uncertainty:
    same = np.full(5, level)
    return Uncertainty(np.full((5, 2), 0.5), same, 1 - same, same, np.full(5, fake))


def test_strange_points_are_those_of_a_higher_score() -> None:
    found = told_apart(unsure(0.1, 0.5), unsure(0.9, 0.5))
    assert found == {"total_entropy": 1.0, "expected_entropy": 0.0, "mutual_information": 1.0, "fake": 0.5}


def test_what_networks_do_not_say_tells_nothing_apart() -> None:
    assert told_apart(unsure(0.1, np.nan), unsure(0.9, np.nan))["fake"] is None


def test_strangers() -> None:
    shape = TEST.shape[1:]
    assert np.array_equal(strangers("inverted", IMAGES, shape, Path()), 255 - TEST)
    noise = strangers("noise", IMAGES, shape, Path())
    # 4,320 uniform bytes: their mean has a deviation of 74 / √4320 = 1.1.
    assert noise.shape == TEST.shape
    assert abs(noise.mean() - 127.5) < 5 * 1.1
    digits = strangers("digits", IMAGES, (3, 12, 12), Path())
    assert digits.shape == (500, 3, 12, 12)
    with pytest.raises(BayesganError, match="none of noise"):
        strangers("nonsense", IMAGES, shape, Path())


def test_strangers_of_a_folder_are_brought_to_the_shape(tmp_path: Path) -> None:
    pictures(tmp_path / "others", ["a.png", "b.png", "sub/c.png"], shade=70, size=(20, 20))
    found = strangers(str(tmp_path / "others"), IMAGES, (3, 12, 12), Path())
    assert found.shape == (3, 3, 12, 12)
    assert (found[:, :, 6, 6] == 70).all()
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "torn.png").write_text("no picture")
    with pytest.raises(BayesganError, match=r"no picture in .* can be read"):
        strangers(str(tmp_path / "none"), IMAGES, (1, 12, 12), Path())


def test_an_evaluation_has_the_error_of_the_summary_and_is_written(
    once: tuple[Training, dict[str, Any]], tmp_path: Path
) -> None:
    training, summary = once
    posterior = read_run(training.folder).posterior()
    found = evaluate(posterior, training.images, "test", ["noise", "inverted"], Path(), tmp_path)
    assert json.loads((tmp_path / "evaluation.json").read_text()) == found
    assert (found["split"], found["test_size"], found["score"]) == ("test", 500, "mutual_information")
    assert found["error"] == pytest.approx(summary["test_error"])
    probabilities, labels = training.average.probabilities.numpy(), training.images.test_labels
    assert found["log_loss"] == pytest.approx(log_loss(labels, probabilities, labels=range(10)), rel=1e-5)
    assert sum(each["size"] for each in found["bins"]) == 500
    assert set(found["auroc"]) == {"noise", "inverted"}
    for figures in found["auroc"].values():
        assert all(0 <= figures[name] <= 1 for name in CANDIDATES)
    pixels = np.asarray(Image.open(tmp_path / "reliability.png").convert("L"))
    assert 0.01 < (pixels < 200).mean() < 0.5
