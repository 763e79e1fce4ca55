"""Decode picture files. One that is damaged, enormous or no picture gets a reason, never a traceback."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError
from PIL.JpegImagePlugin import JpegImageFile

from bayesgan.base.environment import cores

# Formats that Pillow decodes by itself; some others start programs.
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm")
MOST_PIXELS = 50_000_000  # that are decoded
DEEP = ("I;16", "I;16L", "I;16B", "I;16N", "I", "F")  # more than a byte for each grey value
GREY = ("1", "L", "LA", *DEEP)
ORIENTATION = 0x0112  # in EXIF data
LYING = (5, 6, 7, 8)

T = TypeVar("T")


class UnreadableError(Exception):
    """Why a file cannot be used as a picture, in a few words."""


class Header(NamedTuple):
    """Size and kind of a picture, read without decoding it."""

    width: int  # as it is shown
    height: int
    grey: bool


def each(read: Callable[[Path], T], paths: Sequence[Path]) -> list[T | UnreadableError]:
    """Apply ``read`` to every file, several at once; an unreadable file gives its error."""

    def tried(path: Path) -> T | UnreadableError:
        try:
            return read(path)
        except UnreadableError as error:
            return error

    with warnings.catch_warnings(), ThreadPoolExecutor(cores()) as pool:
        warnings.simplefilter("ignore")  # Pillow's own, about size and odd metadata
        return list(pool.map(tried, paths))


def decoded(paths: Sequence[Path], shape: tuple[int, ...]) -> tuple[np.ndarray, list[str | None]]:
    """Decode files: the pixels (n, *shape) of those that are pictures, and for every file the reason if it is none."""
    channels, height, width = shape
    found = each(partial(pixels, channels=channels, height=height, width=width), paths)
    reasons = [str(array) if isinstance(array, UnreadableError) else None for array in found]
    good = [array[None] for array in found if not isinstance(array, UnreadableError)]
    return np.concatenate([np.empty((0, *shape), np.uint8), *good]), reasons


def header(path: Path) -> Header:
    """Read size and kind of the picture in ``path``."""
    with _opened(path) as picture:
        if not isinstance(picture, JpegImageFile):  # which is made smaller while it is decoded
            _refuse_enormous(picture)
        width, height = picture.size
        # Not picture.getexif(): that of a PNG decodes the picture, in case EXIF data stand behind the pixels.
        if Image.Image.getexif(picture).get(ORIENTATION) in LYING:
            width, height = height, width
        return Header(width, height, _grey(picture))


def pixels(path: Path, channels: int, height: int, width: int) -> np.ndarray:
    """Decode the picture in ``path`` to bytes (channels, height, width).

    It is turned as its EXIF data say, laid on white where it is transparent, cropped to the wanted shape around its
    middle, and scaled. Of an animation it is the first frame.
    """
    with _opened(path) as file:
        file.draft("RGB", (4 * width, 4 * height))  # of a JPEG no more is decoded than that needs
        _refuse_enormous(file)
        picture = ImageOps.exif_transpose(file)
        if picture.mode in DEEP:
            picture = _shallow(picture)
        if picture.mode in ("LA", "PA", "RGBA") or "transparency" in picture.info:
            coloured = picture.convert("RGBA")
            picture = Image.new("RGBA", coloured.size, "white")
            picture.alpha_composite(coloured)
        return fitted(picture, channels, height, width)


def fitted(picture: Image.Image, channels: int, height: int, width: int) -> np.ndarray:
    """Crop a picture to the wanted shape around its middle and scale it: bytes (channels, height, width)."""
    picture = picture.convert("L" if channels == 1 else "RGB")
    if picture.size != (width, height):
        picture = ImageOps.fit(picture, (width, height), Image.Resampling.LANCZOS)
    array = np.asarray(picture, np.uint8)
    return array[None] if channels == 1 else np.ascontiguousarray(array.transpose(2, 0, 1))


def picture(pixels: np.ndarray) -> Image.Image:
    """An image of (channels, height, width) bytes: grey with one channel, in colour with three."""
    return Image.fromarray(pixels[0] if len(pixels) == 1 else np.ascontiguousarray(pixels.transpose(1, 2, 0)))


def _shallow(picture: Image.Image) -> Image.Image:
    """Grey values of 16 bits as bytes; those of other depths from their least, black, to their greatest, white."""
    values = np.asarray(picture)
    if picture.mode.startswith("I;16") or (picture.mode == "I" and values.min() >= 0 and values.max() < 2**16):
        byte_of = (np.arange(2**16) / 257.0).round().astype(np.uint8)
        return Image.fromarray(byte_of[values])
    values = np.nan_to_num(values.astype(np.float32) - np.nanmin(values), posinf=0.0)
    values *= 255.0 / max(float(values.max()), 1e-30)
    return Image.fromarray(values.round().clip(0, 255).astype(np.uint8))


def _refuse_enormous(picture: Image.Image) -> None:
    if picture.width * picture.height > MOST_PIXELS:
        raise UnreadableError(f"too large, {picture.width}×{picture.height} pixels")


def _grey(picture: Image.Image) -> bool:
    """Whether all of its colours are grey, as far as can be told before it is decoded."""
    if picture.mode != "P":
        return picture.mode in GREY
    if picture.palette is not None and picture.palette.rawmode == "RGB":
        colours = np.array(list(picture.palette.palette)).reshape(-1, 3)
    else:  # neither PNG nor GIF
        colours = np.array(picture.getpalette()).reshape(-1, 3)  # which decodes the picture
    return bool((colours == colours[:, :1]).all())


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """Open the picture in ``path``; any error while it is used becomes an :class:`UnreadableError`."""
    try:
        if path.stat().st_size == 0:
            raise UnreadableError("empty file")
        with Image.open(path, formats=FORMATS) as picture:
            yield picture
    except UnreadableError:
        raise
    except MemoryError:
        raise UnreadableError("too large for the memory") from None
    except FileNotFoundError:
        raise UnreadableError("no such file") from None
    except IsADirectoryError:
        raise UnreadableError("a folder") from None
    except PermissionError:
        raise UnreadableError("no permission to read it") from None
    except Image.DecompressionBombError:
        raise UnreadableError("too large") from None
    except UnidentifiedImageError:
        raise UnreadableError("not a picture") from None
    except Exception:  # Pillow has no common kind of error for what it cannot decode
        raise UnreadableError("damaged") from None
