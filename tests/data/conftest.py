import cv2
import pytest

from tests.helpers.pictures import Detector


@pytest.fixture
def detector(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for OpenCV's."""
    monkeypatch.setattr(cv2, "CascadeClassifier", Detector)
