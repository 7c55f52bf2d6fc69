"""The likelihood that a trace records, where the mixes of documents do not matter."""

import numpy as np

from topicmc.corpora.documents import Documents
from topicmc.kernels.threads import Threads
from topicmc.models.lda.scalars import TRACED_WORDS, Scalars, traced
from topicmc.posterior.running import RUNNING
from topicmc.posterior.traces import LOG_LIKELIHOOD
from topicmc.samplers.row_prior import Additions, RowPrior
from topicmc.samplers.running_mean import MeanChain, running_mean
from topicmc.samplers.state import Chain, sum_topics


def test_the_log_likelihood_of_topics_that_are_alike(small_corpus):
    weights = np.random.default_rng(1).gamma(1.0, size=small_corpus.n_words).astype(np.float32)
    theta = np.stack([weights, 3 * weights], axis=1)
    sums = theta.sum(axis=0, dtype=np.float64)
    chain = Chain(0, theta, sums, alpha=np.array([0.1, 0.4]))
    found = Scalars(small_corpus, Threads()).of(chain, None, RowPrior(0.1))["log likelihood"]
    documents = small_corpus.heldout
    log_p = np.log(weights / weights.sum(dtype=np.float64))[documents.word_ids]
    expected = (documents.counts * log_p).sum() / documents.n_tokens
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_log_likelihood_of_a_running_mean(small_corpus):
    """Which is made of the documents' words alone."""
    generator, shape = np.random.default_rng(2), (small_corpus.n_words, 3)
    theta = generator.gamma(1.0, size=shape).astype(np.float32)
    chain = MeanChain(0, theta, sum_topics(theta), alpha=np.array([0.1, 0.4, 0.2]))
    chain.counts_sum = generator.gamma(0.5, 40.0, size=shape).astype(np.float32)
    chain.weight_sum = 7.0
    added = Additions.of_words(np.array([2, 50]), generator.random((2, 3)), small_corpus.n_words)
    scalars, prior = Scalars(small_corpus, Threads()), RowPrior(0.1, added)
    mean = running_mean(chain, prior)
    whole = Chain(0, mean, mean.sum(axis=0, dtype=np.float64), alpha=chain.alpha)
    expected = scalars.of(whole, None, prior)[LOG_LIKELIHOOD]
    np.testing.assert_allclose(scalars.of(chain, None, prior)[RUNNING], expected, rtol=1e-6)


def test_a_very_long_document_is_looked_at_in_part():
    n = 6_000
    long = Documents(np.array([0, n]), np.arange(n, dtype=np.uint16), np.ones(n, np.uint16))
    assert traced(long).n_entries == TRACED_WORDS
