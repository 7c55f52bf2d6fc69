"""The lazy SCIR chain against the eager one: the same laws, and the right sums meanwhile."""

import numpy as np
import pytest
from scir_laws import N_TOPICS, ONE, replicates, same_law

from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.samplers.lazy import LazyScir
from topicmc.samplers.row_prior import Additions, RowPrior
from topicmc.samplers.scir import Scir
from topicmc.samplers.state import TopicCounts

BETA, N_UPDATES, N_PATTERNS = 0.3, 6, 8
STEPS = (0.3, 0.05, 0.5, 0.1, 0.2, 0.15)
EVEN = RowPrior(BETA)


def minibatch(update, n_words):
    """Words present at an update: word w follows bits of pattern w % 8; the last never comes."""
    pattern = np.arange(n_words) % N_PATTERNS
    present = ((pattern * 37 + 11) >> update & 1).astype(bool) & (pattern < N_PATTERNS - 1)
    words = np.flatnonzero(present).astype(np.int32)
    counts = (1.0 + pattern[words])[:, None] * np.ones((1, N_TOPICS))
    return TopicCounts(words, counts.astype(np.float32))


def uneven(n_words):
    """Words of a pattern have a prior of their own, more of it in every other topic."""
    pattern = (np.arange(n_words) % N_PATTERNS).astype(np.int32)
    more = np.linspace(0, 5, N_PATTERNS)[:, None] * (np.arange(N_TOPICS) % 2 + 0.1)
    return RowPrior(BETA, Additions(pattern, more))


def eager(theta, n, prior=EVEN):
    chain = replicates(theta, n)
    for update, step in enumerate(STEPS):
        batch = minibatch(update, len(chain.theta))
        key = stream_key(1, "move")
        Scir(prior).move(chain, batch, scale=2.0, step=step, key=key, threads=ONE)
    return chain


def lazy(theta, n, *, threads=ONE, seed=2, fault=None, settle=True, waits_below=1.0, prior=EVEN):
    chain, sampler = replicates(theta, n), LazyScir(prior, waits_below)
    key = stream_key(seed, "move")
    for update, step in enumerate(STEPS):
        batch = minibatch(update, len(chain.theta))
        if fault == "waiting forgotten" and chain.moved_at is not None:
            chain.moved_at[:] = chain.clock
        sampler.refresh(chain, batch.words, key=key, threads=threads)
        assert sampler.move(chain, batch, scale=2.0, step=step, key=key, threads=threads)
    if settle:
        sampler.settle(chain, key=key, threads=threads)
    return chain


@pytest.mark.parametrize("theta", [1e-3, 1.0, 40.0])
@pytest.mark.parametrize("fault", [None, "waiting forgotten"])
def test_lazy_and_eager_words_have_the_same_law(theta, fault):
    """Each of 8 patterns of presence, two-sample KS at 1e-8 on 50,000; a lost wait is seen."""
    n = 50_000 * N_PATTERNS
    one, other = eager(theta, n).theta, lazy(theta, n, fault=fault).theta
    worst = min(
        same_law(one[pattern::N_PATTERNS], other[pattern::N_PATTERNS])
        for pattern in range(N_PATTERNS)
    )
    assert (worst > 1e-8) == (fault is None)


def test_minibatches_that_move_all_words_settle_the_waiting_too():
    """Three of six minibatches hold more than three eighths of the words: where they come, all
    words move, each by its own wait and the step. As above."""
    n = 50_000 * N_PATTERNS
    one, other = eager(1.0, n).theta, lazy(1.0, n, waits_below=0.4).theta
    for pattern in range(N_PATTERNS):
        assert same_law(one[pattern::N_PATTERNS], other[pattern::N_PATTERNS]) > 1e-8


def test_words_with_priors_of_their_own_have_the_same_law():
    """As above; under the symmetric prior they would not."""
    n = 50_000 * N_PATTERNS
    prior = uneven(n // N_TOPICS)
    one, other = (f(1.0, n, prior=prior).theta for f in (eager, lazy))
    for pattern in range(N_PATTERNS):
        assert same_law(one[pattern::N_PATTERNS], other[pattern::N_PATTERNS]) > 1e-8
    assert same_law(one[7::N_PATTERNS], lazy(1.0, n).theta[7::N_PATTERNS]) < 1e-8


@pytest.mark.parametrize("is_even", [True, False])
def test_sums_are_conditional_means(is_even):
    """S_k before settling, less the sum after, averages to nothing: 100 topics, 40 runs, 5.5 SE.

    And its spread is no more than the bound that is stated.
    """
    theta, n = 40.0, 20_000
    prior = EVEN if is_even else uneven(n // N_TOPICS)
    beta = BETA if is_even else prior.matrix().T
    differences = []
    for seed in range(40):
        chain = lazy(theta, n, seed=seed, settle=False, prior=prior)
        before, waited = chain.topic_sums.copy(), chain.clock - chain.moved_at
        bound = (2 * chain.theta * waited[:, None] + beta * waited[:, None] ** 2).sum(0)
        LazyScir(prior).settle(chain, key=stream_key(seed, "move"), threads=ONE)
        differences.append((before - chain.topic_sums) / np.sqrt(bound))
    differences = np.ravel(differences)
    assert abs(differences.mean()) < 5.5 * differences.std() / np.sqrt(differences.size)
    assert 0.3 < differences.std() < 1.0
    biased = differences + 0.1  # a tenth of the bound's root would be seen
    assert abs(biased.mean()) > 5.5 * biased.std() / np.sqrt(biased.size)


def test_lazy_bits_do_not_depend_on_threads():
    results = [lazy(1.0, 40_000, threads=Threads(n)) for n in (1, 2, 3)]
    assert len({(c.theta.tobytes(), c.topic_sums.tobytes()) for c in results}) == 1


def test_stale_words_are_refused():
    chain, batch = replicates(1.0, 20_000), minibatch(0, 200)
    key, sampler = stream_key(1, "move"), LazyScir(EVEN)
    sampler.move(chain, batch, scale=1.0, step=0.1, key=key, threads=ONE)
    with pytest.raises(ValueError, match="refresh"):
        sampler.move(chain, minibatch(1, 200), scale=1.0, step=0.1, key=key, threads=ONE)
