"""Groups of documents under a mixture: what `topicmc infer` computes for its runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from topicmc.corpora import Documents
from topicmc.corpora.reading import Reading
from topicmc.inference.facts import Totals, blocks_of
from topicmc.inference.files import Rows
from topicmc.models.mixture.reading import Groups, log_memberships_of

_BLOCK = 4_096  # documents at a time
_KINDS = np.float64, np.int64, np.int64


def memberships(groups: Groups, documents: Documents) -> np.ndarray:
    """The probabilities of the groups of each document, float64 (n, K + 1): P(z = k | x) under the
    weights and words of the groups, and last that it belongs to none of them: such a one counts
    with its prior predictive."""
    return np.exp(log_memberships(groups, documents))


def log_memberships(groups: Groups, documents: Documents) -> np.ndarray:
    """Their logarithms."""
    from scipy.sparse import csr_array

    arrays = documents.counts, documents.word_ids, documents.indptr
    bags = csr_array(
        tuple(np.asarray(array, kind) for array, kind in zip(arrays, _KINDS, strict=True)),
        shape=(documents.n_docs, groups.phi.shape[1]),
    )
    logs = groups.log_weights, groups.log_shares
    return log_memberships_of(bags, *logs, groups.left, groups.beta)


def infer_groups(groups: Groups, reading: Reading, totals: Totals) -> Iterator[Rows]:
    """The `memberships` of documents in the words of a run, some at a time.

    Args:
        groups: of the run.
        reading: the documents.
        totals: counts along.
    """
    for part, first, facts in blocks_of(reading, totals, _BLOCK):
        yield Rows(first, facts, memberships(groups, part), None)
