"""How ratings are shared out among workers, and where the rows of a chain are in each round.

``rows``   S blocks of users, S chains (DSGLD-C). A chain is one travelling whole; it works on each
           block in 1 of S rounds.
``square`` √S × √S blocks, √S chains (DSGLD-S). A chain consists of √S parts of users and √S of
           items. In a round it works on √S blocks at once that share no row, one orthogonal group;
           on each block in 1 of √S rounds.

With v the share of rounds in which *the chain* works on a block, N_s / (v m) times a minibatch's
gradient is unbiased over a cycle (Ahn 2015, equation 7.25). The v of all blocks add up to 1 for
rows and to √S for the square.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from topicmc.errors import UsageError
from topicmc.models.factors.ratings import Ratings
from topicmc.models.factors.sgld import Block, rates

SPLITS = ("rows", "square")


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
        """Blocks with about as many ratings each. UsageError when a square of workers is needed and
        there is none."""
        root = math.isqrt(n_workers)
        if split == "square" and root * root != n_workers:
            raise UsageError(
                f"--split square needs a square number of workers, not {n_workers}; use"
                f" {root * root} or {(root + 1) ** 2}, or --split rows"
            )
        across = root if split == "square" else 1
        return cls(
            split,
            n_workers,
            _edges(ratings.counts("users"), root if split == "square" else n_workers),
            _edges(ratings.counts("items"), across),
        )

    @property
    def n_parts(self) -> int:
        """Travelling parts of a chain on either side."""
        return math.isqrt(self.n_workers) if self.split == "square" else 1

    @property
    def most_chains(self) -> int:
        return self.n_parts if self.split == "square" else self.n_workers

    @property
    def weight(self) -> float:
        """1/v of every block."""
        return float(self.most_chains)

    def parts(self, side: str) -> list[tuple[int, int]]:
        """First and last + 1 row of each travelling part."""
        edges = self.user_edges if side == "users" else self.item_edges
        if self.split == "rows":
            edges = edges[[0, -1]]
        return [(int(a), int(b)) for a, b in zip(edges[:-1], edges[1:], strict=True)]

    def worker_of(self, side: str, part: int, chain: int, round_number: int) -> int:
        """Where a part of a chain is in a round."""
        if self.split == "rows":
            return (chain + round_number) % self.n_workers
        n, shift = self.n_parts, chain + round_number
        if side == "users":
            return part * n + (part + shift) % n
        return (part - shift) % n * n + part

    def block_of(self, worker: int) -> tuple[int, int]:
        """The block of users and that of items whose ratings a worker holds."""
        return divmod(worker, self.n_parts) if self.split == "square" else (worker, 0)

    def mask(self, ratings: Ratings, worker: int) -> np.ndarray:
        """Which ratings a worker holds, bool (N,)."""
        i, j = self.block_of(worker)
        users, items = ratings.users, ratings.items
        inside = (users >= self.user_edges[i]) & (users < self.user_edges[i + 1])
        return inside & (items >= self.item_edges[j]) & (items < self.item_edges[j + 1])

    def worth(self, ratings: Ratings, batch_size: int) -> float:
        """What one rating of a minibatch stands for, at most over the workers."""
        i = np.searchsorted(self.user_edges, ratings.users, side="right") - 1
        j = np.searchsorted(self.item_edges, ratings.items, side="right") - 1
        sizes = np.bincount(i * (len(self.item_edges) - 1) + j)
        return float(self.weight * (sizes / np.minimum(np.maximum(sizes, 1), batch_size)).max())

    def block(self, ratings: Ratings, worker: int, worth: float, tau: float) -> Block:
        """The ratings of a worker, standardised ones given, numbered from its parts' first rows."""
        mine = ratings.take(self.mask(ratings, worker))
        i, j = self.block_of(worker) if self.split == "square" else (0, 0)
        (first_user, last_user), (first_item, last_item) = (
            self.parts("users")[i],
            self.parts("items")[j],
        )
        return Block(
            (mine.users - first_user).astype(np.int32),
            (mine.items - first_item).astype(np.int32),
            mine.values,
            rates(ratings.counts("users")[first_user:last_user], worth, tau),
            rates(ratings.counts("items")[first_item:last_item], worth, tau),
        )


def _edges(counts: np.ndarray, n_blocks: int) -> np.ndarray:
    """Edges of consecutive ranges of rows with about as many ratings each, int64 (n_blocks + 1,)."""
    total = np.concatenate([[0], np.cumsum(counts)])
    targets = total[-1] * np.arange(1, n_blocks) / n_blocks
    inner = np.searchsorted(total, targets)
    return np.concatenate([[0], inner, [len(counts)]]).astype(np.int64)
