"""The orders of tokens by word of blocks of documents that come again and again."""

from __future__ import annotations

import numpy as np

from topicmc.kernels.threads import Threads
from topicmc.kernels.word_order import LONGEST, Tile, count_words, cut, order_tile
from topicmc.models.lda.collapsed.parts import Part

# Of blocks that are drawn by word, in the mean. With five, blocks of arXiv abstracts gain 13 % at
# K = 100 and a third at 1,000; with 3.3 nothing at K = 100 and 400, where to make the rows of words
# takes it away.
TOKENS_A_WORD = 4
# Up to so many, documents get their first topics under counts one after another: to put in order
# those that join takes away what it brings. Sweeps of a growing start on arXiv abstracts in which
# all documents are put in order anew take 6 % longer with 200 topics, as long with 400, and 70 to
# 80 % and 55 to 60 % of the time with 1,000 and 2,000.
FEW_TOPICS = 512


class WordOrders:
    """Of one worker's documents; used by one thread at a time.

    Args:
        tokens: word ids (T,), unsigned, ascending in each document.
        n_words: W.
        docs: where the orders are to be kept, uint16 (T,); by default in memory.
    """

    def __init__(self, tokens: np.ndarray, n_words: int, docs: np.ndarray | None = None) -> None:
        self._tokens, self._n_words = tokens, n_words
        self._docs = np.empty(len(tokens), np.uint16) if docs is None else docs
        # Of blocks of documents side by side, whose orders have the place of their tokens, or of
        # blocks of others, whose orders follow each other: never of both.
        self._blocks: dict[tuple[int, int], list[Tile]] = {}
        self._apart: dict[tuple[int, int], tuple[np.ndarray, list[Tile]]] = {}
        self._taken = 0  # by the latter

    def tiles(self, part: Part, n_padded: int, threads: Threads) -> list[Tile]:
        """The documents of a part in tiles for so many threads; or none, where they had better be
        drawn one after another. Which of the two depends on the documents and on the number of
        topics alone."""
        key = int(part.docs[0]), int(part.docs[-1]) + 1
        if part.are_apart:
            return self._tiles_apart(key, part, n_padded, threads)
        self._apart.clear()
        if key not in self._blocks:
            for other in list(self._blocks):
                if other[0] < key[1] and key[0] < other[1]:
                    del self._blocks[other]  # its place is needed
            self._blocks[key] = self._order(part, n_padded, threads, part.of(self._docs))
        return self._blocks[key]

    def _tiles_apart(self, key, part: Part, n_padded: int, threads: Threads) -> list[Tile]:
        docs, tiles = self._apart.get(key, (None, []))
        if docs is not None and np.array_equal(docs, part.docs):
            return tiles
        # The blocks of a sweep are disjoint, so if all that are kept and this one have more tokens
        # than there are, some come no more.
        if not self._apart or self._taken + part.n_tokens > len(self._docs):
            self._blocks.clear()
            self._apart.clear()
            self._taken = 0
        kept = self._docs[self._taken : self._taken + part.n_tokens]
        self._taken += part.n_tokens
        tiles = self._order(part, n_padded, threads, kept)
        self._apart[key] = part.docs, tiles
        return tiles

    def _order(self, part: Part, n_padded: int, threads: Threads, kept: np.ndarray) -> list[Tile]:
        """The tiles of a part, whose documents by word are ``kept``."""
        offsets, tokens = part.offsets, part.of(self._tokens)
        n_words = count_words(tokens, self._n_words)
        few = len(tokens) < TOKENS_A_WORD * max(1, n_words)
        if few or int(np.diff(offsets).max()) > LONGEST:
            return []
        ranges = cut(0, len(part.docs), offsets, n_padded, threads.n_threads)
        tiles: list[Tile] = [None] * len(ranges)  # type: ignore[list-item]

        def order(i: int) -> None:
            tile = order_tile(*ranges[i], offsets, tokens, self._n_words)
            mine = kept[offsets[tile.first] : offsets[tile.last]]
            mine[:] = tile.docs
            tiles[i] = tile._replace(docs=mine)

        threads.run(order, len(ranges))
        return tiles
