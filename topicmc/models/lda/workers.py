"""The part of a corpus that one worker trains on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora import Corpus, Documents
from topicmc.corpora.documents import blocks, joined, take
from topicmc.corpora.offsets import offsets as offsets_of
from topicmc.kernels.batch import Minibatch, check_lengths, gather
from topicmc.kernels.threads import Threads
from topicmc.models.lda.partition import pieces
from topicmc.storage.scratch import scratch_array


class WorkerDocuments:
    """Contiguous ranges of documents over one or more shard files, opened by this worker only.

    Args:
        corpus: an open corpus.
        ranges: (shard, first document, one past the last) in corpus order.
    """

    def __init__(self, corpus: Corpus, ranges: Sequence[tuple[int, int, int]]) -> None:
        self.n_words = corpus.n_words
        self._pieces = [(corpus.shard(shard), first) for shard, first, _ in ranges]
        sizes = [last - first for _, first, last in ranges]
        self._bounds = offsets_of(sizes)
        shard_starts = offsets_of(corpus.shard_sizes)
        self._global_first = [int(shard_starts[shard]) + first for shard, first, _ in ranges]

    @property
    def n_docs(self) -> int:
        """D_s, the documents of this worker."""
        return int(self._bounds[-1])

    def token_offsets(self) -> np.ndarray:
        """Where the tokens of each document would begin if all were one array: int64 (D_s + 1,)."""
        lengths = [
            block.sizes
            for (documents, first), size in zip(self._pieces, np.diff(self._bounds), strict=True)
            for block in blocks(documents.part(first, first + int(size)))
        ]
        return offsets_of(np.concatenate([[], *lengths]).astype(np.int64))

    def minibatch(self, doc_ids: np.ndarray, threads: Threads | None = None) -> Minibatch:
        """The documents numbered ``doc_ids`` (0 … D_s − 1) of this worker.

        The minibatch carries their numbers in the whole corpus, which key their random streams.
        """
        piece_of = np.searchsorted(self._bounds, doc_ids, side="right") - 1
        touched = np.unique(piece_of)
        if len(touched) == 1:
            piece = int(touched[0])
            documents, first = self._pieces[piece]
            local = doc_ids - self._bounds[piece]
            batch = self._gather(documents, local + first, threads)
            return batch._replace(doc_ids=local + self._global_first[piece])
        parts: list[Any] = [None] * len(touched)
        numbers: list[Any] = [None] * len(touched)

        def copy(i: int) -> None:
            piece = touched[i]
            local = doc_ids[piece_of == piece] - self._bounds[piece]
            documents, first = self._pieces[piece]
            parts[i] = take(documents, local + first)
            numbers[i] = local + self._global_first[piece]

        (threads or Threads()).run(copy, len(touched))
        merged = joined(parts)
        batch = self._gather(merged, np.arange(merged.n_docs), threads)
        return batch._replace(doc_ids=np.concatenate(numbers))

    def _gather(
        self, documents: Documents, doc_ids: np.ndarray, threads: Threads | None
    ) -> Minibatch:
        arrays = (documents.indptr, documents.word_ids, documents.counts)
        return gather(*arrays, doc_ids, self.n_words, threads)


class Tokens(NamedTuple):
    """All tokens of a worker's documents, for samplers that remember their topics."""

    offsets: np.ndarray
    """int64 (D_s + 1,): document d owns words[offsets[d] : offsets[d + 1]]."""
    words: np.ndarray
    """Word ids (T,), of the corpus's own type."""
    first: int
    """How many documents are before its first one."""


def expand(
    corpus: Corpus, ranges: Sequence[tuple[int, int, int]], scratch: Path | None = None
) -> Tokens:
    """The tokens of a worker's documents.

    Args:
        corpus: an open corpus.
        ranges: as for `WorkerDocuments`.
        scratch: where `scratch_array` may put the tokens.

    Raises DataError as `check_lengths`.
    """
    lengths = [documents.sizes for documents in pieces(corpus, ranges)]
    offsets = offsets_of(np.concatenate([[], *lengths]).astype(np.int64))
    check_lengths(np.diff(offsets))
    dtype = np.dtype(corpus.index["dtypes"]["word_ids"])
    tokens = scratch_array(int(offsets[-1]), dtype, scratch)
    start = 0
    for documents, sizes in zip(pieces(corpus, ranges), lengths, strict=True):
        end = start + int(sizes.sum())
        tokens[start:end] = np.repeat(documents.word_ids, documents.counts)
        start = end
    shard, first, _ = ranges[0]
    return Tokens(offsets, tokens, sum(corpus.shard_sizes[:shard]) + first)
