"""Stochastic-gradient Langevin dynamics of the rows that a minibatch touches (Ahn 2015, 7.3.1).

With e the error of a rating under the state before the update, and g = τ e (V_j, 1) its gradient
for the user's row, an update of step ε on a minibatch whose ratings are worth w each is

    kick   U_i ← U_i + (ε_i / 2) w Σ g          the rows that are rated in it
    flow   dU_i = −(Λ/2) U_i dt + dW            all rows, for a time ε_i

and likewise for items. The flow is the Ornstein-Uhlenbeck process of the prior N(0, Λ⁻¹); it has an
exact solution over any time, so a row that is not rated waits and is moved at once when it is next
read: in law as if it had been moved in every update. (The update of the text, with noise N(0, ε) on
touched rows only, samples a distribution that is too narrow by the chance of being touched.)

Each row has a step of its own, ε_i = ε / (w (τ n_i + λ₀)), n_i its number of ratings and λ₀ = 10:
Langevin dynamics under a constant diagonal preconditioner, which leaves the target as it is. So in
one pass over the ratings a row takes steps of about ε/2 of the way to its mode, however many
ratings it has and however many there are, and the noise of minibatches widens all rows alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topicmc.engine.schedule import batch_items
from topicmc.kernels import factors as kernels
from topicmc.kernels.threads import Threads
from topicmc.models.factors.rows import START_PRECISION, Rows, flow, settle

_LEAST = 256  # rows or ratings that are worth a thread


@dataclass(frozen=True)
class Block:
    """The ratings of one worker, standardised, and the rates of the rows that they touch.

    users, items            int32 (n,), counted from the first row of the worker's part
    values                  float32 (n,)
    user_rates, item_rates  float64, of each row of the part, from `rates`
    """

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    user_rates: np.ndarray
    item_rates: np.ndarray

    def __len__(self) -> int:
        return len(self.values)


def rates(counts: np.ndarray, worth: float, tau: float) -> np.ndarray:
    """ε_i / ε of rows with so many ratings, float64, where one of a minibatch is worth `worth`."""
    return 1 / (worth * (tau * counts + START_PRECISION))


class Sgld:
    """The updates of any chain on the ratings of one worker.

    Args:
        block: the ratings.
        worker: its number.
        tau: precision of a standardised rating.
        batch_size: ratings in a minibatch.
        temperature: 1 samples the posterior; 0 is stochastic gradient descent to its mode.
        seed, threads: of the run.
    """

    def __init__(
        self,
        block: Block,
        worker: int,
        *,
        tau: float,
        batch_size: int,
        temperature: float,
        seed: int,
        threads: Threads,
    ) -> None:
        self.block, self.worker, self.tau = block, worker, tau
        self.batch_size = min(batch_size, len(block))
        self.temperature, self.seed, self.threads = temperature, seed, threads
        self._users = _Touched(len(block.user_rates), self.batch_size)
        self._items = _Touched(len(block.item_rates), self.batch_size)

    def update(self, users: Rows, items: Rows, position: int, *, step: float, weight: float) -> int:
        """Moves both sides of a chain, in place, by the worker's minibatch number `position`;
        returns how many ratings it had. `weight` is 1/q of the worker."""
        block, size = self.block, self.batch_size
        if size == 0:  # an empty block: time passes
            self._pass_time(users, items, step)
            return 0
        chosen = batch_items(self.seed, self.worker, position, len(block), size)
        self._users.bring(users, block.users[chosen], block.user_rates, self)
        self._items.bring(items, block.items[chosen], block.item_rates, self)
        errors = self._errors(block.values[chosen])
        scale = step / 2 * weight * len(block) / size * self.tau
        self._kick(users, self._users, self._items, errors, scale * block.user_rates)
        self._kick(items, self._items, self._users, errors, scale * block.item_rates)
        self._pass_time(users, items, step)
        return size

    def settle(self, users: Rows, items: Rows) -> None:
        """Brings the rows that wait up to date."""
        for rows, rate in ((users, self.block.user_rates), (items, self.block.item_rates)):
            settle(rows, rate, self.temperature, seed=self.seed, threads=self.threads)

    def _pass_time(self, users: Rows, items: Rows, step: float) -> None:
        for rows in (users, items):
            rows.clock += step
            rows.update += 1

    def _errors(self, values: np.ndarray) -> np.ndarray:
        users, items, errors = self._users, self._items, np.empty(len(values), np.float32)

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
        return errors

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

    def bring(self, rows: Rows, named: np.ndarray, rate: np.ndarray, sgld: Sgld) -> None:
        """Moves the rows named, with repetitions, by the time that they have waited, and copies
        them."""
        count = kernels.number_rows(named, self._slots, self.slot_of, self._touched)
        self.touched = self._touched[:count]
        flow(rows, self.touched, rate, sgld.temperature, seed=sgld.seed, threads=sgld.threads)
        self.copies = rows.factors[self.touched]
