"""The orders of tokens by word of blocks of documents that come again and again."""

from __future__ import annotations

import numpy as np

from topicmc.kernels.threads import Threads
from topicmc.kernels.word_order import LONGEST, Tile, count_words, cut, order_tile
from topicmc.models.lda.collapsed.parts import Part

# Of blocks that are drawn by word, in the mean. With five, blocks of arXiv abstracts gain 13 % at
# K = 100 and a third at 1,000; with 3.3 nothing at K = 100 and 400, where to make the rows of words
# takes it away.
_TOKENS_A_WORD = 4
# Up to so many, to put documents in order that do not come again takes away what it brings: sweeps
# of a growing start on arXiv abstracts take 6 % longer then with 200, as long with 400, and 70 to
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
        self._blocks: dict[tuple[int, int], list[Tile]] = {}
        self._apart: dict[tuple[int, int], tuple[np.ndarray, list[Tile]]] = {}

    def tiles(self, part: Part, n_padded: int, threads: Threads, *, again: bool) -> list[Tile]:
        """The documents of a part in tiles for so many threads; or none, where they had better be
        drawn one after another. Which of the two depends on the documents and on the number of
        topics alone, and, if they lie apart, on whether they come ``again``: a set that grows is
        never the same."""
        if not again:
            self._apart.clear()
        key = int(part.docs[0]), int(part.docs[-1]) + 1
        if not part.are_apart:
            if key not in self._blocks:
                for other in list(self._blocks):
                    if other[0] < key[1] and key[0] < other[1]:
                        del self._blocks[other]  # its place is needed
                self._blocks[key] = self._order(part, n_padded, threads, part.of(self._docs))
            return self._blocks[key]
        if not again:
            if n_padded <= FEW_TOPICS:
                return []
            return self._order(part, n_padded, threads, np.empty(part.n_tokens, np.uint16))
        docs, tiles = self._apart.get(key, (None, []))
        if docs is None or not np.array_equal(docs, part.docs):
            kept = np.empty(part.n_tokens, np.uint16)
            tiles = self._order(part, n_padded, threads, kept)
            self._apart[key] = part.docs, tiles
        return tiles

    def _order(self, part: Part, n_padded: int, threads: Threads, kept: np.ndarray) -> list[Tile]:
        """The tiles of a part, whose documents by word are ``kept``."""
        offsets, tokens = part.offsets, part.of(self._tokens)
        n_words = count_words(tokens, self._n_words)
        few = len(tokens) < _TOKENS_A_WORD * max(1, n_words)
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
