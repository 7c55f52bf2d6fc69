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
    with np.errstate(divide="ignore"):
        shares, left = np.log(groups.phi), float(np.log(groups.left))
        weights = np.log(groups.weights)
    beta, n_words = groups.beta, groups.phi.shape[1]
    score = np.empty((documents.n_docs, len(weights) + 1))
    for i in range(documents.n_docs):
        entries = slice(documents.indptr[i], documents.indptr[i + 1])
        words, counts = documents.word_ids[entries], documents.counts[entries].astype(np.float64)
        score[i, :-1] = weights + (shares[:, words] * counts).sum(axis=1)
        score[i, -1] = left + _prior(counts, beta, n_words)
    score -= score.max(axis=1, keepdims=True)
    found = np.exp(score)
    return found / found.sum(axis=1, keepdims=True)


def _prior(counts: np.ndarray, beta: float, n_words: int) -> float:
    """log p₀ of a document: the Dirichlet-multinomial law under the prior."""
    from scipy.special import gammaln

    whole = n_words * beta
    found = (gammaln(beta + counts) - gammaln(beta)).sum()
    return float(found + gammaln(whole) - gammaln(whole + counts.sum()))


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
