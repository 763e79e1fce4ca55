from pathlib import Path

import numpy as np
import torch
from PIL import Image

from bayesgan.data.contact_sheet import CAPTION, ENLARGED_SIDE, GAP, draw_panels, draw_sheet, panel


def drawn(*shape: int) -> torch.Tensor:
    return torch.randint(0, 255, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def test_large_pictures_stand_in_rows_with_white_gaps() -> None:
    side = ENLARGED_SIDE
    pictures = drawn(2, 3, 1, side, side + 1)
    image = panel(pictures)
    assert image.mode == "L"
    pixels = np.asarray(image)
    assert pixels.shape == (2 * side + GAP, 3 * (side + 1) + 2 * GAP)
    top, left = side + GAP, 2 * (side + 1 + GAP)
    np.testing.assert_array_equal(pixels[top:, left:], pictures[1, 2, 0])
    assert (pixels[side:top] == 255).all()
    assert (pixels[:, left - GAP : left] == 255).all()
    assert (pixels == 255).sum() == pixels.size - pictures.numel()  # the pictures have no white


def test_small_pictures_are_enlarged_pixel_by_pixel() -> None:
    pictures = drawn(1, 2, 1, 8, 8)
    pixels = np.asarray(panel(pictures))
    assert pixels.shape == (56, 2 * 56 + GAP)
    np.testing.assert_array_equal(pixels[:, 56 + GAP :], pictures[0, 1, 0].numpy().repeat(7, 0).repeat(7, 1))


def test_colours_are_kept_in_the_file(tmp_path: Path) -> None:
    pictures = drawn(1, 1, 3, 60, 64)
    draw_panels(pictures, tmp_path / "panels.png")
    with Image.open(tmp_path / "panels.png") as image:
        assert (image.format, image.mode) == ("PNG", "RGB")
        np.testing.assert_array_equal(np.asarray(image), pictures[0, 0].permute(1, 2, 0))
    assert [path.name for path in tmp_path.iterdir()] == ["panels.png"]


def test_a_sheet_has_every_picture_with_dark_text_below_it(tmp_path: Path) -> None:
    pictures = drawn(3, 1, 28, 28).numpy()
    draw_sheet(pictures, ["1", "2", "3"], tmp_path / "sheet.png", columns=2)
    with Image.open(tmp_path / "sheet.png") as image:
        pixels = np.asarray(image.convert("L"))
    step_x, step_y = 56 + 2 * GAP, 56 + CAPTION + 2 * GAP
    assert pixels.shape == (2 * step_y, 2 * step_x)
    for number, picture in enumerate(pictures[:, 0]):
        top, left = number // 2 * step_y + GAP, number % 2 * step_x + GAP
        np.testing.assert_array_equal(pixels[top : top + 56, left : left + 56], picture.repeat(2, 0).repeat(2, 1))
        assert pixels[top + 56 : top + 56 + CAPTION, left : left + 56].min() < 100
    assert (pixels[step_y:, step_x:] == 255).all()  # there is no fourth
