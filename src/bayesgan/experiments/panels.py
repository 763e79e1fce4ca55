"""Pictures of pictures: one row for each generator, as in Figure 2."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from bayesgan.chains import Population
from bayesgan.errors import BayesganError
from bayesgan.files import replacing
from bayesgan.samples import DIGITS, SampleSet

GAP = 2  # pixels between pictures
SMALLEST_SIDE = 56  # of a picture in the panel: small images are enlarged, pixel by pixel


def pictures(generator: Population, samples: SampleSet, iteration: int, noise: Tensor) -> Tensor:
    """Bytes (chains, n, channels, height, width): what a collected sample makes of ``noise`` (chains, n, noise_dim).

    Each picture by itself, with the statistics that were stored beside the weights.
    """
    theta = samples.load(iteration, "generators").to(noise.device)
    statistics = samples.load(iteration, "generator_statistics").to(noise.device)
    chains = len(noise)
    if theta.shape != (chains, generator.weights) or statistics.shape != (chains, generator.buffers):
        raise BayesganError(
            f"{samples.folder / f'{iteration:0{DIGITS}d}.safetensors'} does not fit the settings in the config.json "
            "of its run: put the right file back, or train again."
        )
    with torch.no_grad():
        images = generator(theta, noise, statistics)
    return images.add(1.0).mul(127.5).round().clamp(0, 255).to(torch.uint8)


def picture(pixels: np.ndarray) -> Image.Image:
    """An image of (channels, height, width) bytes: grey with one channel, in colour with three."""
    return Image.fromarray(pixels[0] if len(pixels) == 1 else np.ascontiguousarray(pixels.transpose(1, 2, 0)))


def panel(pictures: Tensor) -> Image.Image:
    """One image of (rows, columns, channels, height, width) bytes."""
    pixels = pictures.cpu().numpy()
    rows, columns, channels, height, width = pixels.shape
    factor = max(1, -(-SMALLEST_SIDE // min(height, width)))
    pixels = pixels.repeat(factor, axis=3).repeat(factor, axis=4)
    height, width = height * factor, width * factor
    canvas = np.full((channels, rows * (height + GAP) - GAP, columns * (width + GAP) - GAP), 255, np.uint8)
    for row in range(rows):
        for column in range(columns):
            top, left = row * (height + GAP), column * (width + GAP)
            canvas[:, top : top + height, left : left + width] = pixels[row, column]
    return picture(canvas)


def draw_panels(pictures: Tensor, path: Path) -> None:
    """Write the panel of ``pictures`` as PNG."""
    with replacing(path) as temporary:
        panel(pictures).save(temporary, format="PNG")
