"""Telling people why they wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

COMPILING = "compiling the kernels (once after installation; cached afterwards) …"
_ANNOUNCE_AFTER = 1.0  # seconds


@contextmanager
def announced(tell: Callable[[str], None] | None, text: str = COMPILING) -> Iterator[None]:
    """Tells a sentence when the block takes longer than a second."""
    if tell is None:
        yield
        return
    timer = threading.Timer(_ANNOUNCE_AFTER, tell, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
