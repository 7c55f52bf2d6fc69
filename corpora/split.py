"""Which documents are held out: a pure function of the seed and of how many there are."""

import hashlib

import numpy as np

_CHUNK = 1 << 20


def choose_heldout(n_docs: int, n_heldout: int, seed: int) -> np.ndarray:
    """Ascending int64 (n_heldout,) positions of a uniform sample without replacement.

    Each position is hashed with the seed and the smallest hashes win, so the choice needs no list
    of all documents and does not depend on any library's random generator.
    """
    best = np.empty(0, dtype=np.uint64)
    chosen = np.empty(0, dtype=np.int64)
    for start in range(0, n_docs, _CHUNK):
        positions = np.arange(start, min(start + _CHUNK, n_docs), dtype=np.int64)
        chosen = np.concatenate([chosen, positions])
        best = np.concatenate([best, position_hash(positions, seed, "heldout")])
        if len(best) > n_heldout:
            smallest = np.argsort(best, kind="stable")[:n_heldout]
            best, chosen = best[smallest], chosen[smallest]
    return np.sort(chosen)


def position_hash(positions: np.ndarray, seed: int, purpose: str) -> np.ndarray:
    """uint64 (n,) of positions, int64 (n,): SplitMix64's finaliser (Steele, Lea & Flood 2014) keyed
    by the seed and the purpose."""
    digest = hashlib.blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest()
    golden = np.uint64(0x9E3779B97F4A7C15)
    steps = positions.astype(np.uint64) + np.uint64(1)
    z = np.uint64(int.from_bytes(digest, "little")) + steps * golden
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
