"""Collapsed sweeps: exact counts, the naive twin's draws, the exact posterior of a tiny corpus."""

import naive_gibbs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from priors import rows, uneven
from scipy.stats import chi2

from topicmc.kernels.collapsed import (
    assign,
    assignment_dtype,
    collapsed_sweep,
    count_changes,
    empty_counts,
)
from topicmc.kernels.padding import padded_topics as padded
from topicmc.kernels.random import stream_key
from topicmc.samplers.row_prior import RowPrior

KEY = stream_key(3, "collapsed")
BETA = RowPrior(0.1).rows(40, 20)


def corpus(n_docs, n_words, seed=0, longest=90):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, longest, n_docs)
    tokens = np.concatenate([np.sort(generator.integers(0, n_words, n)) for n in lengths])
    return np.r_[0, np.cumsum(lengths)], tokens.astype(np.uint16)


def started(offsets, tokens, n_words, alpha, beta, **options):
    """z, word_topic and topic_totals after the first assignment."""
    n_topics = np.count_nonzero(alpha)
    z = np.zeros(offsets[-1], assignment_dtype(n_topics))
    counts = empty_counts(n_words, n_topics)
    assign(offsets, tokens, z, *counts, alpha, rows(beta, counts[0].shape), key=KEY, **options)
    return z, *counts


def check_counts(tokens, z, word_topic, topic_totals):
    recount = np.zeros_like(word_topic)
    np.add.at(recount, (tokens, z), 1)
    np.testing.assert_array_equal(word_topic, recount)
    np.testing.assert_array_equal(topic_totals, recount.sum(axis=0))


@settings(max_examples=25)
@given(st.integers(1, 9), st.sampled_from([2, 17, 256, 1000]), st.booleans())
def test_counts_stay_exact(n_docs, n_topics, sequential):
    offsets, tokens = corpus(n_docs, 40, seed=n_docs)
    alpha = padded(np.linspace(0.01, 0.3, n_topics))
    state = started(offsets, tokens, 40, alpha, 0.02, sequential=sequential)
    check_counts(tokens, *state)
    for sweep in range(3):
        collapsed_sweep(
            offsets, tokens, *state, alpha, rows(0.02, state[1].shape), key=KEY, sweep=sweep
        )
    check_counts(tokens, *state)
    assert state[0].max(initial=0) < n_topics


@pytest.mark.parametrize(
    ("alpha", "beta"),
    [(0.1, 0.01), (5.0, 0.5), (1e-3, 1e-4), (0.1, uneven(0.01, 60, 48)), (5.0, uneven(1, 60, 48))],
)
def test_agrees_with_the_naive_twin(alpha, beta):
    """The kernel steps over the token's own slice of the weights where the twin takes the token
    out: the same uniform gives the same topic, but for float32 at the edges, where about one draw
    in 10⁵ may part the chains. These 1,500 draws meet none."""
    offsets, tokens = corpus(30, 60, seed=4, longest=200)
    offsets = offsets[:6]
    alphas = padded(np.full(37, alpha))
    tokens = tokens[: offsets[-1]]
    z, *counts = started(offsets, tokens, 60, alphas, beta)
    for sweep in range(3):
        expected = naive_gibbs.collapsed(
            offsets, tokens, z, 60, alphas.astype(float), beta, KEY, sweep
        )
        collapsed_sweep(
            offsets, tokens, z, *counts, alphas, rows(beta, counts[0].shape), key=KEY, sweep=sweep
        )
        np.testing.assert_array_equal(z, expected)


def test_documents_join_as_the_set_grows():
    """Only the listed documents move; the others' tokens stay out of the counts until assigned."""
    offsets, tokens = corpus(12, 40)
    alpha = padded(np.full(20, 0.1))
    state = started(offsets, tokens, 40, alpha, 0.1, docs=np.arange(5))
    assert state[1].sum() == offsets[5]
    collapsed_sweep(offsets, tokens, *state, alpha, BETA, key=KEY, sweep=1, docs=np.arange(5))
    before = state[0].copy()
    rest = np.arange(5, 12)
    assign(offsets, tokens, *state, alpha, BETA, key=KEY, docs=rest, sequential=True)
    np.testing.assert_array_equal(state[0][: offsets[5]], before[: offsets[5]])
    check_counts(tokens, *state)


def test_workers_changes_add_up():
    """Two workers on copies: the reconciled counts count all assignments, in either order."""
    offsets, tokens = corpus(12, 40)
    alpha = padded(np.full(20, 0.1))
    z, *before = started(offsets, tokens, 40, alpha, 0.1)
    copies = []
    for docs in (np.arange(7), np.arange(7, 12)):
        copies.append([c.copy() for c in before])
        collapsed_sweep(offsets, tokens, z, *copies[-1], alpha, BETA, key=KEY, sweep=1, docs=docs)
    for order in (copies, copies[::-1]):
        total = [c.copy() for c in before]
        for after in order:
            for t, b, a in zip(total, before, after, strict=True):
                t += a - b
        check_counts(tokens, z, *total)


@pytest.mark.parametrize("n_topics", [240, 255, 65_535])
def test_tokens_without_a_topic_are_in_no_count(n_topics):
    """Not even in that of a column which has the number of their mark."""
    word_topic, totals = empty_counts(2, n_topics)
    z = np.array([0, n_topics - 1, 5], assignment_dtype(n_topics))
    before = np.full_like(z, np.iinfo(z.dtype).max)
    tokens, offsets = np.array([0, 1, 1], np.uint16), np.array([0, 3])
    totals += count_changes(offsets, tokens, before, z, word_topic, (0, 2))
    check_counts(tokens, z, word_topic, totals)


def test_document_names_key_the_randomness():
    """A shard's documents draw alike under the numbers they have in the whole corpus."""
    offsets, tokens = corpus(6, 40)
    alpha = padded(np.full(20, 0.1))
    whole = started(offsets, tokens, 40, alpha, 0.1)
    shard = started(offsets[3:] - offsets[3], tokens[offsets[3] :], 40, alpha, 0.1, first_id=3)
    np.testing.assert_array_equal(whole[0][offsets[3] :], shard[0])


def test_arguments_that_do_not_fit():
    offsets, tokens = corpus(3, 40)
    alpha = padded(np.full(20, 0.1))
    state = started(offsets, tokens, 40, alpha, 0.1)
    with pytest.raises(ValueError, match="multiple of 16"):
        collapsed_sweep(offsets, tokens, *state, alpha[:20], BETA, key=KEY, sweep=0)
    with pytest.raises(ValueError, match="documents must lie"):
        collapsed_sweep(offsets, tokens, *state, alpha, BETA, key=KEY, sweep=0, docs=[3])


def frequencies(states, starts, alpha, beta, *, n_words):
    """How often each state of the three documents below is seen after three sweeps."""
    observed = np.zeros(len(states))
    for chain, start in enumerate(starts):
        z = states[start].astype(np.uint8)
        counts = empty_counts(n_words, 2)
        np.add.at(counts[0], (TINY[1], z), 1)
        counts[1][:] = counts[0].sum(axis=0)
        for sweep in range(3):
            collapsed_sweep(
                *TINY, z, *counts, alpha, rows(beta, counts[0].shape), key=KEY, sweep=sweep,
                first_id=3 * chain,
            )  # fmt: skip
        observed[z @ 2 ** np.arange(5, -1, -1)] += 1
    return observed


TINY = np.array([0, 2, 4, 6]), np.array([0, 1, 1, 2, 0, 2], np.uint16)


@pytest.mark.parametrize(("alpha", "beta"), [((0.2, 0.5), 0.3), ((0.01, 0.02), 0.004)])
def test_frequencies_are_those_of_the_exact_posterior(alpha, beta):
    """χ² over the 64 states of three documents of two tokens, 12,000 chains that start in the exact
    posterior and must keep it through three sweeps: fails by chance once in 10⁶. The planted bug is
    a denominator n_k + W β with a wrong W. Tiny α and β exercise the tokens taken out in full."""
    states, law = naive_gibbs.enumerate_collapsed(*TINY, 3, np.array(alpha), beta)
    starts = np.random.default_rng(1).choice(len(law), 12_000, p=law)
    expected = len(starts) * law
    rare = expected < 5

    def distance(n_words):
        seen = frequencies(states, starts, padded(np.array(alpha)), beta, n_words=n_words)
        value = np.sum((seen - expected)[~rare] ** 2 / expected[~rare])
        return value + (seen - expected)[rare].sum() ** 2 / max(expected[rare].sum(), 1)

    limit = chi2.isf(1e-6, np.count_nonzero(~rare))
    assert distance(3) < limit
    if beta > 0.1:
        assert distance(6) > limit
