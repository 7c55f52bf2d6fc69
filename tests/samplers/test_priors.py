"""Learned priors: true values recovered, steps as Minka's equation has them, and bins that do not
matter."""

import numpy as np
import pytest
from priors import prior, uneven
from scipy.special import digamma

from topicmc.kernels.histograms import EXACT, N_BINS, bin_sizes, level_histogram, mix_histogram
from topicmc.kernels.threads import Threads
from topicmc.models.lda.priors.learned import BOUNDS, learned_alpha, learned_beta
from topicmc.samplers.row_prior import RowPrior


def documents(alpha, n_docs, mean_length, seed=0):
    """starts, lengths and z of documents from known mixes."""
    generator = np.random.default_rng(seed)
    lengths = generator.poisson(mean_length, n_docs)
    mixes = generator.dirichlet(alpha, n_docs)
    z = np.concatenate(
        [generator.choice(len(alpha), n, p=mix) for n, mix in zip(lengths, mixes, strict=True)]
    )
    return np.r_[0, np.cumsum(lengths)[:-1]], lengths, z.astype(np.uint16)


def test_alpha_is_recovered():
    """20,000 documents: every α_k within 12 % (the standard error is under 2.5 %); with the mass of
    documents of no tokens, or another topic's α, it is not."""
    alpha = np.geomspace(0.02, 1.0, 12)
    histogram = mix_histogram(*documents(alpha, 20_000, 80), len(alpha))
    learned = learned_alpha(np.full(12, 0.1), histogram, steps=60)
    assert np.abs(np.log(learned / alpha)).max() < 0.12
    assert np.abs(np.log(learned[::-1] / alpha)).max() > 0.12


def test_a_step_is_minkas():
    alpha, beta = np.array([0.3, 0.1, 0.7]), 0.2
    starts, lengths, z = documents(alpha, 30, 40)
    counts = np.array(
        [np.bincount(z[s : s + n], minlength=3) for s, n in zip(starts, lengths, strict=True)]
    )
    top = (digamma(counts + alpha) - digamma(alpha)).sum(axis=0)
    bottom = (digamma(lengths + alpha.sum()) - digamma(alpha.sum())).sum()
    histogram = mix_histogram(starts, lengths, z, 3)
    np.testing.assert_allclose(learned_alpha(alpha, histogram), alpha * top / bottom, rtol=1e-12)
    half = learned_alpha(alpha, histogram, rate=0.5)
    np.testing.assert_allclose(half, alpha * (1 + top / bottom) / 2, rtol=1e-12)

    words = np.random.default_rng(1).integers(0, 5, (7, 3)).astype(float)
    totals = words.sum(axis=0)
    top = (digamma(words + beta) - digamma(beta)).sum()
    bottom = 7 * (digamma(totals + 7 * beta) - digamma(7 * beta)).sum()
    theta = (words + beta).astype(np.float32)
    step = learned_beta(RowPrior(beta), theta, totals + 7 * beta, totals)
    assert step == pytest.approx(beta * top / bottom, rel=1e-6)


def test_a_topic_that_many_minibatches_lack_keeps_its_prior():
    """Of 2,000 documents in batches of 20, each α_k within 10 % of that of all at once, in the mean
    over passes; a topic of a fifth of the minibatches loses its own where steps are made on a
    logarithmic scale, and falls to the least."""
    alpha = np.array([0.4, 0.3, 0.002])
    starts, lengths, z = documents(alpha, 2_000, 60)
    whole = learned_alpha(np.full(3, 0.1), mix_histogram(starts, lengths, z, 3), steps=300)
    batches = [(starts[i : i + 20], lengths[i : i + 20]) for i in range(0, 2_000, 20)]
    histograms = [mix_histogram(*batch, z, 3) for batch in batches]
    lacking = np.mean([histogram[2].sum() == 0 for histogram in histograms])
    assert 0.3 < lacking < 0.9
    learned, sums = whole, np.zeros(3)
    for n in range(40):
        for histogram in histograms:
            learned = learned_alpha(learned, histogram, rate=0.2)
            sums += learned if n >= 10 else 0
    np.testing.assert_allclose(sums / (30 * len(histograms)), whole, rtol=0.1)


def test_a_step_of_the_base_under_additions_is_minkas():
    """Words with and without additions, and one with some in a topic that it does not have."""
    generator = np.random.default_rng(3)
    words = generator.integers(0, 5, (30, 3)).astype(float)
    words[4] = [0, 2, 7]
    b = uneven(0.2, 30, 3)
    b[4] = [9.2, 0.2, 1.2]
    totals = words.sum(axis=0)
    top = (digamma(words + b) - digamma(b)).sum()
    bottom = 30 * (digamma(totals + b.sum(axis=0)) - digamma(b.sum(axis=0))).sum()
    step = learned_beta(prior(b, 30), (words + b).astype(np.float32), totals + b.sum(0), totals)
    assert step == pytest.approx(0.2 * top / bottom, rel=1e-6)


def test_the_base_is_recovered_under_additions():
    """20 topics of 3,000 words drawn under 0.03 and additions: within 3 %, from far off."""
    generator = np.random.default_rng(5)
    b = uneven(0.03, 3000, 20, seed=1)
    totals = generator.integers(20_000, 90_000, 20)
    words = np.array(
        [generator.multinomial(n, generator.dirichlet(b[:, k])) for k, n in enumerate(totals)]
    ).T
    for start in (0.005, 0.4):
        over = b - 0.03 + start
        theta, sums = (words + over).astype(np.float32), totals + over.sum(axis=0)
        learned = learned_beta(prior(over, 3000), theta, sums, totals.astype(float), steps=40)
        assert learned == pytest.approx(0.03, rel=0.03)


@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_beta_is_recovered_whatever_the_scale_of_theta(scale):
    """20 topics of 3,000 words: within 3 % of the 0.03 that they were drawn under, from far off."""
    generator = np.random.default_rng(2)
    topics = generator.dirichlet(np.full(3000, 0.03), 20)
    totals = generator.integers(20_000, 90_000, 20)
    words = np.array(
        [generator.multinomial(n, phi) for n, phi in zip(totals, topics, strict=True)]
    ).T
    for start in (0.005, 0.4):
        theta = ((words + start) * scale).astype(np.float32)
        sums = (totals + 3000 * start) * scale
        learned = learned_beta(RowPrior(start), theta, sums, totals.astype(float), steps=40)
        assert learned == pytest.approx(0.03, rel=0.03)


def test_long_counts_share_bins():
    """Each within a sixteenth of an octave of its bin's size; the smaller ones have their own."""
    counts = np.unique(np.geomspace(1, 3e6, 400).astype(int))
    levels = counts[:, None].astype(np.float32)
    for count, level in zip(counts, levels, strict=True):
        (bin_,) = np.flatnonzero(level_histogram(level[None], np.ones(1), 0.0, 0.5, Threads()))
        size = bin_sizes()[bin_]
        assert size == count if count < EXACT else abs(np.log2(size / count)) <= 1 / 16 + 1e-6
    assert len(bin_sizes()) == N_BINS


def test_threads_share_the_words_that_are_counted():
    levels = np.random.default_rng(1).poisson(3.0, (1000, 7)).astype(np.float32)
    scale = np.linspace(0.5, 60.0, 7)
    sizes = np.rint(levels * scale - 0.2)[levels * scale - 0.2 >= 0.5]
    for n in (1, 3):
        histogram = level_histogram(levels, scale, 0.2, 0.5, Threads(n))
        assert histogram.sum() == len(sizes)
        exact = np.bincount(sizes.astype(int), minlength=EXACT)[:EXACT]
        np.testing.assert_array_equal(histogram[:EXACT], exact)


def test_nothing_to_learn_from():
    nobody = mix_histogram(np.zeros(2, int), np.zeros(2, int), np.zeros(0, np.uint16), 3)
    alpha = np.array([0.1, 0.2, 0.3])
    np.testing.assert_array_equal(learned_alpha(alpha, nobody), alpha)
    one = mix_histogram(np.array([0]), np.array([4]), np.zeros(4, np.uint16), 3)
    learned = learned_alpha(alpha, one, steps=50)
    assert np.all(learned >= BOUNDS[0]) and learned[1] == BOUNDS[0] and learned[0] <= BOUNDS[1]
