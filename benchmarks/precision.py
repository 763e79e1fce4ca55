"""An iteration of the preset `fast` in bfloat16 against one in float32; one thread.

python -m benchmarks.precision [--smallest]        (a minute; smallest: to see that it runs)

Seconds of an iteration after the labels' own phase, on random images; lower quartiles of alternating repetitions.
"""

import sys
from statistics import quantiles

import torch

from bayesgan.base import environment
from bayesgan.data.names import IMAGE_SET_SHAPES, ImageSetName
from bayesgan.networks.build import pair
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.minibatches import Labels
from bayesgan.settings.compose import image_settings
from bayesgan.settings.names import Precision
from benchmarks.workload import CLASSES, IMAGES, LABELLED, TINY, seconds

SETS: tuple[ImageSetName, ...] = ("digits", "mnist", "svhn")
REPETITIONS = 8


def prepared(name: ImageSetName, precision: Precision, smallest: bool) -> BayesianGAN:
    """A GAN that has begun to play."""
    tiny = {each: value for each, value in TINY.items() if smallest and each != "features"}
    chosen = image_settings("fast", "bayesgan", name, precision=precision, labels_first=0.0, **tiny)
    rng = torch.Generator().manual_seed(0)
    shape, _ = IMAGE_SET_SHAPES[name]
    data = torch.randint(256, (IMAGES, *shape), generator=rng, dtype=torch.uint8)
    labels = Labels(torch.arange(LABELLED), torch.arange(LABELLED) % len(CLASSES), len(CLASSES))
    gan = BayesianGAN(chosen, *pair(chosen, shape, len(CLASSES), data), data, 0, labels)
    gan.iterate()
    return gan


def main(smallest: bool = False) -> dict[str, float]:
    """Print the table; the share of float32's time that bfloat16 takes."""
    environment.use("cpu", 1)
    found: dict[str, float] = {}
    print("| set | float32, s | bfloat16, s | ratio |\n|---|---|---|---|")
    for name in SETS[: 1 if smallest else None]:
        exact, rounded = prepared(name, "float32", smallest), prepared(name, "bfloat16", smallest)
        times = [(seconds(exact.iterate), seconds(rounded.iterate)) for _ in range(2 if smallest else REPETITIONS)]
        slow, fast = (quantiles(column, method="inclusive")[0] for column in zip(*times, strict=True))
        found[name] = fast / slow
        print(f"| {name} | {slow:.3f} | {fast:.3f} | {found[name]:.2f} |")
    return found


if __name__ == "__main__":
    main("--smallest" in sys.argv[1:])
