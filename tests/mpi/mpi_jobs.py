"""What the ranks of the MPI tests run: ``mpiexec -n S python mpi_jobs.py JOB …``."""

import faulthandler
import hashlib
import json
import os
import signal
import sys
import time

import numpy as np

from topicmc.engine.schedule import split_groups, worker_of
from topicmc.engine.transport.base import abort_on_error
from topicmc.engine.transport.mpi import MpiTransport
from topicmc.engine.transport.open import open_transport
from topicmc.errors import DataError


def digest(arrays):
    bits = hashlib.sha256()
    for array in arrays:
        bits.update(f"{array.dtype.str}{array.shape}".encode())
        bits.update(np.ascontiguousarray(array).tobytes())
    return bits.hexdigest()


def initial_state(chain, size):
    random = np.random.default_rng([chain, size])
    theta = random.gamma(0.3, 1, (size, 3)).astype(np.float32) * 10.0 ** random.integers(-9, 9)
    return theta, random.normal(size=3), np.array([chain, 0])


def travel(transport, n_chains, size, n_rounds, schedule, n_groups):
    """Chains that travel, change, and are averaged: the digest of each chain after each round, as
    {chain: [digest, …]}; and bytes that a formula says this process has sent."""
    n_workers = transport.n_workers
    groups = split_groups(n_chains, n_groups)
    places = worker_of(schedule, 0, n_chains, n_workers, 7)
    held = {
        worker: initial_state(chain, size)
        for chain, worker in enumerate(places)
        if worker in transport.workers
    }
    story = {}
    for round in range(n_rounds):
        if round:
            before, places = places, worker_of(schedule, round, n_chains, n_workers, 7)
            held = transport.route(held, list(zip(before, places, strict=True)))
        for worker, (theta, sums, header) in held.items():
            theta *= np.float32(1 + 0.1 * worker)
            sums += worker
            header[1] += 1
            story.setdefault(int(header[0]), []).append(digest((theta, sums, header)))
        where = [[places[chain] for chain in group] for group in groups]
        transport.average({w: state[0] for w, state in held.items()}, where)
        for theta, _, header in held.values():
            story[int(header[0])].append(digest((theta,)))
    return story


CASES = [  # chains (0: as many as workers), words, rounds, schedule, groups
    (0, 1001, 5, "rotate", 1),
    (0, 7, 6, "permute", 2),
    (2, 333, 6, "permute", 2),
    (1, 5, 5, "rotate", 1),
    (0, 1, 4, "permute", 1),
    (0, 40_000, 3, "rotate", 1),
]


def all_cases(transport):
    for n_chains, *case in CASES:
        yield travel(transport, n_chains or transport.n_workers, *case)


def totals(transport):
    """Sums over workers, in worker order: what `sum` must give."""
    for dtype, n in [("f4", 5), ("f8", 1001), ("i4", 3), ("i8", 20_001), ("f4", 1)]:
        parts = [
            (np.random.default_rng([w, n]).normal(size=n) * 1e6).astype(dtype)
            for w in range(transport.n_workers)
        ]
        expected = parts[0].astype("f8" if dtype[0] == "f" else dtype)
        for part in parts[1:]:
            expected = expected + part
        yield parts[transport.rank], expected.astype(dtype)


def job_same(path, piece_bytes):
    transport = MpiTransport(piece_bytes=int(piece_bytes))
    assert transport.n_processes > 1
    stories = [transport.exchange(story) for story in all_cases(transport)]
    if transport.is_root:
        merged = []
        for parts in stories:
            merged.append({})
            for part in parts:
                for chain, digests in part.items():
                    merged[-1].setdefault(chain, []).extend(digests)
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump(merged, file)


def job_collectives():
    transport = open_transport("auto")
    size, rank = transport.n_workers, transport.rank
    for mine, expected in totals(transport):
        given = mine.copy()
        np.testing.assert_array_equal(transport.sum(mine), expected)
        np.testing.assert_array_equal(mine, given)
    assert transport.sum(np.array(rank)).shape == ()
    np.testing.assert_array_equal(transport.gather({rank: rank + 0.5}), np.arange(size) + 0.5)
    assert np.isnan(transport.gather({} if rank == 1 else {rank: 1.0})).tolist() == [
        worker == 1 for worker in range(size)
    ]
    words = [{"é": "θ" * worker, "n": [worker]} for worker in range(size)]
    assert transport.exchange(words[rank]) == words
    print("fine", flush=True)


def job_bytes():
    """Rotation sends a state per rank and round; an average 2 (R − 1) / R of an array."""
    transport = open_transport("mpi")
    size, rank = transport.n_workers, transport.rank
    theta = np.ones((120, 4), np.float32)
    held = transport.route({rank: (theta,)}, [(w, (w + 1) % size) for w in range(size)])
    assert transport.bytes_sent == 120 * 4 * 4
    before = transport.bytes_sent
    transport.route(held, [(w, w) for w in range(size)])
    assert transport.bytes_sent == before
    transport.average({rank: held[rank][0]}, [list(range(size))])
    assert transport.bytes_sent - before == 120 * 4 * 4 * 2 * (size - 1) // size
    print("fine", flush=True)


def job_waits():
    """The last rank comes a second late: the others count it as waiting, and burn no core."""
    transport = open_transport("mpi")
    transport.barrier()
    waited, cpu = transport.waited, time.process_time()
    if transport.rank == transport.n_workers - 1:
        time.sleep(1.0)
        cpu = time.process_time() - 0.1
        transport.barrier()
    else:
        transport.barrier()
        assert transport.waited - waited > 0.3
    assert time.process_time() - cpu < 0.5
    print("fine", flush=True)


def job_fails(how):
    """One rank fails while the others wait for it."""
    transport = open_transport("mpi")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    with abort_on_error(transport):
        transport.barrier()
        if how == "everywhere":
            raise DataError("shards/00000/counts.npy is short: prepare the corpus again")
        if transport.rank == 1:
            if how == "raise":
                raise ZeroDivisionError("one rank divided by zero")
            if how == "data":
                raise DataError("shards/00001/counts.npy is short: prepare the corpus again")
            os.kill(os.getpid(), signal.SIGKILL)
        transport.average({transport.rank: np.ones(9, np.float32)}, [range(transport.n_workers)])


if __name__ == "__main__":
    faulthandler.dump_traceback_later(40, exit=True)  # a deadlock says where
    globals()[f"job_{sys.argv[1]}"](*sys.argv[2:])
