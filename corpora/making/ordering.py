"""The documents of a corpus in another order, and cut into shards near equal in tokens."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora.documents import Documents, joined, take
from topicmc.corpora.dropped import KEPT
from topicmc.corpora.making.split import chunks_of, in_bucket, position_hash
from topicmc.corpora.metadata import NO_ROW, Metadata
from topicmc.corpora.offsets import offsets
from topicmc.corpora.shards import ShardWriter
from topicmc.corpora.store import Corpus
from topicmc.errors import DataError

_BUCKET_ENTRIES = 1 << 23
_BUCKET_TEXT = 1 << 26  # bytes of what is kept with documents
_LISTED = 1 << 12  # documents at a time
_MOST_LISTED = 1 << 28

Keys = Callable[[np.ndarray], np.ndarray]
"""uint64 (n,) of positions, int64 (n,), in the corpus; about uniform below 2⁶⁴."""


class _Part(NamedTuple):
    """So many documents, mapped only while they are looked at: a process may open few files."""

    n_docs: int
    mapped: Callable[[], Documents]


def random_keys(seed: int) -> Keys:
    """Keys that put documents in a random order: a function of the seed and their number alone."""
    return lambda positions: position_hash(positions, seed, "shuffle")


def in_order(corpus: Corpus, keys: Keys) -> Iterator[Documents]:
    """The training documents with their metadata, in ascending order of their keys.

    Their order is cut into buckets of some eight million entries, or 64 MiB of what is kept with
    documents. One bucket at a time is copied from the mapped shards, so that each is a pass over
    the corpus, and is sorted in memory.
    """
    parts = _parts(corpus, corpus.index["shards"])
    known = (part.mapped().metadata for part in parts)
    n_bytes = sum(metadata.n_bytes for metadata in known if metadata is not None)
    n_buckets = max(-(-corpus.n_entries // _BUCKET_ENTRIES), -(-n_bytes // _BUCKET_TEXT))
    for bucket in range(n_buckets):
        positions, found = _bucket(corpus.n_docs, keys, bucket, n_buckets)
        if len(positions):
            yield take(_copied(parts, positions), np.argsort(found, kind="stable"))


def in_source_order(corpus: Corpus) -> Iterator[tuple[Documents, np.ndarray, np.ndarray]]:
    """All rows of the sources in their order, with their metadata: documents, which of them are
    held out, bool (n,), and why others were left out, uint8 (n,), of `topicmc.corpora.dropped`.

    Those whose rows are not known come last, training documents first. Takes some 50 bytes of
    memory a row. Raises DataError when more rows are told of than can be listed.
    """
    parts = _parts(corpus, [*corpus.index["shards"], corpus.index["heldout"]])
    reasons = np.empty(0, dtype=np.uint8)
    if corpus.n_dropped:
        lost, reasons = listed(corpus)
        nothing = np.empty(0, dtype=np.uint32)
        empty = Documents(np.zeros(lost.n_docs + 1, np.int64), nothing, nothing, lost)
        parts.append(_Part(lost.n_docs, lambda: empty))
    rows = np.concatenate([_rows(part.mapped()) for part in parts])
    n_kept = corpus.n_docs + corpus.n_heldout
    reasons = np.concatenate([np.full(n_kept, KEPT, dtype=np.uint8), reasons])
    order = np.argsort(np.where(rows == NO_ROW, len(rows) + rows.max(), rows), kind="stable")
    for start in range(0, len(order), _LISTED):
        places = order[start : start + _LISTED]
        ranks = np.argsort(places)
        documents = take(_copied(parts, places[ranks]), np.argsort(ranks))
        yield documents, (places >= corpus.n_docs) & (places < n_kept), reasons[places]


def listed(corpus: Corpus) -> tuple[Metadata, np.ndarray]:
    """The rows that made no document, one by one, and why. DataError when they are too many."""
    if corpus.n_dropped > _MOST_LISTED:
        raise DataError(f"{corpus.path}: {corpus.n_dropped:,} rows without words, too many to list")
    dropped = corpus.dropped
    assert dropped is not None
    return dropped.each()


def _parts(corpus: Corpus, tables: Sequence[dict[str, Any]]) -> list[_Part]:
    return [_Part(table["n_docs"], partial(corpus.part, table)) for table in tables]


def _rows(part: Documents) -> np.ndarray:
    """A copy of them."""
    return np.full(part.n_docs, NO_ROW) if part.metadata is None else np.array(part.metadata.rows)


def _bucket(n_docs: int, keys: Keys, bucket: int, n_buckets: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions, ascending int64 (n,), of the documents of a bucket, and their keys."""
    positions, found = [], []
    for chunk in chunks_of(n_docs):
        of_chunk = keys(chunk)
        here = in_bucket(of_chunk, bucket, n_buckets)
        positions.append(chunk[here])
        found.append(of_chunk[here])
    return np.concatenate(positions), np.concatenate(found)


def _copied(parts: Sequence[_Part], positions: np.ndarray) -> Documents:
    """The documents at ascending positions in the parts, one part after another; there are some."""
    starts = offsets(np.array([part.n_docs for part in parts]))
    edges = np.searchsorted(positions, starts)
    taken = [
        take(part.mapped(), positions[first:last] - start)
        for part, start, (first, last) in zip(parts, starts, pairwise(edges), strict=False)
        if first < last
    ]
    metadata = [part.metadata or Metadata.blank(part.n_docs) for part in taken]
    return replace(joined(taken), metadata=Metadata.joined(metadata))


def write_even_shards(
    blocks: Iterator[Documents],
    folder: Path,
    n_shards: int,
    *,
    n_docs: int,
    n_tokens: int,
    dtypes: tuple[np.dtype, np.dtype],
    kinds: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Cuts documents, so many with so many tokens, into shards near equal in tokens, each with a
    document at least; returns their table."""
    shards: list[dict[str, Any]] = []
    rest: Documents | None = None
    docs = tokens = 0  # before what is left
    for number in range(1, n_shards + 1):
        target = n_tokens * number // n_shards
        least, most = docs + 1, n_docs - (n_shards - number)
        with ShardWriter(folder, f"shards/{number - 1:05d}", *dtypes, kinds) as shard:
            while docs < most:
                block = next(blocks) if rest is None else rest
                ends = tokens + offsets(block.sizes)
                # A document goes to the shard that holds its middle.
                n = int(np.searchsorted(ends[:-1] + ends[1:], 2 * target))
                n = min(max(n, least - docs), most - docs, block.n_docs)
                if n:
                    shard.append(block.part(0, n))
                docs, tokens = docs + n, int(ends[n])
                rest = block.part(n, block.n_docs) if n < block.n_docs else None
                if rest is not None:
                    break
            shards.append(shard.close())
    return shards
