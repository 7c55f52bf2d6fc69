"""Topic mixes of documents under given topics, without drawing random numbers.

A document's mix is the posterior mean of η_d given its words, the topics φ and the prior α,

    E[η_dk] = (α_k + E[n_dk]) / Σ_k (α_k + E[n_dk]),

with E[n_dk] by `topicmc.kernels.mixes`. It draws no random numbers, and depends on nothing but the
document, φ and α: neither on other documents nor on the number of threads. A document without words
has the mean of the prior, α / Σ α.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from topicmc.corpora import Documents
from topicmc.host.machine import available_cores
from topicmc.kernels import mixes
from topicmc.kernels.padding import aligned_zeros, padded_size, padded_topics
from topicmc.kernels.threads import Threads

_BLOCK_VALUES = 1 << 22  # documents × topics looked at together
_BLOCK_DOCUMENTS = 1 << 13
_FEW = 8  # a table of all words costs as much as to look up this part of them, about
# Of φ where it is not 0. A mean of few samples has entries of 1e-37; what changes of such shares
# lies below 1e-38, where processors are slow. No mix tells the difference.
_LEAST = np.float32(1e-25)


class Mixer:
    """Mixes of documents under one set of topics.

    Args:
        phi: the topics, (K, W), rows sum to one.
        alpha: float64 (K,), positive: the prior of the mixes.
        threads: to work with (default: all cores); the result does not depend on them.
    """

    def __init__(self, phi: np.ndarray, alpha: np.ndarray, threads: Threads | None = None) -> None:
        self._phi = phi  # until there is a table of it
        self._table: np.ndarray | None = None
        self._spare = phi.shape[1] // _FEW
        self._alpha = padded_topics(alpha)
        self._threads = threads or Threads(available_cores())
        self.n_topics = len(phi)
        self.block = min(_BLOCK_DOCUMENTS, max(1, _BLOCK_VALUES // len(self._alpha)))

    def mixes(self, documents: Documents) -> np.ndarray:
        """float64 (n, K), rows sum to one; word ids must be below W."""
        table, rows = self._looked_up(np.asarray(documents.word_ids))
        out = mixes.expected_counts(
            np.asarray(documents.indptr),
            rows,
            np.asarray(documents.counts),
            table,
            self._alpha,
            self._threads,
        )
        result = out[:, : self.n_topics].astype(np.float64)
        result /= result.sum(axis=1, keepdims=True)
        return result

    def _looked_up(self, word_ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """φ by word as kernels read it, float32 (n, Kp), and the row of each word: a table of all
        words, or as long as they are few one of those that are asked for."""
        if self._table is None:
            self._spare -= len(word_ids)
            if self._spare >= 0 and word_ids.max(initial=0) < self._phi.shape[1]:
                words, rows = np.unique(word_ids, return_inverse=True)
                return self._by_word(self._phi[:, words]), rows.astype(word_ids.dtype)
            self._table = self._by_word(self._phi)
            del self._phi
        return self._table, word_ids

    def _by_word(self, phi: np.ndarray) -> np.ndarray:
        n_topics, n_words = phi.shape
        table = aligned_zeros((n_words, padded_size(n_topics)), np.float32)

        def fill(words: slice, topics: slice) -> None:
            part = table[words, topics]
            part[:] = phi[topics, words].T
            np.maximum(part, _LEAST, out=part, where=part > 0)

        self._threads.run_in_squares(fill, (n_words, n_topics))
        return table


def parts(stream: Iterable[Documents], n_docs: int) -> Iterator[Documents]:
    """The documents of a stream, at most so many at a time."""
    for documents in stream:
        for start in range(0, documents.n_docs, n_docs):
            yield documents.part(start, min(start + n_docs, documents.n_docs))
