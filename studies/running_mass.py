"""What the approximation in dynamics `running` costs, on a Gaussian whose answer is known.

python -m studies.running_mass        (half a minute; the table stands in studies/synthetic.md)
python -m studies.running_mass --smallest        to see that it runs: a few chains and steps

The mass follows the gradient, but the correction for a mass that depends on the position is left out. For each decay β₂
of the running second moment: the sampled variance divided by the target's, in the flattest and in the steepest of ten
directions, and the fourth moment divided by a Gaussian's. `frozen` is the same sampler with the mass fixed; its ratios
differ from 1 by the discretisation alone, (4−2α)/(4−2α−ηλ/M).
"""

import sys

import torch

from bayesgan.sampler import sghmc
from bayesgan.sampler.sghmc import Adam, Chains

CHAINS, STEPS, ALPHA = 20_000, 2_000, 0.5
CURVATURE = torch.logspace(-1, 1, 10, dtype=torch.double)
ETA = 0.05


def ratios(running: bool, beta2: float, number: int, steps: int) -> tuple[float, float, float]:
    """Variance over target in the flattest and the steepest direction; mean fourth moment over a Gaussian's."""
    rng = torch.Generator().manual_seed(0)
    target = 1 / CURVATURE
    # Start in the target, with the second moment that the gradient has there.
    theta = torch.randn(number, len(target), dtype=torch.double, generator=rng) * target.sqrt()
    chains = Chains.at(theta)
    chains.second_moment[:] = CURVATURE**2 * target
    chains.adam_steps.fill_(10**6)
    adam = Adam(rate=1.0, betas=(0.5, beta2), epsilon=1e-3, data_size=1)
    chains.preconditioner = sghmc.mass(chains, adam).rsqrt()
    for _ in range(steps):
        gradient = -CURVATURE * chains.theta
        if running:
            sghmc.update_running_mass(chains, gradient, adam)
        sghmc.sghmc_step(chains, gradient, ETA, ALPHA, 1.0, sghmc.noise_seeds(rng, 10))
    variance = chains.theta.var(0) / target
    fourth = (chains.theta**4).mean(0) / (3 * chains.theta.var(0) ** 2)
    return variance[0].item(), variance[-1].item(), fourth.mean().item()


def main(smallest: bool = False) -> list[tuple[float, float, float]]:
    """Print the table; its numbers."""
    number, steps = (100, 20) if smallest else (CHAINS, STEPS)
    rows = []
    print("| dynamics | β₂ | variance ÷ target, flattest | steepest | fourth moment ÷ Gaussian's |")
    print("|---|---|---|---|---|")
    for running, beta2 in ((False, 0.999), (True, 0.999), (True, 0.99), (True, 0.9)):
        rows.append(ratios(running, beta2, number, steps))
        low, high, fourth = rows[-1]
        name, decay = ("running", beta2) if running else ("frozen", "–")
        print(f"| {name} | {decay} | {low:.3f} | {high:.3f} | {fourth:.3f} |")
    error = (2 / number) ** 0.5
    print(f"\nMonte Carlo error of a variance ratio: ±{error:.3f}")
    return rows


if __name__ == "__main__":
    main("--smallest" in sys.argv[1:])
