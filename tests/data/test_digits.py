import hashlib

import numpy as np
from sklearn.datasets import load_digits

from bayesgan.data import digits


def test_the_images_of_scikit_learn_in_a_fixed_order() -> None:
    train, train_labels, test, test_labels = digits.read(validation=False)
    assert train.shape == (1297, 1, 8, 8)
    assert test.shape == (500, 1, 8, 8)
    original = load_digits()
    order = np.random.default_rng(0).permutation(1797)
    np.testing.assert_array_equal(np.concatenate([train_labels, test_labels]), original.target[order])
    values = np.concatenate([train, test])[:, 0]
    np.testing.assert_allclose(values, original.images[order] * 255 / 16, atol=0.5)
    # Results refer to this order: a change of it must not go unseen.
    digest = hashlib.sha256(values.tobytes() + train_labels.tobytes() + test_labels.tobytes()).hexdigest()
    assert digest == "136ad20a7e8366676e8048fc4b432f292207cdc611e4242e7d27a02f4c392caa"


def test_validation_comes_from_the_training_images() -> None:
    train, _, test, test_labels = digits.read(validation=True)
    assert (len(train), len(test), len(test_labels)) == (1000, 297, 297)
