"""Reading topics: their words, sizes and coherence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.errors import UsageError

SORTS = ("size", "coherence")


@dataclass(frozen=True)
class Topic:
    """One topic, by its number in the run: share of the tokens, top words and their probabilities,
    and u_mass coherence when it was asked for."""

    number: int
    share: float
    words: tuple[str, ...]
    probabilities: tuple[float, ...]
    coherence: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The topic as JSON values."""
        return {
            "topic": self.number,
            "share": self.share,
            "coherence": self.coherence,
            "words": [
                {"word": word, "probability": probability}
                for word, probability in zip(self.words, self.probabilities, strict=True)
            ],
        }


def describe(
    phi: np.ndarray,
    share: np.ndarray,
    vocabulary: list[str],
    n_words: int = 10,
    *,
    sort: str = "size",
    corpus: Corpus | None = None,
) -> list[Topic]:
    """The topics of a K × W matrix φ with their ``n_words`` likeliest words.

    Sorted by ``"size"``, or by ``"coherence"``, which reads ``corpus`` once.
    """
    if sort not in SORTS:
        raise UsageError(f"--sort {sort!r} is not one of {', '.join(SORTS)}")
    n_words = min(n_words, phi.shape[1])
    top = np.argsort(-phi, axis=1, kind="stable")[:, :n_words]
    scores = u_mass(top, corpus) if corpus is not None else None
    topics = [
        Topic(
            number=k,
            share=float(share[k]),
            words=tuple(vocabulary[w] for w in top[k]),
            probabilities=tuple(float(p) for p in phi[k, top[k]]),
            coherence=None if scores is None else float(scores[k]),
        )
        for k in range(phi.shape[0])
    ]
    if sort == "coherence":
        return sorted(topics, key=lambda topic: -(topic.coherence or 0.0))
    return sorted(topics, key=lambda topic: -topic.share)


def u_mass(top_words: np.ndarray, corpus: Corpus) -> np.ndarray:
    """u_mass coherence of each topic on the training corpus: float64 (K,), higher is better.

    The mean over pairs i < j of log (D(w_i, w_j) + 1) / D(w_i), with D the number of training
    documents that hold the words (Mimno et al. 2011, "Optimizing semantic coherence in topic
    models", eqn 1).

    Args:
        top_words: int (K, n), the words of each topic, likeliest first.
        corpus: an open corpus.
    """
    from scipy.sparse import csr_matrix

    corpus.check(range(corpus.n_shards))
    words, columns = np.unique(top_words, return_inverse=True)
    columns = columns.reshape(top_words.shape)
    position = np.full(corpus.n_words, -1, np.int64)
    position[words] = np.arange(len(words))
    together = np.zeros((len(words), len(words)))
    for number in range(corpus.n_shards):
        shard = corpus.shard(number)
        for start in range(0, shard.n_docs, 100_000):
            stop = min(start + 100_000, shard.n_docs)
            indptr = shard.indptr[start : stop + 1]
            found = position[shard.word_ids[indptr[0] : indptr[-1]]]
            kept = found >= 0
            rows = np.repeat(np.arange(stop - start), np.diff(indptr))[kept]
            matrix = csr_matrix(
                (np.ones(kept.sum(), np.float32), (rows, found[kept])),
                shape=(stop - start, len(words)),
            )
            together += (matrix.T @ matrix).toarray()
    upper = np.triu_indices(top_words.shape[1], 1)
    scores = np.zeros(len(top_words))
    for k, mine in enumerate(columns):
        pairs = together[np.ix_(mine, mine)]
        single = np.maximum(np.diag(pairs), 1.0)
        scores[k] = np.mean(np.log((pairs + 1) / single[:, None])[upper]) if len(upper[0]) else 0.0
    return scores
