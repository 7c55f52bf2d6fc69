# mypy: disable-error-code="call-arg"
"""Minibatches: the tokens of a few documents, expanded and renumbered for the samplers."""

from typing import NamedTuple

import numpy as np
from numba import njit

from topicmc.errors import DataError
from topicmc.kernels.threads import Threads

MOST_TOKENS = 1 << 24
"""Tokens of a document, at most: kernels count them in float32."""
_PIECE = 256  # documents that are worth a thread's while
_B1 = np.uint64(0x5555555555555555)
_B2 = np.uint64(0x3333333333333333)
_B4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_BYTES = np.uint64(0x0101010101010101)
_ONE = np.uint64(1)


class Minibatch(NamedTuple):
    """Tokens of n documents. Documents and words that no token names cost nothing.

    ``tokens[offsets[i]:offsets[i + 1]]`` are the tokens of the i-th document, each the row of its
    word in ``words``; tokens of one document are ordered by word.
    """

    doc_ids: np.ndarray  # int64 (n,): names of the documents, which key their random numbers
    offsets: np.ndarray  # int64 (n + 1,)
    tokens: np.ndarray  # uint32 (T,): index into words
    words: np.ndarray  # int32 (B,): distinct word ids, ascending

    @property
    def n_docs(self) -> int:
        return len(self.doc_ids)

    @property
    def n_tokens(self) -> int:
        return len(self.tokens)


def gather(
    indptr: np.ndarray,
    word_ids: np.ndarray,
    counts: np.ndarray,
    doc_ids: np.ndarray,
    n_words: int,
    threads: Threads | None = None,
) -> Minibatch:
    """The minibatch of the documents ``doc_ids`` of a corpus in CSR form.

    indptr int64 (D + 1,), word_ids and counts uint16 or uint32 (entries,), which may be memory
    maps; doc_ids integers (n,), in any order, repeats allowed. Time O(tokens + W / 64), no memory
    that grows with the corpus. Raises IndexError when a document or a word id is out of range.
    """
    docs = np.ascontiguousarray(doc_ids, dtype=np.int64)
    if len(docs) and not 0 <= docs.min() <= docs.max() < len(indptr) - 1:
        raise IndexError(f"documents must lie in 0 … {len(indptr) - 2}")
    arrays = [_read_only(array) for array in (indptr, word_ids, counts)]
    threads = threads or Threads()
    marks = np.zeros((threads.n_threads, (n_words + 63) // 64), np.uint64)
    lengths = np.zeros(len(docs), np.int64)

    def mark(first: int, last: int, i: int) -> None:
        _mark(*arrays, docs[first:last], n_words, marks[i], lengths[first:last])

    threads.run_over(mark, len(docs), _PIECE)
    if np.any(lengths < 0):
        document = docs[np.argmin(lengths)]
        raise IndexError(f"document {document} has a word id of {n_words} or more")
    bits = np.bitwise_or.reduce(marks)
    ranks = np.empty(len(bits), np.uint32)
    words = _enumerate(bits, ranks)
    offsets = np.zeros(len(docs) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    tokens = np.empty(offsets[-1], np.uint32)

    def expand(first: int, last: int, i: int) -> None:
        part = tokens[offsets[first] : offsets[last]]
        _expand(*arrays, docs[first:last], bits, ranks, part)

    threads.run_over(expand, len(docs), _PIECE)
    return Minibatch(docs, offsets, tokens, words)


def check_lengths(lengths: np.ndarray) -> None:
    """DataError where a document has more than `MOST_TOKENS` of int (n,) tokens."""
    longest = int(lengths.max(initial=0))
    if longest > MOST_TOKENS:
        raise DataError(
            f"a document has {longest:,} tokens, and {MOST_TOKENS:,} are the most that a sampler"
            " counts exactly; split it, or divide its counts"
        )


def _read_only(array: np.ndarray) -> np.ndarray:
    """A view as of a file's memory map, so that one compiled kernel serves for either."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


@njit(inline="always")
def _popcount(x):
    x = x - ((x >> _ONE) & _B1)
    x = (x & _B2) + ((x >> np.uint64(2)) & _B2)
    x = (x + (x >> np.uint64(4))) & _B4
    return np.uint32((x * _BYTES) >> np.uint64(56))


@njit(nogil=True, cache=True)
def _mark(indptr, word_ids, counts, docs, n_words, bits, lengths):
    """Sets the bit of every word there is, and the lengths in tokens; −1 for an unknown word."""
    for i in range(len(docs)):
        total = np.int64(0)
        for e in range(indptr[docs[i]], indptr[docs[i] + 1]):
            word = np.uint64(word_ids[e])
            if word >= np.uint64(n_words):
                lengths[i] = -1
                return
            bits[word >> np.uint64(6)] |= _ONE << (word & np.uint64(63))
            total += np.int64(counts[e])
        lengths[i] = total


@njit(nogil=True, cache=True)
def _enumerate(bits, ranks):
    """Word ids of the set bits, ascending; ranks[i] = set bits before 64-bit word i."""
    total = np.uint32(0)
    for i in range(len(bits)):
        ranks[i] = total
        total += _popcount(bits[i])
    words = np.empty(total, np.int32)
    n = 0
    for i in range(len(bits)):
        left = bits[i]
        while left != np.uint64(0):
            lowest = left & (~left + _ONE)
            words[n] = 64 * i + np.int64(_popcount(lowest - _ONE))
            left ^= lowest
            n += 1
    return words


@njit(nogil=True, cache=True)
def _expand(indptr, word_ids, counts, docs, bits, ranks, tokens):
    """Every occurrence of a word as the rank of its bit."""
    n = 0
    for i in range(len(docs)):
        for e in range(indptr[docs[i]], indptr[docs[i] + 1]):
            word = np.uint64(word_ids[e])
            block = word >> np.uint64(6)
            below = (_ONE << (word & np.uint64(63))) - _ONE
            row = ranks[block] + _popcount(bits[block] & below)
            for _ in range(counts[e]):
                tokens[n] = row
                n += 1
