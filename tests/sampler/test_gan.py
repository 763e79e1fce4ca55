"""Algorithm 1 against naive implementations in double precision, and its randomness."""

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from bayesgan.base.errors import BayesganError
from bayesgan.networks.mlp import mlp
from bayesgan.sampler import sghmc
from bayesgan.sampler.gan import BayesianGAN
from bayesgan.sampler.minibatches import Labels
from bayesgan.settings.names import SIDES, Coupling, Dynamics, Marginal
from bayesgan.settings.settings import Settings
from tests.helpers.gradients import discriminator_gradient, discriminator_log_p, generator_gradient, generator_log_p
from tests.helpers.unlabelled import DIM, HIDDEN, NOISE_DIM, SIZE, small_gan

# The naive implementation: one network, one probability at a time.


def forward(theta: Tensor, x: Tensor, inputs: int, outputs: int) -> Tensor:
    first, bias, second, last = theta.split([inputs * HIDDEN, HIDDEN, HIDDEN * outputs, outputs])
    hidden = torch.clamp(x @ first.view(HIDDEN, inputs).T + bias, min=0)
    return hidden @ second.view(outputs, HIDDEN).T + last


def probability(theta_d: Tensor, point: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-forward(theta_d, point, DIM, 1)[0]))


def opponents(coupling: Coupling, chain: int, own: int, other: int, replicas: int) -> list[int]:
    """Chain m·J + j is θ^{j,m}."""
    if coupling == "all":
        return list(range(other * replicas))
    if coupling == "pairs":
        return [chain]
    return [chain // own * other + k for k in range(other)]


def joined(log_terms: list[Tensor], marginal: Marginal) -> Tensor:
    if marginal == "sum":
        return torch.stack(log_terms).sum()
    if marginal == "mean":
        return torch.stack(log_terms).sum() / len(log_terms)
    return torch.log(torch.stack([torch.exp(term) for term in log_terms]).sum() / len(log_terms))


def naive_prior(theta: Tensor, variance: float | None) -> Tensor:
    return torch.zeros(()) if variance is None else -(theta**2).sum() / (2 * variance)


def naive_generator(gan: BayesianGAN, chain: int, theta_g: Tensor, noise: Tensor) -> Tensor:
    s = gan.settings
    terms = []
    for k in opponents(
        s.populations.coupling, chain, s.populations.generators, s.populations.discriminators, s.populations.replicas
    ):
        for batch in noise.split(s.batches.fake_batch):
            likelihood = torch.ones((), dtype=torch.double)
            for z in batch:
                point = forward(theta_g, z, NOISE_DIM, DIM)
                likelihood = likelihood * probability(gan.state.discriminators.theta[k], point)
            terms.append(
                torch.log(likelihood) * SIZE / s.batches.fake_batch + naive_prior(theta_g, s.prior.generator_prior)
            )
    return joined(terms, s.densities.marginal)


def naive_discriminator(gan: BayesianGAN, chain: int, theta_d: Tensor, noise: Tensor, real: Tensor) -> Tensor:
    s = gan.settings
    terms = []
    for k in opponents(
        s.populations.coupling, chain, s.populations.discriminators, s.populations.generators, s.populations.replicas
    ):
        for batch in noise[k].split(s.batches.fake_batch):
            log_p = naive_prior(theta_d, s.prior.discriminator_prior)
            for x in real:
                log_p = log_p + torch.log(probability(theta_d, x)) * SIZE / s.batches.real_batch
            for z in batch:
                point = forward(gan.state.generators.theta[k], z, NOISE_DIM, DIM)
                log_p = log_p + torch.log(1 - probability(theta_d, point)) * SIZE / s.batches.fake_batch
            terms.append(log_p)
    return joined(terms, s.densities.marginal)


@pytest.mark.parametrize(
    ("coupling", "marginal", "variance"),
    list(itertools.product(["algorithm1", "all", "pairs"], ["sum", "mean", "density"], [0.5, None])),
)
def test_gradients_equal_a_naive_implementation(coupling: Coupling, marginal: Marginal, variance: float | None) -> None:
    gan = small_gan(
        generators=3,
        discriminators=3 if coupling == "pairs" else 2,
        replicas=2,
        noise_batches=2,
        coupling=coupling,
        marginal=marginal,
        generator_prior=variance,
        discriminator_prior=variance,
    )
    noise = gan.batches.noise(gan.state.streams)
    real = gan.batches.data[gan.batches.indices(gan.state.streams)]

    theta_g = gan.state.generators.theta.clone().requires_grad_()
    log_p = generator_log_p(gan, theta_g, gan.state.discriminators.theta, noise, None)
    (gradient,) = torch.autograd.grad(log_p.sum(), theta_g)
    for chain in range(6):
        theta = gan.state.generators.theta[chain].clone().requires_grad_()
        expected = naive_generator(gan, chain, theta, noise[chain])
        torch.testing.assert_close(log_p[chain], expected, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(gradient[chain], torch.autograd.grad(expected, theta)[0], rtol=1e-9, atol=1e-10)

    theta_d = gan.state.discriminators.theta.clone().requires_grad_()
    fakes = gan.gradients.generated(gan.state.streams, gan.state.generators.theta, noise)
    log_p = discriminator_log_p(gan, theta_d, fakes, real)
    (gradient,) = torch.autograd.grad(log_p.sum(), theta_d)
    for chain in range(len(theta_d)):
        theta = gan.state.discriminators.theta[chain].clone().requires_grad_()
        expected = naive_discriminator(gan, chain, theta, noise, real[chain])
        torch.testing.assert_close(log_p[chain], expected, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(gradient[chain], torch.autograd.grad(expected, theta)[0], rtol=1e-9, atol=1e-10)


def test_one_step_is_goodfellows_algorithm_1() -> None:
    """A flat prior, temperature 0, one chain a side: gradient ascent on log D(G(z)), then on log D(x) + log(1−D(G(z))).

    The mean losses and the learning rate are Goodfellow's; γ/N times the full-data gradient is the same step.
    """
    rate_g, rate_d = 0.05, 0.03
    gan = small_gan(
        generators=1,
        generator_prior=None,
        discriminator_prior=None,
        temperature=0.0,
        dynamics="plain",
        burn_in=0,
        schedule="constant",
        generator_rate=rate_g,
        discriminator_rate=rate_d,
        friction=0.5,
        step_ratio=2.0,  # γ = 2 × ½ × rate
    )
    twin = small_gan(generators=1)  # the same seed: the same weights, noise and mini-batches
    generator, discriminator = mlp(NOISE_DIM, HIDDEN, DIM).double(), mlp(DIM, HIDDEN, 1).double()
    torch.nn.utils.vector_to_parameters(twin.state.generators.theta[0], generator.parameters())
    torch.nn.utils.vector_to_parameters(twin.state.discriminators.theta[0], discriminator.parameters())
    descend_g = torch.optim.SGD(generator.parameters(), lr=rate_g)
    descend_d = torch.optim.SGD(discriminator.parameters(), lr=rate_d)
    bce = torch.nn.BCEWithLogitsLoss()

    logits = discriminator(generator(twin.batches.noise(twin.state.streams)[0]))
    bce(logits, torch.ones_like(logits)).backward()
    descend_g.step()
    descend_d.zero_grad()
    real = discriminator(twin.batches.data[twin.batches.indices(twin.state.streams)[0]])
    fake = discriminator(generator(twin.batches.noise(twin.state.streams)[0]).detach())
    (bce(real, torch.ones_like(real)) + bce(fake, torch.zeros_like(fake))).backward()
    descend_d.step()

    gan.iterate()
    for state, network in ((gan.state.generators, generator), (gan.state.discriminators, discriminator)):
        flat = torch.nn.utils.parameters_to_vector(network.parameters()).detach()
        torch.testing.assert_close(state.theta[0], flat, rtol=1e-10, atol=1e-12)


def test_sum_is_mean_at_a_lower_temperature() -> None:
    """With J noise batches and K opponents the sum is JK times the mean, prior and real terms included."""
    total, mean = (
        small_gan(generators=3, discriminators=2, noise_batches=2, marginal=marginal) for marginal in ("sum", "mean")
    )
    torch.testing.assert_close(generator_gradient(total).values, 4 * generator_gradient(mean).values)
    torch.testing.assert_close(discriminator_gradient(total).values, 6 * discriminator_gradient(mean).values)


def test_same_seed_same_bits_and_another_seed_others() -> None:
    runs = []
    for seed in (0, 0, 1):
        gan = small_gan(seed, torch.float)
        for _ in range(8):
            gan.iterate()
        runs.append(gan)
    first, again, other = (
        torch.cat([gan.state.generators.theta.flatten(), gan.state.discriminators.theta[0]]) for gan in runs
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def eta(gan: BayesianGAN) -> float:
    return gan.update["generators"].step_size(gan.state)


def test_step_size_counts_unique_points() -> None:
    gan = small_gan(real_batch=5, burn_in=1, step_ratio=1.0, friction=0.5)
    gan.iterate()
    gan.iterate()
    seen = int(gan.state.seen.sum())
    assert 5 <= seen <= 10
    assert eta(gan) == 0.5 * 2e-4 / seen
    for _ in range(200):
        gan.iterate()
    assert eta(gan) == 0.5 * 2e-4 / SIZE


@pytest.mark.parametrize(("iterations", "phase"), [(2, "learning rates"), (5, "step_ratio")])
def test_a_diverged_chain_is_named_at_its_iteration(iterations: int, phase: str) -> None:
    gan = small_gan(generators=4)
    for _ in range(iterations - 1):
        gan.iterate()
    gan.state.generators.theta[2, 5] = math.inf
    with pytest.raises(BayesganError, match=f"generator chain 2 .* at iteration {iterations}: .*{phase}"):
        gan.iterate()


def test_gradient_noise_vanishes_with_the_mini_batch_noise() -> None:
    """No randomness in the gradient, no gradient noise: all points equal and a generator that ignores z."""
    gan = small_gan(burn_in=1)
    gan.iterate()
    gan.iterate()
    assert all(value["mean"] > 0 for value in gan.gradient_noise().values())
    gan.batches.data[:] = gan.batches.data[0]
    first_layer = slice(0, NOISE_DIM * HIDDEN)
    gan.state.generators.theta[:, first_layer] = 0.0
    noise = gan.gradient_noise()
    assert noise["discriminators"]["max"] == pytest.approx(0.0, abs=1e-20)


def test_gradient_noise_does_not_disturb_the_chains() -> None:
    quiet, watched = small_gan(), small_gan()
    for _ in range(8):
        quiet.iterate()
        watched.iterate()
        watched.gradient_noise()
    assert torch.equal(quiet.state.generators.theta, watched.state.generators.theta)


def test_wasserstein_critic_is_clipped() -> None:
    gan = small_gan(game="wasserstein", clip=0.01, discriminator_steps=2)
    gan.iterate()
    assert gan.state.discriminators.theta.abs().max().item() == pytest.approx(0.01)


@pytest.mark.parametrize("dynamics", ["adam", "frozen"])
def test_adam_leaves_the_moving_average_of_its_weights_and_a_sample_stays_a_sample(dynamics: Dynamics) -> None:
    gan = small_gan(averaging=0.9, dynamics=dynamics, temperature=0.0, burn_in=4, iterations=8)
    for _ in range(8):
        gan.iterate()
    kept = gan.sample()
    for side in SIDES:
        chains = gan.state.of(side)
        if dynamics != "adam" and side == "generators":
            assert chains.average is None
            continue
        assert chains.average is not None
        assert not torch.equal(chains.average, chains.theta)
        assert torch.equal(kept[side], chains.average if dynamics == "adam" else chains.theta)


def test_linear_steps_rise_and_fall_for_adam_and_the_sampler_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []
    etas: list[float] = []
    adam, step = sghmc.adam_step, sghmc.sghmc_step

    def watch_adam(chains: Any, gradient: Any, settings: Any) -> None:
        rates.append(settings.rate)
        adam(chains, gradient, settings)

    def watch_step(chains: Any, gradient: Any, eta: float, *rest: Any) -> None:
        etas.append(eta)
        step(chains, gradient, eta, *rest)

    monkeypatch.setattr(sghmc, "adam_step", watch_adam)
    monkeypatch.setattr(sghmc, "sghmc_step", watch_step)
    gan = small_gan(schedule="linear", burn_in=15, iterations=20, thin=5, generator_rate=1e-3, step_ratio=0.5)
    for _ in range(20):
        gan.iterate()
    paces = [min((each - 0.5) / 20 / 0.1, (1 - (each - 0.5) / 20) / 0.9) for each in range(1, 21)]
    assert rates[::2] == pytest.approx([1e-3 * pace for pace in paces[:15]])  # of the generators, which move first
    gamma = 0.5 * gan.settings.sampler.friction * 1e-3
    assert etas[::2] == pytest.approx([gamma / SIZE * pace for pace in paces[15:]])


def test_adam_follows_the_cyclical_schedule_after_the_burn_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a cosine from the whole rate to 0 over the iterations after the burn-in; before it, the whole rate."""
    values: dict[str, Any] = {"dynamics": "adam", "temperature": 0.0, "iterations": 7, "burn_in": 3, "thin": 1}
    gan = small_gan(**values, schedule="cyclical", cycles=1, generator_rate=0.25, discriminator_rate=0.5)
    rates: list[float] = []
    monkeypatch.setattr(sghmc, "adam_step", lambda state, gradient, adam: rates.append(adam.rate))
    for _ in range(7):
        gan.iterate()
    expected = [1.0] * 3 + [(1 + math.cos(math.pi * done / 4)) / 2 for done in range(4)]
    assert rates[0::2] == pytest.approx([0.25 * share for share in expected])
    assert rates[1::2] == pytest.approx([0.5 * share for share in expected])


POINTS = torch.zeros(6, DIM)
NETWORKS = mlp(NOISE_DIM, HIDDEN, DIM), mlp(DIM, HIDDEN, 2)


@pytest.mark.parametrize(
    ("networks", "data", "labels", "sentence"),
    [
        ((mlp(NOISE_DIM, 4, DIM + 1), NETWORKS[1]), POINTS, None, r"points of shape \(4,\), but the data have \(3,\)"),
        ((mlp(NOISE_DIM + 1, 4, DIM), NETWORKS[1]), POINTS, None, "do not fit noise of 2 numbers"),
        ((NETWORKS[0], mlp(DIM + 1, 4, 2)), POINTS, None, r"do not fit .* points of shape \(3,\)"),
        ((NETWORKS[0], mlp(DIM, 4, 1)), POINTS, ([0, 1], [0, 1]), r"returns \(1,\) for a point: 2 logits are needed"),
        (NETWORKS, POINTS[:0], None, "at least one point"),
        (NETWORKS, POINTS.numpy(), None, "torch.from_numpy makes one"),
        (NETWORKS, POINTS + math.nan, None, "not finite"),
        (NETWORKS, POINTS, ([0, 6], [0, 1]), "a wrong index"),
        (NETWORKS, POINTS, ([0, 1], [0, 2]), "a wrong class"),
        (NETWORKS, POINTS, ([0, 1], [0]), "a wrong class, or none"),
        (NETWORKS, POINTS, ([], []), "a wrong index, or none"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_computed(
    networks: tuple[Any, Any], data: Any, labels: tuple[list[int], list[int]] | None, sentence: str
) -> None:
    indices, classes = ([], []) if labels is None else labels
    given = Labels(torch.tensor(indices).long(), torch.tensor(classes).long(), 2) if labels is not None else None
    with pytest.raises(BayesganError, match=sentence):
        BayesianGAN(Settings.of(noise_dim=NOISE_DIM), *networks, data, 0, given)


def test_generated_points_do_not_disturb_the_chains() -> None:
    quiet, watched = small_gan(generators=3), small_gan(generators=3)
    for _ in range(5):
        quiet.iterate()
        watched.iterate()
        points = watched.generate(7, torch.Generator().manual_seed(1))
        assert points.shape == (3, 7, DIM)
    assert torch.equal(quiet.state.generators.theta, watched.state.generators.theta)
    noise = torch.randn(3, 7, NOISE_DIM, dtype=torch.double, generator=torch.Generator().manual_seed(1))
    for chain in range(3):
        torch.testing.assert_close(points[chain], forward(watched.state.generators.theta[chain], noise[chain], 2, DIM))


def test_steepness_is_the_largest_eigenvalue_of_the_hessian_in_the_metric_of_the_mass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On one mini-batch, by differences of coordinates. The power method comes from below, and meets kinks."""
    gan = small_gan(generators=2, discriminators=2, dynamics="frozen", burn_in=6, iterations=20)
    for _ in range(8):
        gan.iterate()
    batch = gan.batches.for_discriminators(gan.state, everybody=True)
    monkeypatch.setattr(gan.batches, "for_discriminators", lambda *_, **__: batch)
    found = gan._steepness("discriminators")
    assert batch.noise is not None
    streams, chains = gan.state.streams, gan.state.discriminators
    facing = gan.gradients._facing(gan.gradients.generated(streams, gan.state.generators.theta, batch.noise), 2)

    def slope(flat: Tensor) -> Tensor:
        theta = flat.view_as(chains.theta).clone().requires_grad_()
        log_p = gan.gradients.log_p_of_discriminators(gan.state, theta, facing.detach(), batch)[0].posterior.sum()
        return torch.autograd.grad(log_p, theta)[0].flatten()

    assert chains.preconditioner is not None
    scale, at = chains.preconditioner.flatten(), chains.theta.flatten()
    steps = 1e-6 * torch.eye(len(at), dtype=at.dtype)
    hessian = torch.stack([slope(at + step) - slope(at - step) for step in steps]) / 2e-6
    eigenvalues = torch.linalg.eigvalsh(scale[:, None] * (hessian + hessian.T) / 2 * scale)
    exact = float(eigenvalues.abs().max()) * gan.update["discriminators"].step_size(gan.state)
    assert 0.8 * exact < found < 1.1 * exact


def test_steps_that_are_too_long_for_the_density_become_short_enough_and_stay_so() -> None:
    """A thousand times what is stable; looked at four times in the first tenth, and never again."""
    values: dict[str, Any] = {"generators": 2, "discriminators": 2, "dynamics": "prior", "schedule": "constant"}
    values |= {"burn_in": 10, "iterations": 210, "friction": 0.1, "committee": 12, "step_ratio": 1e5}
    gan, paces = small_gan(**values, heating=1e6), list[float]()
    for _ in range(210):
        gan.iterate()
        pace = gan.state.discriminators.pace
        paces.append(1.0 if pace is None else float(pace[0]))
    changes = [iteration + 1 for iteration in range(1, 210) if paces[iteration] != paces[iteration - 1]]
    assert changes[0] == 11
    assert set(changes) <= {11, 13, 17, 31}
    assert paces[-1] < 0.1
    free = small_gan(**values)
    with pytest.raises(BayesganError, match="no longer finite"):
        [free.iterate() for _ in range(210)]
