"""Documents as bags of words, in compressed sparse rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from topicmc.corpora.offsets import offsets, spans
from topicmc.errors import DataError

if TYPE_CHECKING:
    from topicmc.corpora.metadata import Metadata

_BLOCK_ENTRIES = 1 << 22
_BLOCK_TEXT = 1 << 26  # bytes of what is kept with documents


@dataclass(frozen=True)
class Documents:
    """Word counts of n documents; document d owns entries ``indptr[d]:indptr[d + 1]``.

    Attributes:
        indptr: int64 (n + 1,), starts at 0, never falls.
        word_ids: unsigned (E,), ascending and distinct inside a document.
        counts: unsigned (E,), at least 1.
        metadata: what is known of them beside their words, where it is asked for.
    """

    indptr: np.ndarray
    word_ids: np.ndarray
    counts: np.ndarray
    metadata: Metadata | None = None

    def __post_init__(self) -> None:
        if self.indptr.ndim != 1 or len(self.indptr) == 0:
            raise ValueError("indptr must be a vector of n + 1 offsets")
        if self.word_ids.shape != self.counts.shape or int(self.indptr[-1]) != len(self.word_ids):
            raise ValueError("indptr, word_ids and counts disagree in length")

    @property
    def n_docs(self) -> int:
        """How many documents."""
        return len(self.indptr) - 1

    @property
    def n_entries(self) -> int:
        """Their entries in all, which are the distinct words of documents."""
        return len(self.word_ids)

    @property
    def n_tokens(self) -> int:
        """Their tokens in all."""
        return int(self.counts.sum(dtype=np.int64))

    @property
    def lengths(self) -> np.ndarray:
        """Entries (distinct words) of each document, int64 (n,)."""
        return np.diff(self.indptr)

    @property
    def sizes(self) -> np.ndarray:
        """Tokens of each document, int64 (n,)."""
        ends = np.concatenate(([0], np.cumsum(self.counts, dtype=np.int64)))
        return np.diff(ends[self.indptr - self.indptr[0]])

    def part(self, start: int, stop: int) -> Documents:
        """Documents start to stop − 1."""
        first, last = int(self.indptr[start]), int(self.indptr[stop])
        return Documents(
            self.indptr[start : stop + 1] - first,
            self.word_ids[first:last],
            self.counts[first:last],
            self.metadata and self.metadata.part(start, stop),
        )


def blocks(documents: Documents) -> Iterator[Documents]:
    """The documents in runs of about four million entries, and of up to 64 MiB of text that is kept
    with them, but for a document that has more."""
    indptr, start = documents.indptr, 0
    while start < documents.n_docs:
        stop = int(np.searchsorted(indptr, indptr[start] + _BLOCK_ENTRIES, "right")) - 1
        block = documents.part(start, min(max(stop, start + 1), documents.n_docs))
        if block.metadata is not None:
            fit = int(np.searchsorted(block.metadata.text_ends, _BLOCK_TEXT, "right")) - 1
            block = block.part(0, min(max(fit, 1), block.n_docs))
        yield block
        start += block.n_docs


def take(documents: Documents, rows: np.ndarray) -> Documents:
    """A copy of some documents, int64 (n,), in the order given."""
    starts = documents.indptr[rows]
    lengths = documents.indptr[rows + 1] - starts
    entries = spans(starts, lengths)
    return Documents(
        offsets(lengths),
        documents.word_ids[entries],
        documents.counts[entries],
        documents.metadata and documents.metadata.take(rows),
    )


def select(documents: Documents, mask: np.ndarray) -> Documents:
    """The documents where mask, bool (n,), is true; order is kept."""
    lengths = documents.lengths
    entries = np.repeat(mask, lengths)
    return Documents(
        offsets(lengths[mask]),
        documents.word_ids[entries],
        documents.counts[entries],
        documents.metadata and documents.metadata.select(mask),
    )


def joined(parts: Sequence[Documents]) -> Documents:
    """Documents one part after another, without their metadata."""
    return Documents(
        offsets(np.concatenate([part.lengths for part in parts])),
        np.concatenate([part.word_ids for part in parts]),
        np.concatenate([part.counts for part in parts]),
    )


def from_entries(
    lengths: np.ndarray, word_ids: np.ndarray, counts: np.ndarray
) -> tuple[Documents, int]:
    """Documents from entries in any order inside each document, and how many entries were merged.

    Entries of one document that name the same word are summed. Raises DataError when a sum leaves
    uint32.
    """
    indptr = offsets(lengths)
    ascending = word_ids[1:] > word_ids[:-1]
    starts = indptr[1:-1]
    ascending[starts[(starts > 0) & (starts < len(word_ids))] - 1] = True
    if ascending.all():
        return Documents(indptr, word_ids.astype(np.uint32), counts.astype(np.uint32)), 0

    rows = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((word_ids, rows))
    rows, word_ids, counts = rows[order], word_ids[order], counts[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (word_ids[1:] != word_ids[:-1])
    sums = np.add.reduceat(counts.astype(np.int64), np.flatnonzero(first))
    if sums.max() > np.iinfo(np.uint32).max:
        raise DataError(
            "counts of one word in one document sum to more than 2³² − 1; mend the source"
        )
    indptr = offsets(np.bincount(rows[first], minlength=len(lengths)))
    documents = Documents(indptr, word_ids[first].astype(np.uint32), sums.astype(np.uint32))
    return documents, int(len(rows) - first.sum())


def kept_lengths(documents: Documents, kept: np.ndarray) -> np.ndarray:
    """Entries that each document has among those marked in kept, bool (E,)."""
    running = offsets(kept)
    return running[documents.indptr[1:]] - running[documents.indptr[:-1]]


def remap(documents: Documents, new_ids: np.ndarray) -> Documents:
    """Word i renamed to new_ids[i], int64 (W,); entries whose new id is negative are left out.

    Documents keep their place even when nothing of them is left.
    """
    ids = new_ids[documents.word_ids]
    kept = ids >= 0
    lengths = kept_lengths(documents, kept)
    renamed, _ = from_entries(lengths, ids[kept], documents.counts[kept])
    return replace(renamed, metadata=documents.metadata)
