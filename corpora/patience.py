"""Work on one document that is given up when it comes to no end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_SECONDS = 10, 1e-5  # of the work on a text: the first ones, and for each letter


class OutOfPatience(BaseException):
    """The work took too long; no Exception, which a library might take for one of its own."""


def seconds_for(text: str) -> float:
    """How long the work on a text may take, which is far more than on any that comes to an end."""
    return _SECONDS[0] + _SECONDS[1] * len(text)


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """OutOfPatience in a block that computes for longer; regular expressions of ``re`` are left,
    too. Only the main thread can be told so: others are not limited. A timer that runs goes on
    behind the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def give_up(number: int, frame: FrameType | None) -> NoReturn:
        raise OutOfPatience

    timer = signal.getitimer(signal.ITIMER_VIRTUAL)
    previous = signal.signal(signal.SIGVTALRM, give_up)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        signal.signal(signal.SIGVTALRM, previous)
        signal.setitimer(signal.ITIMER_VIRTUAL, *timer)
