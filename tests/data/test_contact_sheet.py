from pathlib import Path

import numpy as np
import torch
from PIL import Image

from bayesgan.data.contact_sheet import GAP, SMALLEST_SIDE, draw_panels, panel


def drawn(*shape: int) -> torch.Tensor:
    return torch.randint(0, 255, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def test_large_pictures_stand_in_rows_with_white_gaps() -> None:
    side = SMALLEST_SIDE
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
