"""Mixtures keep the exact posterior of six documents, and a planted bug does not.

Each test of a law rejects at p-values below 1e-6; there are at most five of them in each of six
cases, so that they fail falsely about three times in 100,000 runs.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
from mixture_law import D, W, X, documents, p_value, sampler, starts
from scipy import stats

from topicmc.kernels import mixture as kernels
from topicmc.models.mixture.slices import SliceSampler

LEVEL = 1e-6
UPDATES = 3
N = 12_000
NEVER = 10**6

SLICE = {"moves_every": NEVER}
CASES = [
    (True, {"batch_size": 6, "step_size": 0.1, **SLICE}),
    (True, {"batch_size": 2, "step_size": 3.0, **SLICE}),
    (False, {"batch_size": 2, "step_size": 0.1, **SLICE}),
    (True, {"batch_size": 6, "step_size": 0.1, "counts": "minibatch", **SLICE}),
    (True, {"batch_size": 6, "step_size": 1.0, "moves_every": 1, "splits": 4}),
    (False, {"batch_size": 2, "step_size": 1.0, "moves_every": 2, "splits": 2}),
]


@pytest.fixture(scope="module")
def exact():
    """Chains in the exact law, and as many others to compare scalars with."""
    rng = np.random.default_rng(3)
    made: dict = {}

    def of(learned: bool):
        if learned not in made:
            made[learned] = starts(N, learned, rng), starts(N, learned, rng)
        return made[learned]

    return of


def moved(chains, learned, settings):
    used = sampler(learned, **settings)
    chains = copy.deepcopy(chains)
    for chain in chains:
        for _ in range(UPDATES):
            used.update(chain)
    return chains


def first_stick(chain) -> float:
    return float(chain.x[0] / (chain.x[0] + chain.y[0]))


def p_values(chains, others, learned) -> dict[str, float]:
    """Of the partitions, of the first stick, and of its total, which is Gamma(1 + α + D) given α,
    and of α with how that total depends on it."""
    alpha = np.array([c.alpha for c in chains])
    totals = stats.gamma(1 + alpha + D).cdf([c.x[0] + c.y[0] for c in chains])
    found = {
        "partitions": p_value(chains, learned),
        "first stick": compared(first_stick, chains, others),
        "total": float(stats.kstest(totals, "uniform").pvalue),
    }
    if learned:
        found["alpha"] = compared(lambda c: c.alpha, chains, others)
        found["total given alpha"] = float(stats.spearmanr(alpha, totals).pvalue)
    return found


def compared(scalar, chains, others) -> float:
    return float(stats.ks_2samp(*([scalar(c) for c in some] for some in (chains, others))).pvalue)


@pytest.mark.parametrize("learned, settings", CASES)
def test_updates_keep_the_exact_law(exact, learned, settings):
    chains, others = exact(learned)
    found = p_values(moved(chains, learned, settings), others, learned)
    assert min(found.values()) > LEVEL, found


# ---- planted bugs: each must be seen


def caught(exact, learned, settings) -> bool:
    chains, others = exact(learned)
    found = p_values(moved(chains, learned, settings), others, learned)
    return min(found.values()) < LEVEL


def test_totals_that_are_not_drawn_anew_are_caught(exact, monkeypatch):
    monkeypatch.setattr(kernels, "draw_totals", lambda *_: None)
    assert caught(exact, *CASES[0])


def test_a_reversed_stopping_rule_is_caught(exact, monkeypatch):
    def reversed_rule(left, least, *rest):
        return kernels_new_sticks(-left, -least, *rest) if left < least else (EMPTY, EMPTY)

    kernels_new_sticks, EMPTY = kernels.new_sticks, np.empty(0)
    monkeypatch.setattr(kernels, "new_sticks", reversed_rule)
    assert caught(exact, *CASES[0])


def test_a_scale_of_tokens_for_documents_is_caught(exact, monkeypatch):
    right = SliceSampler._counts

    def wrong(self, chain, docs):
        sizes, words, scale = right(self, chain, docs)
        return sizes * X.sum() / D, words, scale * X.sum() / D

    monkeypatch.setattr(SliceSampler, "_counts", wrong)
    assert caught(exact, *CASES[3])


# ---- minibatches


def test_a_minibatch_estimates_the_counts_without_bias():
    """Over a pass the estimates of sizes and of words have the counts as their mean, exactly."""
    used = sampler(False, batch_size=2, counts="minibatch")
    chain = starts(1, False, np.random.default_rng(0))[0]
    sizes, words = np.zeros(len(chain.x)), np.zeros(chain.weights.shape)
    for docs in ([0, 1], [2, 3], [4, 5]):
        estimate, tokens, scale = used._counts(chain, np.array(docs))
        sizes += estimate / 3
        words += scale * tokens / 3
    np.testing.assert_allclose(sizes, chain.sizes)
    np.testing.assert_allclose(words, chain.words)


def test_one_group_is_a_dirichlet_by_scir():
    """With all documents in one group, T moves as SCIR of a Dirichlet: its shares have the law
    Dirichlet(β + c) after a long step, and keep half of the way after h = log 2."""
    totals = X.sum(axis=0).astype(np.int32)[None]
    drawn = np.empty((20_000, W))
    for i in range(len(drawn)):
        weights = np.ones((1, W))
        kernels.move_words(weights, totals, 1.0, 0.5, 30.0, True, np.uint64(i), np.uint32(0), 0, 1)
        drawn[i] = weights[0] / weights[0].sum()
    for w in range(W):
        a, b = 0.5 + totals[0, w], 0.5 * (W - 1) + totals.sum() - totals[0, w]
        assert stats.kstest(drawn[:, w], stats.beta(a, b).cdf).pvalue > LEVEL
    means = np.empty((20_000, W))
    for i in range(len(means)):
        weights = np.full((1, W), 40.0)
        kernels.move_words(
            weights, totals, 1.0, 0.5, np.log(2), True, np.uint64(i), np.uint32(0), 0, 1
        )
        means[i] = weights[0]
    expected = 20.0 + (0.5 + totals[0]) / 2
    error = means.std(axis=0) / np.sqrt(len(means))
    assert (np.abs(means.mean(axis=0) - expected) < 6 * error).all()


def test_an_update_is_the_same_for_any_number_of_threads():
    from topicmc.kernels.threads import Threads
    from topicmc.models.mixture.settings import MixtureConfig, resolve

    rng = np.random.default_rng(0)
    n, n_words = 2_000, 40
    words = np.sort(rng.choice(n_words, (n, 1), replace=True), axis=1)
    from topicmc.corpora import Documents

    data = Documents(
        np.arange(n + 1, dtype=np.int64), words.ravel().astype(np.uint16), np.ones(n, np.uint16)
    )
    chains = []
    for threads in (1, 3):
        used = SliceSampler(data, n_words, resolve(MixtureConfig(), n, 1), Threads(threads))
        chain = used.initial(0)
        for _ in range(12):
            used.update(chain)
        chains.append(chain)
    one, other = chains
    assert (one.groups == other.groups).all() and (one.weights == other.weights).all()
    assert one.alpha == other.alpha
    recounted = copy.deepcopy(one)
    recounted.count(data)
    assert (recounted.sizes == one.sizes).all() and (recounted.words == one.words).all()


def test_documents_of_the_law_are_those_of_the_table():
    data = documents()
    assert data.n_tokens == X.sum() and data.n_docs == D
