"""Document completion by a mixture, on the same tokens as a topic model's (`Split`).

    p(w) = Σ_j P(z = j | observed) θ_jw + P(new | observed) (β + x_w) / (Wβ + n)

where x are the n observed tokens of the document: a group yet unseen counts with the posterior
predictive law of the document alone.
"""

from __future__ import annotations

import numpy as np

from topicmc.models.heldout import Split
from topicmc.models.mixture.evaluation import LEAST_SHARE
from topicmc.models.mixture.reading import log_memberships_of
from topicmc.models.mixture.run import Sample


def token_probabilities(
    split: Split, sample: Sample, columns: np.ndarray, ids: np.ndarray
) -> np.ndarray:
    """p(w) of each scored token under one sample, float64 (T,).

    Args:
        split: of documents without other words.
        sample: whose groups are rescaled to the words that count.
        columns: int64 (V,), where the sample has the words that count.
        ids: int64 (V,), their ids in the split.
    """
    from scipy.sparse import csr_array

    n_words, beta, batch = len(ids), sample.beta, split.observed
    place = np.full(int(max(ids.max(initial=0), split.scored_word.max(initial=0))) + 1, -1)
    place[ids] = np.arange(n_words)
    rows = np.repeat(np.arange(len(batch.doc_ids)), np.diff(batch.offsets))
    words = place[batch.words[batch.tokens]]
    bags = csr_array((np.ones(len(rows)), (rows, words)), shape=(len(batch.doc_ids), n_words))
    bags.sum_duplicates()
    phi = np.maximum(sample.phi[:, columns].astype(np.float64), LEAST_SHARE)
    phi /= phi.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        weights = np.log(sample.weights)
    member = np.exp(log_memberships_of(bags, weights, np.log(phi).T, sample.left, beta))
    docs, scored = split.scored_doc, place[split.scored_word]
    found = np.einsum("tk,kt->t", member[docs, :-1], phi[:, scored])
    seen = np.asarray(bags[docs, scored]).ravel()
    lengths = np.asarray(bags.sum(axis=1)).ravel()
    return found + member[docs, -1] * (beta + seen) / (n_words * beta + lengths[docs])
