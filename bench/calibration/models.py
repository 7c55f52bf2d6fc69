"""LDA models small enough for thousands of chains, and corpora drawn from their priors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topicmc.corpora import Documents


class State(NamedTuple):
    """A draw of the unknowns, or a state of a chain."""

    phi: np.ndarray  # float64 (K, W), rows sum to one
    z: np.ndarray  # int64 (T,), the topic of each token


@dataclass(frozen=True)
class Model:
    """Sizes and priors of LDA: K, W, D, tokens of a document (least, most), α, β."""

    n_topics: int = 3
    n_words: int = 12
    n_docs: int = 24
    lengths: tuple[int, int] = (10, 20)
    alpha: float = 0.5
    beta: float = 0.5

    def draw(self, generator: np.random.Generator) -> tuple[TinyCorpus, State]:
        """A corpus from the prior, and the topics and assignments that it was drawn from.

        The tokens of a document are sorted by word, as in a prepared corpus.
        """
        phi = generator.dirichlet(np.full(self.n_words, self.beta), self.n_topics)
        lengths = generator.integers(self.lengths[0], self.lengths[1] + 1, self.n_docs)
        doc_of = np.repeat(np.arange(self.n_docs), lengths)
        mixes = generator.dirichlet(np.full(self.n_topics, self.alpha), self.n_docs)
        z = picked(mixes[doc_of], generator)
        tokens = picked(phi[z], generator)
        order = np.lexsort((tokens, doc_of))
        return TinyCorpus(lengths, tokens[order], self.n_words), State(phi, z[order])


def picked(weights: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """One index drawn from each row of probabilities (n, m): int64 (n,)."""
    edges = np.cumsum(weights, axis=1)
    u = generator.random(len(weights)) * edges[:, -1]
    return (edges <= u[:, None]).sum(axis=1)


class TinyCorpus:
    """What the methods of training ask of a `topicmc.corpora.Corpus`, in memory, in one shard."""

    def __init__(self, lengths: np.ndarray, tokens: np.ndarray, n_words: int) -> None:
        self.offsets = np.concatenate([[0], np.cumsum(lengths)])
        self.tokens = tokens
        self.doc_of = np.repeat(np.arange(len(lengths)), lengths)
        self.n_words = n_words
        self.n_docs = len(lengths)
        self.n_tokens = len(tokens)
        self.n_shards = 1
        self.shard_sizes = [self.n_docs]
        self.index = {
            "shards": [{"n_docs": self.n_docs, "n_tokens": self.n_tokens}],
            "dtypes": {"word_ids": "uint16", "counts": "uint16"},
        }
        cells, counts = np.unique(self.doc_of * n_words + tokens, return_counts=True)
        indptr = np.searchsorted(cells, np.arange(self.n_docs + 1) * n_words)
        words = (cells % n_words).astype(np.uint16)
        self._documents = Documents(indptr.astype(np.int64), words, counts.astype(np.uint16))

    def check(self, shards: Iterable[int], metadata: bool = False) -> None:
        """Nothing on a disk can be damaged."""

    def shard(self, number: int) -> Documents:
        return self._documents
