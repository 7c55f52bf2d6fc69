"""Coherence of topics: do their top words occur in the same documents of the training corpus?

One pass over the corpus counts the documents that hold two words of a topic; u_mass and NPMI both
follow from these counts. C_v is gensim's own, on demand: it takes many times longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from topicmc.corpora import Corpus
from topicmc.errors import UsageError

MEASURES = ("u_mass", "npmi", "c_v")
_ENTRIES = 4_000_000  # entries of the corpus that are looked at together,
_TOPICS = 1_000  # for every so many topics: a look takes time for each topic, however short it is


class DocumentCounts(NamedTuple):
    """In how many of ``n_docs`` documents two top words of a topic occur together: int64
    (K, n, n), on the diagonal in how many a word occurs."""

    together: np.ndarray
    n_docs: int


def measure(words: np.ndarray, corpus: Corpus, measures: Sequence[str]) -> dict[str, np.ndarray]:
    """The coherence of topics by their top words (K, n), likeliest first, on a corpus whose words
    these are: float64 (K,) by the name of each measure; UsageError for one not in `MEASURES`."""
    unknown = set(measures) - set(MEASURES)
    if unknown:
        raise UsageError(f"coherence {min(unknown)!r} is not one of {', '.join(MEASURES)}")
    counts = document_counts(words, corpus) if {"u_mass", "npmi"} & set(measures) else None
    found = {}
    for name in measures:
        if counts is None or name == "c_v":
            found[name] = c_v(words, corpus)
        else:
            found[name] = u_mass(counts) if name == "u_mass" else npmi(counts)
    return found


def document_counts(words: np.ndarray, corpus: Corpus) -> DocumentCounts:
    """In how many training documents top words of each topic occur together, as `DocumentCounts`.
    Reads the documents once.

    Args:
        words: int (K, n), the top words of each topic.
        corpus: an open corpus; DataError when a file of it is damaged.
    """
    from scipy.sparse import csr_array

    chosen, columns = np.unique(words, return_inverse=True)
    columns = columns.reshape(words.shape)
    together = np.zeros((*words.shape, words.shape[1]), np.int64)
    n_entries = _ENTRIES * max(1, len(words) // _TOPICS)
    for found, indptr in _documents(chosen, corpus, n_entries):
        shape = (len(indptr) - 1, len(chosen))
        matrix = csr_array((np.ones(len(found), np.int32), found, indptr), shape=shape).tocsc()
        for k, mine in enumerate(columns):
            held = matrix[:, mine]
            together[k] += (held.T @ held).toarray()
    return DocumentCounts(together, corpus.n_docs)


def u_mass(counts: DocumentCounts) -> np.ndarray:
    """u_mass of each topic: float64 (K,), higher is better, about 0 at the most.

    The mean over pairs i < j, likeliest words first, of log (D(w_i, w_j) + 1) / D(w_i), with D the
    number of documents that hold the words (Mimno et al. 2011, "Optimizing semantic coherence in
    topic models", eqn 1).
    """
    first, second = np.triu_indices(counts.together.shape[1], 1)
    single = np.maximum(counts.together[:, first, first], 1)
    return _mean(np.log((counts.together[:, first, second] + 1) / single))


def npmi(counts: DocumentCounts) -> np.ndarray:
    """Normalised pointwise mutual information of each topic: float64 (K,), from −1 to 1.

    The mean over pairs of words of log (p_ij / p_i p_j) / −log p_ij, with p the share of documents
    that hold the words (Bouma 2009; Lau et al. 2014, who count in windows of ten words instead). A
    pair that never meets has −1, one that no document lacks 0.
    """
    first, second = np.triu_indices(counts.together.shape[1], 1)
    p = counts.together / max(counts.n_docs, 1)
    both, one, other = p[:, first, second], p[:, first, first], p[:, second, second]
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.log(both / (one * other)) / -np.log(both)
    return _mean(np.where(both == 0, -1, np.where(both == 1, 0, score)))


def c_v(words: np.ndarray, corpus: Corpus) -> np.ndarray:
    """C_v of each topic by gensim's CoherenceModel: float64 (K,), higher is better; NaN for a topic
    with a word that no document holds.

    A corpus holds bags of words, so the sliding window of Röder et al. (2015, "Exploring the space
    of topic coherence measures") is a whole document here, and figures do not compare with those
    from running text.
    """
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    chosen = np.unique(words)
    names = np.array([str(w) for w in chosen])
    model = CoherenceModel(
        topics=[[str(w) for w in topic] for topic in words],
        texts=_Texts(chosen, names, corpus),
        dictionary=Dictionary([names.tolist()]),
        window_size=len(chosen) + 1,
        coherence="c_v",
        topn=words.shape[1],
        processes=1,
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.array(model.get_coherence_per_topic(), np.float64)


class _Texts:
    """The training documents as lists of words, the chosen ones alone; to be gone through again and
    again, as gensim does."""

    def __init__(self, chosen: np.ndarray, names: np.ndarray, corpus: Corpus) -> None:
        self._chosen, self._names, self._corpus = chosen, names, corpus

    def __iter__(self) -> Iterator[list[str]]:
        for found, indptr in _documents(self._chosen, self._corpus, _ENTRIES):
            for start, stop in pairwise(indptr):
                yield self._names[found[start:stop]].tolist()


def _documents(
    chosen: np.ndarray, corpus: Corpus, n_entries: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The training documents, some at a time, which have about so many entries, with the chosen
    words alone: positions of words in ``chosen`` (ascending, distinct), and where each document
    begins in them."""
    corpus.check(range(corpus.n_shards))
    position = np.full(corpus.n_words, -1, np.int32)
    position[chosen] = np.arange(len(chosen))
    for number in range(corpus.n_shards):
        shard = corpus.shard(number)
        start = 0
        while start < shard.n_docs:
            within = np.searchsorted(shard.indptr, shard.indptr[start] + n_entries, "right") - 1
            stop = min(max(start + 1, int(within)), shard.n_docs)
            indptr = shard.indptr[start : stop + 1]
            found = position[shard.word_ids[indptr[0] : indptr[-1]]]
            before = np.concatenate([[0], np.cumsum(found >= 0)])
            yield found[found >= 0], before[indptr - indptr[0]]
            start = stop


def _mean(pairs: np.ndarray) -> np.ndarray:
    """The mean over pairs (K, pairs); 0 where topics have one word and no pair."""
    return pairs.mean(axis=1) if pairs.shape[1] else np.zeros(len(pairs))
