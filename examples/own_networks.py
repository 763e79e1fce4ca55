"""A Bayesian GAN of your own two networks on your own points, with a few labels: sample, collect, average, go on.

    python examples/own_networks.py                 # two half circles, ten labels; about ten seconds
    python examples/own_networks.py --stop 150      # stop after 150 iterations; the first command then goes on

The networks are two nn.Modules: noise to points, and points to class logits. They are plans: every chain draws weights
of its own. Buffers stay as they are; for batch statistics and noise use bayesgan.networks.layers.
"""

import argparse
from pathlib import Path

import torch
from sklearn.datasets import make_moons
from torch import Tensor, nn

from bayesgan import BayesianGAN, Labels, Run, Settings
from bayesgan.runs.run import Metrics

CLASSES, NOISE_DIM = 2, 4
SETTINGS = Settings.of(
    generators=4,
    discriminators=4,
    coupling="pairs",  # who faces whom: four games side by side
    noise_dim=NOISE_DIM,
    weighing="raised-labels",  # labels weigh as much as the unlabelled points
    generator_rate=3e-3,
    discriminator_rate=3e-3,
    temperature=0.01,
    iterations=300,
    burn_in=200,  # Adam; then SGHMC
    thin=10,  # collect every tenth iteration
)


class StoppedError(Exception):
    """Somebody pulled the plug."""


def predict(gan: BayesianGAN, theta: Tensor, points: Tensor) -> Tensor:
    """Class probabilities (chains, n, K) by each discriminator of ``theta``."""
    with torch.no_grad():
        return gan.discriminator(theta, points.expand(len(theta), *points.shape)).softmax(-1)


def main(folder: Path, stop: int | None = None) -> float:
    """Sample in ``folder``, going on with what is there; the share of points that the average puts into their class."""
    x, y = make_moons(500, noise=0.1, random_state=0)
    points, truth = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    labels = Labels(indices=torch.arange(10), classes=truth[:10], number=CLASSES)
    generator = nn.Sequential(nn.Linear(NOISE_DIM, 64), nn.ReLU(), nn.Linear(64, 2))
    discriminator = nn.Sequential(nn.Linear(2, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, CLASSES))
    gan = BayesianGAN(SETTINGS, generator, discriminator, points, seed=0, labels=labels)

    def evaluate(gan: BayesianGAN, sample: dict[str, Tensor]) -> Metrics:
        present = predict(gan, sample["discriminators"], points).mean(0)
        return {"accuracy": (present.argmax(1) == truth).float().mean().item()}

    def watch(iteration: int, metrics: Metrics) -> None:
        if iteration == stop:
            raise StoppedError(f"after {iteration} iterations")

    run = Run(gan, folder, {"data": "moons"}, checkpoint_seconds=0)  # checkpoint, metrics and samples are in the folder
    run.train(evaluate, every=50, progress=watch)
    average = torch.stack([predict(gan, theta, points) for theta in run.samples.each("discriminators")]).mean((0, 1))
    right = (average.argmax(1) == truth).float().mean().item()
    print(f"{right:.1%} right, averaged over {len(run.samples)} samples of 4 networks (Eq. 5)")
    return right


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("own-networks"))
    parser.add_argument("--stop", type=int, default=None)
    try:
        main(parser.parse_args().out, parser.parse_args().stop)
    except StoppedError as stopped:
        print(f"Stopped {stopped}; the same command without --stop goes on.")
