"""Maps that keep order and hold few items in memory.

Worker processes are started as programs of their own: a fork of a process with threads may inherit
a lock that nobody will open, and the start methods of multiprocessing import the main script again,
which one without a guard does not bear.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import chain, islice
from typing import Any, TypeVar

from topicmc.errors import TopicmcError
from topicmc.host.machine import available_cores

T = TypeVar("T")
R = TypeVar("R")


def thread_map(
    function: Callable[[T], R], items: Iterable[T], n_threads: int | None = None
) -> Iterator[R]:
    """Results in order, computed ahead in threads; for functions that release the interpreter.

    One core is left to the caller unless ``n_threads`` says otherwise.
    """
    n_threads = n_threads or max(1, available_cores() - 1)
    with ThreadPoolExecutor(n_threads) as pool:
        yield from _windowed(pool, function, iter(items), n_threads + 1)


class WorkerProcesses:
    """Maps by worker processes. The first map that needs them starts them; they serve those after
    it, too, and end with the block."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._pool: Executor | None = None
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()

    def __enter__(self) -> WorkerProcesses:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def map(
        self, function: Callable[[T], R], items: Iterable[T], *, inline: int = 1
    ) -> Iterator[R]:
        """Results in order; ``function`` is one of an importable module.

        The first ``inline`` items are done here: a small input starts no process. Nor is one
        started where there is no interpreter to start, as in an embedded one. TopicmcError when one
        is killed.
        """
        items = iter(items)
        first = list(islice(items, inline))
        following = next(items, None)
        n_processes = available_cores()
        waiting = chain(first, [] if following is None else [following], items)
        if following is None or n_processes == 1 or not sys.executable:
            yield from map(function, waiting)
            return
        pool = self._pool = self._pool or self._started(n_processes)

        def ask(item: T) -> R:
            worker = self._idle.get()
            try:
                return worker.ask(function, item)
            finally:
                self._idle.put(worker)

        yield from _windowed(pool, ask, waiting, 2 * n_processes)

    def _started(self, n_processes: int) -> Executor:
        """As many workers, and the threads that wait for them; they end before these."""
        pool = self._stack.enter_context(ThreadPoolExecutor(n_processes))
        for _ in range(n_processes):
            worker = _Worker()
            self._stack.callback(worker.end)
            self._idle.put(worker)
        return pool


class _Worker:
    """An interpreter that applies functions to what comes in by its stdin."""

    def __init__(self) -> None:
        # In a group of its own: Ctrl-C reaches the parent, which ends its workers.
        code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
        )
        self._function: Callable[[Any], Any] | None = None

    def ask(self, function: Callable[[Any], Any], item: Any) -> Any:
        """The function of an item, or the error that it raised. A function is sent once, as long as
        no other is asked for."""
        assert self._process.stdout is not None
        new = None if function is self._function else function
        self._function = function
        try:
            self._send((new, item))
            done, result = pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise TopicmcError(
                "A worker process was killed, perhaps for want of memory: free some and try again"
            ) from error
        if not done:
            raise result
        return result

    def _send(self, value: Any) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        pickle.dump(value, stdin, pickle.HIGHEST_PROTOCOL)
        stdin.flush()

    def end(self) -> None:
        """Whatever it is doing."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):  # what was not sent
                pipe.close()
        self._process.wait()


def serve() -> None:
    """What a worker does until nobody writes to it any more. Whatever prints, prints to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    function: Any = None
    while True:
        try:
            new, item = pickle.load(requests)
        except EOFError:
            return
        function = function if new is None else new
        try:
            reply = (True, function(item))
        except Exception as error:
            error.add_note("".join(traceback.format_exception(error)))
            reply = (False, error)
        pickle.dump(reply, replies, pickle.HIGHEST_PROTOCOL)
        replies.flush()


def _windowed(
    pool: Executor, function: Callable[[T], R], items: Iterator[T], window: int
) -> Iterator[R]:
    futures = _submitted(pool, function, items)
    waiting = deque(islice(futures, window))
    try:
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(islice(futures, 1))
            yield result
    finally:
        for future in waiting:
            future.cancel()


def _submitted(
    pool: Executor, function: Callable[[T], R], items: Iterator[T]
) -> Iterator[Future[R]]:
    """An error of the items comes behind the results of those before it, however many are computed
    ahead."""
    try:
        for item in items:
            yield pool.submit(function, item)
    except Exception as error:
        failed: Future[R] = Future()
        failed.set_exception(error)
        yield failed
