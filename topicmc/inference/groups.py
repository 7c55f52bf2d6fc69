"""Groups of documents under a mixture: what `topicmc infer` computes for its runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from topicmc.corpora import Documents
from topicmc.corpora.reading import Reading
from topicmc.inference.facts import facts_of
from topicmc.inference.files import Rows
from topicmc.inference.mixes import Totals
from topicmc.models.mixture.reading import Groups

_BLOCK = 4_096  # documents at a time


def memberships(groups: Groups, documents: Documents) -> np.ndarray:
    """The probabilities of the groups of each document, float64 (n, K + 1): P(z = k | x) under the
    weights and words of the groups, and last that it belongs to none of them: such a one counts
    with its prior predictive."""
    return np.exp(log_memberships(groups, documents))


def log_memberships(groups: Groups, documents: Documents) -> np.ndarray:
    """Their logarithms."""
    from scipy.sparse import csr_array
    from scipy.special import gammaln

    with np.errstate(divide="ignore"):
        shares, weights = np.log(groups.phi), np.log(groups.weights)
    left = np.log(max(groups.left, 1e-300))  # so that a word that no group has leaves it
    beta, n_words = groups.beta, groups.phi.shape[1]
    counts = documents.counts.astype(np.float64)
    indptr = np.asarray(documents.indptr, np.int64)
    words = np.asarray(documents.word_ids, np.int64)
    bags = csr_array((counts, words, indptr), shape=(documents.n_docs, n_words))
    score = np.empty((documents.n_docs, len(weights) + 1))
    score[:, :-1] = weights + bags @ shares.T
    gains = csr_array((gammaln(beta + counts) - gammaln(beta), words, indptr), shape=bags.shape)
    whole = n_words * beta
    prior = gains.sum(axis=1) + gammaln(whole) - gammaln(whole + bags.sum(axis=1))
    score[:, -1] = left + prior
    return score - np.logaddexp.reduce(score, axis=1, keepdims=True)


def infer_groups(groups: Groups, reading: Reading, totals: Totals) -> Iterator[Rows]:
    """The `memberships` of documents in the words of a run, some at a time.

    Args:
        groups: of the run.
        reading: the documents.
        totals: counts along.
    """
    for known in reading:
        if totals.stop is not None:
            totals.stop += int(np.sum(known.stop))
        for start in range(0, known.documents.n_docs, _BLOCK):
            block = slice(start, min(start + _BLOCK, known.documents.n_docs))
            part = known.documents.part(block.start, block.stop)
            first = totals.documents
            facts = facts_of(reading, known, block, first)
            totals.add(np.array(facts["tokens"]), np.array(facts["unknown"]))
            totals.named += sum(map(bool, facts.get("id", ())))
            yield Rows(first, facts, memberships(groups, part), None)
