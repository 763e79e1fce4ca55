from pathlib import Path

import numpy as np
import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.data.images import Images
from bayesgan.posterior.average import Uncertainty
from bayesgan.runs.evaluation import strangers, told_apart

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
