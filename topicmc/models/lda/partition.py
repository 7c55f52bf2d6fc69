"""The documents of each worker: consecutive in the corpus, near equal in tokens.

Every rank computes the same, from the corpus alone, without a message.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topicmc.corpora import Corpus, Documents
from topicmc.corpora.documents import blocks
from topicmc.corpora.offsets import offsets
from topicmc.errors import UsageError


@lru_cache(maxsize=4)
def share_out(corpus: Corpus, n_workers: int) -> list[list[DocumentRange]]:
    """The documents of each worker (`partition`), the same on every rank.

    While there are as many shard files as workers, corpus.json alone decides; else the lengths of
    the documents are read in the files that are divided.
    """
    table = corpus.index["shards"]
    tokens = [shard["n_tokens"] for shard in table]

    def lengths(shard: int) -> np.ndarray:
        corpus.check([shard])
        whole = [(shard, 0, corpus.shard_sizes[shard])]
        return np.concatenate([documents.sizes for documents in pieces(corpus, whole)])

    return partition(corpus.shard_sizes, tokens, n_workers, lengths)


class DocumentRange(NamedTuple):
    """Documents `first` to `last` − 1 of one shard file."""

    shard: int
    first: int
    last: int


def partition(
    shard_sizes: Sequence[int],
    shard_tokens: Sequence[int],
    n_workers: int,
    lengths: Callable[[int], np.ndarray],
) -> list[list[DocumentRange]]:
    """The documents of each worker: consecutive, near equal in tokens, each document with one.

    While there are as many shard files as workers, files stay whole, and shares may differ by about
    a file. Else files are divided, and no share exceeds the mean by more than the longest document.

    Args:
        shard_sizes: documents of each shard file.
        shard_tokens: tokens of each shard file.
        n_workers: number of workers.
        lengths: gives the tokens of each document of a shard file, int64 (D,); called only for
            files that are divided.

    Raises UsageError when there are fewer documents than workers.
    """
    files = [i for i, size in enumerate(shard_sizes) if size > 0]
    starts = offsets([shard_sizes[i] for i in files])
    n_docs = int(starts[-1])
    if n_docs < n_workers:
        raise UsageError(
            f"{n_docs} training documents cannot be shared out among {n_workers} workers: "
            f"use at most {n_docs} workers"
        )
    token_starts = offsets([shard_tokens[i] for i in files])
    n_tokens = int(token_starts[-1])
    targets = [n_tokens * worker // n_workers for worker in range(1, n_workers)]
    if len(files) >= n_workers:
        edges = starts[_distinct(_nearest(token_starts, targets), len(files))]
    else:
        inside = np.searchsorted(token_starts, targets, side="right") - 1
        edges = np.zeros(len(targets), np.int64)
        for i in np.unique(inside):
            here = inside == i
            ends = token_starts[i] + offsets(lengths(files[i]))
            edges[here] = starts[i] + _nearest(ends, np.array(targets)[here])
        edges = _distinct(edges, n_docs)
    edges = np.array([0, *edges.tolist(), n_docs])
    return [_ranges(files, starts, first, last) for first, last in itertools.pairwise(edges)]


def _nearest(places: np.ndarray, targets: ArrayLike) -> np.ndarray:
    """The number of the place (ascending) nearest to each target; the first of two."""
    after = np.clip(np.searchsorted(places, targets), 1, len(places) - 1)
    return after - (targets - places[after - 1] <= places[after] - targets)


def _distinct(edges: np.ndarray, n: int) -> np.ndarray:
    """Edges (ascending) moved as little as leaves something on either side of each within 0 … n."""
    order = np.arange(1, len(edges) + 1)
    edges = np.maximum.accumulate(np.maximum(edges - order, 0)) + order
    return np.minimum(edges, n - order[::-1])


def _ranges(files: list[int], starts: np.ndarray, first: int, last: int) -> list[DocumentRange]:
    ranges = []
    i = int(np.searchsorted(starts, first, side="right")) - 1
    while first < last:
        stop = min(int(last), int(starts[i + 1]))
        ranges.append(DocumentRange(files[i], int(first - starts[i]), int(stop - starts[i])))
        first, i = stop, i + 1
    return ranges


def pieces(corpus: Corpus, ranges: Sequence[tuple[int, int, int]]) -> Iterator[Documents]:
    """The documents of the ranges, some at a time, as they are mapped."""
    for shard, first, last in ranges:
        yield from blocks(corpus.shard(shard).part(first, last))
