"""Which documents are held out: a pure function of the seed, of how many documents there are, and
of which are equal. And hashes of documents and places, by which others choose and order, too."""

import hashlib
from collections.abc import Iterator

import numpy as np

_CHUNK = 1 << 20
_SPARE = 64  # documents, or groups of equal ones, in reserve for those that do not fit


def choose_heldout(
    n_docs: int, n_heldout: int, seed: int, firsts: np.ndarray | None = None
) -> np.ndarray:
    """Ascending int64 positions of a uniform sample of ``n_heldout`` without replacement.

    Each position is hashed with the seed and the smallest hashes win, so the choice needs no list
    of all documents and does not depend on any library's random generator. ``firsts``, int64
    (n_docs,), is where the first document equal to each stands: equal ones are chosen together, so
    that the sample is somewhat smaller where the last of them would be too many.
    """
    best = np.empty(0, dtype=np.uint64)
    chosen = np.empty(0, dtype=np.int64)
    wanted = n_heldout if firsts is None else n_heldout + _SPARE
    for positions in chunks_of(n_docs):
        if firsts is not None:
            positions = positions[firsts[positions] == positions]
        chosen = np.concatenate([chosen, positions])
        best = np.concatenate([best, position_hash(positions, seed, "heldout")])
        if len(best) > wanted:
            smallest = np.argsort(best, kind="stable")[:wanted]
            best, chosen = best[smallest], chosen[smallest]
    if firsts is None:
        return np.sort(chosen)
    return _together(chosen[np.argsort(best, kind="stable")], n_docs, n_heldout, firsts)


def _together(heads: np.ndarray, n_docs: int, room: int, firsts: np.ndarray) -> np.ndarray:
    """The documents equal to those at ``heads``, which come in the order of choice, as far as there
    is room; who does not fit is passed over."""
    order = np.sort(heads)
    sizes = np.zeros(len(order), dtype=np.int64)
    for positions in chunks_of(n_docs):
        places, seen = look_up(order, firsts[positions])
        sizes += np.bincount(places[seen], minlength=len(order))
    taken = np.zeros(len(order), dtype=bool)
    for place in np.searchsorted(order, heads).tolist():
        if sizes[place] <= room:
            taken[place] = True
            room -= int(sizes[place])
    found = []
    for positions in chunks_of(n_docs):
        places, seen = look_up(order, firsts[positions])
        found.append(positions[seen][taken[places[seen]]])
    return np.concatenate(found)


def look_up(known: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each of some values, (n,), is among those known, distinct and ascending, or would be,
    int64 (n,); and whether it is there, bool (n,)."""
    places = np.searchsorted(known, values)
    seen = places < len(known)
    seen[seen] = known[places[seen]] == values[seen]
    return places, seen


def chunks_of(n: int) -> Iterator[np.ndarray]:
    """The positions of n documents, ascending int64, some at a time."""
    for start in range(0, n, _CHUNK):
        yield np.arange(start, min(start + _CHUNK, n), dtype=np.int64)


def position_hash(positions: np.ndarray, seed: int, purpose: str) -> np.ndarray:
    """uint64 (n,) of positions, int64 (n,): SplitMix64 (Steele, Lea & Flood 2014) keyed by the seed
    and the purpose."""
    digest = hashlib.blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest()
    golden = np.uint64(0x9E3779B97F4A7C15)
    steps = positions.astype(np.uint64) + np.uint64(1)
    return mixed(np.uint64(int.from_bytes(digest, "little")) + steps * golden)


def mixed(z: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser of uint64 (n,)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def in_bucket(hashes: np.ndarray, bucket: int, n_buckets: int) -> np.ndarray:
    """Which of some hashes, uint64 (n,), lie in one of so many equal parts of their range, int64
    (m,)."""
    high = hashes >> np.uint64(32)
    return np.flatnonzero((high * np.uint64(n_buckets)) >> np.uint64(32) == bucket)
