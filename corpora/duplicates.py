"""Documents that are equal, found by 64-bit digests that lie in a file, in bounded memory.

Two documents that differ have equal digests with probability 2⁻⁶⁴, so that among n documents some
are mistaken for equal with probability of at most n² 2⁻⁶⁵: 2 in a million for 8 million documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from topicmc.corpora.documents import Documents
from topicmc.corpora.split import mixed
from topicmc.scratch import scratch_array

_CHUNK = 1 << 20
_BUCKET = 1 << 21


def bag_digests(documents: Documents) -> np.ndarray:
    """uint64 (n,): equal for documents with the same counts of the same word ids."""
    ids, counts = (a.astype(np.uint64) for a in (documents.word_ids, documents.counts))
    entries = mixed(ids + (counts << np.uint64(32)) + np.uint64(1))
    sums = np.zeros(len(entries) + 1, dtype=np.uint64)
    np.cumsum(entries, out=sums[1:])  # modulo 2⁶⁴
    return mixed(sums[documents.indptr[1:]] - sums[documents.indptr[:-1]])


def first_of_each(file: Path) -> tuple[np.ndarray | None, int]:
    """Where the first document of the same digest stands, int64 (n,), given a file of uint64 (n,);
    None if all differ; and how many documents repeat one before them.

    Digests are compared by buckets, of some two million each, and each bucket takes a pass over
    the file. Many positions are kept in a file, too.
    """
    n = file.stat().st_size // 8
    n_buckets = max(1, -(-n // _BUCKET))
    firsts: np.ndarray | None = None
    n_repeats = 0
    for bucket in range(n_buckets):
        positions, digests = _bucket(file, bucket, n_buckets)
        order = np.argsort(digests, kind="stable")
        ranked = digests[order]
        is_first = np.ones(len(order), dtype=bool)
        is_first[1:] = ranked[1:] != ranked[:-1]
        if is_first.all():
            continue
        if firsts is None:
            firsts = _all_first(n, file.parent)
        heads = np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))
        repeats = np.flatnonzero(~is_first)
        firsts[positions[order[repeats]]] = positions[order[heads[repeats]]]
        n_repeats += len(repeats)
    return firsts, n_repeats


def _bucket(file: Path, bucket: int, n_buckets: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions, ascending int64 (m,), and digests of those whose first bits fall in a bucket."""
    positions, found = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.uint64)]
    for start, digests in _chunks(file):
        high = digests >> np.uint64(32)
        here = np.flatnonzero((high * np.uint64(n_buckets)) >> np.uint64(32) == bucket)
        positions.append(start + here)
        found.append(digests[here])
    return np.concatenate(positions), np.concatenate(found)


def _chunks(file: Path) -> Iterator[tuple[int, np.ndarray]]:
    start = 0
    with file.open("rb") as stream:
        while len(digests := np.fromfile(stream, np.uint64, _CHUNK)):
            yield start, digests
            start += len(digests)


def _all_first(n: int, folder: Path) -> np.ndarray:
    firsts = scratch_array(n, np.int64, folder)
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        firsts[start:stop] = np.arange(start, stop)
    return firsts
