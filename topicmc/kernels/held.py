# mypy: disable-error-code="call-arg"
"""Which blocks of 16 topics a word has tokens of, a bit for each: where topics are many and the
tokens of a word are few, its row of counts need not be read as a whole.

A bit that is not set says that all counts of its block are zero. One that is set may be left over.
"""

import numpy as np
from numba import njit

from topicmc.kernels.lanes import lowest_bit
from topicmc.kernels.padding import LANES

_BITS = 64
_ONE = np.uint64(1)


def held_blocks(n_words: int, n_padded: int) -> np.ndarray:
    """Bits of the blocks of all words, uint64 (W, ⌈Kp / 1024⌉), all set."""
    shape = n_words, -(-n_padded // (LANES * _BITS))
    held = np.full(shape, np.iinfo(np.uint64).max, np.uint64)
    if rest := n_padded // LANES % _BITS:
        held[:, -1] = (1 << rest) - 1
    return held


@njit(nogil=True, cache=True)
def hold(held, word, topic):
    """Notes that a word has a token of a topic."""
    block = topic // np.uintp(LANES)
    held[word, block // np.uintp(_BITS)] |= _ONE << np.uint64(block % np.uintp(_BITS))


@njit(nogil=True, cache=True)
def hold_tokens(held, tokens, z, unassigned):
    """Notes the topics of some tokens, but for those that have none."""
    for i in range(len(tokens)):
        if z[i] != unassigned:
            hold(held, np.uintp(tokens[i]), np.uintp(z[i]))


@njit(inline="always")
def blocks_of(held, word, blocks, begin):
    """Writes the blocks of a word to an array from a place on, ascending; returns how many they
    are."""
    n = np.uintp(begin)
    for i in range(np.uintp(held.shape[1])):
        bits = held[word, i]
        while bits:
            blocks[n] = _BITS * np.intp(i) + lowest_bit(bits)
            bits &= bits - _ONE
            n += np.uintp(1)
    return np.intp(n) - begin


@njit(nogil=True, cache=True)
def drop_if(held, word, block, empty):
    """Forgets a block of a word if it is found empty. Threads may do so at the same time: a bit
    that one of them puts back is left over."""
    if empty:
        held[word, block // _BITS] &= ~(_ONE << np.uint64(block % _BITS))
