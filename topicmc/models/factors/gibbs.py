"""Gibbs sampling of the same model, row by row (Salakhutdinov & Mnih 2008; Ahn 2015, Algorithm 6).

A sweep draws the precisions and the rows of the users given the items, and then those of the items
given the users. Given the other side, rows are independent Gaussians, drawn together with their
biases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topicmc.corpora.offsets import offsets
from topicmc.kernels import factors as kernels
from topicmc.kernels.threads import Threads
from topicmc.models.factors.ratings import Ratings
from topicmc.models.factors.residuals import squared_error
from topicmc.models.factors.rows import GammaPrior, Rows, Stream, Users, sum_squares

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
        return cls(offsets(np.bincount(rows, minlength=n_rows)), others[order], values[order])


class Gibbs:
    """Sweeps of any chain over all ratings.

    Args:
        ratings: standardised.
        prior: of the precisions; None leaves them as they are.
        noise: of the precision of ratings; likewise.
        threads: who works.
    """

    def __init__(
        self,
        ratings: Ratings,
        *,
        prior: GammaPrior | None,
        noise: GammaPrior | None,
        threads: Threads,
    ) -> None:
        users, items, values = ratings.users, ratings.items, ratings.values
        self._of_users = ByRow.of(users, items, values, ratings.n_users)
        self._of_items = ByRow.of(items, users, values, ratings.n_items)
        self._ratings, self._prior, self._noise, self._threads = ratings, prior, noise, threads

    def __len__(self) -> int:
        return len(self._ratings)

    def sweep(self, users: Users, items: Rows, streams: tuple[Stream, Stream]) -> None:
        """Draws a chain's precisions and rows anew, in place."""
        self._draw(users, items, self._of_users, streams[0], users.tau)
        self._draw(items, users, self._of_items, streams[1], users.tau)
        if self._noise is not None:
            of, number = self._ratings, users.update
            squares = squared_error(
                users.factors, of.users, items.factors, of.items, of.values, self._threads
            )
            found = self._noise.draw(np.array([squares]), len(of), streams[0], number, "ratings")
            users.tau = float(found[0])

    def _draw(self, rows: Rows, others: Rows, ratings: ByRow, stream: Stream, tau: float) -> None:
        count, sweep = len(rows.factors), np.uint32(rows.update)
        if self._prior is not None:
            squares = sum_squares(rows)
            rows.precision = self._prior.draw(squares, count, stream, rows.update, rows.side)
        key = stream.key(f"sweep of {rows.side}")

        def work(first: int, last: int, _: int) -> None:
            kernels.draw_rows(
                rows.factors,
                others.factors,
                ratings.offsets,
                ratings.others,
                ratings.values,
                tau,
                rows.precision,
                key,
                sweep,
                first,
                last,
            )

        self._threads.run_over(work, count, _LEAST)
        rows.update += 1
