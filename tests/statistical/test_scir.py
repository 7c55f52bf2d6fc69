"""The law of SCIR moves: one step, many steps, composition, the stationary law, minibatch noise.

Draws are fixed by their keys, so a test that passes goes on passing. What is stated is the chance
that a correct sampler would fail under a new key: about 1e-6 for each test, shared among its cases,
where it says nothing else.
"""

import itertools

import naive
import numpy as np
import pytest
from scipy import stats
from scir_laws import (
    BETA,
    N_TOPICS,
    ONE,
    everyone,
    moved,
    replicates,
    same_law,
)

from topicmc.kernels import cir, simplex
from topicmc.kernels.random import stream_key
from topicmc.samplers.row_prior import Additions, RowPrior
from topicmc.samplers.scir import Scir
from topicmc.samplers.state import n_blocks, sum_topics

THETA = (1e-30, 1e-3, 0.3, 1.0, 5.0, 300.0, 1e5, 1e7)
SHAPES = (1e-4, 0.01, 0.1, 0.3, 0.5, 0.6, 1.0, 5.0, 1e4, 1e6)
STEPS = (1e-4, 0.03, 0.5, 3.0, 20.0)


@pytest.mark.parametrize("theta", THETA)
def test_one_step_is_a_noncentral_chi_square(theta):
    """Against NumPy's noncentral χ²: 20,000 draws a case, each at 1e-9; sees distances of 0.035."""
    generator = np.random.default_rng(int(1e3 * theta) % 2**32)
    for shape, step in itertools.product(SHAPES, STEPS):
        span, mean = -np.expm1(-step), theta / np.expm1(step)
        expected = span / 2 * generator.noncentral_chisquare(2 * shape, 2 * mean, 20_000)
        for absent in (True, False):
            chain = moved(replicates(theta, 20_000), shape, step, absent=absent)
            assert same_law(chain.theta, expected) > 1e-9, (theta, shape, step, absent)


@pytest.mark.parametrize(
    ("theta", "shape", "step"), [(0.3, 0.01, 0.5), (1, 0.6, 0.5), (5, 5, 0.03), (300, 0.1, 3)]
)
def test_one_step_has_the_density_of_the_thesis(theta, shape, step):
    """Against SciPy's noncentral χ² (Eqn 5.3.3): 200,000 draws a case, each at 4e-8 or less.

    Judged by the largest of the distances at 60 points, which are quantiles of the draws; that is
    bounded by the Kolmogorov-Smirnov distance, and P(√n D > 3) ≤ 2 e^−18.
    """
    n, span, mean = 200_000, -np.expm1(-step), theta / np.expm1(step)
    draws = moved(replicates(theta, n), shape, step, absent=False).theta.ravel().astype(float)
    points = np.quantile(draws[draws > 1e-12], np.linspace(0, 0.999, 60))
    empirical = np.searchsorted(np.sort(draws), points, side="right") / n

    def distance(shape, mean, span):
        law = stats.ncx2(2 * shape, 2 * mean, scale=span / 2)
        return np.abs(empirical - law.cdf(points)).max()

    assert distance(shape, mean, span) < 3 / np.sqrt(n)
    assert distance(shape, mean, 1.05 * span) > 3 / np.sqrt(n)
    assert distance(shape, 1.05 * mean, span) > 3 / np.sqrt(n)


@pytest.mark.parametrize("fault", [None, *naive.FAULTS])
def test_planted_bugs_are_seen(fault):
    """The same comparison rejects each faulty mixture in some regime, and none without a fault."""
    generator = np.random.default_rng(8)
    worst = 1.0
    for theta, shape, step in [(1.0, 0.01, 0.5), (5.0, 0.5, 0.03), (0.3, 5.0, 3.0)]:
        chain = moved(replicates(theta, 20_000), shape, step, absent=True)
        faulty = naive.cir_sample(theta, shape, step, 20_000, generator, fault)
        worst = min(worst, same_law(chain.theta, faulty))
    assert (worst < 1e-9) == (fault is not None)


def test_mean_and_variance_of_one_step():
    """Each at 5.8 standard errors in more than 200 regimes, a false alarm once in 100,000. Regimes
    where few entries matter are not judged."""
    n, checked = 100_000, 0
    for theta, shape, step in itertools.product(THETA, SHAPES[1:], (1e-4, 0.03, 0.5, 20.0)):
        span, mean = -np.expm1(-step), theta / np.expm1(step)
        draws = moved(replicates(theta, n), shape, step, absent=False, seed=2).theta.astype(float)
        k1, k2, k4 = (  # cumulants of (span/2) χ²(2â, 2λ)
            2 ** (j - 1) * f * (2 * shape + 2 * j * mean) * (span / 2) ** j
            for j, f in ((1, 1), (2, 1), (4, 6))
        )
        if n * (shape + mean) < 1e4:
            continue
        checked += 1
        rounding = 1e-7 * k1
        assert abs(draws.mean() - k1) < 5.8 * np.sqrt(k2 / n) + rounding, (theta, shape, step)
        error = np.sqrt((k4 + 2 * k2**2) / n)
        assert abs(draws.var() - k2) < 5.8 * error + rounding**2, (theta, shape, step)
    assert checked > 200


@pytest.mark.parametrize("mean", [2e-8, 2e-5, 1e-3])
def test_rare_events_come_as_often_as_they_should(mean):
    """λ so small that 32 bits would be coarse: the number of events in 2e7 entries, at 2e-7.

    With â = 1e-7 an entry over 1e-3 has had an event, or is one of the few expected without.
    """
    step, n, shape = 0.5, 4_000_000, 1e-7
    theta, span = mean * np.expm1(step), -np.expm1(-step)
    with_event, without = stats.gamma.sf(1e-3 / span, [1.0, shape])
    rate = mean * with_event + without
    events = sum(
        int(np.sum(moved(replicates(theta, n), shape, step, absent=True, seed=seed).theta > 1e-3))
        for seed in range(5)
    )
    assert stats.poisson.sf(events - 1, 5 * n * rate) > 1e-7
    assert stats.poisson.cdf(events, 5 * n * rate) > 1e-7


@pytest.mark.parametrize("shape", [0.01, 0.3, 3.0, 1e4])
@pytest.mark.parametrize("theta", [1e-3, 1.0, 300.0])
def test_moves_compose(theta, shape):
    """h₁ then h₂ is h₁ + h₂ in law, at 1e-8 a case; leaving h₂ out is seen."""
    first, second, n = 0.2, 0.7, 50_000
    chain = moved(replicates(theta, n), shape, first, absent=True)
    moved(chain, shape, second, absent=True)
    whole = moved(replicates(theta, n), shape, first + second, absent=True, seed=3)
    part = moved(replicates(theta, n), shape, first, absent=True, seed=4)
    assert same_law(chain.theta, whole.theta) > 1e-8
    seen = same_law(chain.theta, part.theta) < 1e-8
    assert seen or (theta, shape) == (1e-3, 0.01)  # nearly stationary: nothing to be seen


def test_every_word_may_have_its_own_step():
    """The kernel's steps are per word: each row follows the law of its own step, at 1e-8."""
    chain = replicates(2.0, 90_000)
    n_words = chain.theta.shape[0]
    steps = np.resize([0.01, 0.3, 2.0], n_words)
    words, slots = np.arange(n_words, dtype=np.int32), np.full(n_words, -1, np.int32)
    cir.cir_blocks(
        chain.theta, words, steps, slots, np.empty((0, N_TOPICS), np.float32),
        RowPrior(0.1).rows(n_words, N_TOPICS), 1.0, stream_key(5, "move"), np.uint32(0), 0,
        n_blocks(n_words), np.empty((n_blocks(n_words), N_TOPICS)),
    )  # fmt: skip
    for i, step in enumerate(steps[:3]):
        expected = moved(replicates(2.0, 30_000), 0.1, step, absent=True, seed=6)
        assert same_law(chain.theta[i::3], expected.theta) > 1e-8


@pytest.mark.parametrize("shape", [0.01, 0.1, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("step", [0.05, 0.5, 5.0])
def test_stationary_law_is_gamma(shape, step):
    """Gamma(â, 1) is kept by ten moves, and reached from afar; KS at 1e-8 on 50,000 entries.

    With â = 0.01 half of the law lies under 1e-30: there the share at the floor is judged too.
    """
    n, generator = 50_000, np.random.default_rng(9)
    exact = np.maximum(generator.gamma(shape, size=n), simplex.FLOOR).astype(np.float32)
    chain = replicates(1.0, n)
    chain.theta[:] = exact.reshape(chain.theta.shape)
    for _ in range(10):
        moved(chain, shape, step, absent=True)
    far = replicates(10 * shape + 10, n)
    for _ in range(round(40 / step) if step > 0.1 else 800):
        moved(far, shape, step, absent=True)
    for theta in (chain.theta.ravel(), far.theta.ravel()):
        over = theta[theta > 2 * simplex.FLOOR]
        below = stats.gamma.cdf(2 * float(simplex.FLOOR), shape)
        assert stats.binomtest(n - over.size, n, below).pvalue > 1e-8
        conditional = (stats.gamma.cdf(over.astype(float), shape) - below) / (1 - below)
        assert stats.kstest(conditional, "uniform", method="asymp").pvalue > 1e-8
        wrong = (stats.gamma.cdf(over.astype(float), shape * 1.1) - below) / (1 - below)
        assert stats.kstest(wrong, "uniform", method="asymp").pvalue < 1e-8 or shape < 0.1


def corollary(theta, a, variance, step, n_moves):
    """Mean and variance of θ after n_moves moves (Corollary 5.4.2)."""
    decay, whole = np.exp(-step), np.exp(-step * n_moves)
    mean = theta * whole + a * (1 - whole)
    exact = 2 * theta * (whole - whole**2) + a * (1 - whole) ** 2
    return mean, exact + (1 - whole**2) * (1 - decay) / (1 + decay) * variance


def run_with_minibatches(theta, p, step, n_moves, n, fault=None):
    """n chains, each with a minibatch of its own per move: 10 of 1000 binary observations."""
    generator, chain = np.random.default_rng(10), replicates(theta, n)
    key, sampler = stream_key(11, "move"), Scir(RowPrior(BETA))
    batch = generator.binomial(10, p, chain.theta.shape)
    for _ in range(n_moves):
        if fault != "same minibatch":
            batch = generator.binomial(10, p, chain.theta.shape)
        counts = everyone(batch + BETA, chain)
        scale = 90.0 if fault == "wrong scale" else 100.0
        h = 2 * step if fault == "double step" else step
        sampler.move(chain, counts, scale=scale, step=h, key=key, threads=ONE)
    return chain.theta.astype(float).ravel()


@pytest.mark.parametrize("n_moves", [1, 4, 25])
@pytest.mark.parametrize("step", [0.05, 0.5])
@pytest.mark.parametrize("fault", [None, "same minibatch", "wrong scale", "double step"])
def test_mean_and_variance_with_minibatches(n_moves, step, fault):
    """Corollary 5.4.2 with stochastic â, at 5.5 standard errors (4e-8 each); faults are seen."""
    theta, p, n = 50.0, 0.3, 60_000
    draws = run_with_minibatches(theta, p, step, n_moves, n, fault)
    a, variance = BETA + 1000 * p, 100**2 * 10 * p * (1 - p)
    mean, spread = corollary(theta, a, variance, step, n_moves)
    mean_error = draws.std() / np.sqrt(n)
    spread_error = np.std((draws - draws.mean()) ** 2) / np.sqrt(n)
    agrees = abs(draws.mean() - mean) < 5.5 * mean_error
    agrees &= abs(draws.var() - spread) < 5.5 * spread_error
    if fault == "same minibatch" and n_moves == 1:
        assert agrees  # a single move cannot tell
    else:
        assert agrees == (fault is None)


@pytest.mark.parametrize("fault", [False, True])
def test_sums_are_drawn_given_the_tokens_of_topics(fault):
    """Σ_w θ_wk ~ Gamma(B_k + n_k, 1) whatever it was, KS over 4,000 topics at 1e-8. B_k is β W and
    what words have over it; without that it is seen."""
    n_words, n_topics = 50, 4000
    more = Additions.of_words(np.array([3, 7]), np.full((2, n_topics), 4.0), n_words)
    chain = replicates(1.0, n_words * n_topics)
    chain.theta = chain.theta.reshape(n_words, n_topics)
    chain.topic_sums = sum_topics(chain.theta)
    totals = np.full(n_topics, 30)
    Scir(RowPrior(0.1, None if fault else more)).redraw_sums(
        chain, totals, key=stream_key(12, "sums"), threads=ONE
    )
    law = stats.gamma(0.1 * n_words + 8.0 + 30)
    assert (stats.kstest(chain.topic_sums, law.cdf).pvalue > 1e-8) != fault
