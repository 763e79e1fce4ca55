import numpy as np
import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.posterior.suggest import spread, suggested
from tests.helpers.sampled import IMAGES, one_network, posterior


def clusters(number: int, each: int) -> np.ndarray:
    """Points around the corners of a simplex, far apart."""
    rng = np.random.default_rng(0)
    return (10 * np.eye(number)[:, None] + 0.1 * rng.standard_normal((number, each, number))).reshape(-1, number)


def test_spread_takes_one_of_each_cluster() -> None:
    features = clusters(4, 25)
    chosen = spread(features, np.ones(100), 4)
    assert sorted(chosen // 25) == [0, 1, 2, 3]


def test_spread_prefers_what_weighs_more() -> None:
    features = np.array([[0.0], [1.0], [10.0], [11.0]])
    assert spread(features, np.array([1.0, 1e-6, 1e-6, 1.0]), 2).tolist() == [0, 3]


def test_spread_never_takes_a_point_twice() -> None:
    features = np.zeros((6, 2))
    features[3:] = 1.0
    assert len(set(spread(features, np.ones(6), 5).tolist())) == 5


def test_suggestions_are_among_the_most_informative() -> None:
    model = posterior()
    rng = np.random.default_rng(3)
    x = rng.integers(0, 256, (60, 8, 8), np.uint8)
    information = model.uncertainty(x).mutual_information
    chosen = suggested(model, x, 2)
    assert len(chosen) == 2
    assert set(chosen.tolist()) <= set(np.argsort(-information)[:20].tolist())
    assert information[chosen[0]] >= information[chosen[1]]
    assert suggested(model, x, 2).tolist() == chosen.tolist()


@pytest.mark.parametrize(("points", "candidates"), [(100, 20), (400, 40)])
def test_of_many_points_a_tenth_is_spread_out(points: int, candidates: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def noted(features: np.ndarray, weights: np.ndarray, number: int, seed: int) -> np.ndarray:
        sizes.append(len(features))
        return np.arange(number)

    monkeypatch.setattr("bayesgan.posterior.suggest.spread", noted)
    suggested(posterior(), np.random.default_rng(3).integers(0, 256, (points, 8, 8), np.uint8), 2)
    assert sizes == [candidates]


def test_suggestions_of_one_network_are_those_that_it_is_least_sure_of() -> None:
    model = one_network()
    x = np.random.default_rng(3).integers(0, 256, (60, 8, 8), np.uint8)
    entropy = model.uncertainty(x).total_entropy
    chosen = suggested(model, x, 2)
    assert set(chosen.tolist()) <= set(np.argsort(-entropy)[:20].tolist())
    assert entropy[chosen[0]] > entropy[chosen[1]]
    assert suggested(model, x, 60).tolist() == np.argsort(-entropy).tolist()


def test_a_budget_for_everything_takes_everything() -> None:
    assert sorted(suggested(posterior(), IMAGES, 100).tolist()) == list(range(len(IMAGES)))


def test_no_budget_is_refused() -> None:
    with pytest.raises(BayesganError, match="at least 1"):
        suggested(posterior(), IMAGES, 0)
