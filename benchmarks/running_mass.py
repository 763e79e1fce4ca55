"""What the approximation in dynamics `running` costs, on a Gaussian whose answer is known.

python benchmarks/running_mass.py        (half a minute; the table below is copied into docs/choices.md)

The mass follows the gradient, but the correction for a mass that depends on the position is left out. For each decay β₂
of the running second moment: the sampled variance divided by the target's, in the flattest and in the steepest of ten
directions, and the fourth moment divided by a Gaussian's. `frozen` is the same sampler with the mass fixed; its ratios
differ from 1 by the discretisation alone, (4−2α)/(4−2α−ηλ/M).
"""

import torch

from bayesgan.sampler import sghmc
from bayesgan.sampler.sghmc import Adam, State

CHAINS, STEPS, ALPHA = 20_000, 2_000, 0.5
CURVATURE = torch.logspace(-1, 1, 10, dtype=torch.double)
ETA = 0.05


def ratios(running: bool, beta2: float) -> tuple[float, float, float]:
    """Variance over target in the flattest and the steepest direction; mean fourth moment over a Gaussian's."""
    rng = torch.Generator().manual_seed(0)
    target = 1 / CURVATURE
    # Start in the target, with the second moment that the gradient has there.
    theta = torch.randn(CHAINS, len(target), dtype=torch.double, generator=rng) * target.sqrt()
    state = State.at(theta)
    state.second_moment[:] = CURVATURE**2 * target
    state.adam_steps.fill_(10**6)
    adam = Adam(rate=1.0, betas=(0.5, beta2), epsilon=1e-3, data_size=1)
    state.preconditioner = sghmc.mass(state, adam).rsqrt()
    for _ in range(STEPS):
        gradient = -CURVATURE * state.theta
        if running:
            sghmc.update_running_mass(state, gradient, adam)
        sghmc.sghmc_step(state, gradient, ETA, ALPHA, 1.0, sghmc.noise_seeds(rng, 10))
    variance = state.theta.var(0) / target
    fourth = (state.theta**4).mean(0) / (3 * state.theta.var(0) ** 2)
    return variance[0].item(), variance[-1].item(), fourth.mean().item()


def main() -> None:
    """Print the table."""
    print("| dynamics | β₂ | variance ÷ target, flattest | steepest | fourth moment ÷ Gaussian's |")
    print("|---|---|---|---|---|")
    for running, beta2 in ((False, 0.999), (True, 0.999), (True, 0.99), (True, 0.9)):
        low, high, fourth = ratios(running, beta2)
        name, decay = ("running", beta2) if running else ("frozen", "–")
        print(f"| {name} | {decay} | {low:.3f} | {high:.3f} | {fourth:.3f} |")
    error = (2 / CHAINS) ** 0.5
    print(f"\nMonte Carlo error of a variance ratio: ±{error:.3f}")


if __name__ == "__main__":
    main()
