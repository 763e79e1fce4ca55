import builtins
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.base.files import open_tensors
from bayesgan.data import faces
from tests.helpers.pictures import NO_FACE, ONE_FACE, TWO_FACES, write_picture

GREYS = [ONE_FACE, NO_FACE, TWO_FACES, ONE_FACE, ONE_FACE]


@pytest.fixture
def sizes(tmp_path: Path) -> dict[str, int]:
    for number, grey in enumerate(GREYS):
        write_picture(tmp_path / f"{number}.jpg", grey)
    return {f"{number}.jpg": (tmp_path / f"{number}.jpg").stat().st_size for number in range(len(GREYS))}


@pytest.mark.usefixtures("detector")
def test_one_face_is_cut_out_with_red_first(sizes: dict[str, int], tmp_path: Path) -> None:
    found = faces.faces(tmp_path, sizes, 10, tmp_path / "cache")
    assert found.images.shape == (3, 3, 50, 50)
    assert found.images.dtype == np.uint8
    assert found.indices.tolist() == [0, 3, 4]
    assert found.left_out == 2
    # All of the crop is red, up to what JPEG makes of its border.
    np.testing.assert_allclose(found.images[:, 0, 4:-4, 4:-4], 250, atol=5)
    np.testing.assert_allclose(found.images[:, 1:, 4:-4, 4:-4], 0, atol=5)


@pytest.mark.usefixtures("detector")
def test_it_stops_at_the_most(sizes: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for batch in (1, 2, 64):
        monkeypatch.setattr(faces, "BATCH", batch)
        found = faces.faces(tmp_path, sizes, 2, tmp_path / f"cache-{batch}")
        assert found.indices.tolist() == [0, 3]
        assert found.left_out == 2


@pytest.mark.usefixtures("detector")
def test_the_cache_is_used_only_if_nothing_changed(
    sizes: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    find = faces._find

    def counted(*arguments: Any) -> faces.Faces:
        runs.append(1)
        return find(*arguments)

    monkeypatch.setattr(faces, "_find", counted)
    cache = tmp_path / "cache.safetensors"

    def run(expected: int, most: int = 10) -> None:
        found = faces.faces(tmp_path, sizes, most, cache)
        assert len(runs) == expected
        assert found.left_out == 2
        assert found.indices.tolist() == [0, 3, 4]
        assert found.images.shape == (3, 3, 50, 50)

    run(1)
    run(1)
    with open_tensors(cache) as kept:
        assert kept.metadata()["left_out"] == "2"
    run(2, most=11)
    sizes["0.jpg"] += 1
    run(3, most=11)
    monkeypatch.setattr(faces, "NEIGHBOURS", 4)
    run(4, most=11)
    monkeypatch.setattr(cv2, "__version__", "4.0.0")
    run(5, most=11)
    run(5, most=11)
    cache.write_bytes(cache.read_bytes()[:1000])
    run(6, most=11)
    run(6, most=11)
    cache.unlink()
    cache.mkdir()  # cannot be written, as in a folder that is read-only
    run(7, most=11)


@pytest.mark.usefixtures("detector")
def test_an_unreadable_picture_is_named(sizes: dict[str, int], tmp_path: Path) -> None:
    path = tmp_path / "3.jpg"
    whole = path.read_bytes()
    for content in (b"", b"no picture", whole[:500], b"\xff\xd8 no picture \xff\xd9"):
        path.write_bytes(content)
        with pytest.raises(BayesganError, match=r"3\.jpg is not a whole JPEG picture: get it again"):
            faces.faces(tmp_path, sizes, 10, tmp_path / "cache")
    write_picture(path, ONE_FACE, (300, 200))
    with pytest.raises(BayesganError, match=r"3\.jpg is not a picture of 178 × 218 pixels"):
        faces.faces(tmp_path, sizes, 10, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_the_real_detector_finds_no_face_in_noise(tmp_path: Path) -> None:
    picture = np.random.default_rng(0).integers(256, size=(218, 178, 3), dtype=np.uint8)
    (tmp_path / "a.jpg").write_bytes(cv2.imencode(".jpg", picture)[1].tobytes())
    found = faces.faces(tmp_path, {"a.jpg": 1}, 10, tmp_path / "cache")
    assert found.images.shape == (0, 3, 50, 50)
    assert found.left_out == 1
    assert cv2.getNumThreads() > 0


def test_without_opencv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name == "cv2":
            raise ImportError
        return original(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(BayesganError, match=r"pip install 'bayesgan\[celeba\]'"):
        faces.faces(tmp_path, {}, 10, tmp_path / "cache")


def test_with_an_opencv_that_has_no_detector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(cv2, "CascadeClassifier")
    with pytest.raises(BayesganError, match=r"has no face detector: install a version before 5"):
        faces.faces(tmp_path, {}, 10, tmp_path / "cache")
