"""Stochastic-gradient Langevin dynamics of the rows that a minibatch touches (Ahn 2015, 7.3.1).

With e the error of a rating under the state before the update, and g = τ e (V_j, 1) its gradient
for the user's row, an update of step ε on a minibatch whose ratings are worth w each is

    kick   U_i ← U_i + (ε_i / 2) w Σ g          the rows that are rated in it
    flow   dU_i = −(Λ/2) U_i dt + dW            all rows, for a time ε_i

and likewise for items. The flow is the Ornstein-Uhlenbeck process of the prior N(0, Λ⁻¹); it has an
exact solution over any time, so a row that is not rated waits and is moved at once when it is next
read: in law as if it had been moved in every update. (The update of the text, with noise N(0, ε) on
touched rows only, samples a distribution that is too narrow by the chance of being touched.)

Each row has a step of its own, ε_i = ε / (w (τ n_i + λ₀)), n_i its number of ratings, λ₀ = 10 and
τ that of the chain: Langevin dynamics under a diagonal preconditioner, which is constant until all
rows have been moved and another τ is drawn, and so leaves the target as it is. In one pass over the
ratings a row takes steps of about ε/2 of the way to its mode, however many ratings it has and
however many there are, and the noise of minibatches widens all rows alike. In a single update that
must not be too much: where there are fewer than 16 minibatches in a pass, w is taken to be 16 in
ε_i.
"""

from __future__ import annotations

import numpy as np

from topicmc.engine.schedule import batch_items
from topicmc.kernels import factors as kernels
from topicmc.kernels.threads import Threads
from topicmc.models.factors.layout import Layout
from topicmc.models.factors.ratings import Ratings
from topicmc.models.factors.rows import (
    SIDES,
    START_PRECISION,
    Rows,
    Stream,
    Users,
    flow,
)

_LEAST = 2048  # rows or ratings that are worth a thread
_LEAST_WORTH = 16.0


def rates(counts: np.ndarray, worth: float, tau: float) -> np.ndarray:
    """ε_i / ε of rows with so many ratings, float64, where one of a minibatch is worth `worth`: how
    fast their time goes in a chain of that τ."""
    return 1 / (max(worth, _LEAST_WORTH) * (tau * counts + START_PRECISION))


def block_of(layout: Layout, ratings: Ratings, worker: int) -> Ratings:
    """The ratings that a worker holds, whose rows are counted from the first of the part that comes
    to it. Those who hold all ratings share them."""
    if layout.split == "none":
        return ratings
    held = ratings.take(layout.mask(ratings, worker))
    users, items = (layout.rows_of(side, layout.part_of(side, worker)) for side in SIDES)
    return Ratings(
        held.users - users[0] if users[0] else held.users,
        held.items - items[0] if items[0] else held.items,
        held.values,
        users[1] - users[0],
        items[1] - items[0],
    )


class Sgld:
    """The updates of any chain on the ratings of one worker.

    Args:
        block: the ratings, standardised (`block_of`).
        worker: its number.
        batch_size: ratings in a minibatch.
        temperature: 1 samples the posterior; 0 is stochastic gradient descent to its mode.
        seed: of the minibatches.
        threads: who works.
    """

    def __init__(
        self,
        block: Ratings,
        worker: int,
        *,
        batch_size: int,
        temperature: float,
        seed: int,
        threads: Threads,
    ) -> None:
        self.block, self._worker = block, worker
        self._size = min(batch_size, len(block))
        self.temperature, self._seed, self.threads = temperature, seed, threads
        self._users = _Touched(block.n_users, self._size)
        self._items = _Touched(block.n_items, self._size)

    def update(
        self,
        users: Users,
        items: Rows,
        streams: tuple[Stream, Stream],
        rates: tuple[np.ndarray, np.ndarray],
        position: int,
        *,
        step: float,
        weight: float,
        time: float,
    ) -> np.ndarray:
        """Moves both sides of a chain, in place, by the worker's minibatch number `position`.

        Args:
            users, items: the parts that are here, with the `streams` of their random numbers and
                the `rates` of their rows.
            position: of the minibatch.
            step: ε of the kicks.
            weight: 1/v of the worker (`topicmc.models.factors.layout`).
            time: how long the rows flow; ε, but for uneven trajectories.

        Returns:
            The errors of the ratings before the kicks, float32 (m,).
        """
        block, size = self.block, self._size
        errors = np.empty(size, np.float32)
        if size:
            chosen = batch_items(self._seed, self._worker, position, len(block), size)
            self._users.bring(users, streams[0], block.users[chosen], rates[0], self)
            self._items.bring(items, streams[1], block.items[chosen], rates[1], self)
            self._find_errors(block.values[chosen], errors)
            scale = step / 2 * weight * len(block) / size * users.tau
            self._kick(users, self._users, self._items, errors, scale * rates[0])
            self._kick(items, self._items, self._users, errors, scale * rates[1])
        for rows in (users, items):
            rows.clock += time
            rows.update += 1
        return errors

    def _find_errors(self, values: np.ndarray, errors: np.ndarray) -> None:
        users, items = self._users, self._items

        def work(start: int, stop: int, _: int) -> None:
            kernels.errors(
                users.copies,
                users.slot_of,
                items.copies,
                items.slot_of,
                values,
                start,
                stop,
                errors,
            )

        self.threads.run_over(work, len(values), _LEAST)

    def _kick(
        self, rows: Rows, own: _Touched, other: _Touched, errors: np.ndarray, steps: np.ndarray
    ) -> None:
        def work(start: int, stop: int, _: int) -> None:
            kernels.kick(
                rows.factors,
                own.touched,
                own.slot_of,
                other.copies,
                other.slot_of,
                errors,
                steps,
                start,
                stop,
            )

        self.threads.run_over(work, len(own.touched), _LEAST)


class _Touched:
    """The rows of one side that a minibatch touches, and their state before its kicks."""

    def __init__(self, n_rows: int, batch_size: int) -> None:
        self._slots = np.full(n_rows, -1, np.int32)
        self._touched = np.empty(batch_size, np.int32)
        self.slot_of = np.empty(batch_size, np.int32)
        self.touched = self._touched[:0]
        self.copies = np.empty((0, 0), np.float32)

    def bring(
        self, rows: Rows, stream: Stream, named: np.ndarray, rate: np.ndarray, sgld: Sgld
    ) -> None:
        """Moves the rows named, with repetitions, by the time that they have waited, and copies
        them."""
        count = kernels.number_rows(named, self._slots, self.slot_of, self._touched)
        self.touched = self._touched[:count]
        flow(rows, self.touched, rate, sgld.temperature, stream, sgld.threads)
        self.copies = rows.factors[self.touched]
