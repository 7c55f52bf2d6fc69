# mypy: disable-error-code="call-arg,var-annotated,assignment"
"""The tokens of some documents in the order of words.

Tokens are ordered by word, then by how many of its word their document has before them (the
*copy*), then by document, long ones first. So a document still comes to its tokens in the order
that it has them in, and neighbours are mostly of different documents, about as long.

Of each token the order holds the document alone, in two bytes: where the token lies in its document
is how often the document has come up before.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit

BATCH = 16
"""Tokens that are drawn together, at most: no two of one document."""
MOST_DOCUMENTS = 1 << 15
BEGINS = np.uint16(MOST_DOCUMENTS)
"""Bit of a token that a batch begins with."""
LONGEST = 65_535
"""Tokens of a document, at most: its counts take two bytes."""

_NO_WORD = np.uint32(0xFFFFFFFF)
PIECE = 24_000
"""Tokens that are worth a thread's while, as each makes the rows of its words."""
_STATE = 1 << 20  # bytes of counts of a tile's documents, which should stay in a core's own cache
_LAST = 1 / 4  # of a thread's share, left for whoever is done first
# Documents that are worth a tile of their own then: of fewer, tokens of one document come close
# together, so that batches stay short, and words have few tokens for a row.
_SMALL = 400
_MOST_TOKENS = 1 << 20  # of a tile, about: what is random takes four bytes of each


class Tile(NamedTuple):
    """Documents first … last − 1, at most `MOST_DOCUMENTS`, and their T tokens by word."""

    first: int
    last: int
    docs: np.ndarray  # uint16 (T,): document − first, and BEGINS
    words: np.ndarray  # uint32 (n,): distinct word ids, ascending
    ends: np.ndarray  # int64 (n,): one past the last token of each word


def cut(
    first: int, last: int, offsets: np.ndarray, n_padded: int, n_threads: int, piece: int = PIECE
) -> list[tuple[int, int]]:
    """Documents first … last − 1 as ranges of as many tokens each, which make good tiles for so
    many threads; a thread's share is at least ``piece`` tokens. Where each would have one, there
    are small ones besides, if they are worth it."""
    starts = offsets[first : last + 1]
    n_tokens = int(starts[-1] - starts[0])
    # Two bytes a topic, or four for each that a document has.
    n_bytes = min(2 * n_padded * (last - first), 4 * n_tokens)
    at_once = max(1, min(n_threads, n_tokens // piece))
    n = max(-(-n_bytes // _STATE), -(-n_tokens // _MOST_TOKENS), at_once)
    n = at_once * -(-n // at_once)
    shares = np.ones(n)
    if n == at_once > 1 and _LAST * min(n_tokens / piece, (last - first) / _SMALL) >= n:
        shares = np.repeat([1 - _LAST, _LAST], n)
    inner = (n_tokens * np.cumsum(shares)[:-1] / n).astype(np.int64)
    edges = np.searchsorted(starts, starts[0] + inner)
    edges = np.unique([0, *edges, last - first])
    return [
        (first + part, first + min(part + MOST_DOCUMENTS, end))
        for begin, end in pairwise(edges.tolist())
        for part in range(begin, end, MOST_DOCUMENTS)
    ]


def word_ranges(tile: Tile, n: int, n_words: int) -> list[tuple[int, int]]:
    """Words 0 … n_words − 1 in n ranges, of which the tile has as many tokens each, about."""
    shares = len(tile.docs) * np.arange(1, n) // n
    # The first range has all words where no document of the tile has tokens.
    inner = np.append(tile.words, n_words)[np.searchsorted(tile.ends, shares)].tolist()
    return list(pairwise([0, *inner, n_words]))


def of_words(tile: Tile, first: int, last: int) -> tuple[slice, int]:
    """Which of a tile's words are first … last − 1, and the place of their first token."""
    begin, end = np.searchsorted(tile.words, np.array([first, last], tile.words.dtype)).tolist()
    return slice(begin, end), int(tile.ends[begin - 1]) if begin else 0


def count_words(tokens: np.ndarray, n_words: int) -> int:
    """How many different words there are among tokens, word ids below n_words."""
    seen = np.zeros(n_words, np.bool_)
    _mark(tokens, seen)
    return int(np.count_nonzero(seen))


@njit(nogil=True, cache=True)
def _mark(tokens, seen):
    for token in tokens:
        seen[np.uintp(token)] = True


def order_tile(
    first: int, last: int, offsets: np.ndarray, tokens: np.ndarray, n_words: int
) -> Tile:
    """The order of documents first … last − 1, which own tokens[offsets[d] : offsets[d + 1]], word
    ids of any unsigned type, ascending in each document; ValueError if they do not ascend."""
    here = offsets[first : last + 1] - offsets[first]
    # Of one type, whatever the corpus has: the sort is compiled once.
    tokens = tokens[offsets[first] : offsets[last]].astype(np.uint32)
    ranked = np.argsort(-np.diff(here), kind="stable")
    docs = np.empty(len(tokens), np.uint16)
    copies, first_bucket = np.zeros(n_words, np.int32), np.zeros(n_words + 1, np.uint32)
    if not _count_copies(here, tokens, copies):
        raise ValueError("the words of a document must ascend")
    np.cumsum(copies, out=first_bucket[1:])
    starts = np.zeros(int(first_bucket[-1]) + 1, np.uint32)
    _order(ranked, here, tokens, first_bucket, starts, docs, np.zeros(last - first, np.uint32))
    words = np.flatnonzero(copies)
    ends = starts[first_bucket[words + 1] - 1].astype(np.int64)
    return Tile(first, last, docs, words.astype(np.uint32), ends)


# Processors cannot foresee whether a word repeats, so what depends on that is selected, not
# branched on.


@njit(nogil=True, cache=True)
def _count_copies(offsets, tokens, copies):
    """The most tokens that a document has of each word; returns whether words ascend."""
    ascending = True
    for d in range(len(offsets) - 1):
        copy, previous = np.int32(0), np.int64(-1)
        for i in range(np.uintp(offsets[d]), np.uintp(offsets[d + 1])):
            word = np.int64(tokens[i])
            copy = np.int32(copy + 1) if word == previous else np.int32(1)
            most = copies[np.uintp(word)]
            copies[np.uintp(word)] = copy if copy > most else most
            ascending &= word >= previous
            previous = word
    return ascending


@njit(inline="always")
def _bucket_of(word, previous, bucket, first_bucket):
    """The bucket of a token, behind one of the ``previous`` word in ``bucket``."""
    first, behind = np.uintp(first_bucket[np.uintp(word)]), bucket + np.uintp(1)
    return behind if word == previous else first


@njit(nogil=True, cache=True)
def _order(ranked, offsets, tokens, first_bucket, starts, docs, seen):
    """A counting sort; a bucket holds the tokens of one word and copy."""
    one = np.uint32(1)
    for d in range(len(offsets) - 1):
        bucket, previous = np.uintp(0), _NO_WORD
        for i in range(np.uintp(offsets[d]), np.uintp(offsets[d + 1])):
            bucket = _bucket_of(tokens[i], previous, bucket, first_bucket)
            previous = tokens[i]
            starts[bucket + np.uintp(1)] += one
    for b in range(1, len(starts)):
        starts[b] += starts[b - 1]
    for d in ranked:
        bucket, previous = np.uintp(0), _NO_WORD
        for i in range(np.uintp(offsets[d]), np.uintp(offsets[d + 1])):
            bucket = _bucket_of(tokens[i], previous, bucket, first_bucket)
            previous = tokens[i]
            at = starts[bucket]
            docs[np.uintp(at)] = d
            starts[bucket] = at + one
    begin = np.uint32(0)
    for i in range(np.uint32(len(docs))):
        d = np.uintp(docs[np.uintp(i)])
        # One past the document's last token: 0 where it has had none.
        if i == 0 or i - begin == BATCH or seen[d] > begin:
            begin = np.uint32(i)
            docs[np.uintp(i)] |= BEGINS
        seen[d] = np.uint32(i + 1)
