"""Gibbs sampling of the same model, row by row (Salakhutdinov & Mnih 2008; Ahn 2015, Algorithm 6).

A sweep draws the precisions and the rows of the users given the items, and then those of the items
given the users. Given the other side, rows are independent Gaussians, drawn together with their
biases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topicmc.kernels import factors as kernels
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.factors.ratings import Ratings
from topicmc.models.factors.rows import Rows, draw_precision, sum_squares

_LEAST = 16  # rows that are worth a thread


@dataclass(frozen=True)
class ByRow:
    """Ratings sorted by the rows of one side.

    offsets  int64 (n + 1,): row i has those from ``offsets[i]`` to ``offsets[i + 1]``
    others   int32 (N,), the row of the other side
    values   float32 (N,)
    """

    offsets: np.ndarray
    others: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, others: np.ndarray, values: np.ndarray, n_rows: int) -> ByRow:
        order = np.argsort(rows, kind="stable")
        offsets = np.zeros(n_rows + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=n_rows), out=offsets[1:])
        return cls(offsets, others[order], values[order])


class Gibbs:
    """Sweeps of any chain over all ratings.

    Args:
        ratings: standardised.
        tau: precision of a rating.
        shape, rate: α₀ and β₀ of the precisions' Gamma prior.
        seed, threads: of the run.
    """

    def __init__(
        self,
        ratings: Ratings,
        *,
        tau: float,
        shape: float,
        rate: float,
        seed: int,
        threads: Threads,
    ) -> None:
        users, items, values = ratings.users, ratings.items, ratings.values
        self._of_users = ByRow.of(users, items, values, ratings.n_users)
        self._of_items = ByRow.of(items, users, values, ratings.n_items)
        self.tau, self.shape, self.rate = tau, shape, rate
        self.seed, self.threads = seed, threads

    def sweep(self, users: Rows, items: Rows) -> None:
        """Draws a chain's precisions and rows anew, in place."""
        self._draw(users, items, self._of_users)
        self._draw(items, users, self._of_items)

    def _draw(self, rows: Rows, others: Rows, ratings: ByRow) -> None:
        count, sweep = len(rows.factors), np.uint32(rows.update)
        rows.precision = draw_precision(
            sum_squares(rows),
            count,
            self.shape,
            self.rate,
            key=stream_key(self.seed, f"precision of {rows.side}", rows.chain),
            number=rows.update,
        )
        precision, shift = np.diag(rows.precision), np.zeros(len(rows.precision))
        key = rows.key(self.seed)

        def work(first: int, last: int, _: int) -> None:
            kernels.draw_rows(
                rows.factors,
                others.factors,
                ratings.offsets,
                ratings.others,
                ratings.values,
                self.tau,
                precision,
                shift,
                key,
                sweep,
                first,
                last,
            )

        self.threads.run_over(work, count, _LEAST)
        rows.update += 1
