"""HTML of the page: rows of pictures, sentences, figures and the plot of class probabilities."""

import base64
import io
from collections.abc import Sequence
from html import escape

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from bayesgan.posterior.average import Uncertainty

SMALL, LARGE = 80, 224  # pixels of a side of a picture on the page, at least
MOST_CLASSES = 20  # in the plot
CSS = """
.html-container { padding: 0 !important; }
.pictures { display: flex; flex-wrap: wrap; gap: 10px; margin: 4px 0 18px; }
.pictures figure { margin: 0; }
.pictures figure:has(figcaption) { width: 7rem; }
.pictures img { image-rendering: pixelated; display: block; border-radius: 2px; outline: 1px solid #88888866; }
.pictures figcaption { font-size: 0.8rem; line-height: 1.25; margin-top: 3px; overflow-wrap: anywhere; }
.row-name { font-weight: 600; margin: 6px 0 2px; }
.wrong { color: #c0392b; font-weight: 600; }
.dark .wrong { color: #ff8a7a; }
.verdict { font-size: 1.25rem; margin: 0 0 8px; }
.figures { border-collapse: collapse; margin: 8px 0; }
.figures, .figures tr, .figures td { border: none !important; }
.figures td { padding: 3px 14px 3px 0 !important; vertical-align: top; }
.figures td:nth-child(2) { font-variant-numeric: tabular-nums; white-space: nowrap; }
.plot { width: 100%; max-width: 600px; border-radius: 4px; }
.sentence { padding: 10px 0; font-size: 1.05rem; }
"""
# For phones; outside of what Gradio lets CSS reach.
HEAD = """<style>
@media (max-width: 640px) {
  .gradio-container > .main { padding: 12px !important; }
  .gradio-container button[role=tab] { padding: 0 9px !important; }
}
</style>"""


def sentence(text: str) -> str:
    """One sentence in the place of a result."""
    return f'<p class="sentence">{escape(text)}</p>'


def named_row(name: str, pictures: str) -> str:
    """Pictures with a line above them."""
    return f'<p class="row-name">{escape(name)}</p>{pictures}'


def pictures(images: np.ndarray, captions: Sequence[str] = (), side: int = SMALL) -> str:
    """Bytes (n, height, width[, 3]) in a row that wraps, enlarged pixel by pixel; ``captions`` are HTML."""
    factor = max(1, -(-side // max(images.shape[1:3])))
    height, width = (factor * length for length in images.shape[1:3])
    tiles = []
    for number, image in enumerate(images):
        buffer = io.BytesIO()
        Image.fromarray(image).save(buffer, "PNG")
        caption = f"<figcaption>{captions[number]}</figcaption>" if captions else ""
        tiles.append(
            f'<figure><img src="{_data(buffer.getvalue())}" width="{width}" height="{height}" '
            f'alt="picture {number + 1}" style="width:{width}px;height:{height}px">{caption}</figure>'
        )
    return f'<div class="pictures">{"".join(tiles)}</div>'


def verdict(image: np.ndarray, each: np.ndarray, found: Uncertainty, classes: Sequence[str]) -> str:
    """The prediction for one image: the probabilities of ``each`` network (networks, K) and their average ``found``."""
    average = found.probabilities[0]
    best = int(average.argmax())
    fake = found.fake[0]
    rows = (
        (
            "entropy",
            f"{found.total_entropy[0]:.3f} nats",
            f"of at most {np.log(len(classes)):.2f}: all it is unsure of",
        ),
        ("mutual information", f"{found.mutual_information[0]:.3f} nats", "the part that the networks disagree about"),
        (
            "fake",
            "–" if np.isnan(fake) else f"{fake:.3f}",
            "these networks do not say" if np.isnan(fake) else "probability of not being like the training pictures",
        ),
    )
    table = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f'<p class="verdict"><b>{escape(classes[best])}</b> with probability {average[best]:.2f}; the {len(each)} '
        f"sampled networks say {each[:, best].min():.2f} to {each[:, best].max():.2f}</p>"
        f'{named_row("What the networks see", pictures(image[None]))}<table class="figures">{table}</table>'
        f'<img class="plot" src="{_data(dots(each, average, classes))}" alt="class probabilities of every network">'
    )


def dots(each: np.ndarray, average: np.ndarray, classes: Sequence[str]) -> bytes:
    """A PNG: a row for each class, in it a dot for each network's probability and a bar for the average."""
    shown = np.arange(len(classes))
    if len(classes) > MOST_CLASSES:
        shown = np.sort(np.argsort(-average, kind="stable")[:MOST_CLASSES])
    figure = Figure(figsize=(4.6, 0.8 + 0.25 * len(shown)), dpi=220, layout="constrained")
    axes = figure.subplots()
    spread = np.linspace(-0.28, 0.28, len(each)) if len(each) > 1 else np.zeros(1)  # equal ones stay apart
    for place, index in enumerate(shown):
        label = "one sampled network" if place == 0 else None
        axes.plot(each[:, index], place + spread, "o", color="#2a78b5", alpha=0.6, markersize=3.5, mew=0, label=label)
    places = np.arange(len(shown))
    axes.plot(average[shown], places, "|", color="#d1495b", markersize=11, mew=2, label="their average")
    axes.set_yticks(places, [classes[index] for index in shown.tolist()])
    for text in axes.get_yticklabels():
        text.set_parse_math(False)  # a class may have any name
    axes.set(xlim=(-0.02, 1.02), ylim=(len(shown) - 0.5, -0.5), xlabel="probability")
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)
    figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize="small")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def _data(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
