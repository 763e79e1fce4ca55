"""The classifier in scikit-learn's machinery: its checks, pipelines and searches."""

# ruff: noqa: N806 - X is scikit-learn's name for the points

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayesgan import BayesGANClassifier
from bayesgan.settings.compose import image_settings
from tests.helpers.fitted import SMALL, TINY_IMAGES, hidden, quick, small_digits, three_blobs

pytestmark = pytest.mark.usefixtures("one_thread")


def cannot_hold(_: BayesGANClassifier) -> dict[str, str]:
    return {
        "check_classifiers_classes": "it takes -1 for a class, as for all but scikit-learn's own semi-supervised "
        "classifiers: here a point with -1 has no label",
    }


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    [BayesGANClassifier(iterations=25, settings=SMALL | {"generator_rate": 0.02, "discriminator_rate": 0.02})],
    expected_failed_checks=cannot_hold,
    xfail_strict=True,
)
def test_scikit_learns_checks(estimator: BayesGANClassifier, check: Callable[[BayesGANClassifier], None]) -> None:
    check(estimator)


def test_pipelines_and_grid_searches_take_it() -> None:
    images, truth = small_digits()
    rows, y = images.reshape(60, 64), hidden(truth, 8)
    pipeline = make_pipeline(MinMaxScaler((0.0, 1.0)), quick(settings=TINY_IMAGES, image_shape=(8, 8)))
    grid = GridSearchCV(
        pipeline,
        {"bayesganclassifier__iterations": np.array([4, 12]), "bayesganclassifier__method": ["bayesgan"]},
        cv=StratifiedKFold(2),
        error_score="raise",
    ).fit(rows, y)
    best = grid.best_estimator_[-1]
    assert best.posterior_.settings.iterations == grid.best_params_["bayesganclassifier__iterations"]
    preset = image_settings("fast", "bayesgan", "digits", iterations=best.posterior_.settings.iterations)
    assert best.posterior_.settings.burn_in == preset.burn_in
    assert grid.predict(rows).shape == (60,)
    of_labelled = 12 * grid.cv_results_["split0_test_score"]  # of a half there are so many; 30 with the others
    np.testing.assert_allclose(of_labelled, of_labelled.round())
    copy = clone(best)
    assert copy.get_params() == best.get_params()
    assert not hasattr(copy, "posterior_")


def test_a_search_over_names_of_classes_takes_folds_that_are_not_sorted_by_class() -> None:
    X, truth, _ = three_blobs()
    y = np.array([-1 if label == -1 else "abc"[label] for label in hidden(truth, 8)], object)
    folds = KFold(2, shuffle=True, random_state=0)
    grid = GridSearchCV(quick(), {"iterations": [4, 12]}, cv=folds, error_score="raise").fit(X, y)
    assert grid.classes_.tolist() == ["a", "b", "c"]
    assert set(grid.predict(X)) <= {"a", "b", "c"}


def test_the_check_that_cannot_hold_is_named_in_the_docstring() -> None:
    for name in cannot_hold(BayesGANClassifier()):
        assert name in str(BayesGANClassifier.__doc__)
