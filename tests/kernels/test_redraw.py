"""Sweeps over remembered assignments, by either kernel: the naive twins' draws, the law of one draw
by enumeration, counts that stay exact, and what must not matter."""

import naive_gibbs
import naive_sparse
import numpy as np
import pytest
from priors import rows, uneven
from scipy.stats import chi2

from topicmc.kernels import assignments, gibbs, sparse
from topicmc.kernels.collapsed import assignment_dtype, count_changes
from topicmc.kernels.padding import padded_topics as padded
from topicmc.kernels.prior import no_prior
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads

KEY = stream_key(3, "redraw")
both = pytest.mark.parametrize("kernel", [gibbs, sparse])


def corpus(n_docs, n_words, n_topics, seed=0, longest=90):
    """offsets, tokens, z and the counts of z, padded."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, longest, n_docs)
    tokens = np.concatenate([np.sort(generator.integers(0, n_words, n)) for n in lengths])
    z = generator.integers(0, n_topics, len(tokens)).astype(assignment_dtype(n_topics))
    word_topic = np.zeros((n_words, -(-n_topics // 16) * 16), np.int32)
    np.add.at(word_topic, (tokens, z), 1)
    return np.r_[0, np.cumsum(lengths)], tokens.astype(np.uint16), z, word_topic


def drawn(
    offsets, tokens, z, word_topic, alpha, beta, *, kernel=gibbs, docs=None, threads=1, totals=None,
    **options,
):  # fmt: skip
    z = z.copy()
    docs = np.arange(len(offsets) - 1) if docs is None else docs
    totals = word_topic.sum(axis=0, dtype=np.int64) if totals is None else totals
    kernel.redraw(
        docs, offsets, tokens, z, word_topic, totals, alpha, rows(beta, word_topic.shape), key=KEY,
        update=9, threads=Threads(threads), **{"counted": True, **options},
    )  # fmt: skip
    return z


@pytest.mark.parametrize("n_topics", [3, 37, 600])
@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.01), (5.0, 0.5), (1e-3, 1e-4)])
def test_agrees_with_the_naive_twin(n_topics, alpha, beta):
    """Every token without its own count, the other counts as before the sweep. The twin works in
    double precision: about one draw in 10⁵ may part them; these 400 meet none."""
    offsets, tokens, z, word_topic = corpus(7, 60, n_topics, seed=4, longest=110)
    alphas = padded(np.full(n_topics, alpha))
    expected = naive_gibbs.collapsed(
        offsets, tokens, z, 60, alphas.astype(float), beta, KEY, sweep=1, last=9, frozen=True
    )
    np.testing.assert_array_equal(drawn(offsets, tokens, z, word_topic, alphas, beta), expected)


@pytest.mark.parametrize("n_topics", [3, 37, 600, 5000])
@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.01), (5.0, 0.5), (1e-3, 1e-4)])
def test_many_topics_agree_with_the_naive_twin(n_topics, alpha, beta):
    """The same, by the kernel for many topics."""
    offsets, tokens, z, word_topic = corpus(7, 60, n_topics, seed=4, longest=110)
    alphas = padded(np.full(n_topics, alpha))
    got = drawn(offsets, tokens, z, word_topic, alphas, beta, kernel=sparse)
    expected = naive_sparse.redraw(
        offsets, tokens, z, word_topic, word_topic.sum(axis=0), alphas.astype(float), beta, KEY, 9
    )
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("n_topics", "kernel"), [(37, gibbs), (37, sparse), (600, sparse)])
@pytest.mark.parametrize(("alpha", "base"), [(0.1, 0.01), (5.0, 1.0)])
def test_words_with_priors_of_their_own(n_topics, kernel, alpha, base):
    """Some words have more prior in some topics than others; both kernels know where."""
    offsets, tokens, z, word_topic = corpus(7, 60, n_topics, seed=4, longest=110)
    alphas = padded(np.full(n_topics, alpha))
    beta = uneven(base, *word_topic.shape)
    got = drawn(offsets, tokens, z, word_topic, alphas, beta, kernel=kernel)
    told = (offsets, tokens, z)
    if kernel is gibbs:
        expected = naive_gibbs.collapsed(
            *told, 60, alphas.astype(float), beta, KEY, sweep=1, last=9, frozen=True
        )
    else:
        totals = word_topic.sum(axis=0)
        expected = naive_sparse.redraw(
            *told, word_topic, totals, alphas.astype(float), beta, KEY, 9
        )
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("beta", [1e-7, 1e-2])
def test_words_that_are_seen_once(beta):
    """Other topics are so large that but for its own count, a word would belong nowhere."""
    offsets, tokens, z, word_topic = corpus(60, 2_000, 600, seed=2)
    alphas = padded(np.full(600, 0.5))
    totals = word_topic.sum(axis=0) + padded(np.full(600, 1e6)).astype(np.int64)
    totals[z[::2]] -= 1_000_000
    options = (offsets, tokens, z, word_topic, alphas, beta)
    got = drawn(*options, kernel=sparse, totals=totals)
    expected = naive_sparse.redraw(
        offsets, tokens, z, word_topic, totals, alphas.astype(float), beta, KEY, 9
    )
    np.testing.assert_array_equal(got, expected)


def test_words_that_are_seen_once_stay_where_their_document_is():
    """A prior that vanishes beside 1 is what such a word has in each topic, its own too."""
    offsets, tokens, z, word_topic = corpus(30, 3_000, 37, seed=2)
    alphas, beta = padded(np.full(37, 0.1)), 1e-8
    expected = naive_gibbs.collapsed(
        offsets, tokens, z, 3_000, alphas.astype(float), beta, KEY, sweep=1, last=9, frozen=True
    )
    np.testing.assert_array_equal(drawn(offsets, tokens, z, word_topic, alphas, beta), expected)


@both
@pytest.mark.parametrize("counted", [True, False])
def test_the_law_of_one_draw(counted, kernel):
    """A document of one token, 40,000 times, χ² at 1e-6; not leaving its own count out is seen."""
    n, alpha, beta = 40_000, np.array([0.5, 0.2, 0.9]), 0.3
    word_topic = np.zeros((2, 16), np.int32)
    word_topic[:, :3] = [[2, 1, 3], [4, 2, 0]]
    tokens = np.zeros(n, np.uint16)
    z = drawn(
        np.arange(n + 1), tokens, np.zeros(n, np.uint8), word_topic, padded(alpha), beta,
        counted=counted, kernel=kernel,
    )  # fmt: skip
    counts = word_topic[:, :3].astype(float)
    counts[0, 0] -= 1
    weights = alpha * (counts[0] + beta) / (counts.sum(axis=0) + 2 * beta)
    expected = n * weights / weights.sum()
    statistic = ((np.bincount(z, minlength=3) - expected) ** 2 / expected).sum()
    assert (chi2.sf(statistic, 2) > 1e-6) == counted


@both
def test_pieces_threads_and_companions_do_not_matter(kernel):
    offsets, tokens, z, word_topic = corpus(400, 40, 20, longest=150)
    alpha = padded(np.full(20, 0.1))

    def sweep(z, **options):
        return drawn(offsets, tokens, z, word_topic, alpha, 0.1, kernel=kernel, **options)

    one = sweep(z)
    np.testing.assert_array_equal(sweep(z, threads=3), one)
    parts = sweep(sweep(z, docs=np.arange(100, 400)), docs=np.arange(100))
    np.testing.assert_array_equal(parts, one)


@both
def test_new_documents_start_from_their_words(kernel):
    """Unassigned tokens get topics that their words have; with a flat β, any; assigned ones of no
    listed document stay."""
    offsets, tokens, z, _ = corpus(30, 20, 4)
    word_topic = np.zeros((20, 16), np.int32)
    word_topic[np.arange(20), np.arange(20) % 4] = 1000
    alpha = padded(np.full(4, 0.5))
    z[offsets[10] :] = 255
    new = np.arange(10, 30)
    options = {"docs": new, "counted": False, "kernel": kernel}
    after = drawn(offsets, tokens, z, word_topic, alpha, 1e-6, **options)
    np.testing.assert_array_equal(after[: offsets[10]], z[: offsets[10]])
    joined = slice(offsets[10], None)
    np.testing.assert_array_equal(after[joined], tokens[joined] % 4)
    flat = drawn(offsets, tokens, z, word_topic, alpha, 1e9, sweeps=0, **options)
    shares = np.bincount(flat[joined], minlength=4) / len(flat[joined])
    assert len(shares) == 4 and np.abs(shares - 0.25).max() < 0.1  # 6 sd at 900 tokens


@both
def test_given_topics_are_used_as_they_are(kernel):
    """θ in place of counts: no weight, no draw; and θ's scale does not matter."""
    offsets, tokens, z, _ = corpus(40, 20, 3)
    theta = np.zeros((20, 16), np.float32)
    theta[:, :3] = np.random.default_rng(0).gamma(0.5, size=(20, 3))
    theta[5, 1] = 0
    alpha = padded(np.full(3, 0.4))
    results = []
    for scale in (1.0, 64.0):
        z_new = z.copy()
        kernel.redraw(
            np.arange(40), offsets, tokens, z_new, theta * np.float32(scale),
            np.maximum(theta.sum(axis=0), 1e-9) * scale, alpha, no_prior(16), counted=False,
            sweeps=2, key=KEY, update=1, threads=Threads(),
        )  # fmt: skip
        results.append(z_new)
    np.testing.assert_array_equal(*results)
    assert not np.any(results[0][tokens == 5] == 1)


def test_the_cheaper_kernel_draws():
    for n_topics, kernel, other in ((100, gibbs, sparse), (3000, sparse, gibbs)):
        state = corpus(20, 60, n_topics)
        alpha = padded(np.full(n_topics, 0.1))
        got, same, another = (
            drawn(*state, alpha, 0.1, kernel=module) for module in (assignments, kernel, other)
        )
        np.testing.assert_array_equal(got, same)
        assert np.any(got != another)


def test_words_may_be_shared_out_when_changes_are_counted():
    offsets, tokens, before, word_topic = corpus(12, 40, 20)
    after = drawn(offsets, tokens, before, word_topic, padded(np.full(20, 0.1)), 0.1)
    totals = word_topic.sum(axis=0, dtype=np.int64)
    for words in ((25, 40), (0, 25)):
        changed = (offsets, tokens, before, after, word_topic)
        totals += count_changes(*changed, words)
    recount = np.zeros_like(word_topic)
    np.add.at(recount, (tokens, after), 1)
    np.testing.assert_array_equal(word_topic, recount)
    np.testing.assert_array_equal(totals, recount.sum(axis=0))
