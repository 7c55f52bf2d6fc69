"""All workers in one process."""

import json
import sys
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


class LocalTable:
    """A `SharedTable` within one process."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._table = np.zeros(shape, np.int32)

    def add(self, change: np.ndarray, out: np.ndarray) -> None:
        self._table += change
        out[:] = self._table

    def read(self) -> np.ndarray:
        return self._table.copy()


class LocalTransport:
    """All workers in this process, one after another: for one machine, tests and study."""

    def __init__(self, n_workers: int = 1) -> None:
        self.n_workers = n_workers
        self.workers = range(n_workers)
        self.rank = 0
        self.n_processes = 1
        self.is_root = True
        self.bytes_sent = 0
        self.waited = 0.0

    def route(self, held: dict[int, Packed], moves: Moves) -> dict[int, Packed]:
        check_route(moves, self.n_workers)
        missing = [source for source, _ in moves if source not in held]
        sources = {source for source, _ in moves}
        now = {worker: state for worker, state in held.items() if worker not in sources}
        for source, destination in moves:
            if missing or destination in now:
                raise ValueError(f"moves {list(moves)} do not fit workers {sorted(held)}")
            now[destination] = held[source]
        return dict(sorted(now.items()))

    def average(self, held: dict[int, np.ndarray], groups: Groups) -> None:
        for group in groups:
            if len(group) > 1:
                arrays = [held[worker].reshape(-1) for worker in group]
                mean_into(arrays[0], arrays)
                for array in arrays[1:]:
                    array[:] = arrays[0]

    def gather(self, values: dict[int, float]) -> np.ndarray:
        return np.array([values.get(worker, np.nan) for worker in self.workers], np.float64)

    def sum(self, array: np.ndarray) -> np.ndarray:
        return array.copy()

    def shared_table(self, shape: tuple[int, ...]) -> SharedTable:
        return LocalTable(shape)

    def barrier(self) -> None:
        pass

    def exchange(self, obj: Any) -> list[Any]:
        return [json.loads(json.dumps(obj))]

    def abort(self, message: str, status: int) -> NoReturn:
        print(message, file=sys.stderr, flush=True)
        raise SystemExit(status)
