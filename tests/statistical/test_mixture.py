"""Mixtures keep the exact posterior of six documents, and a planted bug does not.

Each test of a law rejects at p-values below 1e-6; there are at most eight of them in each of eight
cases, so that they fail falsely about five times in 100,000 runs.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
from mixture_law import BETA, FIXED, D, W, X, documents, p_value, sampler, starts
from scipy import stats

from topicmc.kernels import mixture as kernels
from topicmc.kernels import partitions
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
    (True, {"batch_size": 6, "step_size": 0.1, "moves_every": 1, "splits": 0, "learn": "both"}),
    (False, {"batch_size": 2, "step_size": 1.0, "moves_every": 2, "splits": 2, "learn": "beta"}),
]


@pytest.fixture(scope="module")
def exact():
    """Chains in the exact law, and as many others to compare scalars with."""
    made: dict = {}

    def of(learned: bool, settings):
        known = learned, _learns_beta(settings)
        if known not in made:
            n, rng = N // 3 if known[1] else N, np.random.default_rng(3)
            made[known] = tuple(starts(n, learned, rng, known[1]) for _ in range(2))
        return made[known]

    return of


def _learns_beta(settings) -> bool:
    return settings.get("learn") in ("beta", "both")


def moved(chains, learned, settings):
    used = sampler(learned, **settings)
    chains = copy.deepcopy(chains)
    for chain in chains:
        for _ in range(UPDATES):
            used.update(chain)
    return chains


def first_stick(chain) -> float:
    return float(chain.x[0] / (chain.x[0] + chain.y[0]))


def p_values(chains, others, learned, settings) -> dict[str, float]:
    """Of the partitions, of the first stick, and of its total, which is Gamma(1 + α + D) given α,
    of α with how that total depends on it, and of β with the mass of the first group's words, which
    is Gamma(Wβ + n) given β."""
    alpha = np.array([c.alpha for c in chains])
    totals = stats.gamma(1 + alpha + D).cdf([c.x[0] + c.y[0] for c in chains])
    found = {
        "partitions": p_value(chains, learned, _learns_beta(settings)),
        "first stick": compared(first_stick, chains, others),
        "total": float(stats.kstest(totals, "uniform").pvalue),
    }
    if learned:
        found["alpha"] = compared(lambda c: c.alpha, chains, others)
        found["total given alpha"] = float(stats.spearmanr(alpha, totals).pvalue)
    if _learns_beta(settings):
        found["beta"] = compared(lambda c: c.beta, chains, others)
        beta = np.array([c.beta for c in chains])
        mass = W * beta + [c.words[0].sum() for c in chains]
        words = stats.gamma(mass).cdf([c.weights[0].sum() for c in chains])
        found["words"] = float(stats.kstest(words, "uniform").pvalue)
        found["words given beta"] = float(stats.spearmanr(beta, words).pvalue)
    return found


def compared(scalar, chains, others) -> float:
    return float(stats.ks_2samp(*([scalar(c) for c in some] for some in (chains, others))).pvalue)


@pytest.mark.parametrize("learned, settings", CASES)
def test_updates_keep_the_exact_law(exact, learned, settings):
    chains, others = exact(learned, settings)
    found = p_values(moved(chains, learned, settings), others, learned, settings)
    assert min(found.values()) > LEVEL, found


def test_a_move_begins_with_totals_given_the_groups():
    """Whatever they were: Σ_w T_jw is Gamma(Wβ + n_j), X + Y is Gamma(1 + α + documents behind).
    Shares stay as they are."""
    used, found = sampler(False, batch_size=6, step_size=1e-6, **SLICE), []
    for number, chain in enumerate(starts(2_000, False, np.random.default_rng(5), False)):
        before = chain.weights / chain.weights.sum(axis=1, keepdims=True)
        chain.weights *= 1000
        chain.x, chain.y = 1000 * chain.x, 1000 * chain.y
        sizes = chain.sizes.astype(np.float64)
        used._move(chain, sizes, chain.words, 1.0, np.uint32(number))
        totals = chain.weights.sum(axis=1)
        np.testing.assert_allclose(chain.weights / totals[:, None], before, atol=0.02)
        behind = sizes.sum() - np.cumsum(sizes) + sizes
        sticks = stats.gamma(1 + FIXED + behind).cdf(chain.x + chain.y)
        words = stats.gamma(W * BETA + chain.words.sum(axis=1)).cdf(totals)
        found.append((sticks[0], words[0]))
    for values in zip(*found, strict=True):
        assert stats.kstest(values, "uniform").pvalue > LEVEL


# ---- planted bugs: each must be seen


def caught(exact, learned, settings) -> bool:
    chains, others = exact(learned, settings)
    found = p_values(moved(chains, learned, settings), others, learned, settings)
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


def test_a_beta_that_forgets_the_sizes_of_groups_is_caught(exact, monkeypatch):
    def wrong(levels, times, tokens, *rest):
        return right(levels, times, tokens[:1], *rest)

    right = partitions.draw_beta
    monkeypatch.setattr(partitions, "draw_beta", wrong)
    assert caught(exact, *CASES[-1])


def test_words_that_do_not_follow_beta_are_caught(exact, monkeypatch):
    """β is drawn with the words integrated out, so that old ones belong to another β."""

    def late(self, chain):
        right(self, chain)
        beta(self, chain, np.uint32(chain.update))

    right, beta = SliceSampler._draw_given_groups, SliceSampler._draw_beta
    monkeypatch.setattr(SliceSampler, "_draw_beta", lambda *_: None)
    monkeypatch.setattr(SliceSampler, "_draw_given_groups", late)
    assert caught(exact, *CASES[-2])


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
