"""Folders of small pictures, in the forms that people have them in."""

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from bayesgan.data.folder import OwnImages


def pictures(folder: Path, names: Sequence[str], shade: int = 100, size: tuple[int, int] = (8, 8)) -> None:
    """A PNG file for each name, all different."""
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.full(size, shade, np.uint8)
        pixels[0, 0] = number
        Image.fromarray(pixels).save(path, format="PNG")


def class_folders(folder: Path) -> OwnImages:
    pictures(folder, [f"cat/{number}.png" for number in range(10)], 50)
    pictures(folder, [f"dog/{number}.png" for number in range(5)], 150)
    pictures(folder, [f"unlabelled/{number}.png" for number in range(7)], 200)
    pictures(folder, ["lying about.png"], 250)
    return OwnImages(str(folder))


def flat(folder: Path, text: str) -> OwnImages:
    pictures(folder, [f"{number:02d}.png" for number in range(12)])
    (folder / "labels.csv").write_text(text)
    return OwnImages(str(folder), str(folder / "labels.csv"))


def enormous(path: Path, side: int) -> Path:
    """A PNG that says it has ``side`` × ``side`` pixels, of a few bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + head + body)
    return path
