"""Documents that are equal, or have one id, found by 64-bit digests that lie in a file, in bounded
memory.

Two documents that differ have equal digests with probability 2⁻⁶⁴, so that among n documents some
are mistaken for equal with probability of at most n² 2⁻⁶⁵: 2 in a million for 8 million documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from topicmc.corpora.documents import Documents
from topicmc.corpora.making.split import chunks_of, in_bucket, look_up, mixed
from topicmc.corpora.offsets import spans
from topicmc.corpora.strings import Strings
from topicmc.storage.scratch import scratch_array

_CHUNK = 1 << 20
_BUCKET = 1 << 21


def bag_digests(documents: Documents) -> np.ndarray:
    """uint64 (n,): equal for documents with the same counts of the same word ids."""
    ids, counts = (a.astype(np.uint64) for a in (documents.word_ids, documents.counts))
    return _of_runs(ids + (counts << np.uint64(32)), documents.indptr)


def text_digests(texts: Strings) -> np.ndarray:
    """uint64 (n,): equal for equal texts."""
    found = [np.empty(0, dtype=np.uint64)]
    for part in texts.pieces():
        places = spans(np.zeros_like(part.lengths), part.lengths).astype(np.uint64)
        found.append(_of_runs((places << np.uint64(8)) + part.text, part.offsets))
    return np.concatenate(found)


def _of_runs(entries: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """A digest of each run of entries, uint64, in whatever order they stand."""
    sums = np.zeros(len(entries) + 1, dtype=np.uint64)
    np.cumsum(mixed(entries + np.uint64(1)), out=sums[1:])  # modulo 2⁶⁴
    return mixed(sums[offsets[1:]] - sums[offsets[:-1]])


def first_of_each(file: Path) -> tuple[np.ndarray | None, int]:
    """Where the first document of the same digest stands, int64 (n,), given a file of uint64 (n,);
    None if all differ; and how many documents repeat one before them.

    Digests are compared by buckets, of some two million different ones each, and each bucket takes
    a pass over the file. Many positions are kept in a file, too.
    """
    n = file.stat().st_size // 8
    n_buckets = max(1, -(-n // _BUCKET))
    firsts: np.ndarray | None = None
    n_repeats = 0
    for bucket in range(n_buckets):
        for repeats, heads in _repeats(file, bucket, n_buckets):
            if firsts is None:
                firsts = _all_first(n, file.parent)
            firsts[repeats] = heads
            n_repeats += len(repeats)
    return firsts, n_repeats


def repeating(firsts: np.ndarray) -> np.ndarray:
    """bool (n,): which documents repeat one before them, given the first of each, int64 (n,)."""
    found = np.empty(len(firsts), dtype=bool)
    for positions in chunks_of(len(firsts)):
        found[positions] = firsts[positions] != positions
    return found


def _repeats(file: Path, bucket: int, n_buckets: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions of documents that repeat one before them, int64 (m,), and those of the first of
    their kind, among the documents whose first bits fall in a bucket."""
    known, first = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    for start, digests in _chunks(file):
        here = in_bucket(digests, bucket, n_buckets)
        kinds, own, kind = np.unique(digests[here], return_index=True, return_inverse=True)
        heads = start + here[own]
        places, seen = look_up(known, kinds)
        heads[seen] = first[places[seen]]
        first = np.insert(first, places[~seen], heads[~seen])
        known = np.insert(known, places[~seen], kinds[~seen])  # stays in order
        again = heads[kind] != start + here
        if again.any():
            yield start + here[again], heads[kind[again]]


def _chunks(file: Path) -> Iterator[tuple[int, np.ndarray]]:
    start = 0
    with file.open("rb") as stream:
        while len(digests := np.fromfile(stream, np.uint64, _CHUNK)):
            yield start, digests
            start += len(digests)


def _all_first(n: int, folder: Path) -> np.ndarray:
    firsts = scratch_array(n, np.int64, folder)
    for positions in chunks_of(n):
        firsts[positions] = positions
    return firsts
