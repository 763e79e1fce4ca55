r"""A Bayesian neural network with a known answer: Eq. 4 by the package's mini-batches, by HMC, and by ensembles.

python -m studies.known_answer               three balances, two networks; about half an hour of one thread
python -m studies.known_answer --smallest    to see that it runs: a few iterations of each network, nothing kept

Digits, 50 labels (subset 0), 1,297 unlabelled images; discriminators 64-50-10 with tanh, 3,760 weights, and two
convolutions with GELU, 1,898 weights; prior N(0, s²/fan-in). Eight pairs play the game for the burn-in; the 1,297
images that their generators drew along it then stand for them, and

.. math:: \log p(\theta_d | X, D_s, \theta_g) = w\sum_i \log D(x_i\ \text{real}) + w\sum_j \log D(\tilde x_j\
    \text{generated}) + u\sum_s \log D(x_s = y_s) + \log p(\theta_d)

is a density like any other: ``exact`` has it in eight lines of its own, HMC samples it with all data, and the package
with mini-batches of 64. Test images tell how far two averages of Eq. 5 are apart. Writes results/known_answer/.
"""

import json
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from bayesgan.base.files import write_text
from bayesgan.data.images import Images, load
from bayesgan.data.labels import labelled_set
from bayesgan.data.pixels import as_numbers
from bayesgan.posterior.mixing import between_chains
from bayesgan.sampler.densities import weights_of
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.minibatches import Labels
from bayesgan.settings.names import Weighing
from bayesgan.settings.settings import Settings
from studies.hmc import STEPS, LogDensity, hmc

RESULTS = Path(__file__).parents[1] / "results" / "known_answer"
LABELS, SUBSET, SEED = 50, 0, 0
SIDE, HIDDEN, CLASSES, NOISE_DIM = 8, 50, 10, 20
CHAINS, MEMBERS = 8, 20
Kind = Literal["mlp", "convolutional"]
# Network, balance, and s. As printed, at 3, the chains of HMC do not agree.
CASES: tuple[tuple[Kind, Weighing, float], ...] = (
    ("mlp", "raised-labels", 1.0),
    ("mlp", "lowered-game", 3.0),
    ("mlp", "printed", 3.0),
    ("convolutional", "raised-labels", 1.5),
)


@dataclass(frozen=True)
class Effort:
    """How long everybody works."""

    game: int = 600  # iterations of Adam
    sampling: int = 12_000  # iterations of SGHMC,
    thin: int = 50  # of which every so many is collected
    warm_up: int = 150  # iterations of HMC
    draws: int = 200
    leapfrog: tuple[int, int] = STEPS
    descent: int = 600  # full-batch iterations of an ensemble's Adam


SMALLEST = Effort(game=10, sampling=120, thin=10, warm_up=1, draws=8, leapfrog=(2, 3), descent=4)


def digits() -> tuple[Images, Labels, Tensor]:
    """The images, the labelled ones, and all as numbers in [−1, 1], (n, 1, 8, 8), training before test images."""
    images = load("digits", Path())
    indices = torch.from_numpy(labelled_set("digits", images.train_labels, LABELS, SUBSET).indices)
    labels = Labels(indices, torch.from_numpy(images.train_labels)[indices], CLASSES)
    pixels = torch.cat([torch.from_numpy(images.train), torch.from_numpy(images.test)])
    return images, labels, as_numbers(pixels)


def discriminator(kind: Kind) -> nn.Module:
    """64-50-10 with tanh, or convolutions to 4×4 and 2×2 pixels."""
    if kind == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(SIDE**2, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, CLASSES))
    first, second = nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.Conv2d(8, 16, 3, stride=2, padding=1)
    return nn.Sequential(first, nn.GELU(), second, nn.GELU(), nn.Flatten(), nn.Linear(64, CLASSES))


def generator() -> nn.Module:
    """Noise to images."""
    hidden = nn.Linear(NOISE_DIM, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU()
    return nn.Sequential(*hidden, nn.Linear(200, SIDE**2), nn.Tanh(), nn.Unflatten(1, (1, SIDE, SIDE)))


def settings(weighing: Weighing, width: float, size: int, effort: Effort) -> Settings:
    """The stage: a game of pairs, then the discriminators alone at temperature 1 with constant steps."""
    return Settings.of(
        generators=CHAINS,
        discriminators=CHAINS,
        coupling="pairs",
        committee=size,
        weighing=weighing,
        prior_scale="fan-in",
        discriminator_prior=width**2,
        generator_prior=10.0,
        noise_dim=NOISE_DIM,
        generator_rate=1e-3,
        discriminator_rate=1e-3,
        epsilon=1e-8,
        dynamics="prior",
        friction=0.1,
        step_ratio=10.0,  # γ = 1e-3: in the metric of the prior a step is 1e-3 of its variance
        schedule="constant",
        temperature=1.0,
        iterations=effort.game + effort.sampling,
        burn_in=effort.game,
        thin=effort.thin,
    )


def exact(
    kind: Kind, committee: Tensor, real: Tensor, known: Tensor, classes: Tensor, weights: tuple[float, float]
) -> LogDensity:
    """log p(θ_d | X, D_s, θ_g) of Eq. 4, but for the prior, with all data: from (chains, weights) to (chains,)."""
    points, (game, label) = torch.cat([real, committee, known]), weights
    parts = [len(real), len(committee), len(known)]

    def log_density(theta: Tensor) -> Tensor:
        logits = nn.functional.pad(outputs(kind, theta, points), (1, 0))  # class 0 is generated
        of_real, of_fake, of_known = logits.log_softmax(-1).split(parts, 1)
        real_term = of_real[..., 1:].logsumexp(-1).sum(1) + of_fake[..., 0].sum(1)
        return game * real_term + label * of_known[:, torch.arange(len(classes)), 1 + classes].sum(1)

    return log_density


def outputs(kind: Kind, theta: Tensor, points: Tensor) -> Tensor:
    """The logits (chains, n, K) of :func:`discriminator` with rows of ``theta`` for weights."""
    if kind == "mlp":
        first, shift, second, offset = _parts(theta, (HIDDEN, SIDE**2), (HIDDEN,), (CLASSES, HIDDEN), (CLASSES,))
        hidden = torch.tanh(points.flatten(1) @ first.mT + shift.unsqueeze(1))
        return hidden @ second.mT + offset.unsqueeze(1)
    first, shift, second, lift, third, offset = _parts(theta, (72,), (8,), (1152,), (16,), (CLASSES, 64), (CLASSES,))
    weights, chains = (first.reshape(-1, 1, 3, 3), second.reshape(-1, 8, 3, 3)), len(theta)  # of groups of channels
    maps = nn.functional.gelu(nn.functional.conv2d(points, weights[0], shift.flatten(), 2, 1))
    maps = nn.functional.gelu(nn.functional.conv2d(maps, weights[1], lift.flatten(), 2, 1, groups=chains))
    return maps.reshape(len(points), chains, -1).transpose(0, 1) @ third.mT + offset.unsqueeze(1)


def _parts(theta: Tensor, *shapes: tuple[int, ...]) -> tuple[Tensor, ...]:
    sizes = [math.prod(shape) for shape in shapes]
    return tuple(part.unflatten(1, shape) for part, shape in zip(theta.split(sizes, 1), shapes, strict=True))


def descended(log_density: LogDensity, start: Tensor, iterations: int) -> Tensor:
    """The modes that Adam finds from ``start``, with all data and a rate that falls along a cosine."""
    theta = start.clone().requires_grad_()
    adam = torch.optim.Adam([theta], lr=1e-2)
    falls = torch.optim.lr_scheduler.CosineAnnealingLR(adam, iterations)
    for _ in range(iterations):
        adam.zero_grad()
        (-log_density(theta).sum()).backward()
        adam.step()
        falls.step()
    return theta.detach()


def predicted(kind: Kind, theta: Tensor, points: Tensor) -> Tensor:
    """p(y | x, real) of each row: (chains, n, K)."""
    return outputs(kind, theta, points).softmax(-1)


def apart(one: Tensor, other: Tensor) -> dict[str, float]:
    """How far two predictive distributions (n, K) are apart."""
    return {
        "agreement": (one.argmax(1) == other.argmax(1)).double().mean().item(),
        "total_variation": (one - other).abs().sum(1).mean().item() / 2,
    }


def scores(average: Tensor, truth: Tensor) -> dict[str, float]:
    """Errors and the negative log-likelihood."""
    own = average.gather(1, truth.unsqueeze(1)).clamp_min(1e-12).log()
    return {"errors": int((average.argmax(1) != truth).sum()), "nll": -own.mean().item()}


def r_hat(probabilities: Tensor) -> float:
    """The 95 % quantile over test images of split R-hat of the likeliest class's probability, (chains, draws, n, K)."""
    likeliest = probabilities.mean((0, 1)).argmax(-1)
    own = probabilities.gather(-1, likeliest.expand(*probabilities.shape[:2], -1).unsqueeze(-1)).squeeze(-1)
    return float(np.nanquantile(between_chains(own.movedim(-1, 0).double().numpy()), 0.95))


def compare(kind: Kind, weighing: Weighing, width: float, effort: Effort) -> dict[str, Any]:
    """Everybody on one density."""
    images, labels, pixels = digits()
    size, truth = len(images.train), torch.from_numpy(images.test_labels)
    train, test = pixels[:size], pixels[size:]
    chosen = settings(weighing, width, size, effort)
    gan = BayesianGAN(chosen, generator(), discriminator(kind), train, SEED, labels)
    clock = time.monotonic()
    while gan.state.iteration < effort.game:
        gan.iterate()
    assert gan.state.committee is not None
    seconds: dict[str, float] = {"game": time.monotonic() - clock}
    found: dict[str, Tensor] = {}  # probabilities, (chains, draws, n, K)

    clock, collected = time.monotonic(), []
    while gan.state.iteration < chosen.length.iterations:
        gan.iterate()
        if gan.collects:
            collected.append(predicted(kind, gan.state.discriminators.theta, test))
    found["SGHMC of the package"] = torch.stack(collected, 1)[:, len(collected) // 4 :]  # the first quarter settles
    seconds["SGHMC of the package"] = time.monotonic() - clock

    known = train[labels.indices]
    likelihood = exact(kind, gan.state.committee, train, known, labels.classes, weights_of(weighing, size, LABELS))
    precision = gan.gradients.precision("discriminators", train)
    assert precision is not None
    scale = precision.rsqrt()

    def log_posterior(scaled: Tensor) -> Tensor:  # of θ/σ
        return likelihood(scaled * scale) - scaled.square().sum(1) / 2

    rng = torch.Generator().manual_seed(SEED)
    initial = gan.discriminator.initial(MEMBERS, rng) / scale
    clock = time.monotonic()
    settled = descended(log_posterior, initial[:CHAINS], max(1, effort.descent // 4))
    oracle = hmc(log_posterior, settled, effort.warm_up, effort.draws, SEED, effort.leapfrog)
    found["HMC"] = torch.stack([predicted(kind, each * scale, test) for each in oracle.draws], 0)
    seconds["HMC"] = time.monotonic() - clock
    for name, density in (("MAP ensemble", log_posterior), ("flat ensemble", lambda each: likelihood(each * scale))):
        clock = time.monotonic()
        theta = descended(density, initial, effort.descent) * scale
        found[name] = predicted(kind, theta, test).unsqueeze(1)
        seconds[name] = time.monotonic() - clock

    reference = found["HMC"]
    half = CHAINS // 2
    rows: dict[str, Any] = {
        "two halves of the HMC chains": apart(reference[:half].mean((0, 1)), reference[half:].mean((0, 1)))
    }
    for name, probabilities in found.items():
        average = probabilities.mean((0, 1))
        rows[name] = scores(average, truth) | {"seconds": round(seconds[name], 1)}
        rows[name] |= {} if name == "HMC" else apart(average, reference.mean((0, 1)))
        rows[name] |= {"r_hat": r_hat(probabilities)} if probabilities.shape[1] > 1 else {}
    return {
        "network": kind,
        "weighing": weighing,
        "width": width,
        "acceptance": oracle.acceptance,
        "step": oracle.step,
        "rows": rows,
    }


HEAD = f"""# A Bayesian neural network with a known answer

`python -m studies.known_answer`: Eq. 4 for two small discriminators on digits, {LABELS} labels, before a committee of
generated images; errors of 500 test images and their negative log-likelihood, each average's distance from that of
full-batch HMC (agreement of predicted classes, mean total variation), and the split R-hat that 95 % of the test images
stay below.

| network, balance, s | | errors | NLL | agreement | total variation | R-hat | seconds |
|---|---|---|---|---|---|---|---|
"""


def formatted(cases: list[dict[str, Any]]) -> str:
    """The table."""
    lines = []
    for case in cases:
        for name, row in case["rows"].items():
            cells = [f"{case['network']}, {case['weighing']}, {case['width']:g}", name]
            formats = {"errors": "d", "nll": ".3f", "agreement": ".3f", "total_variation": ".4f", "r_hat": ".3f"}
            cells += [format(row[each], style) if each in row else "" for each, style in formats.items()]
            lines.append(f"| {' | '.join([*cells, format(row['seconds'], '.0f') if 'seconds' in row else ''])} |")
    return HEAD + "\n".join(lines) + "\n"


def main(words: list[str]) -> str:
    """Compare, and write what is found as it comes."""
    torch.set_num_threads(1)
    if "--smallest" in words:
        return formatted([compare(*CASES[0], SMALLEST), compare(*CASES[-1], SMALLEST)])
    cases: list[dict[str, Any]] = []
    for case in CASES:
        cases.append(compare(*case, Effort()))
        write_text(RESULTS / "known_answer.json", json.dumps(cases, indent=1) + "\n")
        write_text(RESULTS / "README.md", formatted(cases))
        print(*formatted(cases[-1:]).splitlines()[-5:], sep="\n", flush=True)
    return formatted(cases)


if __name__ == "__main__":
    print(main(sys.argv[1:]))
