"""Maps that keep order and hold few items in memory."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import Any, TypeVar

from topicmc.errors import TopicmcError

T = TypeVar("T")
R = TypeVar("R")


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_map(
    function: Callable[[T], R], items: Iterable[T], n_threads: int | None = None
) -> Iterator[R]:
    """Results in order, computed ahead in threads; for functions that release the interpreter.

    One core is left to the caller unless ``n_threads`` says otherwise.
    """
    n_threads = n_threads or max(1, usable_cores() - 1)
    with ThreadPoolExecutor(n_threads) as pool:
        yield from _windowed(pool, function, iter(items), n_threads + 1)


def process_map(function: Callable[[T], R], items: Iterable[T], *, inline: int = 1) -> Iterator[R]:
    """Results in order, from worker processes.

    The first ``inline`` items are done here: a small input starts no process.
    """
    items = iter(items)
    first = list(islice(items, inline))
    following = next(items, None)
    n_processes = usable_cores()
    if following is None or n_processes == 1:
        yield from map(function, chain(first, [] if following is None else [following], items))
        return
    # A fork needs no import of __main__ again, which scripts without a guard could not bear.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    context = multiprocessing.get_context(method)
    queue = chain(first, [following], items)
    try:
        with ProcessPoolExecutor(n_processes, context, _begin, (function,)) as pool:
            yield from _windowed(pool, _call, queue, 2 * n_processes)
    except BrokenProcessPool as error:
        raise TopicmcError(
            "A worker process was killed, perhaps for want of memory: free some and try again."
        ) from error


_function: Callable[[Any], Any]  # of a worker process: sent once, however large it is


def _call(item: Any) -> Any:
    return _function(item)


def _begin(function: Callable[[Any], Any]) -> None:
    """Ctrl-C reaches the parent, which ends its workers; SIGTERM ends a worker at once."""
    global _function
    _function = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _windowed(
    pool: Executor, function: Callable[[T], R], items: Iterator[T], window: int
) -> Iterator[R]:
    waiting = deque(pool.submit(function, item) for item in islice(items, window))
    try:
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(pool.submit(function, item) for item in islice(items, 1))
            yield result
    finally:
        for future in waiting:
            future.cancel()
