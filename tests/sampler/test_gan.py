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
from bayesgan.settings.names import Coupling, Marginal
from bayesgan.settings.settings import Settings, parse_settings

NOISE_DIM, HIDDEN, DIM, SIZE = 2, 4, 3, 12


def small_gan(seed: int = 0, dtype: torch.dtype = torch.double, **settings: Any) -> BayesianGAN:
    values = {"noise_dim": NOISE_DIM, "discriminators": 1, "real_batch": 3, "fake_batch": 2} | settings
    values = {"burn_in": 3, "iterations": 8, "thin": 1} | values
    data = torch.randn(SIZE, DIM, dtype=dtype, generator=torch.Generator().manual_seed(7))
    return BayesianGAN(parse_settings(Settings, **values), mlp(NOISE_DIM, HIDDEN, DIM), mlp(DIM, HIDDEN, 1), data, seed)


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
    for k in opponents(s.coupling, chain, s.generators, s.discriminators, s.replicas):
        for batch in noise.split(s.fake_batch):
            likelihood = torch.ones((), dtype=torch.double)
            for z in batch:
                point = forward(theta_g, z, NOISE_DIM, DIM)
                likelihood = likelihood * probability(gan.discriminators.theta[k], point)
            terms.append(torch.log(likelihood) * SIZE / s.fake_batch + naive_prior(theta_g, s.prior_variance))
    return joined(terms, s.marginal)


def naive_discriminator(gan: BayesianGAN, chain: int, theta_d: Tensor, noise: Tensor, real: Tensor) -> Tensor:
    s = gan.settings
    terms = []
    for k in opponents(s.coupling, chain, s.discriminators, s.generators, s.replicas):
        for batch in noise[k].split(s.fake_batch):
            log_p = naive_prior(theta_d, s.prior_variance)
            for x in real:
                log_p = log_p + torch.log(probability(theta_d, x)) * SIZE / s.real_batch
            for z in batch:
                point = forward(gan.generators.theta[k], z, NOISE_DIM, DIM)
                log_p = log_p + torch.log(1 - probability(theta_d, point)) * SIZE / s.fake_batch
            terms.append(log_p)
    return joined(terms, s.marginal)


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
        prior_variance=variance,
    )
    noise = gan.noise(6, 4)
    real = gan.data[gan.mini_batches()]

    theta_g = gan.generators.theta.clone().requires_grad_()
    log_p = gan.generator_log_posterior(theta_g, gan.discriminators.theta, noise)
    (gradient,) = torch.autograd.grad(log_p.sum(), theta_g)
    for chain in range(6):
        theta = gan.generators.theta[chain].clone().requires_grad_()
        expected = naive_generator(gan, chain, theta, noise[chain])
        torch.testing.assert_close(log_p[chain], expected, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(gradient[chain], torch.autograd.grad(expected, theta)[0], rtol=1e-9, atol=1e-10)

    theta_d = gan.discriminators.theta.clone().requires_grad_()
    log_p = gan.discriminator_log_posterior(theta_d, gan.fakes(gan.generators.theta, noise), real)
    (gradient,) = torch.autograd.grad(log_p.sum(), theta_d)
    for chain in range(len(theta_d)):
        theta = gan.discriminators.theta[chain].clone().requires_grad_()
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
        prior_variance=None,
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
    torch.nn.utils.vector_to_parameters(twin.generators.theta[0], generator.parameters())
    torch.nn.utils.vector_to_parameters(twin.discriminators.theta[0], discriminator.parameters())
    descend_g = torch.optim.SGD(generator.parameters(), lr=rate_g)
    descend_d = torch.optim.SGD(discriminator.parameters(), lr=rate_d)
    bce = torch.nn.BCEWithLogitsLoss()

    logits = discriminator(generator(twin.noise(1, 2)[0]))
    bce(logits, torch.ones_like(logits)).backward()
    descend_g.step()
    descend_d.zero_grad()
    real = discriminator(twin.data[twin.mini_batches()[0]])
    fake = discriminator(generator(twin.noise(1, 2)[0]).detach())
    (bce(real, torch.ones_like(real)) + bce(fake, torch.zeros_like(fake))).backward()
    descend_d.step()

    gan.iterate()
    for state, network in ((gan.generators, generator), (gan.discriminators, discriminator)):
        flat = torch.nn.utils.parameters_to_vector(network.parameters()).detach()
        torch.testing.assert_close(state.theta[0], flat, rtol=1e-10, atol=1e-12)


def test_sum_is_mean_at_a_lower_temperature() -> None:
    """With J noise batches and K opponents the sum is JK times the mean, prior and real terms included."""
    total, mean = (
        small_gan(generators=3, discriminators=2, noise_batches=2, marginal=marginal) for marginal in ("sum", "mean")
    )
    (summed, _), (averaged, _) = total.generator_gradient(), mean.generator_gradient()
    torch.testing.assert_close(summed, 4 * averaged)
    indices = total.mini_batches()
    (summed, _), (averaged, _) = total.discriminator_gradient(indices), mean.discriminator_gradient(indices)
    torch.testing.assert_close(summed, 6 * averaged)


def test_same_seed_same_bits_and_another_seed_others() -> None:
    runs = []
    for seed in (0, 0, 1):
        gan = small_gan(seed, torch.float)
        for _ in range(8):
            gan.iterate()
        runs.append(gan)
    first, again, other = (torch.cat([gan.generators.theta.flatten(), gan.discriminators.theta[0]]) for gan in runs)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_step_size_counts_unique_points() -> None:
    gan = small_gan(real_batch=5, burn_in=1, step_ratio=1.0, friction=0.5)
    gan.iterate()
    gan.iterate()
    seen = int(gan.seen.sum())
    assert 5 <= seen <= 10
    assert gan.step_size(0.1) == 0.5 * 0.1 / seen
    for _ in range(200):
        gan.iterate()
    assert gan.step_size(0.1) == 0.5 * 0.1 / SIZE


@pytest.mark.parametrize(("iterations", "phase"), [(2, "learning rates"), (5, "step_ratio")])
def test_a_diverged_chain_is_named_at_its_iteration(iterations: int, phase: str) -> None:
    gan = small_gan(generators=4)
    for _ in range(iterations - 1):
        gan.iterate()
    gan.generators.theta[2, 5] = math.inf
    with pytest.raises(BayesganError, match=f"generator chain 2 .* at iteration {iterations}: .*{phase}"):
        gan.iterate()


def test_gradient_noise_vanishes_with_the_mini_batch_noise() -> None:
    """No randomness in the gradient, no gradient noise: all points equal and a generator that ignores z."""
    gan = small_gan(burn_in=1)
    gan.iterate()
    gan.iterate()
    assert all(value["mean"] > 0 for value in gan.gradient_noise().values())
    gan.data[:] = gan.data[0]
    first_layer = slice(0, NOISE_DIM * HIDDEN)
    gan.generators.theta[:, first_layer] = 0.0
    noise = gan.gradient_noise()
    assert noise["discriminators"]["max"] == pytest.approx(0.0, abs=1e-20)


def test_gradient_noise_does_not_disturb_the_chains() -> None:
    quiet, watched = small_gan(), small_gan()
    for _ in range(8):
        quiet.iterate()
        watched.iterate()
        watched.gradient_noise()
    assert torch.equal(quiet.generators.theta, watched.generators.theta)


def test_wasserstein_critic_is_clipped() -> None:
    gan = small_gan(game="wasserstein", clip=0.01, discriminator_steps=2)
    gan.iterate()
    assert gan.discriminators.theta.abs().max().item() == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"temperature": -1}, "Setting temperature cannot be -1: .*greater than or equal to 0"),
        ({"generators": -1}, "Setting generators cannot be -1"),
        ({"generators": 0}, "Without generators there is only classification"),
        ({"dynamics": "adam"}, "Dynamics 'adam' have no noise"),
        ({"family": "mean-field"}, "optimised, not sampled"),
        ({"friction": 1.5}, "Setting friction cannot be 1.5"),
        ({"marginal": "max"}, "Setting marginal cannot be 'max'"),
        ({"no_such": 1}, "Setting no_such"),
        ({"burn_in": 0}, "take their mass from the Adam burn-in"),
        ({"coupling": "pairs"}, "as many generators as discriminators"),
        ({"temperature": math.nan}, "Setting temperature"),
        ({"iterations": 320}, "320 iterations end before the first sample is collected"),
    ],
)
def test_bad_settings_get_a_sentence(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BayesganError, match=sentence):
        parse_settings(Settings, **values)


def test_settings_survive_json() -> None:
    settings = Settings(generators=3, prior_variance=None)
    assert Settings.model_validate_json(settings.model_dump_json()) == settings


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
