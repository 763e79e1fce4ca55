"""Any file may be given for a picture."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PIL.ImageFile import ImageFile

from bayesgan.data.decode import Header, UnreadableError, decoded, each, header, picture, pixels
from tests.helpers.own_folders import enormous

RAMP = np.arange(120, dtype=np.uint8).reshape(10, 12)
COLOURS = np.stack([RAMP, 255 - RAMP, 2 * RAMP], -1)


def saved(path: Path, array: np.ndarray, **options: object) -> Path:
    Image.fromarray(array).save(path, **options)  # type: ignore[arg-type]
    return path


def test_a_picture_comes_back_as_it_was(tmp_path: Path) -> None:
    grey, colour = saved(tmp_path / "grey.png", RAMP), saved(tmp_path / "colour.png", COLOURS)
    assert np.array_equal(pixels(grey, 1, 10, 12), RAMP[None])
    assert np.array_equal(pixels(colour, 3, 10, 12), COLOURS.transpose(2, 0, 1))
    assert np.array_equal(pixels(grey, 3, 10, 12), np.stack([RAMP] * 3))
    assert header(grey) == Header(12, 10, True)
    assert header(colour) == Header(12, 10, False)
    for pixel in (RAMP[None], COLOURS.transpose(2, 0, 1)):
        picture(pixel).save(tmp_path / "again.png")
        assert np.array_equal(pixels(tmp_path / "again.png", len(pixel), 10, 12), pixel)


def test_the_middle_is_kept_and_scaled(tmp_path: Path) -> None:
    wide = np.zeros((8, 24), np.uint8)
    wide[:, 8:16] = 200
    path = saved(tmp_path / "wide.png", wide)
    assert np.array_equal(pixels(path, 1, 8, 8)[0], np.full((8, 8), 200))
    assert pixels(path, 1, 16, 16).shape == (1, 16, 16)


def test_exif_says_which_way_is_up(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90° clockwise
    path = saved(tmp_path / "turned.png", RAMP, exif=exif)
    assert header(path) == Header(10, 12, True)
    assert np.array_equal(pixels(path, 1, 12, 10)[0], np.rot90(RAMP, -1))


def test_a_header_is_read_without_decoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(COLOURS).quantize(8).save(tmp_path / "palette.png")
    Image.fromarray(RAMP).convert("P").save(tmp_path / "greys.png")
    headers = {
        saved(tmp_path / "grey.png", RAMP): Header(12, 10, True),
        saved(tmp_path / "colour.png", COLOURS): Header(12, 10, False),
        saved(tmp_path / "turned.png", COLOURS, exif=exif): Header(10, 12, False),
        saved(tmp_path / "turned.jpg", COLOURS, exif=exif): Header(10, 12, False),
        tmp_path / "palette.png": Header(12, 10, False),
        tmp_path / "greys.png": Header(12, 10, True),
    }

    def decodes(_: ImageFile) -> None:
        raise AssertionError

    monkeypatch.setattr(ImageFile, "load", decodes)
    assert {path: header(path) for path in headers} == headers


def test_an_enormous_picture_has_no_header(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="too large, 8000×8000 pixels"):
        header(enormous(tmp_path / "large.png", 8_000))


@pytest.mark.parametrize("name", ["palette.bmp", "palette.tiff", "palette.gif"])
def test_palettes_of_every_format_are_looked_at(name: str, tmp_path: Path) -> None:
    Image.fromarray(COLOURS).quantize(8).save(tmp_path / name)
    assert not header(tmp_path / name).grey
    steps = Image.fromarray(RAMP).quantize(8)
    steps.save(tmp_path / name)
    assert header(tmp_path / name).grey


def test_sixteen_bits_become_eight(tmp_path: Path) -> None:
    path = saved(tmp_path / "deep.png", RAMP.astype(np.uint16) * 257)
    assert header(path).grey
    assert np.array_equal(pixels(path, 1, 10, 12), RAMP[None])


def test_floats_are_stretched(tmp_path: Path) -> None:
    values = np.linspace(-2, 3, 120, dtype=np.float32).reshape(10, 12)
    values[0, 0] = np.nan
    found = pixels(saved(tmp_path / "float.tiff", values), 1, 10, 12)[0]
    assert (found[0, 1], found[-1, -1]) == (0, 255)


def test_transparent_is_white(tmp_path: Path) -> None:
    clear = np.dstack([COLOURS, np.zeros_like(RAMP)])
    assert pixels(saved(tmp_path / "clear.png", clear), 3, 10, 12).min() == 255


def test_cmyk_and_palette(tmp_path: Path) -> None:
    red = np.full((8, 8, 3), (250, 5, 5), np.uint8)
    Image.fromarray(red).convert("CMYK").save(tmp_path / "cmyk.tiff")
    Image.fromarray(red).quantize(4).save(tmp_path / "palette.png")
    for name in ("cmyk.tiff", "palette.png"):
        found = pixels(tmp_path / name, 3, 8, 8)
        assert found[0].min() > 230
        assert found[1:].max() < 30


def test_an_animation_is_its_first_frame(tmp_path: Path) -> None:
    frames = [Image.fromarray(np.full((8, 8), value, np.uint8)) for value in (10, 200)]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    assert np.abs(pixels(tmp_path / "moving.gif", 1, 8, 8).astype(int) - 10).max() <= 1


def test_files_that_are_no_pictures_have_a_reason(tmp_path: Path) -> None:
    (tmp_path / "empty.png").touch()
    (tmp_path / "text.png").write_text("not at all")
    whole = saved(tmp_path / "whole.png", COLOURS).read_bytes()
    (tmp_path / "half.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "postscript.png").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n")
    (tmp_path / "folder.png").mkdir()
    reasons = {
        "empty.png": "empty file",
        "text.png": "not a picture",
        "half.png": "damaged",
        "postscript.png": "not a picture",
        "folder.png": "a folder",
        "nowhere.png": "no such file",
        enormous(tmp_path / "bomb.png", 30_000).name: "too large",
        enormous(tmp_path / "large.png", 10_500).name: "too large, 10500×10500 pixels",
    }
    arrays, found = decoded([tmp_path / name for name in (*reasons, "whole.png")], (3, 10, 12))
    assert dict(zip(reasons, found, strict=False)) == reasons
    assert found[-1] is None
    assert np.array_equal(arrays, COLOURS.transpose(2, 0, 1)[None])


def test_whatever_pillow_raises_is_a_reason(tmp_path: Path) -> None:
    path = saved(tmp_path / "grey.png", RAMP)

    def broken(_: Path) -> None:
        raise UnreadableError("odd")

    (found,) = each(broken, [path])
    assert isinstance(found, UnreadableError)
    rng = np.random.default_rng(0)
    whole = bytearray(path.read_bytes())
    for number in range(200):  # bits turned over at random
        torn = bytearray(whole)
        for place in rng.integers(8, len(whole), 3):
            torn[place] ^= 1 << int(rng.integers(8))
        other = tmp_path / f"{number}.png"
        other.write_bytes(torn)
    results = each(lambda other: pixels(other, 1, 10, 12), [tmp_path / f"{number}.png" for number in range(200)])
    assert all(isinstance(each, np.ndarray | UnreadableError) for each in results)


@pytest.mark.parametrize("name", ["photo.jpg", "photo.webp", "photo.bmp"])
def test_a_large_photo_is_scaled_well(tmp_path: Path, name: str) -> None:
    y, x = np.mgrid[0:640, 0:480]
    photo = np.stack([x * 255 // 480, y * 255 // 640, np.full_like(x, 128)], -1).astype(np.uint8)
    found = pixels(saved(tmp_path / name, photo), 3, 64, 48).astype(int)
    wanted = photo.reshape(64, 10, 48, 10, 3).mean((1, 3)).transpose(2, 0, 1)
    assert np.abs(found - wanted).max() < 8
