"""Compiling kernels, while people wait."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_TEXT = "compiling the kernels (once after installation; cached afterwards) …"
_ANNOUNCE_AFTER = 1.0  # seconds
_SELDOM = (20_000, 50, 1_000)  # which takes 40 MB more at most
_lock = threading.Lock()
_before: list[tuple[int, int, int]] = []  # the thresholds that each who compiles has found


@contextmanager
def compiling(tell: Callable[[str], None] | None) -> Iterator[None]:
    """Tells a sentence when the block, which compiles kernels, takes longer than a second.

    Meanwhile cyclic garbage is looked for more seldom: numba makes many objects and keeps most of
    them, and to go through them again and again takes a tenth of the time.
    """
    timer = threading.Timer(_ANNOUNCE_AFTER, lambda: tell and tell(_TEXT))
    timer.daemon = True
    timer.start()
    with _lock:
        _before.append(gc.get_threshold())
        gc.set_threshold(*_SELDOM)
    try:
        yield
    finally:
        timer.cancel()
        with _lock:  # the first has found the usual ones, and the last puts them back
            usual = _before[0]
            _before.pop()
            if not _before:
                gc.set_threshold(*usual)
