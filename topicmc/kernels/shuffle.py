"""A keyed permutation of 0 … n − 1 of which any part can be had on its own."""

import numpy as np
from numba import njit

_THIRTY, _TWENTY_SEVEN = np.uint64(30), np.uint64(27)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_LAST = np.uint64(31)


@njit(nogil=True, cache=True)
def shuffle(places, n, low_bits, high_bits, keys, out):
    """out[i], int64, is where the permutation takes places[i], uint64 below n.

    A Feistel network permutes the numbers of low_bits + high_bits bits, of which n needs the most
    significant: halves take turns to be mixed into the other (the mixing is the finalizer of
    splitmix64). Cycle walking (Black & Rogaway 2002, "Ciphers with arbitrary finite domains")
    applies it again to what falls outside, less than once on average.
    """
    low_mask = np.uint64((1 << low_bits) - 1)
    high_mask = np.uint64((1 << high_bits) - 1)
    shift = np.uint64(low_bits)
    for i in range(places.size):
        value = places[i]
        while True:
            low, high = value & low_mask, value >> shift
            for j in range(keys.size):
                x = (high if j % 2 else low) + keys[j]
                x = (x ^ (x >> _THIRTY)) * _FIRST
                x = (x ^ (x >> _TWENTY_SEVEN)) * _SECOND
                x ^= x >> _LAST
                if j % 2:
                    low ^= x & low_mask
                else:
                    high ^= x & high_mask
            value = (high << shift) | low
            if value < n:
                break
        out[i] = value
