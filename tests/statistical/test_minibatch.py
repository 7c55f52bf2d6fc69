"""Minibatches of a tiny corpus: N̂ E[n_kw], averaged over all of them, is that of the corpus."""

import itertools

import numpy as np
import pytest
from naive_gibbs import expected_counts

from topicmc.kernels.batch import gather
from topicmc.kernels.gibbs import sample_assignments, topic_rows
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads

DOCUMENTS = [[0, 0, 1], [1, 2], [3], [0, 2, 3, 3], [1, 1, 2, 0]]
ALPHA, N_WORDS, N_TOPICS = 0.3, 4, 2
PHI = np.array([[0.6, 0.1], [0.2, 0.3], [0.1, 0.2], [0.1, 0.4]], np.float32)  # word-major


def exact_counts():
    """E[n_wk] of the whole corpus by enumeration of every assignment of every document."""
    return sum(expected_counts(tokens, PHI, ALPHA) for tokens in DOCUMENTS)


def estimates(size, scale, n_updates):
    """(n_updates, W, K): N̂ E[n_wk] by the Gibbs kernel, averaged over all minibatches of a size."""
    pairs = [np.unique(d, return_counts=True) for d in DOCUMENTS]
    indptr = np.concatenate([[0], np.cumsum([len(w) for w, _ in pairs])])
    word_ids = np.concatenate([w for w, _ in pairs]).astype(np.uint16)
    counts = np.concatenate([c for _, c in pairs]).astype(np.uint16)
    alpha = np.zeros(16, np.float32)
    alpha[:N_TOPICS] = ALPHA
    batches = list(itertools.combinations(range(len(DOCUMENTS)), size))
    result = np.zeros((n_updates, N_WORDS, N_TOPICS))
    for number, documents in enumerate(batches):
        batch = gather(indptr, word_ids, counts, np.array(documents), N_WORDS)
        rows = topic_rows(PHI, PHI.sum(0, dtype=float), batch.words)
        for update in range(n_updates):
            drawn = sample_assignments(
                batch, rows, alpha, sweeps=220, burn_in=20, key=stream_key(1, "gibbs", number),
                update=update, threads=Threads(1),
            )  # fmt: skip
            mean = drawn.word_topic[:, :N_TOPICS] / drawn.scale
            result[update, batch.words] += scale * mean / len(batches)
    return result


@pytest.mark.parametrize("fault", [None, "scale by (D + 1)/n"])
def test_mean_over_minibatches_is_the_corpus(fault):
    """Each of 8 entries within 6.5 standard errors (t with 39 degrees of freedom: 1e-6 in all)."""
    draws = estimates(2, (6 if fault else 5) / 2, 40)
    error = draws.std(0, ddof=1) / np.sqrt(len(draws))
    assert error.max() < 0.05
    unbiased = np.all(np.abs(draws.mean(0) - exact_counts()) < 6.5 * error)
    assert unbiased == (fault is None)
