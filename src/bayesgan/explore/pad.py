"""A sketch pad for mouse, pen and finger: its HTML, and the reader of the drawings that it sends."""

import base64
import binascii
import io

import numpy as np
from PIL import Image

from bayesgan.base.errors import BayesganError

SIDE = 280  # pixels of the sheet
THIN = 24  # pixels of the width of a stroke, at least
START = "data:image/png;base64,"
LONGEST = 1_000_000  # characters of a drawing as it is sent

HTML = f"""
<canvas width="{SIDE}" height="{SIDE}" role="img" aria-label="Draw here"></canvas>
<div><button type="button">Clear</button> ${{coloured ? '<label>Colour <input type="color"></label>' : ''}}</div>
"""
CSS = """
canvas { width: 100%; max-width: 320px; aspect-ratio: 1; background: white; border: 1px solid #999;
  border-radius: 4px; cursor: crosshair; touch-action: none; display: block; margin-bottom: 6px; }
button { border: 1px solid #999; border-radius: 4px; padding: 4px 14px; margin-right: 12px;
  font-weight: normal; font-size: 0.95rem; }
"""
# The drawing is sent when a stroke ends, and null when the sheet is cleared.
JS = f"""
const sheet = element.querySelector('canvas'), colour = element.querySelector('input');
const pen = sheet.getContext('2d');
let last = null;
function stroke(event) {{
  const box = sheet.getBoundingClientRect();
  const here = [(event.clientX - box.left) * {SIDE} / box.width, (event.clientY - box.top) * {SIDE} / box.height];
  pen.lineCap = 'round';
  pen.lineWidth = props.brush;
  pen.strokeStyle = colour ? colour.value : 'black';
  pen.beginPath();
  pen.moveTo(...(last || here));
  pen.lineTo(...here);
  pen.stroke();
  last = here;
}}
function finish() {{
  if (last) trigger('input', {{drawing: sheet.toDataURL('image/png')}});
  last = null;
}}
sheet.addEventListener('pointerdown', event => {{ sheet.setPointerCapture(event.pointerId); stroke(event); }});
sheet.addEventListener('pointermove', event => {{ if (last) stroke(event); }});
sheet.addEventListener('pointerup', finish);
sheet.addEventListener('pointercancel', finish);
element.querySelector('button').addEventListener('click', () => {{
  pen.clearRect(0, 0, {SIDE}, {SIDE});
  trigger('input', {{drawing: null}});
}});
"""


def brush(side: int) -> int:
    """Width of a stroke for networks of images of ``side`` pixels: at least about one and a half of these."""
    return max(THIN, 300 // side)


def received(text: object) -> np.ndarray | None:
    """Read the drawing (height, width, 4) that the browser sent; None for an empty sheet."""
    if text is None:
        return None
    refused = BayesganError("The drawing did not arrive whole: draw it again.")
    if not isinstance(text, str) or not text.startswith(START) or len(text) > LONGEST:
        raise refused
    try:
        with Image.open(io.BytesIO(base64.b64decode(text.removeprefix(START), validate=True)), formats=["PNG"]) as png:
            if png.size != (SIDE, SIDE):
                raise refused
            return np.asarray(png.convert("RGBA"))
    except (binascii.Error, OSError, SyntaxError, ValueError):  # what Pillow raises for a PNG that is none
        raise refused from None
