"""What does a prior over weights say about functions? Class probabilities and pictures before any data.

python -m studies.priors               half a minute
python -m studies.priors --smallest    to see that it runs: three networks of each, nothing kept

Steps 1 to 3 of Section 2, for both sides: weights from the prior, then the highest class probability that a
discriminator gives to a digit, and what a generator draws. Networks of the preset, without normalisation, which would
hide the scale of the weights. Writes results/priors/.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from bayesgan.base.files import replacing, write_text
from bayesgan.base.rng import stream
from bayesgan.data.images import load
from bayesgan.data.pixels import as_numbers
from bayesgan.networks.build import pair
from bayesgan.posterior.average import entropy
from bayesgan.sampler.population import Population
from bayesgan.settings.compose import image_settings
from bayesgan.settings.names import PriorScale

RESULTS = Path(__file__).parents[1] / "results" / "priors"
NETWORKS, IMAGES, PICTURES = 100, 200, 6
# Scale, and the variance σ²; the paper's is N(0, 10).
PRIORS: tuple[tuple[PriorScale, float], ...] = (
    *(("isotropic", variance) for variance in (0.001, 0.01, 0.1, 1.0, 10.0)),
    *(("fan-in", variance) for variance in (0.5, 1.0, 2.0, 4.0, 9.0)),
)


def implied(scale: PriorScale, variance: float, networks: int) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """Highest class probabilities (networks, images), pictures (generators, side, side), and figures of both."""
    images = load("digits", Path())
    settings = image_settings("fast", "bayesgan", "digits", normalisation="none")
    points = torch.from_numpy(images.train)
    generator, discriminator = (
        Population(each) for each in pair(settings, images.train.shape[1:], len(images.classes), points)
    )
    rng = stream(0, f"{scale} {variance}", torch.device("cpu"))
    theta = [
        each.prior_draw(networks, precision, rng)
        for each in (generator, discriminator)
        if (precision := each.precision(variance, scale, torch.empty(0))) is not None
    ]
    with torch.no_grad():
        digits = as_numbers(points[:IMAGES]).expand(networks, *([-1] * points.dim()))
        logits = discriminator(theta[1], digits, discriminator.statistics(theta[1], digits[:, :1]))
        probabilities = logits[..., : len(images.classes)].softmax(-1)
        noise = torch.randn(networks, 1, settings.networks.noise_dim, generator=rng)
        pictures = generator(theta[0], noise)[:, 0, 0]
    figures = {
        "highest": probabilities.amax(-1).mean().item(),
        # Of one network over all images, by the exponential of the entropy: 1 where it gives the same one to all.
        "classes": entropy(probabilities.mean(1)).exp().mean().item(),
        "saturated": (pictures.abs() > 0.99).double().mean().item(),
        "contrast": pictures.std((1, 2)).mean().item(),
    }
    return probabilities.amax(-1).numpy(), pictures[:PICTURES].numpy(), figures


def draw(folder: Path, networks: int) -> str:
    """The figure and its table."""
    figure = Figure(figsize=(9, 1.05 * len(PRIORS)), layout="constrained")
    axes = figure.subplots(len(PRIORS), 1 + PICTURES, width_ratios=[4.0, *[1.0] * PICTURES], squeeze=False)
    found: list[dict[str, Any]] = []
    for row, (scale, variance) in zip(axes, PRIORS, strict=True):
        highest, pictures, figures = implied(scale, variance, networks)
        found.append({"scale": scale, "variance": variance} | figures)
        row[0].hist(highest.ravel(), bins=np.linspace(0.1, 1.0, 46), density=True, color="black")
        row[0].set(xlim=(0.1, 1.0), yticks=[])
        row[0].spines[["top", "right", "left"]].set_visible(False)
        name = f"σ² = {variance:g}" if scale == "isotropic" else f"σ² = {variance:g} / fan-in"
        row[0].set_ylabel(name, rotation=0, ha="right", va="center")
        row[0].tick_params(labelbottom=(scale, variance) == PRIORS[-1])
        for place, picture in zip(row[1:], pictures, strict=False):
            place.imshow(picture, cmap="gray", vmin=-1, vmax=1)
        for place in row[1:]:
            place.set(xticks=[], yticks=[])
            place.spines[:].set_color("lightgrey")
    axes[0, 0].set_title("highest class probability of a digit", fontsize=10)
    title = axes[0, 1].annotate("pictures, each of another generator", (0, 1.15), xycoords="axes fraction")
    title.set_in_layout(False)  # it goes over several columns
    with replacing(folder / "priors.png") as path:
        figure.savefig(path, dpi=110, format="png")
    write_text(folder / "priors.json", json.dumps(found, indent=1) + "\n")
    text = HEAD.format(networks=networks) + "\n".join(map(_row, found)) + "\n"
    write_text(folder / "README.md", text)
    return text


HEAD = """# What a prior over weights says about functions

`python -m studies.priors`: {networks} discriminators and as many generators drawn from each prior, networks of the
preset `fast` on digits without normalisation.

![The highest class probability of a digit, and pictures, before any data](priors.png)

| prior of each weight | highest class probability | classes that a network uses | black or white pixels | contrast |
|---|---|---|---|---|
"""


def _row(found: dict[str, Any]) -> str:
    name = f"N(0, {found['variance']:g}{' / fan-in' if found['scale'] == 'fan-in' else ''})"
    cells = [f"{found['highest']:.2f}", f"{found['classes']:.1f} of 10", f"{found['saturated']:.0%}"]
    return f"| {name} | {' | '.join(cells)} | {found['contrast']:.2f} |"


def main(words: list[str]) -> str:
    """Draw, or see that it can be drawn."""
    torch.set_num_threads(1)
    if "--smallest" not in words:
        return draw(RESULTS, NETWORKS)
    with tempfile.TemporaryDirectory() as folder:
        return draw(Path(folder), 3)


if __name__ == "__main__":
    print(main(sys.argv[1:]))
