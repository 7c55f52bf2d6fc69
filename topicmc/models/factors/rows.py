"""The rows of one side, users or items: what a chain moves, and what Λ is drawn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topicmc.kernels import factors as kernels
from topicmc.kernels.draws import gamma
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads

SIDES = ("users", "items")
_LEAST = 256  # rows that are worth a thread
START_PRECISION = 10.0  # λ of the draw that a chain starts from


@dataclass
class Rows:
    """Consecutive rows of users or of items of one chain: plain arrays that can be saved and sent.

    A row has D factors and, last, its bias. Rows of a minibatch are moved when they are in it; the
    others wait, and follow their prior when they are next read (`settle`).
    """

    side: str
    """One of `SIDES`."""
    chain: int
    first: int
    """Number of the first of these rows in the whole matrix."""
    factors: np.ndarray
    """float32 (n, D + 1)."""
    precision: np.ndarray
    """λ of each column, float64 (D + 1,)."""
    moved_at: np.ndarray
    """The clock at which each row was last moved, float64 (n,)."""
    clock: float = 0.0
    """The sum of the steps so far."""
    update: int = 0

    def key(self, seed: int) -> np.uint64:
        """The stream of this side's draws."""
        return stream_key(seed, self.side, self.chain)


def initial_rows(
    side: str, chain: int, first: int, count: int, n_factors: int, *, seed: int
) -> Rows:
    """Rows drawn from a prior of precision 10."""
    width = n_factors + 1
    rows = Rows(
        side,
        chain,
        first,
        np.zeros((count, width), np.float32),
        np.full(width, START_PRECISION),
        np.full(count, -np.inf),
    )
    settle(rows, np.ones(count), 1.0, seed=seed, threads=Threads())
    return rows


def settle(
    rows: Rows, rates: np.ndarray, temperature: float, *, seed: int, threads: Threads
) -> None:
    """Moves every row by its prior over the time that it has waited: exact, however long.

    Args:
        rates: how fast the time of each row goes, float64 (n,).
        temperature: of the noise; 0 leaves the decay alone.
    """
    everyone = np.arange(len(rows.factors), dtype=np.int32)
    flow(rows, everyone, rates, temperature, seed=seed, threads=threads)


def flow(
    rows: Rows,
    chosen: np.ndarray,
    rates: np.ndarray,
    temperature: float,
    *,
    seed: int,
    threads: Threads,
) -> None:
    """`settle` of some rows, int32 (n,), distinct, counted from the first of these."""
    key, update = rows.key(seed), np.uint32(rows.update)

    def work(start: int, stop: int, _: int) -> None:
        kernels.flow(
            rows.factors,
            chosen,
            start,
            stop,
            rows.moved_at,
            rows.clock,
            rates,
            rows.precision,
            temperature,
            key,
            rows.first,
            update,
        )

    threads.run_over(work, len(chosen), _LEAST)


def sum_squares(rows: Rows) -> np.ndarray:
    """Σ over rows of each column squared, float64 (D + 1,), added in the order of the rows."""
    total = np.zeros(rows.factors.shape[1])
    kernels.add_squares(rows.factors, total)
    return total


def draw_precision(
    squares: np.ndarray, count: int, shape: float, rate: float, *, key: np.uint64, number: int
) -> np.ndarray:
    """λ_k ~ Gamma(shape + n/2, rate + ½ Σ_i θ_ik²) of each column, float64 (D + 1,): the conditional
    given n rows whose squares add up to `squares` (Ahn 2015, equations 7.20 and 7.21; the latter's
    sum is over the items). `number` tells one draw of a chain from the next."""
    draws = [
        gamma(shape + count / 2, key, np.uint32(k), np.uint32(0), np.uint32(number))
        for k in range(len(squares))
    ]
    return np.array(draws) / (rate + squares / 2)
