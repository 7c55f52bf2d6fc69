"""Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as
easy as 1, 2, 3").

A draw is a pure function of a 64-bit key and a 128-bit counter, so the same seed gives the same
bits for any number of threads and any placement of chains. The key names who draws (seed, purpose,
chain: `stream_key`); the counter names what is drawn (position, item, and the chain's update).
"""

import hashlib

import numpy as np
from numba import njit

_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_W0 = np.uint32(0x9E3779B9)
_W1 = np.uint32(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_HIGH = np.uint64(32)


def stream_key(seed: int, purpose: str, chain: int = 0) -> np.uint64:
    """The 64-bit Philox key of one stream of randomness, e.g. ``stream_key(7, "gibbs", chain)``."""
    digest = hashlib.blake2b(f"{seed}/{purpose}/{chain}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


@njit(forceinline=True)
def philox(key, c0, c1, c2, c3):
    """Four uint32 from a uint64 key and four uint32 counters (ten rounds)."""
    k0 = np.uint32(key & _LOW)
    k1 = np.uint32(key >> _HIGH)
    x0, x1, x2, x3 = np.uint32(c0), np.uint32(c1), np.uint32(c2), np.uint32(c3)
    for _ in range(10):
        p0 = _M0 * np.uint64(x0)
        p1 = _M1 * np.uint64(x2)
        x0 = np.uint32(np.uint32(p1 >> _HIGH) ^ x1 ^ k0)
        x1 = np.uint32(p1 & _LOW)
        x2 = np.uint32(np.uint32(p0 >> _HIGH) ^ x3 ^ k1)
        x3 = np.uint32(p0 & _LOW)
        k0 = np.uint32(k0 + _W0)
        k1 = np.uint32(k1 + _W1)
    return x0, x1, x2, x3
