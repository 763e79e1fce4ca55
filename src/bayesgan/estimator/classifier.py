"""The Bayesian GAN as a scikit-learn classifier that learns from few labels and many points without one."""

# ruff: noqa: N803, N806 - X is scikit-learn's name for the points

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from bayesgan import __version__
from bayesgan.base.environment import available
from bayesgan.base.errors import BayesganError
from bayesgan.data.folder import similar
from bayesgan.estimator import file
from bayesgan.estimator.file import Saved
from bayesgan.networks.build import pair
from bayesgan.posterior.average import Uncertainty
from bayesgan.posterior.posterior import Posterior
from bayesgan.posterior.samples import Held
from bayesgan.sampler.gan import BayesianGAN, Sample
from bayesgan.sampler.minibatches import Labels
from bayesgan.settings.compose import OWN, image_settings, vector_settings
from bayesgan.settings.names import Method, PresetName
from bayesgan.settings.settings import ImageSettings, Settings, VectorSettings

UNLABELLED = -1  # in y, a point without a label
WHITE = 255
POPULATIONS = ("generators", "generator_statistics", "discriminators", "discriminator_statistics")  # of a sample

Callback = Callable[[int, int], object]


class BayesGANClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Semi-supervised classification, averaged over a posterior of discriminators (Sections 2.2 and 4).

    Points are vectors, (n, features), or images: (n, height, width[, channels]), or (n, features) with an
    ``image_shape``. Vectors are standardised, and two-layer networks play the game. Images have convolutional ones,
    which take bytes: they are taken as they are, and numbers of any other kind are scaled, so that the smallest one in
    ``fit`` is 0 and the largest one 255; what is beyond these in a prediction is clipped. Images are turned and moved
    a little while training, larger ones also lit and cut (``settings={"jitter": 0, "brightness": 0, "cut": 0}``
    leaves that out), but not mirrored: ``settings={"flip": True}``
    is for photographs, not for letters.

    In ``y`` a point without a label is -1. Names of classes beside it need an array of dtype ``object``, which
    scikit-learn cannot sort into folds by class: give ``GridSearchCV`` and its like ``cv=KFold(5, shuffle=True)``.

    Of scikit-learn's checks for estimators one cannot hold: ``check_classifiers_classes`` takes -1 for a class, as it
    does for all but scikit-learn's own semi-supervised classifiers.

    Args:
        method: one of those that the paper compares; see :mod:`bayesgan.settings.methods`.
        preset: where the numbers of a run come from; see ``bayesgan presets``.
        image_shape: (height, width) or (height, width, channels) of images that come as rows.
        iterations: of Algorithm 1, and with them burn-in and thinning; the preset's by default.
        settings: values by name that replace those of the preset (:class:`bayesgan.settings.settings.VectorSettings`,
            :class:`bayesgan.settings.settings.ImageSettings`).
        random_state: of every random draw; an integer gives the same bits again on the same machine.
        device: to compute on, as torch names it.
        callback: called with the number of iterations that are done and of all, after each.

    Attributes:
        classes_: the K classes, in the order of the columns of :meth:`predict_proba`.
        transduction_: for each point of ``fit`` its label, or the predicted class where it had none.
        posterior_: the sampled networks, a :class:`bayesgan.Posterior`; its points are standardised vectors, or bytes.
        n_features_in_: numbers of a point.
        image_shape_: (height, width, channels) of an image; None for vectors.
        mean_: of each feature in ``fit``, for vectors.
        scale_: the standard deviation of each, 1 where it is 0, for vectors.
        range_: the numbers that are black and white, for images: 0 and 255 for bytes.

    Two half circles, of which ten points have a label:

    >>> import numpy as np
    >>> from bayesgan import BayesGANClassifier
    >>> from sklearn.datasets import make_moons
    >>> X, truth = make_moons(500, noise=0.1, random_state=0)
    >>> y = np.full(500, -1)
    >>> y[:10] = truth[:10]
    >>> model = BayesGANClassifier(iterations=200, random_state=0).fit(X, y)
    >>> model.predict_proba(X).shape
    (500, 2)
    >>> model.score(X, truth) > 0.8
    True
    """

    def __init__(
        self,
        method: Method = "bayesgan",
        *,
        preset: PresetName = "fast",
        image_shape: Sequence[int] | None = None,
        iterations: int | None = None,
        settings: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str = "cpu",
        callback: Callback | None = None,
    ) -> None:
        self.method = method
        self.preset = preset
        self.image_shape = image_shape
        self.iterations = iterations
        self.settings = settings
        self.random_state = random_state
        self.device = device
        self.callback = callback

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn about the classifier: it takes images too."""
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Sample the posterior given the points ``X`` and the labels in ``y``."""
        X, own_shape = _rows(X)
        X, y = validate_data(self, X, y)
        self.image_shape_ = _image_shape(self.image_shape, own_shape, self.n_features_in_)
        labelled, known = _labels(y)
        self.classes_, classes = np.unique(known, return_inverse=True)
        if len(self.classes_) == 1:
            raise ValueError(
                f"y has only one class, {self.classes_[0]!r}, beside {UNLABELLED} for points without a label: two are "
                "needed."
            )
        if self.image_shape_ is None:
            scaler = StandardScaler().fit(np.asarray(X, np.float64))
            self.mean_, self.scale_ = scaler.mean_, scaler.scale_
        else:
            self.range_ = (0.0, float(WHITE)) if X.dtype == np.uint8 else (float(X.min()), float(X.max()))
        points = self._points(X)
        labels = Labels(torch.from_numpy(np.flatnonzero(labelled)), torch.from_numpy(classes), len(self.classes_))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.posterior_ = self._sampled(points, labels, seed)
        self.transduction_ = self.classes_[self.posterior_.predict_proba(points).argmax(1)]
        self.transduction_[labelled] = known
        return self

    def _sampled(self, points: np.ndarray, labels: Labels, seed: int) -> Posterior:
        """Run the sampler, and collect both populations every ``thin`` iterations after the burn-in."""
        shape, device = self._shape, available(self.device)
        settings = self._settings(shape)
        data = torch.from_numpy(points).to(device)
        if self.image_shape_ is not None:
            data = data.permute(0, 3, 1, 2).contiguous()
        labels = Labels(labels.indices.to(device), labels.classes.to(device), labels.number)
        gan = BayesianGAN(settings, *pair(settings, shape, labels.number, data), data, seed, labels)
        collected: dict[int, Sample] = {}
        iterations = settings.length.iterations
        for iteration in range(1, iterations + 1):
            gan.iterate()
            if gan.collects:
                # Copies: what moves the chains moves them in place.
                collected[iteration] = {name: part.cpu().clone() for name, part in gan.sample().items()}
            if self.callback is not None:
                self.callback(iteration, iterations)
        return self._posterior(settings, collected, device)

    def _posterior(self, settings: Settings, collected: dict[int, Sample], device: torch.device) -> Posterior:
        return Posterior(settings, self._shape, [str(name) for name in self.classes_], Held(collected), device)

    @property
    def _shape(self) -> tuple[int, ...]:
        """Shape of a point, as the networks take it."""
        if self.image_shape_ is None:
            return (self.n_features_in_,)
        height, width, channels = self.image_shape_
        return channels, height, width

    def _settings(self, shape: tuple[int, ...]) -> Settings:
        """Every number of the run."""
        values = dict(self.settings or {}) | ({} if self.iterations is None else {"iterations": self.iterations})
        values = {name: _plain(value) for name, value in values.items()}
        if self.image_shape_ is not None:
            return image_settings(self.preset, self.method, similar(shape), **(OWN | values))
        return vector_settings(self.preset, self.method, **values)

    def _points(self, X: np.ndarray) -> np.ndarray:
        """Bring rows to the form that the posterior takes: standardised, or images of bytes."""
        if self.image_shape_ is None:
            with np.errstate(over="ignore"):
                points = ((X - self.mean_) / self.scale_).astype(np.float32)
            if not np.isfinite(points).all():
                raise ValueError("X has numbers that are too large beside those of fit, even in units of their spread.")
            return points
        black, white = self.range_
        if X.dtype == np.uint8 and (black, white) == (0, WHITE):
            return np.array(X).reshape(-1, *self.image_shape_)
        scaled = (X.astype(np.float64) - black) * (WHITE / ((white - black) or 1.0))
        return scaled.round().clip(0, WHITE).astype(np.uint8).reshape(-1, *self.image_shape_)

    def _checked(self, X: Any) -> np.ndarray:
        """Check points to predict for, and bring them to the form that the posterior takes."""
        check_is_fitted(self, "posterior_")
        X, own_shape = _rows(X)
        X = validate_data(self, X, reset=False)
        if own_shape and (self.image_shape_ is None or _with_channels(own_shape) != self.image_shape_):
            expected = f"vectors of {self.n_features_in_} numbers" if self.image_shape_ is None else self.image_shape_
            raise ValueError(f"Points of shape {own_shape} do not fit: this model was fitted to {expected}.")
        return self._points(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities (n, K), averaged over all sampled discriminators (Eq. 5)."""
        points = self._checked(X)
        return self.posterior_.predict_proba(points)

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each point."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(1)]

    def uncertainty(self, X: Any) -> Uncertainty:
        """Entropies, mutual information, and the probability of being unlike the training data."""
        points = self._checked(X)
        return self.posterior_.uncertainty(points)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right predictions among the points that have a label."""
        predicted = self.predict(X)
        labelled, known = _labels(column_or_1d(y, warn=True))
        weight = None if sample_weight is None else np.asarray(sample_weight)[labelled]
        return float(accuracy_score(known, predicted[labelled], sample_weight=weight))

    # One file

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier, without its callback, to one safetensors file."""
        check_is_fitted(self, "posterior_")
        samples = self.posterior_.samples
        tensors = {
            f"{iteration}.{name}": samples.load(iteration, name)
            for iteration in samples.iterations
            for name in POPULATIONS
        }
        places = np.searchsorted(self.classes_, self.transduction_)
        tensors["transduction"] = torch.from_numpy(places)
        if self.image_shape_ is None:
            tensors |= {"mean": torch.from_numpy(self.mean_), "scale": torch.from_numpy(self.scale_)}
        values = {name: _plain(value) for name, value in (self.settings or {}).items()}
        saved = Saved(
            version=__version__,
            method=self.method,
            preset=self.preset,
            image_shape=None if self.image_shape is None else tuple(int(side) for side in self.image_shape),
            iterations=_plain(self.iterations),
            settings=None if self.settings is None else values,
            # The state of a generator is not kept: predictions do not depend on it.
            random_state=None if isinstance(self.random_state, np.random.RandomState) else _plain(self.random_state),
            classes=self.classes_.tolist(),
            kind="str" if self.classes_.dtype.kind == "U" else self.classes_.dtype.name,
            features=self.n_features_in_,
            names=self.feature_names_in_.tolist() if hasattr(self, "feature_names_in_") else None,
            pixels=self.image_shape_,
            range=None if self.image_shape_ is None else self.range_,
            run=self.posterior_.settings.flat(),
        )
        file.write(Path(path), saved, tensors)

    @classmethod
    def load(cls, path: str | Path, device: str = "cpu") -> Self:
        """The classifier that :meth:`save` wrote to ``path``, to compute on ``device``."""
        available(device)
        saved, tensors = file.read(Path(path))
        try:
            return cls._restored(saved, tensors, device)
        except (IndexError, KeyError, TypeError, ValueError):
            raise file.foreign(Path(path)) from None

    @classmethod
    def _restored(cls, saved: Saved, tensors: dict[str, Tensor], device: str) -> Self:
        model = cls(
            saved.method,
            preset=saved.preset,
            image_shape=saved.image_shape,
            iterations=saved.iterations,
            settings=saved.settings,
            random_state=saved.random_state,
            device=device,
        )
        model.n_features_in_, model.image_shape_ = saved.features, saved.pixels
        if saved.names is not None:
            model.feature_names_in_ = np.array(saved.names, object)
        model.classes_ = np.array(saved.classes, saved.kind)
        places = tensors.pop("transduction").numpy()
        if (places < 0).any():
            raise IndexError
        model.transduction_ = model.classes_[places]
        if saved.range is None:
            model.mean_, model.scale_ = tensors.pop("mean").numpy(), tensors.pop("scale").numpy()
        else:
            model.range_ = saved.range
        collected: dict[int, Sample] = {}
        for name, part in tensors.items():
            iteration, population = name.split(".")
            collected.setdefault(int(iteration), {})[population] = part
        try:
            settings = (VectorSettings if saved.pixels is None else ImageSettings).of(**saved.run)
        except BayesganError as error:  # settings of another version
            raise ValueError(str(error)) from None
        model.posterior_ = model._posterior(settings, collected, torch.device(device))
        if not collected:
            raise ValueError
        model.posterior_.check()
        return model


def _plain(value: Any) -> Any:
    """Convert a number of numpy, as grids of parameters have them, to one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _rows(X: Any) -> tuple[Any, tuple[int, ...]]:
    """Flatten ``X`` to a row for each point; the shape of an image where it had one."""
    dimensions = np.ndim(X) if isinstance(X, list | tuple) else getattr(X, "ndim", 2)
    if dimensions <= 2:  # of any kind: for scikit-learn to check
        return X, ()
    X = np.asarray(X)
    return X.reshape(len(X), math.prod(X.shape[1:])), X.shape[1:]


def _with_channels(shape: Sequence[int]) -> tuple[int, int, int]:
    """(height, width, channels) of (height, width[, channels])."""
    sides = tuple(shape) if np.ndim(shape) == 1 else ()
    if len(sides) not in (2, 3) or not all(isinstance(side, Integral) for side in sides):
        raise ValueError(f"Images have a height, a width and perhaps channels: {shape} is not the shape of one.")
    height, width, channels = (*sides, 1)[:3]
    return int(height), int(width), int(channels)


def _image_shape(given: Sequence[int] | None, own: tuple[int, ...], features: int) -> tuple[int, int, int] | None:
    """Find the shape of an image from the parameter and from X; None for vectors."""
    if given is None and not own:
        return None
    shape = _with_channels(own if given is None else given)
    if math.prod(shape) != features or (own and _with_channels(own) != shape):
        raise ValueError(f"Points of shape {own or (features,)} are not images of the image_shape {given}.")
    return shape


def _labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the points that have a label, (n,) of booleans, and their labels."""
    if y.dtype.kind == "U" and (y == str(UNLABELLED)).any():
        raise ValueError(
            f"y has the text '{UNLABELLED}' among its labels: give names of classes and the number {UNLABELLED} in an "
            "array of dtype object."
        )
    labelled = y != UNLABELLED
    known = y[labelled]
    if len(known) == 0:
        raise ValueError(f"No point has a label of a class: all of y is {UNLABELLED}.")
    if known.dtype == object and not all(isinstance(label, str) for label in known):
        raise ValueError("Unknown label type: the classes in an array of dtype object have to be strings.")
    check_classification_targets(known)
    return labelled, known
