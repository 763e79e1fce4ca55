"""The sketch pad."""

import base64
import io

import pytest
from PIL import Image

from bayesgan.base.errors import BayesganError
from bayesgan.explore import pad


def test_what_the_browser_sends_is_read_or_refused_in_a_sentence() -> None:
    def sent(side: int) -> str:
        buffer = io.BytesIO()
        Image.new("RGBA", (side, side), (0, 0, 0, 255)).save(buffer, "PNG")
        return pad.START + base64.b64encode(buffer.getvalue()).decode()

    found = pad.received(sent(pad.SIDE))
    assert found is not None
    assert found.shape == (pad.SIDE, pad.SIDE, 4)
    assert pad.received(None) is None
    good = sent(pad.SIDE)
    for bad in (sent(5000), good[:200], "data:image/png;base64,####", "nonsense", 7, pad.START + "A" * pad.LONGEST):
        with pytest.raises(BayesganError, match="draw it again"):
            pad.received(bad)


def test_strokes_are_as_wide_as_one_and_a_half_pixels_of_the_networks_images() -> None:
    for side in (8, 16, 28, 32, 64, 256):
        assert pad.brush(side) >= 1.05 * pad.SIDE / side
        assert pad.brush(side) >= pad.THIN
    assert pad.brush(8) > pad.brush(28)
