"""Ctrl-C and SIGTERM: a flag that the training loop looks at between rounds, or an exit that cleans
up."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


class Interrupt:
    """Whether the process was asked to stop.  A second Ctrl-C stops it at once. The first signal
    has a ``line`` written to stderr, if there is one."""

    def __init__(self, line: str = "") -> None:
        self.requested = False
        self._line = f"{line}\n".encode() if line else b""

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """The signal handler."""
        if self.requested:
            if signum == signal.SIGINT:
                raise KeyboardInterrupt
            return
        self.requested = True
        if self._line and sys.stderr is not None:  # else 2 may be a file of another kind
            with suppress(OSError):  # a terminal that is gone
                os.write(2, self._line)  # print may be at work


@contextmanager
def interruptible(line: str = "") -> Iterator[Interrupt]:
    """Within the block SIGINT and SIGTERM set a flag, and the first writes a line to stderr, if
    there is one. Only the main thread can receive them."""
    interrupt = Interrupt(line)
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    previous = {s: signal.signal(s, interrupt.handle) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupt
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)


@contextmanager
def on_ctrl_c(interrupt: Interrupt) -> Iterator[None]:
    """Within the block Ctrl-C sets the flag, unless the program handles it in a way of its own."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, interrupt.handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def unwound() -> Iterator[None]:
    """Within the block SIGTERM unwinds the stack, so that what was begun is removed, unless the
    program handles it in a way of its own."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
