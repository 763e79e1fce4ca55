"""The whole unsupervised Bayesian GAN (Saatchi & Wilson 2017, Algorithm 1) in one file, with torch and numpy only.

    python examples/minimal.py                      # ten clusters in 100 dimensions, about a minute on two cores
    python examples/minimal.py --temperature 0      # the same chains as an ensemble of optimised GANs
    python examples/minimal.py --generators 1 --discriminators 1 --temperature 0 --burn-in 1000     # one GAN, by Adam

Prints the Jensen-Shannon divergence (nats) between generated and held-out points, and how many clusters are reached.
The package does the same with every choice of the paper as a setting; this file is for reading.
"""

import argparse
import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

N, HIDDEN, NOISE_DIM, BATCH = 10_000, 1000, 10, 64
PRIOR_VARIANCE = 1.0
RATES = {"generator": 2e-4, "discriminator": 3e-4}  # Adam's
BETAS, EPSILON = (0.5, 0.999), 1e-3
FRICTION = 0.5  # α
STEP_RATIO = 0.5  # γ = STEP_RATIO · α · Adam's rate


# ---- data: ten clusters, each on a random plane through the origin, standardised ----


def clusters(dim: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """N training points, N test points and the ten centres."""
    planes, means = rng.normal(scale=5, size=(10, dim, 2)), rng.normal(scale=5, size=(10, 2))

    def draw() -> np.ndarray:
        cluster = rng.integers(10, size=N)
        coordinates = means[cluster] + rng.normal(size=(N, 2))
        return np.einsum("nij,nj->ni", planes[cluster], coordinates)

    train, test, centres = draw(), draw(), np.einsum("cij,cj->ci", planes, means)
    mean, deviation = train.mean(0), train.std(0)
    train, test, centres = (((x - mean) / deviation).astype(np.float32) for x in (train, test, centres))
    return train, test, centres


# ---- networks: a population is one tensor (chains, weights); all its chains run in one batched product ----


def layers(theta: Tensor, inputs: int, outputs: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The weights and biases of inputs-HIDDEN-outputs networks, as views of (chains, weights)."""
    sizes = [inputs * HIDDEN, HIDDEN, HIDDEN * outputs, outputs]
    first, first_bias, second, second_bias = torch.split(theta, sizes, dim=1)
    return (
        first.unflatten(1, (inputs, HIDDEN)),
        first_bias[:, None],
        second.unflatten(1, (HIDDEN, outputs)),
        second_bias[:, None],
    )


def forward(theta: Tensor, x: Tensor, outputs: int) -> Tensor:
    """(chains, n, inputs) to (chains, n, outputs)."""
    first, first_bias, second, second_bias = layers(theta, x.shape[2], outputs)
    return torch.relu(x @ first + first_bias) @ second + second_bias


def initial(chains: int, inputs: int, outputs: int) -> Tensor:
    """Variance 1/(3 fan-in) for weights, 1/3 for biases."""
    theta = torch.empty(chains, inputs * HIDDEN + HIDDEN + HIDDEN * outputs + outputs)
    for part, fan_in in zip(layers(theta, inputs, outputs), (inputs, 1, HIDDEN, 1), strict=True):
        part.normal_(std=math.sqrt(1 / (3 * fan_in)))
    return theta


# ---- the conditional log posteriors, rescaled to the full data (Eqs. 1 and 2, Appendix A.1) ----


def log_prior(theta: Tensor) -> Tensor:
    """log N(θ; 0, I) up to a constant, for each chain."""
    return -(theta**2).sum(1) / (2 * PRIOR_VARIANCE)


def generator_log_posterior(theta_g: Tensor, theta_d: Tensor, dim: int) -> Tensor:
    """Eq. 1 for every generator, averaged over the discriminators."""
    fakes = forward(theta_g, torch.randn(len(theta_g), BATCH, NOISE_DIM), dim)
    logits = forward(theta_d, fakes.reshape(1, -1, dim).expand(len(theta_d), -1, -1), 1)
    log_d = logsigmoid(logits).view(len(theta_d), len(theta_g), BATCH)
    return N / BATCH * log_d.sum(2).mean(0) + log_prior(theta_g)


def discriminator_log_posterior(theta_d: Tensor, theta_g: Tensor, real: Tensor) -> Tensor:
    """Eq. 2 for every discriminator, averaged over the generators."""
    dim = real.shape[2]
    with torch.no_grad():
        fakes = forward(theta_g, torch.randn(len(theta_g), BATCH, NOISE_DIM), dim)
    log_real = logsigmoid(forward(theta_d, real, 1)).sum((1, 2))
    logits = forward(theta_d, fakes.reshape(1, -1, dim).expand(len(theta_d), -1, -1), 1)
    log_fake = logsigmoid(-logits).view(len(theta_d), len(theta_g), BATCH).sum(2).mean(1)
    return N / BATCH * (log_real + log_fake) + log_prior(theta_d)


# ---- the sampler ----


class Chains:
    """Weights (chains, weights) that move by Adam first, then by SGHMC with Adam's scaling frozen as the mass."""

    def __init__(self, theta: Tensor, rate: float) -> None:
        self.theta = theta.requires_grad_()
        self.rate = rate
        # Adam sees the gradient of the full-data density, so its epsilon is per data point times N.
        self.adam = torch.optim.Adam([self.theta], lr=rate, betas=BETAS, eps=EPSILON * N, maximize=True)

    def burn_in(self, log_p: Tensor) -> None:
        """One step of Adam."""
        (self.theta.grad,) = torch.autograd.grad(log_p.sum(), self.theta)
        self.adam.step()

    def hand_over(self) -> None:
        """The mass becomes M = √v̂/N + ε, the velocity Adam's last displacement."""
        moments = self.adam.state[self.theta]
        steps = moments["step"].item()
        self.mass = (moments["exp_avg_sq"] / (1 - BETAS[1] ** steps)).sqrt() / N + EPSILON
        # Adam descends on −log p, so its first moment points downhill.
        self.velocity = -self.rate / N * moments["exp_avg"] / (1 - BETAS[0] ** steps) / self.mass

    def sghmc(self, log_p: Tensor, seen: int, temperature: float) -> None:
        """v ← (1−α)v + η M⁻¹ ∇log p + n, n ~ N(0, 2αηT M⁻¹); θ ← θ + v; with η = γ/d, d the points seen."""
        (gradient,) = torch.autograd.grad(log_p.sum(), self.theta)
        eta = STEP_RATIO * FRICTION * self.rate / seen
        noise = torch.randn_like(gradient) * (2 * FRICTION * eta * temperature / self.mass).sqrt()
        self.velocity = (1 - FRICTION) * self.velocity + eta * gradient / self.mass + noise
        with torch.no_grad():
            self.theta += self.velocity


# ---- evaluation ----


class JensenShannon:
    """JSD (nats) of kernel density estimates in the first two principal components of the training data."""

    def __init__(self, train: np.ndarray, test: np.ndarray) -> None:
        _, singular, components = np.linalg.svd(train - train.mean(0), full_matrices=False)
        self.mean, self.axes = train.mean(0), components[:2].T * math.sqrt(N) / singular[:2]
        bandwidth = N ** (-1 / 6)  # Scott's rule; cells of a quarter of it, five of it around the data
        projected = (test - self.mean) @ self.axes
        low, high = projected.min(0) - 5 * bandwidth, projected.max(0) + 5 * bandwidth
        self.edges = [np.arange(a, b, bandwidth / 4) for a, b in zip(low, high, strict=True)]
        self.kernel = np.exp(-((np.arange(-20, 21) / 4) ** 2) / 2)
        self.kernel /= self.kernel.sum()
        self.test = self.masses(test)

    def masses(self, points: np.ndarray) -> np.ndarray:
        """The mass of each cell, and of everything outside the grid."""
        x, y = ((points - self.mean) @ self.axes).T
        grid = np.histogram2d(x, y, bins=self.edges)[0] / len(points)
        for axis in (0, 1):
            grid = np.apply_along_axis(np.convolve, axis, grid, self.kernel, mode="same")
        return np.append(grid.ravel(), max(0.0, 1 - grid.sum()))

    def __call__(self, points: np.ndarray) -> float:
        """½ KL(p ‖ m) + ½ KL(q ‖ m)."""
        q = self.masses(points)
        m = (self.test + q) / 2
        return float(sum((p[p > 0] * np.log(p[p > 0] / m[p > 0])).sum() for p in (self.test, q)) / 2)


def main(arguments: argparse.Namespace) -> tuple[float, int]:
    """Train; return the last divergence and the number of clusters with at least 2 % of the generated points."""
    torch.manual_seed(arguments.seed)
    dim = arguments.dim
    train, test, centres = clusters(dim, np.random.default_rng(arguments.seed))
    data, divergence = torch.from_numpy(train), JensenShannon(train, test)
    print(f"data against data: JSD {divergence(train):.4f}")
    generators = Chains(initial(arguments.generators, NOISE_DIM, dim), RATES["generator"])
    discriminators = Chains(initial(arguments.discriminators, dim, 1), RATES["discriminator"])
    seen = torch.zeros(N, dtype=torch.bool)

    for iteration in range(1, arguments.iterations + 1):
        if iteration == arguments.burn_in + 1:
            generators.hand_over()
            discriminators.hand_over()
        for chains in (generators, discriminators):
            if chains is generators:
                log_p = generator_log_posterior(generators.theta, discriminators.theta.detach(), dim)
            else:
                indices = torch.randint(N, (arguments.discriminators, BATCH))
                seen[indices] = True
                log_p = discriminator_log_posterior(discriminators.theta, generators.theta.detach(), data[indices])
            if iteration <= arguments.burn_in:
                chains.burn_in(log_p)
            else:
                chains.sghmc(log_p, int(seen.sum()), arguments.temperature)
        if iteration % 100 == 0 or iteration == arguments.iterations:
            with torch.no_grad():
                noise = torch.randn(arguments.generators, N // arguments.generators, NOISE_DIM)
                points = forward(generators.theta, noise, dim).flatten(0, 1).numpy()
            nearest = ((centres**2).sum(1) - 2 * points @ centres.T).argmin(1)
            reached = int((np.bincount(nearest, minlength=10) >= 0.02 * len(points)).sum())
            jsd = divergence(points)
            phase = "Adam" if iteration <= arguments.burn_in else "SGHMC"
            print(f"iteration {iteration:5d} ({phase}): JSD {jsd:.4f}, {reached} of 10 clusters", flush=True)
    return jsd, reached


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--generators", type=int, default=10)
    parser.add_argument("--discriminators", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--burn-in", type=int, default=300)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(words)


if __name__ == "__main__":
    main(parse())
