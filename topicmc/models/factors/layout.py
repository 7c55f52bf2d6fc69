"""How ratings are shared out among workers, and where the rows of a chain are in each round.

``none``   Every worker has all ratings and a chain of its own, which stays.
``rows``   S blocks of users, up to S chains (DSGLD-C). A chain travels as a whole; it works on each
           block in 1 of S rounds.
``square`` √S × √S blocks, up to √S chains (DSGLD-S). A chain consists of √S parts of users and √S
           of items. In a round it works on √S blocks at once that share no row, one orthogonal
           group, and so on each block in 1 of √S rounds.

With v the share of rounds in which *the chain* works on a block, N_s / (v m) times a minibatch's
gradient is unbiased over a cycle (Ahn 2015, equation 7.25). The v of all blocks add up to 1 for
``rows`` and to √S for ``square``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from topicmc.corpora.offsets import offsets
from topicmc.engine.schedule import turn
from topicmc.models.factors.ratings import Ratings

_COUNTED = 1 << 20  # ratings at a time: their blocks take many times as many bytes as they


@dataclass(frozen=True)
class Layout:
    """Blocks of ratings for S workers.

    user_edges  int64 (blocks of users + 1,): block i has the users from edge i to edge i + 1
    item_edges  the same of items
    """

    split: str
    n_workers: int
    user_edges: np.ndarray
    item_edges: np.ndarray

    @classmethod
    def of(cls, ratings: Ratings, split: str, n_workers: int) -> Layout:
        """Blocks of about as many ratings each, or in a square of as many rows."""
        if split == "rows":
            users = _even_edges(ratings.counts("users"), n_workers)
            return cls(split, n_workers, users, np.array([0, ratings.n_items]))
        n = math.isqrt(n_workers) if split == "square" else 1
        users, items = (_edges(count, n) for count in (ratings.n_users, ratings.n_items))
        return cls(split, n_workers, users, items)

    @property
    def n_parts(self) -> int:
        """Parts of a chain on either side, which are on as many workers at once."""
        return math.isqrt(self.n_workers) if self.split == "square" else 1

    @property
    def most_chains(self) -> int:
        """Chains that find a place."""
        return self.n_workers // self.n_parts

    @property
    def n_places(self) -> int:
        """Rounds in which a chain comes to all ratings: S for ``rows``, √S for ``square``."""
        return 1 if self.split == "none" else self.most_chains

    def rows_of(self, side: str, part: int) -> tuple[int, int]:
        """First row of a part of a chain, and the row after its last."""
        edges = self.user_edges if side == "users" else self.item_edges
        if self.split == "rows":
            return 0, int(edges[-1])
        return int(edges[part]), int(edges[part + 1])

    def part_size(self, side: str) -> int:
        """Rows of the longest part."""
        spans = [self.rows_of(side, part) for part in range(self.n_parts)]
        return max(last - first for first, last in spans)

    def worker_of(self, side: str, part: int, chain: int, round_number: int) -> int:
        """Where a part of a chain is in a round."""
        if self.split == "none":
            return chain
        n = self.n_places
        shift = chain + turn(round_number, n)
        if self.split == "rows":
            return shift % n
        if side == "users":
            return part * n + (part + shift) % n
        return (part - shift) % n * n + part

    def part_of(self, side: str, worker: int) -> int:
        """The part of chains that comes to a worker."""
        if self.split != "square":
            return 0
        i, j = divmod(worker, self.n_parts)
        return i if side == "users" else j

    def mask(self, ratings: Ratings, worker: int) -> np.ndarray:
        """Which ratings a worker holds, bool (N,)."""
        places = {"none": (0, 0), "rows": (worker, 0), "square": divmod(worker, self.n_parts)}
        i, j = places[self.split]
        users, items = ratings.users, ratings.items
        inside = (users >= self.user_edges[i]) & (users < self.user_edges[i + 1])
        return inside & (items >= self.item_edges[j]) & (items < self.item_edges[j + 1])

    def sizes(self, ratings: Ratings) -> np.ndarray:
        """Ratings of each block, int64."""
        across = len(self.item_edges) - 1
        found = np.zeros((len(self.user_edges) - 1) * across, np.int64)
        for first in range(0, len(ratings), _COUNTED):
            users, items = (of[first : first + _COUNTED] for of in (ratings.users, ratings.items))
            i = np.searchsorted(self.user_edges, users, side="right") - 1
            j = np.searchsorted(self.item_edges, items, side="right") - 1
            found += np.bincount(i * across + j, minlength=len(found))
        return found

    def worth(self, ratings: Ratings, batch_size: int) -> float:
        """What one rating of a minibatch stands for, at most over the workers."""
        sizes = self.sizes(ratings)
        sizes = sizes[sizes > 0]
        return float(self.n_places * (sizes / np.minimum(sizes, batch_size)).max())

    def drawn(self, ratings: Ratings, batch_size: int) -> float:
        """Ratings that a chain draws in an update, in the mean over its places."""
        return self.n_parts * float(np.minimum(self.sizes(ratings), batch_size).mean())


def _edges(count: int, n_blocks: int) -> np.ndarray:
    """Edges of consecutive ranges of as many rows each, int64 (n_blocks + 1,)."""
    return np.arange(n_blocks + 1) * count // n_blocks


def _even_edges(counts: np.ndarray, n_blocks: int) -> np.ndarray:
    """Edges of consecutive ranges of rows with about as many ratings each, int64
    (n_blocks + 1,)."""
    total = offsets(counts)
    inner = np.searchsorted(total, total[-1] * np.arange(1, n_blocks) / n_blocks)
    return np.concatenate([[0], inner, [len(counts)]]).astype(np.int64)
