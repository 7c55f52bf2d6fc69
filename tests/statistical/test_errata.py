"""The errors in papers that docs/errata.md lists: each formula as printed, and as it must be.

Nothing is sampled: identities are summed or integrated, so no test can fail by chance.
"""

from itertools import combinations

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy import linalg, optimize, stats


def flux(log_density, drift, spread, at):
    """Probability flux of dθ = drift dt + √spread dW under a density p, over p: drift −
    ½ (spread p)′ / p. A density is stationary on a line if it is zero everywhere."""
    step = 1e-5

    def product(x):
        return spread(x) * np.exp(log_density(x))

    slope = (product(at + step) - product(at - step)) / (2 * step)
    return drift(at) - slope / 2 / np.exp(log_density(at))


@pytest.fixture(params=[0.3, 1.0, 2.5, 6.0])
def at(request):
    return request.param


# --- Ahn 2015 -------------------------------------------------------------------------------------


def test_noise_is_outside_the_bracket_of_half_the_step():
    """Ahn 2015 (6.2), (6.4). A step near θ is θ + ε/2 drift + noise. To first order in ε the law
    Gamma(β, 1) stays if the variance of the noise is εθ: that of a step inside is ε³θ/4."""
    theta, beta, eps = np.linspace(1e-4, 60, 60_001), 3.0, 1e-3
    density = stats.gamma(beta).pdf(theta)
    drift = (beta - theta) / 2

    def change_of_mean_square(variance):
        """of E θ² in one step, over ε; zero at rest"""
        return np.trapezoid(density * (2 * theta * drift * eps + variance), theta) / eps

    assert abs(change_of_mean_square(eps * theta)) < 1e-3
    assert change_of_mean_square(eps**3 * theta / 4) < -2.9  # the law contracts to a point


def test_signs_of_ad_lda_and_async_lda():
    """Ahn 2015, 6.4, items 1 and 2: what comes of merging is what a recount gives."""
    rng = np.random.default_rng(7)
    before = rng.integers(0, 50, (3, 4, 5))  # counts of each worker's tokens
    after = rng.integers(0, 50, (3, 4, 5))
    n = before.sum(axis=0)
    seen = n - before + after  # AD-LDA: what worker s makes of the counts of all
    assert np.array_equal(n + (seen - n).sum(axis=0), after.sum(axis=0))
    assert not np.array_equal(n + (n - seen).sum(axis=0), after.sum(axis=0))
    assert np.array_equal(n + (after - before).sum(axis=0), after.sum(axis=0))  # Async-LDA
    assert not np.array_equal(n + (before - after).sum(axis=0), after.sum(axis=0))


def test_variance_of_a_sum_over_a_minibatch():
    """Ahn 2015 (4.8) and Algorithm 4. N/n Σ g over all minibatches: its variance is
    N (N/n − 1) V, N²/n V with replacement. γ = (n + N)/n adds the posterior's own N V to the
    latter; (n + N)/2, as in line 2 of the algorithm, has no such meaning."""
    g, n = np.random.default_rng(7).normal(size=8), 3
    size, variance = len(g), g.var(ddof=1)
    sums = [size / n * g[list(chosen)].sum() for chosen in combinations(range(size), n)]
    assert np.isclose(np.var(sums), size * (size / n - 1) * variance)
    assert not np.isclose(np.var(sums), size * (size / n) * variance)


def test_the_gradient_of_a_rating_has_its_precision():
    """Ahn 2015 (7.13), (7.19)."""
    u, v = np.random.default_rng(7).normal(size=(2, 3))
    rating, tau, step = 1.7, 2.0, 1e-6

    def log_likelihood(u):
        return stats.norm(u @ v, tau**-0.5).logpdf(rating)

    numeric = [
        (log_likelihood(u + step * e) - log_likelihood(u - step * e)) / (2 * step)
        for e in np.eye(3)
    ]
    printed = (rating - u @ v) * v
    assert np.allclose(numeric, tau * printed, rtol=1e-5)
    assert not np.allclose(numeric, printed, rtol=0.1)


def test_the_riemannian_drift_of_a_likelihood_has_a_factor_of_theta(at):
    """Ahn 2015 (8.2), (8.9), (8.14). θ ~ Gamma(η, 1), a likelihood with gradient g."""
    eta = 1.5

    def log_likelihood(x):
        return 3 * np.log(x) - x**2 / 9

    def gradient(x):
        return 3 / x - 2 * x / 9

    def log_posterior(x):
        return stats.gamma(eta).logpdf(x) + log_likelihood(x)

    def right(x):
        return (eta - x + x * gradient(x)) / 2

    def printed(x):
        return (eta - x + gradient(x)) / 2

    assert abs(flux(log_posterior, right, lambda x: x, at)) < 1e-6
    if at != 1.0:  # where both are equal
        assert abs(flux(log_posterior, printed, lambda x: x, at)) > 0.05


# --- Baker 2018 and codes -------------------------------------------------------------------------


def test_the_langevin_step_goes_down_the_potential(at):
    """Baker 2018 (2.3.9), (A.1.1), with f = −log π: the drift is −∇f, the noise √2."""

    def log_density(x):
        return -((x - 1) ** 2) / 2 - x**4 / 40

    def gradient(x):
        return (x - 1) + x**3 / 10  # of f

    assert abs(flux(log_density, lambda x: -gradient(x), lambda x: 2.0, at)) < 1e-6
    assert abs(flux(log_density, gradient, lambda x: 2.0, at)) > 0.05


def test_the_control_variate_of_zero_variance_has_mean_zero():
    """Baker 2018 (3.4.1). z = ½∇f: E[−½ΔQ + ∇Q·z] = 0, here for Q = x² under N(0, 1/P)."""
    precision = 2.5
    nodes, weights = hermegauss(8)
    x, w = nodes / np.sqrt(precision), weights / weights.sum()
    laplacian, gradient, z = 2.0, 2 * x, precision * x / 2
    assert abs(w @ (-laplacian / 2 + gradient * z)) < 1e-12
    assert abs(w @ (laplacian + gradient * z)) > 1


def test_the_coefficient_of_zero_variance_is_negative():
    """Baker 2018, Algorithm 2 and (3.4.2). g and ẑ with a joint law: the least variance is at
    −Cov/Var; with the printed sign it is greater than without any control variate."""
    precision, noise = 2.0, 1.0  # g = θ, ẑ = (Pθ + ξ)/2
    var_g, var_z, covariance = 1 / precision, (precision + noise) / 4, 0.5

    def variance(a):
        return var_g + 2 * a * covariance + a**2 * var_z

    best = optimize.minimize_scalar(variance).x
    assert np.isclose(best, -covariance / var_z)
    assert np.isclose(variance(best) / var_g, (noise / precision) / (1 + noise / precision))
    assert variance(covariance / var_z) > var_g


@pytest.mark.parametrize("psi", [0.5, 50.0])
def test_what_zero_variance_removes(psi):
    """Baker 2018, Theorem 3.4.2. Of the variance of a linear g of a Gaussian with precision P,
    and noise Ψ on the gradient, bᵀ(P + Ψ)⁻¹b goes: as good as none where Ψ is N/n times P."""
    precision = np.array([[2.0, 0.6], [0.6, 1.0]])
    noise, b = psi * precision, np.array([1.0, -2.0])
    var_z, covariance = (precision + noise) / 4, b / 2  # Cov(ẑ, bᵀθ) = ½ P P⁻¹ b
    removed = covariance @ linalg.solve(var_z, covariance)
    assert np.isclose(removed, b @ linalg.solve(precision + noise, b))
    assert np.isclose(removed / (b @ linalg.solve(precision, b)), 1 / (1 + psi))


def test_the_exponents_of_a_dirichlet_density():
    """Baker 2018, 5.2.2: ω^(α − 1) integrates to the known constant, ω^α does not."""
    alpha = np.array([0.7, 2.2])
    omega = np.linspace(0, 1, 2_002)[1:-1]
    known = stats.dirichlet(alpha).pdf(np.array([omega, 1 - omega]))
    right = omega ** (alpha[0] - 1) * (1 - omega) ** (alpha[1] - 1)
    printed = omega ** alpha[0] * (1 - omega) ** alpha[1]
    assert np.ptp(right / known) < 1e-9
    assert np.ptp(printed / known) > 0.1


def test_the_shape_of_the_root_of_a_gamma(at):
    """Baker 2018, B.1. U = 2√θ with θ ~ Gamma(a, 1) has a density ∝ u^(2a − 1) e^(−u²/4); the a
    that is set there is twice that."""
    shape, step = 1.3, 1e-6

    def log_density(u):
        return stats.gamma(shape).logpdf(u**2 / 4) + np.log(u / 2)

    slope = (log_density(at + step) - log_density(at - step)) / (2 * step)
    assert np.isclose(slope, (2 * shape - 1) / at - at / 2, atol=1e-6)
    assert not np.isclose(slope, (4 * shape - 1) / at - at / 2, atol=1e-2)


def test_where_a_slice_sampler_may_stop():
    """Baker 2018, B.4. A component that is not made yet weighs at most what is left of the stick.
    None can have ω > u* once that is below u*, and as long as it is above one might."""
    sticks = np.tile([0.5, 0.1, 0.3], 20)
    weights = sticks * np.cumprod(np.concatenate([[1], 1 - sticks[:-1]]))
    least = 0.03
    left = 1 - np.cumsum(weights)
    made = 1 + int(np.argmax(least > left))  # the smallest k* with u* > 1 − Σ ω
    assert weights[made:].max() < least
    printed = 1 + int(np.argmax(least < left))
    assert printed == 1 and weights[printed:].max() > least


def test_a_drift_that_is_preconditioned_twice(at):
    """The released code of SCIR, its baseline SGRLD: θ(α − θ) + 1 with noise θ, for Gamma(α, 1)."""
    alpha = 0.4

    def log_density(x):
        return stats.gamma(alpha).logpdf(x)

    assert abs(flux(log_density, lambda x: (alpha - x) / 2, lambda x: x, at)) < 1e-6
    released = flux(log_density, lambda x: (x * (alpha - x) + 1) / 2, lambda x: x, at)
    assert abs(released) > 0.05


def test_a_momentum_is_refreshed_with_the_whole_of_its_noise():
    """The released sgmcmc, SGHMC. ν′ = (1 − α) ν + N(0, 2αε) rests at variance 2ε/(2 − α), which is
    ε for a small friction α. To begin with ½ √(2ε) N(0, 1), as the code does, is to begin with
    half of it."""
    eps, alpha = 0.01, 1e-4
    variance = 0.0
    for _ in range(200_000):
        variance = (1 - alpha) ** 2 * variance + 2 * alpha * eps
    assert np.isclose(variance, np.sqrt(eps) ** 2, rtol=1e-3)
    assert np.isclose(variance, 2 * (np.sqrt(2 * eps) / 2) ** 2, rtol=1e-3)


def test_two_gradients_of_the_same_topics_cancel_the_counts():
    """The released control variates of LDA: count terms of θ and θ̂ with one z for both. The
    difference no longer holds the counts; with the expectations of each θ it does."""
    doc = np.array([0, 0, 1, 2])  # words; two topics

    def expected_counts(phi, alpha=0.5):
        """E[n_kw] of one document, by enumeration"""
        total, sums = 0.0, np.zeros(phi.shape)
        for code in range(2 ** len(doc)):
            z = np.array([code >> i & 1 for i in range(len(doc))])
            n = np.bincount(z, minlength=2)
            weight = np.prod(phi[z, doc]) * np.prod(
                [np.prod(alpha + np.arange(count)) for count in n]
            )
            total += weight
            np.add.at(sums, (z, doc), weight)
        return sums / total

    def term(counts, phi):
        return counts - phi * counts.sum(axis=1, keepdims=True)

    phi = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    centre = np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]])
    own = term(expected_counts(phi), phi) - term(expected_counts(centre), centre)
    shared = expected_counts(phi)
    released = term(shared, phi) - term(shared, centre)
    assert np.allclose(released, (centre - phi) * shared.sum(axis=1, keepdims=True))
    assert np.abs(own - released).max() > 0.1
