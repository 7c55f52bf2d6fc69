"""Assignments given φ: draw for draw against a slow twin, in law against enumeration, and what
must not matter (threads, companions in the batch) against itself."""

from unittest import mock

import naive_gibbs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from topicmc.kernels import by_word_batch, gibbs, sparse
from topicmc.kernels.batch import Minibatch, gather
from topicmc.kernels.gibbs import UNASSIGNED, UNIT, Assignments, topic_rows
from topicmc.kernels.random import stream_key
from topicmc.kernels.simplex import FLOOR
from topicmc.kernels.threads import Threads

KEY = stream_key(3, "gibbs")
both = pytest.mark.parametrize("module", [gibbs, by_word_batch])


def setting(n_docs, n_topics, seed=0, longest=90, n_words=50):
    """A random batch, peaky topics over its words, and an asymmetric α."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, longest, n_docs)
    tokens = np.concatenate([np.sort(generator.integers(0, n_words, n)) for n in lengths])
    batch = Minibatch(
        np.arange(100, 100 + n_docs), np.r_[0, np.cumsum(lengths)], tokens.astype(np.uint32),
        np.arange(n_words, dtype=np.int32),
    )  # fmt: skip
    theta = generator.gamma(0.1, size=(n_words, n_topics)).astype(np.float32) + np.float32(1e-6)
    rows = topic_rows(theta, theta.sum(axis=0, dtype=float), batch.words)
    alpha = np.zeros(rows.shape[1], np.float32)
    alpha[:n_topics] = generator.uniform(0.01, 0.5, n_topics)
    return batch, rows, alpha


def sample(batch, rows, alpha, *, sweeps=3, burn_in=1, threads=1, module=gibbs, **options):
    return module.sample_assignments(
        batch, rows, alpha, sweeps=sweeps, burn_in=burn_in, key=KEY, update=9,
        threads=Threads(threads), want_doc_topic=True, **options,
    )  # fmt: skip


def document(batch, i):
    """The batch of one of its documents alone."""
    here = slice(batch.offsets[i], batch.offsets[i + 1])
    tokens = batch.tokens[here]
    return Minibatch(batch.doc_ids[i : i + 1], np.array([0, len(tokens)]), tokens, batch.words)


def test_topic_rows():
    theta = np.random.default_rng(0).gamma(1.0, size=(9, 5)).astype(np.float32)
    rows = topic_rows(theta, theta.sum(axis=0, dtype=float), np.array([7, 2], np.int32))
    assert rows.shape == (2, 16)
    np.testing.assert_allclose(rows[:, :5], UNIT * (theta / theta.sum(axis=0))[[7, 2]], rtol=1e-6)
    assert not rows[:, 5:].any()


def test_no_weight_of_a_large_corpus_is_subnormal():
    """Processors take several times as long over such numbers: with 730 million tokens and 100
    topics half of the time of drawing minibatches went into them."""
    theta = np.full((3, 2), FLOOR)
    rows = topic_rows(theta, np.full(2, 1e9), np.arange(3, dtype=np.int32))
    assert rows[0, 0] * np.float32(1e-4) > np.finfo(np.float32).tiny


@both
@pytest.mark.parametrize("n_topics", [2, 16, 100, 300])
def test_equals_the_naive_twin_draw_for_draw(n_topics, module):
    batch, rows, alpha = setting(7, n_topics, longest=150 if n_topics < 200 else 40)
    z = np.full(len(batch.tokens), UNASSIGNED)
    got = sample(batch, rows, alpha, z=z, module=module)
    word_topic, doc_topic, last = naive_gibbs.gibbs(batch, rows, alpha, 3, 1, KEY, 9)
    np.testing.assert_array_equal(z, last)
    np.testing.assert_array_equal(got.word_topic, word_topic)
    np.testing.assert_array_equal(got.doc_topic, doc_topic)
    assert got.scale == 2


@settings(max_examples=35)
@given(
    st.integers(1, 11), st.sampled_from([2, 17, 530, 2000]),
    st.sampled_from([gibbs, by_word_batch]), st.integers(0, 2),
)  # fmt: skip
def test_invariants(n_docs, n_topics, module, burn_in):
    batch, rows, alpha = setting(n_docs, n_topics, seed=n_docs)
    options = {"burn_in": burn_in, "module": module}
    z = np.full(len(batch.tokens), UNASSIGNED)
    one = sample(batch, rows, alpha, z=z, **options)
    lengths = np.diff(batch.offsets)
    np.testing.assert_array_equal(one.doc_topic.sum(axis=1), one.scale * lengths)
    words = np.bincount(batch.tokens, minlength=len(rows))
    np.testing.assert_array_equal(one.word_topic.sum(axis=1), one.scale * words)
    assert not one.word_topic[:, n_topics:].any()
    assert z.max() < n_topics
    for threads in (2, 3):
        with mock.patch.object(module, "_PIECE", 1), mock.patch.object(gibbs, "_ROWS", 1):
            other = sample(batch, rows, alpha, threads=threads, **options)
        np.testing.assert_array_equal(other.word_topic, one.word_topic)
        np.testing.assert_array_equal(other.doc_topic, one.doc_topic)
    alone = sample(document(batch, n_docs - 1), rows, alpha, **options)
    np.testing.assert_array_equal(alone.doc_topic[0] / alone.scale, one.doc_topic[-1] / one.scale)


@both
def test_remembered_assignments_go_on_where_they_were(module):
    """With tiny α and flat φ, documents of several tokens that are all in topic 7 stay there."""
    batch, rows, alpha = setting(9, 40)
    z = np.full(len(batch.tokens), 7, np.uint16)
    flat = np.where(rows > 0, np.float32(1), np.float32(0))
    got = sample(batch, flat, alpha * np.float32(1e-9), sweeps=1, burn_in=0, z=z, module=module)
    lengths = np.diff(batch.offsets)
    np.testing.assert_array_equal(got.doc_topic[lengths > 1, 7], lengths[lengths > 1])


@both
@pytest.mark.parametrize("n_topics", [20, 700])
def test_rows_that_say_nothing(module, n_topics):
    """φ = 0, denormal and infinite rows: defined topics within range, no crash, all counted."""
    batch, rows, alpha = setting(6, n_topics)
    for value in (0.0, 1e-44, np.inf, 3e38):
        damaged = rows.copy()
        damaged[::2, :n_topics] = value
        got = sample(batch, damaged, alpha, module=module)
        assert not got.word_topic[:, n_topics:].any()
        assert got.word_topic.sum() == got.scale * len(batch.tokens)


def test_word_by_word_only_what_has_no_topic_starts():
    """Documents that have topics keep their random numbers and what they begin with."""
    batch, rows, alpha = setting(8, 30)
    z = np.full(len(batch.tokens), UNASSIGNED)
    z[: batch.offsets[3]] = 5
    both = [z.copy(), z.copy()]
    for module, kept in zip((gibbs, by_word_batch), both, strict=True):
        sample(batch, rows, alpha, z=kept, module=module)
    np.testing.assert_array_equal(*both)


def test_a_word_sixty_thousand_times():
    docs = (np.array([0, 1]), np.array([3], np.uint16), np.array([60_000], np.uint16))
    batch = gather(*docs, np.array([0]), 5)
    rows = topic_rows(np.ones((5, 2), np.float32), np.full(2, 5.0), batch.words)
    alpha = np.r_[np.full(2, 0.5), np.zeros(14)].astype(np.float32)
    got = sample(batch, rows, alpha)
    assert got.word_topic.min() >= 0
    assert got.word_topic.sum() == got.scale * 60_000


@both
@pytest.mark.parametrize("n_docs", [0, 1])
def test_empty_documents(n_docs, module):
    empty = Minibatch(
        np.arange(n_docs), np.zeros(n_docs + 1, np.int64), np.zeros(0, np.uint32),
        np.zeros(0, np.int32),
    )  # fmt: skip
    got = sample(empty, np.zeros((0, 16), np.float32), np.ones(16, np.float32), module=module)
    assert got.word_topic.shape == (0, 16)
    assert got.doc_topic.sum() == 0


@pytest.mark.parametrize("module", [gibbs, by_word_batch, sparse])
def test_arguments_that_do_not_fit(module):
    batch, rows, alpha = setting(2, 10)
    with pytest.raises(ValueError, match="burn_in"):
        sample(batch, rows, alpha, burn_in=3, module=module)
    with pytest.raises(ValueError, match="alpha"):
        sample(batch, rows, alpha[:10], module=module)
    with pytest.raises(ValueError, match="token"):
        sample(batch, rows[:3], alpha, module=module)
    with pytest.raises(ValueError, match="z names"):
        z = np.full(len(batch.tokens), 300, np.uint16)
        sample(batch, rows, alpha, z=z, module=module)


@pytest.mark.parametrize(
    ("module", "n_padded"), [(gibbs, 16), (by_word_batch, 16), (by_word_batch, 656)]
)
def test_frequencies_are_those_of_the_exact_posterior(module, n_padded):
    """χ² over all 81 states of a document of four tokens, 60,000 independent documents: fails by
    chance once in 10⁶. It catches α off by a tenth, and tokens that are not taken out of the counts
    while they are drawn (both planted in the exact law)."""
    phi = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.2, 0.2, 0.6], [0.1, 0.7, 0.2]])
    alpha = np.array([0.2, 0.5, 0.3])
    n = 60_000
    batch = Minibatch(
        np.arange(n), 4 * np.arange(n + 1), np.tile(np.arange(4, dtype=np.uint32), n),
        np.arange(4, dtype=np.int32),
    )  # fmt: skip
    rows = np.zeros((4, n_padded), np.float32)
    rows[:, :3] = phi
    padded = np.r_[alpha, np.zeros(n_padded - 3)].astype(np.float32)
    z = np.full(4 * n, UNASSIGNED)
    sample(batch, rows, padded, sweeps=30, burn_in=0, z=z, module=module)
    observed = np.bincount(z.reshape(n, 4) @ 3 ** np.arange(3, -1, -1), minlength=81)

    def distance(phi, alpha):
        expected = n * naive_gibbs.enumerate_given_phi(phi, alpha)[1]
        return np.sum((observed - expected) ** 2 / expected)

    limit = chi2.isf(1e-6, 80)
    assert distance(phi, alpha) < limit
    assert distance(phi, 1.1 * alpha) > limit
    # A token that counts itself: the stationary law of the chain p(k) ∝ (α_k + n_k) φ_k, iterated.
    states, law = naive_gibbs.enumerate_given_phi(phi, alpha)
    for _ in range(30):
        for i in range(4):
            new = np.zeros_like(law)
            counts = (states[:, :, None] == np.arange(3)).sum(axis=1)
            weights = (counts + alpha) * phi[i]
            weights /= weights.sum(axis=1, keepdims=True)
            for k in range(3):
                target = np.arange(81) + (k - states[:, i]) * 3 ** (3 - i)
                np.add.at(new, target, law * weights[:, k])
            law = new
    assert np.sum((observed - n * law) ** 2 / (n * law)) > limit


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_means_over_the_sweeps_that_count(n_threads):
    """To the bit, by however many threads."""
    sums = np.random.default_rng(1).poisson(2.0, (5_000, 16)).astype(np.int32)
    means = Assignments(sums.copy(), None, 3.0).mean_word_topic(Threads(n_threads))
    assert means.dtype == np.float32
    np.testing.assert_array_equal(means, sums.astype(np.float32) / np.float32(3))
