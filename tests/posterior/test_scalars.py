"""The likelihood that a trace records, where the mixes of documents do not matter."""

import numpy as np

from topicmc.kernels.threads import Threads
from topicmc.models.lda.scalars import Scalars
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.state import Chain


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
