"""SGRLD: mean and variance of one step, the step-size convention, and a gradient without bias."""

import itertools

import numpy as np
import pytest
from scipy import stats

from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.sgrld import Sgrld
from topicmc.samplers.state import Chain, TopicCounts, sum_topics

N_WORDS = 400


def one_step(theta, counts, *, beta, scale, step, n_moves):
    """θ' of n_moves independent steps from θ (K,), the same for all words: (n_moves · W, K)."""
    values = np.repeat(np.asarray(theta, np.float32)[None], N_WORDS, axis=0)
    words = np.arange(N_WORDS, dtype=np.int32)
    batch = TopicCounts(words, np.repeat(np.asarray(counts, np.float32)[None], N_WORDS, axis=0))
    sums, moved = sum_topics(values), []
    for update in range(n_moves):
        chain = Chain(0, values.copy(), sums, update)
        key = stream_key(3, "move")
        Sgrld(RowPrior(beta)).move(
            chain, batch, scale=scale, step=step, key=key, threads=Threads(1)
        )
        moved.append(chain.theta.astype(float))
    return np.concatenate(moved)


@pytest.mark.parametrize("fault", [None, "released code's convention", "half the noise"])
def test_mean_and_variance_of_one_step(fault):
    """Against the equation, at 5.5 standard errors for each of 3 topics (2e-7 in all).

    θ is large enough for the reflection to be negligible: 12 standard deviations from zero.
    """
    theta, counts = np.array([5.0, 20.0, 400.0]), np.array([3.0, 0.0, 1.0])
    beta, scale, step = 0.1, 50.0, 0.02
    draws = one_step(
        theta, counts,
        beta=beta,
        scale=scale,
        step=step * (2 if fault == "released code's convention" else 1),
        n_moves=500,
    )  # fmt: skip
    if fault == "half the noise":
        draws = draws.mean(0) + (draws - draws.mean(0)) / np.sqrt(2)
    phi = 1 / N_WORDS
    drift = beta - theta + scale * (counts - phi * N_WORDS * counts)
    n = len(draws)
    mean, variance = theta + step / 2 * drift, step * theta
    agrees = np.all(np.abs(draws.mean(0) - mean) < 5.5 * np.sqrt(variance / n))
    agrees &= np.all(np.abs(draws.var(0) - variance) < 5.5 * variance * np.sqrt(2 / n))
    assert agrees == (fault is None)


def test_reflection_at_zero():
    """θ near zero: |N(m, εθ)| against SciPy's folded normal, KS at 1e-7."""
    theta, beta, step = 1e-3, 0.1, 0.01
    draws = one_step([theta], [0.0], beta=beta, scale=1.0, step=step, n_moves=250)[:, 0]
    mean, spread = theta + step / 2 * (beta - theta), np.sqrt(step * theta)
    law = stats.foldnorm(mean / spread, scale=spread)
    assert stats.kstest(draws, law.cdf, method="asymp").pvalue > 1e-7
    plain = stats.norm(mean, spread)
    assert stats.kstest(draws, plain.cdf, method="asymp").pvalue < 1e-7


def gradient(theta, counts, *, beta, scale):
    """SGRLD's drift read off the sampler itself: the odd part of a step under reversed noise.

    Two steps of sizes ε and 4ε share their normals, so θ' = θ + ε/2 g + √ε s and
    θ + 2ε g + 2√ε s; eliminating s leaves g.
    """
    words = np.arange(theta.shape[0], dtype=np.int32)
    step, moved = 1e-3, []
    for size in (step, 4 * step):
        chain = Chain(0, theta.copy(), sum_topics(theta))
        batch = TopicCounts(words, counts.astype(np.float32))
        key = stream_key(4, "move")
        Sgrld(RowPrior(beta)).move(
            chain, batch, scale=scale, step=size, key=key, threads=Threads(1)
        )
        moved.append(chain.theta.astype(float) - theta)
    return (moved[1] - 2 * moved[0]) / step


@pytest.mark.parametrize("fault", [None, "scale D/(n + 1)"])
def test_minibatch_gradient_is_unbiased(fault):
    """The mean drift over all minibatches of 2 of 6 documents is the drift of the whole corpus.

    Exact but for float32: no chance is involved. Expected counts are any function of a document.
    """
    generator = np.random.default_rng(5)
    documents = generator.gamma(1.0, size=(6, 5, 3))
    theta = generator.uniform(50, 60, (5, 3)).astype(np.float32)
    scale = 6 / (3 if fault else 2)
    batches = [
        gradient(theta, documents[list(pair)].sum(0), beta=0.1, scale=scale)
        for pair in itertools.combinations(range(6), 2)
    ]
    whole = gradient(theta, documents.sum(0), beta=0.1, scale=1.0)
    # A check of the reading itself against the equation.
    total = documents.sum(0)
    equation = 0.1 - theta + total - theta / theta.sum(0) * total.sum(0)
    np.testing.assert_allclose(whole, equation, atol=0.05)
    unbiased = np.abs(np.mean(batches, axis=0) - whole).max() < 0.05
    assert unbiased == (fault is None)
