"""The MPI transport: one worker per rank. The only module that touches mpi4py, and it does so when
an `MpiTransport` is made."""

import atexit
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from topicmc.engine.transport.base import (
    Groups,
    Moves,
    Packed,
    SharedTable,
    check_route,
    mean_into,
)
from topicmc.errors import UsageError

_ELEMENTS = 1 << 26  # of a table in one operation
_SMALL = 1 << 16  # bytes below which an MPI reduction beats sharing out the additions


def _flat(array: np.ndarray) -> np.ndarray:
    if not array.flags.c_contiguous:
        raise ValueError("arrays that travel must be C-contiguous")
    return array.reshape(-1)


class MpiTransport:
    """One worker per MPI rank; arrays travel as raw buffers, in pieces that any MPI can count.

    While it waits, a rank naps instead of spinning, so that ranks and threads that share cores do
    not slow each other. Averages go point to point between the group's ranks: groups follow the
    chains, so with random permutations they never repeat, and a communicator for each would soon
    use up MPI's context ids.
    """

    def __init__(self, piece_bytes: int = 1 << 30) -> None:
        try:
            os.environ.setdefault("MPIR_CVAR_SUPPRESS_ABORT_MESSAGE", "1")
            from mpi4py import MPI
        except ImportError as error:
            raise UsageError(
                f"MPI is not available ({error}): pip install 'topicmc[mpi]', "
                "or use --transport local"
            ) from None
        self._mpi = MPI
        # Of its own, so that messages never mix with those of a program that calls us.
        self._comm = MPI.COMM_WORLD.Dup()
        self.rank = self._comm.Get_rank()
        self.n_workers = self.n_processes = self._comm.Get_size()
        self.workers = range(self.rank, self.rank + 1)
        self.is_root = self.rank == 0
        self.bytes_sent = 0
        self.waited = 0.0
        self._piece_bytes = piece_bytes
        self._spare: Packed = ()
        self._workspace = np.empty(0, np.uint8)

    def route(self, held: dict[int, Packed], moves: Moves) -> dict[int, Packed]:
        check_route(moves, self.n_workers)
        moves = [(source, destination) for source, destination in moves if source != destination]
        outgoing = [destination for source, destination in moves if source == self.rank]
        incoming = [source for source, destination in moves if destination == self.rank]
        mine = held.get(self.rank)
        if (outgoing and mine is None) or (incoming and not outgoing and mine is not None):
            raise ValueError(f"moves {moves} do not fit what worker {self.rank} holds")
        requests = []
        for destination in outgoing:
            assert mine is not None
            layout = json.dumps([[array.dtype.str, array.shape] for array in mine]).encode()
            requests.append(self._comm.Isend([layout, self._mpi.BYTE], destination))
            for array in mine:
                requests += self._send(_flat(array), destination)
        received: Packed = ()
        for source in incoming:
            received = self._receiving(self._layout(source))
            for array in received:
                requests += self._receive(array.reshape(-1), source)
        self._wait(requests)
        if outgoing and mine is not None:
            self._spare = mine
        if incoming:
            return {self.rank: received}
        return {} if outgoing or mine is None else {self.rank: mine}

    def average(self, held: dict[int, np.ndarray], groups: Groups) -> None:
        for group in groups:
            if len(group) > 1 and self.rank in group:
                self._reduce(_flat(held[self.rank]), list(group), len(group))

    def gather(self, values: dict[int, float]) -> np.ndarray:
        mine = np.array([values.get(self.rank, np.nan)], np.float64)
        everyone = np.empty(self.n_workers, np.float64)
        self._wait([self._comm.Iallgather(mine, everyone)])
        return everyone

    def sum(self, array: np.ndarray) -> np.ndarray:
        total = np.array(array, order="C")
        if total.dtype.kind != "f" and total.nbytes < _SMALL:  # exact in any order: MPI may choose
            self._wait([self._comm.Iallreduce(self._mpi.IN_PLACE, total)])
            self.bytes_sent += total.nbytes
        else:
            self._reduce(total.reshape(-1), list(range(self.n_processes)), 1)
        return total

    def shared_table(self, shape: tuple[int, ...]) -> SharedTable:
        return MpiTable(self, shape)

    def barrier(self) -> None:
        self._wait([self._comm.Ibarrier()])

    def exchange(self, obj: Any) -> list[Any]:
        mine = np.frombuffer(json.dumps(obj).encode(), np.uint8)
        sizes = np.empty(self.n_processes, np.int64)
        self._wait([self._comm.Iallgather(np.array([len(mine)], np.int64), sizes)])
        everyone = np.empty(int(sizes.sum()), np.uint8)
        self._wait([self._comm.Iallgatherv(mine, [everyone, sizes.tolist()])])
        parts = np.split(everyone, np.cumsum(sizes)[:-1])
        return [json.loads(part.tobytes()) for part in parts]

    def abort(self, message: str, status: int) -> NoReturn:
        # An error that all ranks meet, such as a missing file, should be told once: the root first.
        time.sleep(0.0 if self.is_root else 0.6)
        sys.stdout.flush()
        print(message, file=sys.stderr, flush=True)
        time.sleep(0.2)  # mpiexec drops what it has not yet forwarded when the job ends
        self._mpi.COMM_WORLD.Abort(status)
        os._exit(status)  # Abort may return before mpiexec has acted

    # --- messages ---

    def _pieces(self, flat: np.ndarray) -> Iterator[list[Any]]:
        raw = flat.view(np.uint8)
        for first in range(0, len(raw), self._piece_bytes):
            yield [raw[first : first + self._piece_bytes], self._mpi.BYTE]

    def _send(self, flat: np.ndarray, destination: int) -> list[Any]:
        self.bytes_sent += flat.nbytes
        return [self._comm.Isend(piece, destination) for piece in self._pieces(flat)]

    def _receive(self, flat: np.ndarray, source: int) -> list[Any]:
        return [self._comm.Irecv(piece, source) for piece in self._pieces(flat)]

    def _layout(self, source: int) -> list[Any]:
        """What the next state from `source` looks like: [[dtype, shape], …]."""
        status = self._mpi.Status()
        self._until(lambda: self._comm.Iprobe(source, status=status))
        layout = bytearray(status.Get_count(self._mpi.BYTE))
        self._comm.Recv([layout, self._mpi.BYTE], source)
        return json.loads(layout)

    def _receiving(self, layout: list[Any]) -> Packed:
        """Arrays to receive into: the ones sent off last, if they fit."""
        if [[array.dtype.str, list(array.shape)] for array in self._spare] == layout:
            spare, self._spare = self._spare, ()
            if all(array.flags.writeable for array in spare):
                return spare
        return tuple(np.empty(shape, dtype) for dtype, shape in layout)

    def _reduce(self, mine: np.ndarray, group: list[int], divisor: int) -> None:
        """Reduce-scatter, then allgather: member i adds up slice i of all members, in the order of
        the group, and sends the result around. Each member sends 2 (R − 1) / R of its array."""
        size, place = len(group), group.index(self.rank)
        edges = [len(mine) * i // size for i in range(size + 1)]
        slices = [mine[first:last] for first, last in itertools.pairwise(edges)]
        others = [(place + i) % size for i in range(1, size)]  # each starts with its neighbour
        own = slices[place]
        if self._workspace.nbytes < own.nbytes * size:
            self._workspace = np.empty(own.nbytes * size, np.uint8)
        parts = self._workspace[: own.nbytes * size].view(mine.dtype).reshape(size, len(own))
        requests = []
        for i in others:
            requests += self._receive(parts[i], group[i])
        for i in others:
            requests += self._send(slices[i], group[i])
        self._wait(requests)
        mean_into(own, [own if i == place else parts[i] for i in range(size)], divisor)
        requests = []
        for i in others:
            requests += self._receive(slices[i], group[i])
        for i in others:
            requests += self._send(own, group[i])
        self._wait(requests)

    def _wait(self, requests: list[Any]) -> None:
        self._until(lambda: self._mpi.Request.Testall(requests))

    def _until(self, done: Callable[[], bool]) -> None:
        """Polls with naps that grow with the time waited, to at most 1 ms."""
        begin = time.perf_counter()
        while not done():
            waited = time.perf_counter() - begin
            time.sleep(0.0 if waited < 2e-4 else min(1e-3, waited / 20))
        self.waited += time.perf_counter() - begin


class MpiTable:
    """A table in an MPI window: each rank keeps a stretch of it that all reach without its help.

    Access epochs are passive: no rank has to answer on one machine, where the window is memory that
    all share; between machines some libraries serve a rank only while it calls them. Every element
    is added to and read by one atomic operation.
    """

    def __init__(self, transport: MpiTransport, shape: tuple[int, ...]) -> None:
        self._transport = transport
        self._mpi = transport._mpi
        self._shape = shape
        size = int(np.prod(shape))
        n_parts = transport.n_processes
        self._edges = [size * i // n_parts for i in range(n_parts + 1)]
        mine = self._edges[transport.rank + 1] - self._edges[transport.rank]
        self._window = self._mpi.Win.Allocate(4 * mine, 4, comm=transport._comm)
        atexit.register(self._window.Free)  # before mpi4py finalizes MPI
        # Plain stores reach others' operations at the end of an epoch that is exclusive to them:
        # where a window's memory has a public copy (MPI's separate memory model), it is made there.
        self._window.Lock(transport.rank, self._mpi.LOCK_EXCLUSIVE)
        np.frombuffer(self._window.tomemory(), np.int32)[:] = 0
        self._window.Unlock(transport.rank)
        transport.barrier()

    def add(self, change: np.ndarray, out: np.ndarray) -> None:
        self._fetch(_flat(change), _flat(out), self._mpi.SUM)
        np.add(out, change, out=out)  # what was fetched is the table before

    def read(self) -> np.ndarray:
        out = np.empty(self._shape, np.int32)
        self._fetch(np.zeros(out.size, np.int32), out.reshape(-1), self._mpi.NO_OP)
        return out

    def _fetch(self, change: np.ndarray, out: np.ndarray, operation: Any) -> None:
        start = time.perf_counter()
        n_ranks, rank = self._transport.n_processes, self._transport.rank
        self._window.Lock_all()
        for i in range(n_ranks):  # each begins with itself, so that they do not queue up at one
            target = (rank + i) % n_ranks
            first, last = self._edges[target : target + 2]
            for begin in range(first, last, _ELEMENTS):
                part = slice(begin, min(begin + _ELEMENTS, last))
                where = (begin - first, part.stop - begin, self._mpi.INT32_T)
                self._window.Get_accumulate(
                    [change[part], self._mpi.INT32_T], [out[part], self._mpi.INT32_T], target,
                    where, operation,
                )  # fmt: skip
        self._window.Unlock_all()
        own = self._edges[rank + 1] - self._edges[rank]
        self._transport.bytes_sent += 4 * (len(out) - own)
        self._transport.waited += time.perf_counter() - start
