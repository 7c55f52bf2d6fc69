"""How chains travel and workers agree: one protocol, in one process or over MPI.

A *worker* holds part of the data and at most one state of a kind; a *process* hosts workers: all of
them with `topicmc.engine.transport.local`, one with `topicmc.engine.transport.mpi`. All methods but
`abort` are collective: each process calls them in the same order (not so those of a `SharedTable`).
Both transports give the same bits.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from topicmc.errors import describe
from topicmc.storage.fields import visible

Packed = tuple[np.ndarray, ...]  # the arrays of one travelling chain
Moves = Sequence[tuple[int, int]]  # (source worker, destination worker)
Groups = Sequence[Sequence[int]]  # workers, in the order in which they are summed


class SharedTable(Protocol):
    """Integers that all processes add to and read without waiting for each other."""

    def add(self, change: np.ndarray, out: np.ndarray) -> None:
        """Adds int32 of the table's shape, and writes the table as it then is to `out`: with this
        change, and others' as far as they have been added. Each element is changed and read at
        once, but not all elements at the same moment."""

    def read(self) -> np.ndarray:
        """A copy of the table."""


class Transport(Protocol):
    n_workers: int
    workers: range  # worker numbers hosted by this process
    rank: int  # of this process
    n_processes: int
    is_root: bool
    bytes_sent: int  # payload that this process has sent, in bytes
    waited: float  # seconds that this process has spent waiting for others and for their bytes

    def route(self, held: dict[int, Packed], moves: Moves) -> dict[int, Packed]:
        """Moves states between workers; returns what the hosted workers hold now.

        `held`: the state of each hosted worker that has one, C-contiguous arrays, alike in number,
        shapes and dtypes for all. `moves` is the same on every process. Who is not named stays,
        and moves to self cost nothing. States handed in belong to the transport from then on: it
        receives into their memory later, so copy what must last. ValueError when two states would
        meet, or a source holds none.
        """

    def average(self, held: dict[int, np.ndarray], groups: Groups) -> None:
        """Replaces the arrays of each group by their mean, in place (float32 or float64,
        C-contiguous, of one shape); summed in float64 in the order given. `groups` is the same on
        every process, and names no worker twice; groups of one cost nothing."""

    def gather(self, values: dict[int, float]) -> np.ndarray:
        """One number per worker, float64 (n_workers,), on every process; NaN where none is given.
        `values` is keyed by hosted workers."""

    def sum(self, array: np.ndarray) -> np.ndarray:
        """The sum over processes, a new array on every process. Floats are summed in float64, in
        rank order; integers wrap in their own dtype."""

    def shared_table(self, shape: tuple[int, ...]) -> SharedTable:
        """A table of zeros, int32, for all processes."""

    def barrier(self) -> None:
        """Waits until all processes are here."""

    def exchange(self, obj: Any) -> list[Any]:
        """One JSON-able object per process, in rank order, on every process."""

    def abort(self, message: str, status: int) -> NoReturn:
        """Prints the message to stderr and ends all processes with the status, which is not 0."""


def check_route(moves: Moves, n_workers: int) -> None:
    """ValueError unless the moves of a round name workers, each at most once on either side, and no
    move ends on a worker that keeps its state."""
    sources, destinations = [m[0] for m in moves], [m[1] for m in moves]
    for side in (sources, destinations):
        if len(set(side)) != len(side) or not all(0 <= w < n_workers for w in side):
            raise ValueError(f"moves {list(moves)} collide or leave 0 … {n_workers - 1}")


def mean_into(out: np.ndarray, arrays: Sequence[np.ndarray], divisor: int | None = None) -> None:
    """out = Σ arrays / divisor (default: their number), flat arrays, added one after another:
    floats in float64, integers in their own dtype. So an
    element's bits depend neither on blocks nor on who computes them. `out` may be one of them."""
    divisor = divisor or len(arrays)
    sum_dtype = np.float64 if out.dtype.kind == "f" else out.dtype
    block = 1 << 16
    for first in range(0, len(out), block):
        part = slice(first, first + block)
        total = arrays[0][part].astype(sum_dtype)
        for array in arrays[1:]:
            total += array[part]
        out[part] = total if divisor == 1 else total / divisor


@contextlib.contextmanager
def abort_on_error(transport: Transport) -> Iterator[None]:
    """Ends the whole job when this process leaves the block by an exception: otherwise the others
    would wait for it for ever. With one process, exceptions pass through untouched.

    Message and status are as of `topicmc.errors.describe`, with escapes in place of what a terminal
    would obey. An exit with status 0 passes through.
    """
    try:
        yield
    except BaseException as error:
        if transport.n_processes > 1:
            message, status = describe(error)
            if status:
                transport.abort(visible(message), status)
        raise
