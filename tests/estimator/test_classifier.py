"""The classifier: labels, vectors and images of every kind, and scikit-learn's machinery."""

# ruff: noqa: N806 - X is scikit-learn's name for the points

import doctest
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayesgan import BayesGANClassifier, BayesganError
from bayesgan.estimator import classifier
from bayesgan.settings.compose import image_settings
from bayesgan.settings.settings import ImageSettings
from tests.helpers.fitted import SMALL, TINY_IMAGES, hidden, quick, small_digits, three_blobs

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_example_in_the_docstring() -> None:
    failed, tried = doctest.testmod(classifier)
    assert tried >= 5
    assert failed == 0


# Labels


def test_few_labels_are_enough_where_classes_lie_apart(blobs: tuple[np.ndarray, ...]) -> None:
    X, truth, y = blobs
    assert BayesGANClassifier(iterations=150, random_state=0).fit(X, y).score(X, truth) > 0.97


def test_the_units_of_vectors_do_not_matter(blobs: tuple[np.ndarray, ...]) -> None:
    X, _, y = blobs
    model = quick().fit(X, y)
    np.testing.assert_allclose(model.mean_, X.mean(0))
    np.testing.assert_allclose(model.scale_, X.std(0))
    units = np.array([1024.0, 0.5])  # powers of two: no number is rounded otherwise
    np.testing.assert_array_equal(quick().fit(X * units, y).predict_proba(X * units), model.predict_proba(X))


def test_a_handful_of_labels_serves_it_as_well_as_logistic_regression() -> None:
    X, truth = load_wine(return_X_y=True)
    X, X_test, truth, test = train_test_split(X, truth, test_size=0.3, random_state=0, stratify=truth)
    y = hidden(truth, 5)
    scaler = StandardScaler().fit(X)
    supervised = LogisticRegression().fit(scaler.transform(X[y != -1]), y[y != -1])
    model = BayesGANClassifier(random_state=0).fit(X, y)
    assert model.score(X_test, test) >= supervised.score(scaler.transform(X_test), test) - 0.03


def test_a_point_with_minus_one_has_no_label(blobs: tuple[np.ndarray, ...]) -> None:
    X, _, y = blobs
    model = quick().fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(X).shape == (90, 3)
    shown = y != -1
    wrong = y.copy()
    wrong[shown] = (y[shown] + 1) % 3  # what is known is never predicted away
    model = quick().fit(X, wrong)
    assert model.transduction_[shown].tolist() == wrong[shown].tolist()
    assert model.transduction_[~shown].tolist() == model.predict(X)[~shown].tolist()
    # Points without a label are data all the same: others give other weights.
    other = quick().fit(np.where(shown[:, None], X, X + 3), wrong)
    assert not np.array_equal(other.predict_proba(X), model.predict_proba(X))


def test_names_of_classes_and_minus_one_share_an_array_of_objects(blobs: tuple[np.ndarray, ...]) -> None:
    X, _, y = blobs
    numbers = quick().fit(X, y)
    names = np.array([-1 if label == -1 else "abc"[label] for label in y], object)
    assert names[-1] == -1
    model = quick().fit(X, names)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict(X).tolist() == ["abc"[label] for label in numbers.predict(X)]
    np.testing.assert_array_equal(model.predict_proba(X), numbers.predict_proba(X))
    assert set(model.transduction_) <= {"a", "b", "c"}
    assert model.score(X, names) == numbers.score(X, y)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [([0, 1], np.int64), ([False, True], np.bool_), ([0.0, 2.5e10], np.float64), (["no", "yes"], np.str_)],
)
def test_all_points_may_have_a_label_of_any_kind(labels: list[Any], kind: type, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(8, 2))
    model = quick().fit(X, np.array(labels * 4, kind))
    assert model.classes_.tolist() == labels
    assert model.predict(X).dtype.kind == np.dtype(kind).kind
    assert model.transduction_.tolist() == labels * 4
    model.save(tmp_path / "model")
    loaded = BayesGANClassifier.load(tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([-1, -1, -1], "No point has a label"),
        ([-1, 1, 1], "only one class"),
        (["a", "b", "-1"], "array of dtype object"),
        (np.array(["a", 2, -1], object), "have to be strings"),
        ([0.5, 1.5, 1.0], "continuous"),
    ],
)
def test_labels_that_say_too_little_are_refused(y: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        quick().fit(np.eye(3), y)


def test_the_score_is_that_of_the_points_with_a_label(blobs: tuple[np.ndarray, ...]) -> None:
    X, truth, y = blobs
    model = quick().fit(X, y)
    right = model.predict(X) == truth
    assert model.score(X, truth) == pytest.approx(right.mean())
    assert model.score(X, y) == pytest.approx(right[y != -1].mean())
    weight = np.arange(90.0)
    assert model.score(X, y, weight) == pytest.approx(np.average(right[y != -1], weights=weight[y != -1]))


def test_two_points_are_enough() -> None:
    model = BayesGANClassifier(iterations=60, random_state=0).fit([[0.0, 1.0], [1.0, 1.0]], ["a", "b"])
    assert model.predict([[0.0, 1.0], [1.0, 1.0]]).tolist() == ["a", "b"]


# The posterior


def test_predictions_are_the_average_over_collected_networks(blobs: tuple[np.ndarray, ...]) -> None:
    X, _, y = blobs
    model = quick(settings=SMALL | {"burn_in": 4, "thin": 3}, iterations=12).fit(X, y)
    assert model.posterior_.samples.iterations == [7, 10]
    points = (X - X.mean(0)) / X.std(0)
    each = model.posterior_.predict_proba_each(points.astype(np.float32))
    assert len(each) == 2 * 2
    assert np.ptp(each, axis=0).max() > 1e-4  # they are not one network four times
    np.testing.assert_allclose(model.predict_proba(X), each.mean(0), rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1.0)
    unsure = model.uncertainty(X)
    np.testing.assert_array_equal(unsure.probabilities, model.predict_proba(X))
    assert unsure.fake.shape == (90,)


def test_a_seed_gives_the_same_bits_and_another_one_others(blobs: tuple[np.ndarray, ...]) -> None:
    X, _, y = blobs
    first, again, other = (quick(random_state=seed).fit(X, y).predict_proba(X) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_neither_threads_nor_the_global_random_state_are_touched(blobs: tuple[np.ndarray, ...]) -> None:
    X, _, y = blobs
    threads, state, torch_state = torch.get_num_threads(), pickle.dumps(np.random.get_state()), torch.get_rng_state()
    quick().fit(X, y).predict(X)
    assert torch.get_num_threads() == threads
    assert pickle.dumps(np.random.get_state()) == state
    assert torch.equal(torch.get_rng_state(), torch_state)


def test_the_callback_hears_of_every_iteration(blobs: tuple[np.ndarray, ...]) -> None:
    X, _, y = blobs
    heard: list[tuple[int, int]] = []
    quick(callback=lambda done, of: heard.append((done, of))).fit(X, y)
    assert heard == [(done, 12) for done in range(1, 13)]


@pytest.mark.parametrize("method", ["dcgan", "wdcgan", "dcgan10", "supervised", "lfvi"])
def test_every_method_takes_vectors(method: str, blobs: tuple[np.ndarray, ...], tmp_path: Path) -> None:
    X, _, y = blobs
    model = quick(method=method, settings=None).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(1), 1.0)
    assert (model.posterior_.settings.populations.generators == 0) == (method == "supervised")
    assert model.posterior_.settings.sampler.clip == (0.03 if method == "wdcgan" else None)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(BayesGANClassifier.load(tmp_path / "model").predict_proba(X), probabilities)


def test_the_papers_preset_takes_vectors_too(blobs: tuple[np.ndarray, ...]) -> None:
    X, _, y = blobs
    settings = quick(preset="paper", settings=None).fit(X, y).posterior_.settings
    assert (
        settings.populations.generators,
        settings.populations.replicas,
        settings.sampler.dynamics,
        settings.length.iterations,
    ) == (10, 2, "plain", 12)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"method": "svm"}, "'svm' is not a method"),
        ({"preset": "slow"}, "'slow' is not a preset"),
        ({"settings": {"hidden": 0}}, "Setting hidden"),
        ({"settings": {"generator_width": 8}}, "no setting 'generator_width'"),
        ({"iterations": 0}, "Setting iterations"),
        ({"device": "abacus"}, "'abacus' cannot be used"),
    ],
)
def test_parameters_that_cannot_be_are_named(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BayesganError, match=sentence):
        quick(**parameters).fit(np.eye(2), [0, 1])


# Images


def test_images_come_as_pictures_or_as_rows(digits: tuple[np.ndarray, np.ndarray]) -> None:
    images, truth = digits
    y = hidden(truth, 3)
    pictures = quick(settings=TINY_IMAGES).fit(images, y)
    assert pictures.n_features_in_ == 64
    assert isinstance(pictures.posterior_.settings, ImageSettings)
    expected = pictures.predict_proba(images)
    np.testing.assert_array_equal(pictures.predict_proba(images.reshape(60, 64)), expected)
    np.testing.assert_array_equal(pictures.predict_proba(images[..., None]), expected)
    np.testing.assert_array_equal(pictures.predict_proba(list(images)), expected)
    for shape in ((8, 8), [8, 8, 1]):
        rows = quick(settings=TINY_IMAGES, image_shape=shape).fit(images.reshape(60, 64), y)
        np.testing.assert_array_equal(rows.predict_proba(images), expected)
    assert pictures.posterior_.generate(2).shape == (2, 8, 8)


def test_channels_of_images_stay_apart() -> None:
    images = np.random.default_rng(0).integers(0, 256, (12, 8, 9, 3), np.uint8)
    model = quick(settings=TINY_IMAGES).fit(images, [0, 1] * 6)
    assert model.image_shape_ == (8, 9, 3)
    assert model.posterior_.shape == (3, 8, 9)
    np.testing.assert_array_equal(model.predict_proba(images.reshape(12, -1)), model.predict_proba(images))
    assert not np.array_equal(model.predict_proba(images[..., ::-1]), model.predict_proba(images))


def test_numbers_that_are_not_bytes_are_scaled_as_in_fit(digits: tuple[np.ndarray, np.ndarray]) -> None:
    """0 … 16, as scikit-learn has its digits: 0 is black and 16 white, in a prediction on darker ones too."""
    images, truth = digits
    sixteenths = images.reshape(60, 64) / 15.0
    as_bytes = np.rint(sixteenths * 255 / 16).astype(np.uint8)
    model = quick(settings=TINY_IMAGES, image_shape=(8, 8)).fit(sixteenths, truth)
    assert model.range_ == (0.0, 16.0)
    expected = quick(settings=TINY_IMAGES, image_shape=(8, 8)).fit(as_bytes, truth)
    assert expected.range_ == (0.0, 255.0)
    np.testing.assert_array_equal(model.predict_proba(sixteenths), expected.predict_proba(as_bytes))
    np.testing.assert_array_equal(model.predict_proba(sixteenths / 2), expected.predict_proba(np.rint(as_bytes / 2)))
    np.testing.assert_array_equal(model.predict_proba(sixteenths * 99), expected.predict_proba(as_bytes * 99.0))


def test_what_is_no_such_image_is_refused(digits: tuple[np.ndarray, np.ndarray]) -> None:
    images, truth = digits
    with pytest.raises(ValueError, match="are not images of the image_shape"):
        quick(image_shape=(8, 7)).fit(images, truth)
    with pytest.raises(ValueError, match="are not images of the image_shape"):
        quick(image_shape=(4, 16)).fit(images, truth)
    for shape in ((64,), 64, "88", (8.5, 8)):
        with pytest.raises(ValueError, match="is not the shape of one"):
            quick(image_shape=shape).fit(images.reshape(60, 64), truth)
    with pytest.raises(BayesganError, match="too small"):
        quick(image_shape=(4, 16)).fit(images.reshape(60, 64), truth)
    model = quick(settings=TINY_IMAGES).fit(images, truth)
    with pytest.raises(ValueError, match="do not fit"):
        model.predict(images.reshape(60, 4, 16))
    vectors = quick().fit(images.reshape(60, 64), truth)
    with pytest.raises(ValueError, match="vectors of 64 numbers"):
        vectors.predict(images)
    with pytest.raises(ValueError, match="too large beside those of fit"):
        vectors.predict(np.full((1, 64), 1e300))


# scikit-learn's machinery: its checks, pipelines and searches


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
    assert best.posterior_.settings.length.iterations == grid.best_params_["bayesganclassifier__iterations"]
    preset = image_settings("fast", "bayesgan", "digits", iterations=best.posterior_.settings.length.iterations)
    assert best.posterior_.settings.length.burn_in == preset.length.burn_in
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
