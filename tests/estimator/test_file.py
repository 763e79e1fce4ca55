"""A fitted classifier in one file."""

# ruff: noqa: N806 - X is scikit-learn's name for the points

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from bayesgan import BayesGANClassifier, BayesganError
from bayesgan.estimator import file
from tests.helpers.fitted import TINY_IMAGES, quick

pytestmark = pytest.mark.usefixtures("one_thread")


def test_a_file_predicts_the_same_bits(blobs: tuple[np.ndarray, ...], tmp_path: Path) -> None:
    X, _, y = blobs
    names = np.array([-1 if label == -1 else "abç"[label] for label in y], object)
    model = quick(callback=lambda done, of: None).fit(X, names)
    model.save(tmp_path / "model.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]
    loaded = BayesGANClassifier.load(tmp_path / "model.safetensors")
    assert loaded.get_params() == model.get_params() | {"callback": None}
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.transduction_.tolist() == model.transduction_.tolist()
    np.testing.assert_array_equal(loaded.posterior_.generate(5), model.posterior_.generate(5))
    with pytest.raises(ValueError, match="expecting 2 features"):
        loaded.predict(X[:, :1])


def test_a_file_keeps_images_and_their_range(digits: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    images, truth = digits
    model = quick(settings=TINY_IMAGES, image_shape=(8, 8), random_state=np.random.RandomState(0))
    model.fit(images.reshape(60, 64) / 15.0, truth).save(str(tmp_path / "model"))
    loaded = BayesGANClassifier.load(str(tmp_path / "model"))
    assert loaded.range_ == (0.0, 16.0)
    assert loaded.random_state is None
    np.testing.assert_array_equal(loaded.predict_proba(images / 15.0), model.predict_proba(images / 15.0))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a graphics card")
def test_a_device_that_is_not_there_is_not_the_files_fault(blobs: tuple[np.ndarray, ...], tmp_path: Path) -> None:
    X, _, y = blobs
    quick().fit(X, y).save(tmp_path / "model")
    with pytest.raises(BayesganError, match="'cuda' cannot be used on this machine"):
        BayesGANClassifier.load(tmp_path / "model", "cuda")


def test_what_is_no_such_file_gets_a_sentence(blobs: tuple[np.ndarray, ...], tmp_path: Path) -> None:
    X, _, y = blobs
    path = tmp_path / "model"
    quick().fit(X, y).save(path)
    whole = path.read_bytes()

    def refused(content: bytes, sentence: str) -> None:
        path.write_bytes(content)
        with pytest.raises(BayesganError, match=sentence):
            BayesGANClassifier.load(path)

    refused(whole[:-10], "should be a safetensors file")
    refused(b"", "should be a safetensors file")
    refused(pickle.dumps(quick()), "should be a safetensors file")
    refused(whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:], "is damaged")
    refused(whole.replace(b"fast", b"slow", 1), "is damaged")
    path.unlink()
    with pytest.raises(BayesganError, match="Cannot read"):
        BayesGANClassifier.load(path)
    save_file({"weights": torch.zeros(3)}, path)
    with pytest.raises(BayesganError, match="was not written by"):
        BayesGANClassifier.load(path)
    path.write_bytes(whole)
    saved, parts = file.read(path)
    last = max(name for name in parts if name.endswith(".discriminators"))
    for wrong, sentence in (
        ({name: part for name, part in parts.items() if name != last}, "another version"),
        ({name: part for name, part in parts.items() if "." not in name}, "another version"),
        (parts | {"transduction": parts["transduction"] - 5}, "another version"),
        (parts | {last: parts[last][:, :-1]}, "do not fit"),
        (parts | {last: parts[last].bfloat16()}, "do not fit"),
    ):
        file.write(path, saved, wrong)
        with pytest.raises(BayesganError, match=sentence):
            BayesGANClassifier.load(path)
    text = json.dumps({"version": "99", "callback": "os.system"})
    tensors = {"weights": torch.zeros(3)}
    save_file(tensors, path, {"classifier": text, "sha256": file.digest_of(text, tensors)})
    with pytest.raises(BayesganError, match="another version of bayesgan"):
        BayesGANClassifier.load(path)
