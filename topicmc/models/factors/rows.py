"""The rows of users, or of items, of a chain: what is moved, and what Λ is drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from topicmc.engine.state import Array, Number
from topicmc.kernels import factors as kernels
from topicmc.kernels.draws import gamma
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads

START_PRECISION = 10.0  # λ of the draw that a chain starts from
_LEAST = 2048  # rows that are worth a thread


@dataclass
class Rows:
    """Consecutive rows of one side of a chain. A row has D factors and, last, its bias.

    Rows are moved when they are in a minibatch; the others wait, and follow their prior when they
    are next read. Parts of a chain are as long as the longest of them: rows beyond the last one of
    the side stay zero.
    """

    side: ClassVar[str]
    """``users`` or ``items``."""

    index: Annotated[int, Number(int)]
    """The chain times the number of parts of a chain, plus the part."""
    factors: Annotated[np.ndarray, Array(np.float32, "rows", "width")]
    precision: Annotated[np.ndarray, Array(np.float64, "width")]
    """λ of each column."""
    moved_at: Annotated[np.ndarray, Array(np.float64, "rows")]
    """The clock at which each row was last moved."""
    clock: Annotated[float, Number(float)] = 0.0
    """The sum of the steps so far."""
    update: Annotated[int, Number(int)] = 0


@dataclass
class Users(Rows):
    """Those of users tell the noise of the ratings, too."""

    side: ClassVar[str] = "users"

    tau: Annotated[float, Number(float)] = 1.0
    """τ, the precision of a standardised rating."""


@dataclass
class Items(Rows):
    side: ClassVar[str] = "items"


SIDES: dict[str, type[Rows]] = {kind.side: kind for kind in (Users, Items)}


@dataclass
class Factors:
    """The state of a whole chain, to be read.

    Attributes:
        index: the number of the chain.
        users, items: float32 (L, D + 1) and (M, D + 1): factors and, last, the bias.
        user_precision, item_precision: λ of each column, float64 (D + 1,).
        tau: precision of a standardised rating.
        update: how many updates it has made; 0 where that is not known.
    """

    index: int
    users: np.ndarray
    items: np.ndarray
    user_precision: np.ndarray
    item_precision: np.ndarray
    tau: float
    update: int = 0


@dataclass(frozen=True)
class Stream:
    """Which random numbers some rows draw: those of a chain, where the first is row ``first``."""

    seed: int
    chain: int
    first: int

    def key(self, purpose: str) -> np.uint64:
        return stream_key(self.seed, purpose, self.chain)


def initial_rows(
    kind: type[Rows], index: int, count: int, n_rows: int, width: int, stream: Stream
) -> Rows:
    """``count`` rows drawn from a prior of precision `START_PRECISION`, and zeros up to n_rows."""
    rows = kind(
        index,
        np.zeros((n_rows, width), np.float32),
        np.full(width, START_PRECISION),
        np.full(n_rows, -np.inf),
    )
    settle(rows, np.ones(count), 1.0, stream, Threads())
    rows.moved_at[:] = 0.0
    return rows


def settle(
    rows: Rows, rates: np.ndarray, temperature: float, stream: Stream, threads: Threads
) -> None:
    """Moves every row by its prior over the time that it has waited: exact, however long.

    Args:
        rows: changed in place.
        rates: how fast the time of each row goes, float64 (n,), of the rows that there are.
        temperature: of the noise; 0 leaves the decay alone.
        stream: whose random numbers are drawn.
        threads: who works.
    """
    flow(rows, np.arange(len(rates), dtype=np.int32), rates, temperature, stream, threads)


def flow(
    rows: Rows,
    chosen: np.ndarray,
    rates: np.ndarray,
    temperature: float,
    stream: Stream,
    threads: Threads,
) -> None:
    """`settle` of some rows, int32 (n,), distinct, counted from the first of these."""
    key, update = stream.key(rows.side), np.uint32(rows.update)

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
            stream.first,
            update,
        )

    threads.run_over(work, len(chosen), _LEAST)


def sum_squares(rows: Rows) -> np.ndarray:
    """Σ over rows of each column squared, float64 (D + 1,), added in the order of the rows."""
    total = np.zeros(rows.factors.shape[1])
    kernels.add_squares(rows.factors, total)
    return total


@dataclass(frozen=True)
class GammaPrior:
    """λ ~ Gamma(shape, rate) of each column (Ahn 2015, equation 7.11)."""

    shape: float
    rate: float

    def draw(
        self, squares: np.ndarray, count: int, stream: Stream, number: int, side: str
    ) -> np.ndarray:
        """λ_k ~ Gamma(shape + n/2, rate + ½ Σ_i θ_ik²), float64 (D + 1,): the conditional given the
        n rows of a side, whose squares add up to `squares` (equations 7.20 and 7.21; the sum of the
        latter is over the items). Likewise τ, given the squares of all errors. `number` tells the
        draws of a chain apart."""
        key, shape = stream.key(f"precision of {side}"), self.shape + count / 2
        draws = [
            gamma(shape, key, np.uint32(k), np.uint32(0), np.uint32(number))
            for k in range(len(squares))
        ]
        return np.array(draws) / (self.rate + squares / 2)
