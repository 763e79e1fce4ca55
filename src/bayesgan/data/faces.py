"""Find faces by Viola and Jones' detector, cut them out, and cache them beside the pictures."""

import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress

from bayesgan.base.environment import cores
from bayesgan.base.errors import BayesganError
from bayesgan.base.files import open_tensors, write_tensors

CASCADE = "haarcascade_frontalface_default.xml"
SCALE_FACTOR = 1.1  # between the sizes that the detector tries
NEIGHBOURS = 5  # hits that make a face
SIDE = 50
HEIGHT, WIDTH = 218, 178  # of an aligned picture
BATCH = 64  # pictures between two checks for Ctrl-C


class Faces(NamedTuple):
    """The pictures of a list that show exactly one face."""

    images: np.ndarray  # (N, 3, 50, 50) uint8
    indices: np.ndarray  # (N,) int64: which picture of the list
    left_out: int  # pictures that were looked at and do not show exactly one face


def faces(folder: Path, sizes: dict[str, int], most: int, cache: Path) -> Faces:
    """Find the first ``most`` faces in the pictures of ``folder`` that ``sizes`` names, with their sizes in bytes."""
    cv2 = _cv2()
    key = {
        "crop": json.dumps([CASCADE, SCALE_FACTOR, NEIGHBOURS, SIDE, most, cv2.__version__]),
        "pictures": hashlib.sha256(json.dumps(sizes).encode()).hexdigest(),
    }
    # What cannot be read is made anew.
    with suppress(BayesganError), open_tensors(cache) as kept:
        metadata = kept.metadata() or {}
        if key.items() <= metadata.items():
            return Faces(
                kept.get_tensor("images").numpy(), kept.get_tensor("indices").numpy(), int(metadata["left_out"])
            )
    found = _find(cv2, [folder / name for name in sizes], most)
    tensors = {"images": torch.from_numpy(found.images), "indices": torch.from_numpy(found.indices)}
    # The folder need not be writable: it only takes longer the next time.
    with suppress(BayesganError):
        write_tensors(cache, tensors, {**key, "left_out": str(found.left_out)})
    return found


def _cv2() -> Any:
    try:
        import cv2
    except ImportError:
        raise BayesganError(
            "Finding the faces of CelebA needs OpenCV: install it with `pip install 'bayesgan[celeba]'`."
        ) from None
    if not hasattr(cv2, "CascadeClassifier"):
        raise BayesganError(
            f"OpenCV {cv2.__version__} has no face detector: install a version before 5 with"
            " `pip install 'bayesgan[celeba]'`."
        )
    return cv2


def _find(cv2: Any, paths: list[Path], most: int) -> Faces:
    images: list[np.ndarray] = []
    indices: list[int] = []
    left_out = 0
    local = threading.local()  # a detector serves one thread at a time

    def crop(path: Path) -> np.ndarray | None:
        if not hasattr(local, "detector"):
            local.detector = cv2.CascadeClassifier(str(Path(cv2.data.haarcascades) / CASCADE))
        return _crop(cv2, local.detector, path)

    console = Console(stderr=True)
    threads_before = cv2.getNumThreads()
    cv2.setNumThreads(1)  # one core for each picture: several for one would only get in each other's way
    try:
        with (
            Progress(console=console, transient=True, disable=not console.is_terminal) as progress,
            ThreadPoolExecutor(cores()) as pool,
        ):
            task = progress.add_task("Finding faces", total=len(paths))
            for start in range(0, len(paths), BATCH):
                for index, face in enumerate(pool.map(crop, paths[start : start + BATCH]), start):
                    if len(images) == most:
                        break
                    if face is None:
                        left_out += 1
                    else:
                        images.append(face)
                        indices.append(index)
                progress.update(task, completed=start + BATCH)
                if len(images) == most:
                    break
    finally:
        cv2.setNumThreads(threads_before)
    stacked = np.stack(images) if images else np.empty((0, 3, SIDE, SIDE), np.uint8)
    return Faces(stacked, np.array(indices, np.int64), left_out)


def _crop(cv2: Any, detector: Any, path: Path) -> np.ndarray | None:
    """Cut out the face of a picture, (3, 50, 50) with red first; None if there is not exactly one."""
    content = path.read_bytes()
    # OpenCV fills what is missing of a cut-off picture with grey, and goes on.
    whole = content.startswith(b"\xff\xd8") and content.endswith(b"\xff\xd9")
    picture = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR) if whole else None
    if picture is None:
        raise BayesganError(f"{path} is not a whole JPEG picture: get it again, or take it out of the folder.")
    if picture.shape != (HEIGHT, WIDTH, 3):
        raise BayesganError(
            f"{path} is not a picture of {WIDTH} × {HEIGHT} pixels: CelebA's 'aligned and cropped' pictures are needed."
        )
    hits = detector.detectMultiScale(
        cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), scaleFactor=SCALE_FACTOR, minNeighbors=NEIGHBOURS
    )
    if len(hits) != 1:
        return None
    left, top, width, height = hits[0]
    face = cv2.resize(picture[top : top + height, left : left + width], (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(face[:, :, ::-1].transpose(2, 0, 1))
