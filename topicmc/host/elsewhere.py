"""Kernels that another interpreter compiles: in one process numba compiles one at a time."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from topicmc.host.machine import available_cores, available_memory

_ROOM = 1_000_000_000  # free bytes from which on it starts; it takes a fifth of them
_going_on: dict[Callable[..., None], subprocess.Popen[bytes]] = {}


@contextmanager
def compiled_elsewhere(
    kernel: Any, compiling: Callable[..., None], *arguments: int | str
) -> Iterator[None]:
    """Has an interpreter call ``compiling``, a function of a module, with some arguments, while the
    block compiles other kernels, and waits for it at the end; then ``kernel`` comes from numba's
    cache. Within the block of another call of this function it only waits.

    It does nothing where the cache has the kernel, or where there is no other core, hardly any
    memory or no interpreter to start, as in an embedded one. What fails there is compiled here when
    it is used.
    """
    if started := _going_on.get(compiling):
        yield
        started.wait()
        return
    free = available_memory()
    has_room = available_cores() > 1 and (free is None or free >= _ROOM)
    process = _started(compiling, arguments) if has_room and not _is_cached(kernel) else None
    if process is None:
        yield
        return
    try:
        _going_on[compiling] = process
        yield
        process.wait()
    finally:
        _going_on.pop(compiling, None)
        process.kill()
        process.wait()


def _started(
    function: Callable[..., None], arguments: tuple[int | str, ...]
) -> subprocess.Popen[bytes] | None:
    """An interpreter that calls a function of a module; None where none can be started."""
    # Without a search for cyclic garbage, as in `topicmc.engine.compiling`.
    call = f"import gc; gc.disable(); from {function.__module__} import {function.__name__} as f; "
    call += f"f(*{arguments!r})"
    if not sys.executable:
        return None
    with suppress(OSError):
        # In a session of its own: Ctrl-C reaches the parent, which ends it.
        return subprocess.Popen(
            [sys.executable, "-P", "-c", call],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    return None


def _is_cached(kernel: Any) -> bool:
    """Whether numba's cache has an index of this kernel; of what types, it does not say."""
    code, path = kernel.py_func.__code__, kernel.stats.cache_path
    name = f"{Path(code.co_filename).stem}.{kernel.py_func.__qualname__}-{code.co_firstlineno}."
    return path is not None and any(Path(path).glob(f"{name}*.nbi"))
