"""Figures made of generated pictures: Figures 2, 3 and 6 to 9 of the paper.

Everything has its place in whole dots of the PNG, so that every pixel of a picture stays a square.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from PIL import Image
from torch import Tensor

from bayesgan.base.rng import stream
from bayesgan.data.contact_sheet import panel
from bayesgan.data.names import IMAGE_SET_TITLES
from bayesgan.posterior.posterior import Drawn
from bayesgan.runs.saved import SavedRun
from bayesgan.settings.names import METHOD_TITLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS, EACH = 6, 10  # generators of a panel, and the pictures of each
SHEETS, SIDE = 4, 8  # sheets of samples, of at most SIDE × SIDE pictures
ACROSS = 256  # pixels of all pictures in a row of a sheet, at most: files of a moderate size
MEAN_OF = 256  # pictures in a mean picture

# in dots
DPI = 160
LARGEST = 80  # side of a picture in a sheet; what is larger is halved
MEAN_SIDE = 224  # of a mean picture, or a little less
MARGIN, HEAD, TITLE, LINE, LETTER = 24, 56, 36, 24, 11


@dataclass(frozen=True)
class Sheet:
    """An image with a title above, and a name left of each of its rows if they have some."""

    image: Image.Image
    title: str
    rows: Sequence[str] = ()

    @property
    def label(self) -> int:
        """Width of the names of rows, in dots."""
        return LETTER * max((1 + len(line) for name in self.rows for line in name.splitlines()), default=0)


def sheet(pictures: Tensor, title: str, rows: Sequence[str] = ()) -> Sheet:
    """A sheet of (rows, columns, channels, height, width) bytes."""
    image = panel(pictures)
    return Sheet(image.reduce(2) if image.height > LARGEST * len(pictures) else image, title, rows)


def dcgans(run: SavedRun, runs: Sequence[SavedRun]) -> list[tuple[SavedRun, int]]:
    """Runs and chains to stand beside ``run``: DCGANs trained apart, or those of one DCGAN-10 if they are more."""

    def like(method: str) -> list[SavedRun]:
        ours = (run.summary.dataset, run.summary.labels, run.record.preset)
        named = [each for each in runs if each.record.method == method]
        found = [each for each in named if (each.summary.dataset, each.summary.labels, each.record.preset) == ours]
        return [each for each in found if each.changed == found[0].changed]

    apart = [(each, 0) for each in like("dcgan")]
    together = [
        (each, chain) for each in like("dcgan10")[:1] for chain in range(each.settings.populations.chains("generators"))
    ]
    return max(apart[:ROWS], together[:ROWS], key=len)


def generators(run: SavedRun, beside: Sequence[tuple[SavedRun, int]]) -> "Figure":
    """Figure 2: a row of pictures for each generator, left of one posterior, right of DCGANs."""
    ours = run.posterior().latest(ROWS, EACH, run.record.seed)
    theirs = [each.posterior().latest(chain + 1, EACH, each.record.seed)[chain].pictures for each, chain in beside]
    if beside[0][0].record.method == "dcgan":
        names = [f"subset {each.summary.subset}\nseed {each.record.seed}" for each, _ in beside]
        row = "a DCGAN trained by itself, with its own labelled subset or seed"
    else:
        names = [f"DCGAN {chain + 1}" for _, chain in beside]
        row = "one of the DCGANs of a DCGAN-10, each trained on its own part of the unlabelled images"
    sheets = [
        sheet(
            torch.stack([each.pictures for each in ours]),
            METHOD_TITLES["bayesgan"],
            [_name(each, "\n") for each in ours],
        ),
        sheet(torch.stack(theirs), "DCGAN", names),
    ]
    caption = (
        "A row on the left is a generator of one Bayesian GAN: a chain at a collected iteration. "
        f"A row on the right is {row}. {_trained(run)}"
    )
    return _figure([sheets], f"{_title(run)}: generators of one posterior, beside DCGANs", caption)


def samples(run: SavedRun) -> "Figure":
    """Figures 6 to 9: sheets of samples from generators of one posterior."""
    side = _side(run)
    drawn = run.posterior().latest(SHEETS, side**2, run.record.seed)
    sheets = [sheet(each.pictures.unflatten(0, (side, side)), _name(each, ", ")) for each in drawn]
    caption = f"Each panel is one generator of the same Bayesian GAN. {_trained(run)}"
    return _figure(
        [sheets[start : start + 2] for start in range(0, len(sheets), 2)],
        f"{_title(run)}: samples of {len(sheets)} generators",
        caption,
    )


def styles(run: SavedRun) -> "Figure":
    """Figure 3: the two chains of the last sample whose mean pictures differ most, on the same noise."""
    posterior = run.posterior()
    last = posterior.samples.iterations[-1]
    rng = stream(run.record.seed, f"styles/{last}", posterior.device)
    noise = torch.randn(MEAN_OF, run.settings.networks.noise_dim, generator=rng)
    chains = run.settings.populations.chains("generators")
    pictures = torch.stack([each.pictures for each in posterior.drawn(last, noise.expand(chains, -1, -1))])
    means = pictures.double().mean(1)
    first, second, distance = most_different(means)
    pair, side = [first, second], _side(run)
    sheets = [
        sheet(pictures[chain, : side**2].unflatten(0, (side, side)), f"iteration {last}, chain {chain + 1}")
        for chain in pair
    ]
    factor = max(1, MEAN_SIDE // means.shape[-1])
    shown = means[pair].round().to(torch.uint8).unsqueeze(1)
    enlarged = shown.repeat_interleave(factor, -2).repeat_interleave(factor, -1)
    names = [f"chain {chain + 1}" for chain in pair]
    sheets.append(Sheet(panel(enlarged), "mean picture", names))
    caption = (
        "Both generators saw the same noise: pictures in the same place come from the same vector. Of all chains these "
        f"are the two whose mean pictures (over {MEAN_OF} vectors) differ most, by {distance:.1f} of 255 grey levels "
        f"(root mean square). {_trained(run)}"
    )
    return _figure([sheets], f"{_title(run)}: two generators of one posterior", caption)


def _side(run: SavedRun) -> int:
    """Pictures in a row and in a column of a sheet."""
    return max(2, min(SIDE, ACROSS // run.summary.train_shape[-1]))


def most_different(means: Tensor) -> tuple[int, int, float]:
    """The two of (chains, …) that are farthest apart, and their root-mean-square distance."""
    flat = means.flatten(1)
    distances = torch.cdist(flat, flat, compute_mode="donot_use_mm_for_euclid_dist").triu(1)
    place = int(distances.argmax())
    return place // len(flat), place % len(flat), float(distances.max() / flat.shape[1] ** 0.5)


def _name(drawn: Drawn, between: str) -> str:
    return f"iteration {drawn.iteration}{between}chain {drawn.chain}"


def _title(run: SavedRun) -> str:
    return IMAGE_SET_TITLES[run.summary.dataset]


def _trained(run: SavedRun) -> str:
    it = run.record
    changes = "".join(f", {name} {value}" for name, value in run.changed.items())
    return (
        f"Trained with {run.summary.labels} labels (subset {it.subset}, seed {it.seed}, preset {it.preset}{changes})"
        f" for {run.settings.length.iterations} iterations."
    )


def _figure(grid: Sequence[Sequence[Sheet]], title: str, caption: str) -> "Figure":
    """Rows of sheets under a title, with a caption below."""
    from matplotlib.figure import Figure  # takes a second to import

    width = MARGIN + max(sum(each.label + each.image.width + MARGIN for each in row) for row in grid)
    lines = textwrap.wrap(caption, width=(width - 2 * MARGIN) // LETTER)
    heights = [TITLE + max(each.image.height for each in row) + MARGIN for row in grid]
    height = HEAD + sum(heights) + LINE * len(lines) + MARGIN
    figure = Figure((width / DPI, height / DPI))
    figure.text(0.5, 1 - HEAD / 2 / height, title, ha="center", va="center", fontsize=12)
    figure.text(MARGIN / width, MARGIN / 2 / height, "\n".join(lines), ha="left", va="bottom", fontsize=9)
    top = height - HEAD
    for row, tall in zip(grid, heights, strict=True):
        left = MARGIN
        for each in row:
            left += each.label
            across, down = each.image.size
            place = (left / width, (top - TITLE - down) / height, across / width, down / height)
            axes = figure.add_axes(place, xticks=[], yticks=[], title=each.title)
            axes.spines[:].set_visible(False)
            # In colour, since a map of greys would round them.
            axes.imshow(each.image.convert("RGB"), interpolation="none", aspect="auto")
            if each.rows:
                step = each.image.height / len(each.rows)
                axes.set_yticks([step * (number + 0.5) for number in range(len(each.rows))], each.rows, fontsize=9)
                axes.tick_params(length=0)
            left += across + MARGIN
        top -= tall
    return figure
