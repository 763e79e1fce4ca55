"""A made-up CelebA: grey pictures, and a detector that finds as many faces as a picture's grey says."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from bayesgan.data import celeba

BOX = (20, 30, 100, 100)  # left, top, width, height
ONE_FACE, NO_FACE, TWO_FACES = 200, 20, 100


class Detector:
    def __init__(self, path: str) -> None:
        assert Path(path).is_file()

    def detectMultiScale(self, grey: np.ndarray, **_: Any) -> list[tuple[int, int, int, int]]:  # noqa: N802
        assert grey.shape == (218, 178)
        return [BOX] * (2 if 50 < grey[0, 0] < 150 else int(grey[0, 0] >= 150))


def write_picture(path: Path, grey: int, shape: tuple[int, int] = (218, 178)) -> None:
    """All of one grey, but red where the face is."""
    picture = np.full((*shape, 3), grey, np.uint8)
    picture[30:130, 20:120] = (0, 0, 250)  # blue, green, red
    path.write_bytes(cv2.imencode(".jpg", picture)[1].tobytes())


def write_celeba(folder: Path, greys: list[tuple[int, str]]) -> None:
    """Pictures 1, 2, … of a grey and a part; their five bits are those of their number."""
    (folder / celeba.PICTURES).mkdir(parents=True)
    columns = ["Bald", *reversed(celeba.BITS.values())]
    rows = []
    for number, (grey, _) in enumerate(greys, 1):
        write_picture(folder / celeba.PICTURES / f"{number:06}.jpg", grey)
        bits = [number >> place & 1 for place in range(5)]
        rows.append(f"{number:06}.jpg  1 " + " ".join(" 1" if bit else "-1" for bit in bits))
    (folder / celeba.ATTRIBUTES).write_text("\n".join([str(len(rows)), " ".join(columns) + " ", *rows]) + "\n")
    parts = [f"{number:06}.jpg {part}" for number, (_, part) in enumerate(greys, 1)]
    (folder / celeba.PARTITION).write_text("\n".join(parts) + "\n")
