# mypy: disable-error-code="call-arg,var-annotated,assignment"
"""The tokens of some documents in the order of words.

Tokens are ordered by word, then by how many of its word their document has before them (the
*copy*), then by document, long ones first. So a document still comes to its tokens in the order
that it has them in, and neighbours are mostly of different documents, about as long.

Of each token the order holds the document alone, in two bytes: where the token lies in its document
is how often the document has come up before.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

BATCH = 16
"""Tokens that are drawn together, at most: no two of one document."""
MOST_DOCUMENTS = 1 << 15
BEGINS = np.uint16(MOST_DOCUMENTS)
"""Bit of a token that a batch begins with."""


class Tile(NamedTuple):
    """Documents first … last − 1, at most `MOST_DOCUMENTS`, and their T tokens by word."""

    first: int
    last: int
    docs: np.ndarray  # uint16 (T,): document − first, and BEGINS
    words: np.ndarray  # uint32 (n,): distinct word ids, ascending
    ends: np.ndarray  # int64 (n,): one past the last token of each word


def order_tile(
    first: int, last: int, offsets: np.ndarray, tokens: np.ndarray, n_words: int
) -> Tile:
    """The order of documents first … last − 1, which own tokens[offsets[d] : offsets[d + 1]], word
    ids of any unsigned type, ascending in each document; ValueError if they do not ascend."""
    here = offsets[first : last + 1]
    ranked = np.argsort(-np.diff(here), kind="stable")
    docs = np.empty(here[-1] - here[0], np.uint16)
    copies, first_bucket = np.zeros(n_words, np.int64), np.zeros(n_words + 1, np.int64)
    if not _count_copies(here, tokens, copies):
        raise ValueError("the words of a document must ascend")
    np.cumsum(copies, out=first_bucket[1:])
    starts = np.zeros(first_bucket[-1] + 1, np.int64)
    _order(ranked, here, tokens, first_bucket, starts, docs, np.full(last - first, -1))
    words = np.flatnonzero(copies)
    return Tile(first, last, docs, words.astype(np.uint32), starts[first_bucket[words + 1] - 1])


@njit(nogil=True, cache=True)
def _count_copies(offsets, tokens, copies):
    """The most tokens that a document has of each word; returns whether words ascend."""
    ascending = True
    for d in range(len(offsets) - 1):
        copy = 0
        for i in range(offsets[d], offsets[d + 1]):
            copy = copy + 1 if i > offsets[d] and tokens[i] == tokens[i - 1] else 1
            word = np.intp(tokens[i])
            copies[word] = max(copies[word], copy)
            ascending &= i == offsets[d] or tokens[i - 1] <= tokens[i]
    return ascending


@njit(nogil=True, cache=True)
def _order(ranked, offsets, tokens, first_bucket, starts, docs, seen):
    """A counting sort; a bucket holds the tokens of one word and copy."""
    for d in range(len(offsets) - 1):
        bucket = 0
        for i in range(offsets[d], offsets[d + 1]):
            again = i > offsets[d] and tokens[i] == tokens[i - 1]
            bucket = bucket + 1 if again else first_bucket[np.intp(tokens[i])]
            starts[bucket + 1] += 1
    for b in range(1, len(starts)):
        starts[b] += starts[b - 1]
    for d in ranked:
        bucket = 0
        for i in range(offsets[d], offsets[d + 1]):
            again = i > offsets[d] and tokens[i] == tokens[i - 1]
            bucket = bucket + 1 if again else first_bucket[np.intp(tokens[i])]
            docs[starts[bucket]] = d
            starts[bucket] += 1
    begin = 0
    for i in range(len(docs)):
        d = np.intp(docs[i])
        if i == 0 or i - begin == BATCH or seen[d] >= begin:
            begin = i
            docs[i] |= BEGINS
        seen[d] = i
