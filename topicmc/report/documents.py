"""The documents of topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.documents import Documents, joined
from topicmc.corpora.naming import one_line
from topicmc.corpora.offsets import offsets
from topicmc.inference.mixes import mixed_under, representative_documents
from topicmc.kernels.threads import Threads
from topicmc.models.lda.mixes import Mixer
from topicmc.report.numbers import digits
from topicmc.report.topics import PagePosterior
from topicmc.topics.uncertainty import Posterior

BAG = 8
"""Words told of a document without a title."""


def documents_of(
    posterior: Posterior, shown: np.ndarray, corpus: Corpus, n: int, threads: Threads | None = None
) -> list[list[dict[str, Any]]]:
    """For each shown topic the ``n`` training documents with most of it: name, title or those of
    its words that speak most for the topic, columns kept of its row, and the topic's share of the
    document."""
    if n == 0:
        return [[] for _ in shown]
    phi, alpha, summed = mixed_under(posterior.chains[0].run, posterior.phi, posterior.alpha)
    numbers = representative_documents(phi, alpha, corpus, n, shown=summed, threads=threads)
    mixer = Mixer(phi, alpha, threads)
    return tell(posterior, shown, corpus, numbers[shown], lambda some: summed(mixer.mixes(some)))


def tell(
    posterior: PagePosterior,
    shown: np.ndarray,
    corpus: Corpus,
    numbers: np.ndarray,
    shares: Callable[[Documents], np.ndarray],
) -> list[list[dict[str, Any]]]:
    """The same of the training documents of some ``numbers``, int64 (n shown, n): ``shares`` says
    what topics have of documents, (D, K)."""
    unique, places = np.unique(numbers, return_inverse=True)
    documents = pick(corpus, unique)
    mixes = shares(documents)
    found: list[list[dict[str, Any]]] = []
    for k, row in zip(shown.tolist(), places.reshape(numbers.shape), strict=True):
        found.append([])
        for i in row.tolist():
            about = corpus.about(int(unique[i]))
            bag = [] if about.title else _bag(posterior, documents.part(i, i + 1), k)
            share = digits(mixes[i, k : k + 1], 3)[0]
            found[-1].append(
                {
                    "name": about.name,
                    "title": about.title,
                    "columns": [[name, one_line(value)] for name, value in about.kept],
                    "share": share,
                    "words": bag,
                }
            )
    return found


def _bag(posterior: PagePosterior, document: Documents, k: int) -> list[str]:
    weights = document.counts * posterior.phi[k, document.word_ids]
    first = document.word_ids[np.argsort(-weights, kind="stable")[:BAG]]
    return [posterior.vocabulary[w] for w in first]


def pick(corpus: Corpus, numbers: np.ndarray) -> Documents:
    """Training documents by their numbers, in that order."""
    begins = offsets(np.array(corpus.shard_sizes))
    shards = np.searchsorted(begins, numbers, "right") - 1
    opened = {shard: corpus.shard(shard) for shard in np.unique(shards).tolist()}
    parts = [
        opened[shard].part(place, place + 1)
        for shard, place in zip(shards.tolist(), (numbers - begins[shards]).tolist(), strict=True)
    ]
    return joined(parts)
