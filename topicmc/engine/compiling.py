"""Compiling kernels, while people wait."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_TEXT = "compiling the kernels (once after installation; cached afterwards) …"
_ANNOUNCE_AFTER = 1.0  # seconds
_SELDOM = (20_000, 50, 1_000)  # which takes 40 MB more at most


@contextmanager
def compiling(tell: Callable[[str], None] | None) -> Iterator[None]:
    """Tells a sentence when the block, which compiles kernels, takes longer than a second.

    Meanwhile cyclic garbage is looked for more seldom: numba makes many objects and keeps most of
    them, and to go through them again and again takes a tenth of the time.
    """
    timer = threading.Timer(_ANNOUNCE_AFTER, lambda: tell and tell(_TEXT))
    timer.daemon = True
    timer.start()
    thresholds = gc.get_threshold()
    gc.set_threshold(*_SELDOM)
    try:
        yield
    finally:
        timer.cancel()
        gc.set_threshold(*thresholds)
