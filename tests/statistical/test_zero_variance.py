"""The law of the mean of â beside that of θ: what zero variance takes away."""

import numpy as np
import pytest
from scir_laws import BETA, N_TOPICS, ONE, everyone

from topicmc.kernels.random import stream_key
from topicmc.samplers.lazy import LazyScir
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.running_mean import MeanChain, note, running_mean
from topicmc.samplers.state import sum_topics

CHAINS, UPDATES = 4_000, 600
H, SCALE, RATE = 0.3, 16.0, 0.3125
SHAPE, NOISE = BETA + SCALE * RATE, SCALE**2 * RATE  # a = 5 and V̂ = 80


def exact_variances():
    """K Var of the means of θ, of â − θ, and their covariance: θ is an autoregression of first
    order at rest, of variance a + V̂ tanh(h/2), and θ_t holds e^−h(t−s) (1 − e^−h) of â_s, s < t."""
    apart = np.subtract.outer(np.arange(UPDATES), np.arange(UPDATES))
    of_theta = ((SHAPE + NOISE * np.tanh(H / 2)) * np.exp(-H * abs(apart))).sum() / UPDATES
    later = np.where(apart > 0, np.exp(-H * (apart - 1.0)) * -np.expm1(-H), 0.0)
    of_both = NOISE * later.sum() / UPDATES
    return of_theta, NOISE + of_theta - 2 * of_both, of_both - of_theta


@pytest.fixture(scope="module")
def drawn():
    """(CHAINS,) means of θ and of â − θ over the updates, the running means, and their weights."""
    generator = np.random.default_rng(4)
    # 40 updates before those that count: e^−12 of the start is left.
    theta = np.full((CHAINS // N_TOPICS, N_TOPICS), SHAPE, np.float32)
    chain = MeanChain(0, theta, sum_topics(theta))
    sampler, key = LazyScir(RowPrior(BETA)), stream_key(2, "move")
    of_theta, control, weights = np.zeros(theta.shape), np.zeros(theta.shape), []
    for update in range(-40, UPDATES):
        a_hat = BETA + SCALE * generator.poisson(RATE, theta.shape)
        counts, before = everyone(a_hat, chain), chain.theta.astype(float)
        if update >= 0:
            note(chain, counts, scale=1.0, step=H, threads=ONE)
            weights.append((chain.update + 1.0) ** 3)
        sampler.move(chain, counts, scale=1.0, step=H, key=key, threads=ONE)
        if update >= 0:
            of_theta += before / UPDATES
            control += (a_hat - before) / UPDATES
    running = running_mean(chain, RowPrior(BETA))
    return of_theta.ravel(), control.ravel(), running.ravel().astype(float), np.array(weights)


def off(values, expected):
    """How many standard errors the mean of independent values is off."""
    return abs(values.mean() - expected) / (values.std(ddof=1) / np.sqrt(len(values)))


def test_the_means_of_both_are_right(drawn):
    """Three means within 5.5 standard errors: 1e-7."""
    of_theta, control, running, _ = drawn
    assert off(of_theta, SHAPE) < 5.5
    assert off(control, 0) < 5.5
    assert off(running, SHAPE) < 5.5


def test_the_variances_are_those_of_the_theory(drawn):
    """Four second moments of 4,000 means that are nearly normal, within 5.5 standard errors."""
    of_theta, control, running, weights = drawn
    theta, both, joint = exact_variances()
    assert theta == pytest.approx(NOISE + SHAPE / np.tanh(H / 2), rel=0.01)
    assert joint == pytest.approx(-SHAPE / np.tanh(H / 2), rel=0.02)  # so that c = 1 is the best
    assert off(UPDATES * (of_theta - SHAPE) ** 2, theta) < 5.5
    assert off(UPDATES * control**2, both) < 5.5
    assert off(UPDATES * control * (of_theta - SHAPE), joint) < 5.5
    weighted = NOISE * (weights**2).sum() / weights.sum() ** 2
    assert off((running - SHAPE) ** 2, weighted) < 5.5
