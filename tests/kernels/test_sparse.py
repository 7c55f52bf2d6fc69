"""Assignments at the cost of a document's topics: draw for draw against a slow twin, in law against
enumeration and the dense kernel, and what must not matter against itself."""

import naive_gibbs
import naive_sparse
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, norm

from topicmc.kernels import gibbs, sparse
from topicmc.kernels.batch import Minibatch
from topicmc.kernels.gibbs import UNASSIGNED, topic_rows
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads

KEY = stream_key(3, "gibbs")


def setting(n_docs, n_topics, seed=0, longest=90, n_words=50):
    """Random documents, some of them empty, peaky topics over their words, an asymmetric α."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, longest, n_docs)
    tokens = [np.sort(generator.integers(0, n_words, n)) for n in lengths]
    batch = Minibatch(
        np.arange(100, 100 + n_docs), np.r_[0, np.cumsum(lengths)],
        np.concatenate(tokens).astype(np.uint32), np.arange(n_words, dtype=np.int32),
    )  # fmt: skip
    theta = generator.gamma(0.1, size=(n_words, n_topics)).astype(np.float32) + np.float32(1e-6)
    rows = topic_rows(theta, theta.sum(axis=0, dtype=float), batch.words)
    return batch, rows, padded_topics(generator.uniform(0.01, 0.5, n_topics))


def sample(batch, rows, alpha, *, sweeps=3, burn_in=1, threads=1, **options):
    return sparse.sample_assignments(
        batch, rows, alpha, sweeps=sweeps, burn_in=burn_in, key=KEY, update=9,
        threads=Threads(threads), want_doc_topic=True, **options,
    )  # fmt: skip


@pytest.mark.parametrize("n_topics", [2, 16, 100, 300, 5000])
@pytest.mark.parametrize("remembered", [False, True])
def test_equals_the_naive_twin_draw_for_draw(n_topics, remembered):
    """α is small enough for topics to lose all their tokens, so that slots are taken back."""
    batch, rows, alpha = setting(9, n_topics, longest=150)
    alpha /= 10
    z = np.full(len(batch.tokens), UNASSIGNED)
    if remembered:
        z = np.random.default_rng(1).integers(0, n_topics, len(z)).astype(np.uint16)
    before = z.copy() if remembered else None
    got = sample(batch, rows, alpha, z=z)
    word_topic, doc_topic, last = naive_sparse.sparse(
        batch, rows, alpha, 3, 1, KEY, 9, before
    )  # fmt: skip
    np.testing.assert_array_equal(z, last)
    np.testing.assert_array_equal(got.word_topic, word_topic)
    np.testing.assert_array_equal(got.doc_topic, doc_topic)
    assert got.scale == 2


@settings(max_examples=20)
@given(st.integers(1, 11), st.sampled_from([2, 17, 530, 2000]), st.integers(0, 2))
def test_invariants(n_docs, n_topics, burn_in):
    batch, rows, alpha = setting(n_docs, n_topics, seed=n_docs)
    z = np.full(len(batch.tokens), UNASSIGNED)
    one = sample(batch, rows, alpha, burn_in=burn_in, z=z)
    assert one.scale == 3 - burn_in
    lengths = np.diff(batch.offsets)
    np.testing.assert_array_equal(one.doc_topic.sum(axis=1), one.scale * lengths)
    words = np.bincount(batch.tokens, minlength=len(rows))
    np.testing.assert_array_equal(one.word_topic.sum(axis=1), one.scale * words)
    assert not one.word_topic[:, n_topics:].any()
    for threads in (2, 3):
        again = np.full(len(batch.tokens), UNASSIGNED)
        other = sample(batch, rows, alpha, burn_in=burn_in, threads=threads, z=again)
        np.testing.assert_array_equal(other.word_topic, one.word_topic)
        np.testing.assert_array_equal(other.doc_topic, one.doc_topic)
        np.testing.assert_array_equal(again, z)
    here = slice(batch.offsets[-2], batch.offsets[-1])
    tokens = batch.tokens[here]
    alone = Minibatch(batch.doc_ids[-1:], np.array([0, len(tokens)]), tokens, batch.words)
    got = sample(alone, rows, alpha, burn_in=burn_in)
    np.testing.assert_array_equal(got.doc_topic[0], one.doc_topic[-1])


def test_threads_that_share_many_documents():
    """Enough of them that each thread gets some."""
    batch, rows, alpha = setting(1500, 300)
    one, two = (sample(batch, rows, alpha, threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one.word_topic, two.word_topic)
    np.testing.assert_array_equal(one.doc_topic, two.doc_topic)


def test_remembered_assignments_go_on_where_they_were():
    """With tiny α and flat φ, documents of several tokens that are all in topic 7 stay there."""
    batch, rows, alpha = setting(9, 40)
    z = np.full(len(batch.tokens), 7, np.uint16)
    flat = np.where(rows > 0, np.float32(1), np.float32(0))
    got = sample(batch, flat, alpha * np.float32(1e-9), sweeps=1, burn_in=0, z=z)
    lengths = np.diff(batch.offsets)
    np.testing.assert_array_equal(got.doc_topic[lengths > 1, 7], lengths[lengths > 1])


def test_rows_that_say_nothing():
    """φ = 0, denormal and infinite rows: defined topics within range, no crash, all counted."""
    batch, rows, alpha = setting(6, 20)
    for value in (0.0, 1e-44, np.inf, 3e38):
        damaged = rows.copy()
        damaged[::2, :20] = value
        got = sample(batch, damaged, alpha)
        assert not got.word_topic[:, 20:].any()
        assert got.word_topic.sum() == got.scale * len(batch.tokens)


def test_topics_without_prior_or_word_are_not_drawn():
    batch, rows, alpha = setting(40, 600)
    alpha[::3] = 0
    rows[:, 1::3] = 0
    got = sample(batch, rows, alpha, sweeps=9, burn_in=0)
    assert not got.word_topic[:, ::3].any()
    assert not got.word_topic[:, 1::3].any()


@pytest.mark.parametrize("n_docs", [0, 1, 5])
def test_empty_documents(n_docs):
    empty = Minibatch(
        np.arange(n_docs), np.zeros(n_docs + 1, np.int64), np.zeros(0, np.uint32),
        np.zeros(0, np.int32),
    )  # fmt: skip
    got = sample(empty, np.zeros((0, 16), np.float32), np.ones(16, np.float32), threads=2)
    assert got.word_topic.shape == (0, 16)
    assert got.doc_topic.shape == (n_docs, 16)
    assert got.doc_topic.sum() == 0


@pytest.mark.parametrize("module", [gibbs, sparse])
def test_as_many_topics_as_there_can_be(module):
    """65,535, and word w is at home in topic 65,534 − w; one more would look like unassigned."""
    n_topics, n_words = 65_535, 6
    rows = np.zeros((n_words, n_topics + 1), np.float32)
    rows[np.arange(n_words), n_topics - 1 - np.arange(n_words)] = 1
    alpha = padded_topics(np.full(n_topics, 0.001))
    tokens = np.tile(np.arange(n_words, dtype=np.uint32), 10)
    batch = Minibatch(
        np.arange(10), n_words * np.arange(11), tokens, np.arange(n_words, dtype=np.int32)
    )
    z = np.full(len(tokens), UNASSIGNED)
    options = {"sweeps": 2, "burn_in": 1, "key": KEY, "update": 0, "threads": Threads(), "z": z}
    got = module.sample_assignments(batch, rows, alpha, **options)
    np.testing.assert_array_equal(z, n_topics - 1 - tokens)
    assert got.word_topic.sum() == len(tokens)
    with pytest.raises(ValueError, match="65535 topics"):
        module.sample_assignments(batch, rows, alpha + np.float32(1), **options)


def test_frequencies_are_those_of_the_exact_posterior():
    """χ² over all 81 states of a document of four tokens, 60,000 independent documents: fails by
    chance once in 10⁶. It catches α off by a tenth, and a prior part that leaves out the topics
    that the document has (both planted in the exact law)."""
    phi = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.2, 0.2, 0.6], [0.1, 0.7, 0.2]])
    alpha = np.array([0.2, 0.5, 0.3])
    n = 60_000
    batch = Minibatch(
        np.arange(n), 4 * np.arange(n + 1), np.tile(np.arange(4, dtype=np.uint32), n),
        np.arange(4, dtype=np.int32),
    )  # fmt: skip
    z = np.full(4 * n, UNASSIGNED)
    rows = np.array([padded_topics(row) for row in phi])
    sample(batch, rows, padded_topics(alpha), sweeps=30, burn_in=0, z=z)
    observed = np.bincount(z.reshape(n, 4) @ 3 ** np.arange(3, -1, -1), minlength=81)

    def distance(law):
        return np.sum((observed - n * law) ** 2 / (n * law))

    limit = chi2.isf(1e-6, 80)
    states, law = naive_gibbs.enumerate_given_phi(phi, alpha)
    assert distance(law) < limit
    assert distance(naive_gibbs.enumerate_given_phi(phi, 1.1 * alpha)[1]) > limit
    for _ in range(30):
        for i in range(4):
            counts = (np.delete(states, i, axis=1)[:, :, None] == np.arange(3)).sum(axis=1)
            weights = np.where(counts > 0, counts, alpha) * phi[i]
            weights /= weights.sum(axis=1, keepdims=True)
            new = np.zeros_like(law)
            for k in range(3):
                np.add.at(
                    new, np.arange(81) + (k - states[:, i]) * 3 ** (3 - i), law * weights[:, k]
                )
            law = new
    assert distance(law) > limit


def test_many_topics_have_the_means_of_the_dense_kernel():
    """Counts of 700 topics by 4,000 copies of three documents, in cells of 400 or more: none
    differs by more than what happens by chance once in 10⁶ runs. It catches a block of 16 topics
    whose prior is left out, and one that has that of its neighbour."""
    batch, rows, alpha = setting(3, 700, seed=1, longest=30)
    alpha /= 30
    lengths = np.diff(batch.offsets)
    n = 4000
    copies = Minibatch(
        np.arange(3 * n), np.r_[0, np.cumsum(np.tile(lengths, n))], np.tile(batch.tokens, n),
        batch.words,
    )  # fmt: skip

    def counts(module, alpha):
        got = module.sample_assignments(
            copies, rows, alpha, sweeps=8, burn_in=7, key=KEY, update=0, threads=Threads(2),
            want_doc_topic=True,
        )  # fmt: skip
        by_copy = got.doc_topic.reshape(n, 3, -1).astype(float)
        return by_copy.sum(axis=0), n * by_copy.var(axis=0)

    ours, our_spread = counts(sparse, alpha)

    def is_far(alpha):
        dense, spread = counts(gibbs, alpha)
        chosen = ours >= 400
        z = (dense - ours)[chosen] / np.sqrt(spread + our_spread)[chosen]
        return np.abs(z).max() > norm.isf(0.5e-6 / chosen.sum())

    assert not is_far(alpha)
    block = ours.sum(axis=0).argmax() // 16 * 16
    without, shifted = alpha.copy(), alpha.copy()
    without[block : block + 16] = 0
    shifted[block : block + 16] = alpha[block - 16 : block]
    assert is_far(without)
    assert is_far(shifted)
