"""Ctrl-C, SIGTERM and SIGHUP: a flag that the training loop looks at between rounds, or an exit
that cleans up."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from types import FrameType
from typing import Any

_LATER = 0.05  # seconds


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
                _break(signum, frame)
            return
        self.requested = True
        if self._line and sys.stderr is not None:  # else 2 may be a file of another kind
            with suppress(OSError, ValueError):  # a terminal that is gone; what is no file
                os.write(sys.stderr.fileno(), self._line)  # print may be at work


def _break(signum: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt, where that is not lost."""
    if not _in_callback(frame):
        raise KeyboardInterrupt
    # A `threading.Thread` would have this one wait until it has begun, while LLVM's lock is held.
    _thread.start_new_thread(_send_later, (signum, threading.get_ident()))


def _send_later(signum: int, thread: int) -> None:
    time.sleep(_LATER)
    signal.pthread_kill(thread, signum)  # which also ends what it waits for


def _in_callback(frame: FrameType | None) -> bool:
    """Whether LLVM, which compiles a kernel, has called Python: there an exception is lost."""
    while frame is not None and not frame.f_code.co_name.startswith("_raw_object_cache_"):
        frame = frame.f_back
    return frame is not None


def endings() -> list[signal.Signals]:
    """The signals that ask a process to end: SIGTERM, and SIGHUP of a terminal that closes, unless
    that is ignored, as under nohup."""
    hears_hangups = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    return [signal.SIGTERM, signal.SIGHUP] if hears_hangups else [signal.SIGTERM]


@contextmanager
def interruptible(line: str = "") -> Iterator[Interrupt]:
    """Within the block SIGINT and those of `endings` set a flag, and the first writes a line to
    stderr, if there is one. Only the main thread can receive them."""
    interrupt = Interrupt(line)
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    signals = (signal.SIGINT, *endings())
    previous = {s: signal.signal(s, interrupt.handle) for s in signals}
    try:
        yield interrupt
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)


def on_ctrl_c(interrupt: Interrupt) -> AbstractContextManager[None]:
    """Within the block Ctrl-C sets the flag, unless the program handles it in a way of its own."""
    return _handling([signal.SIGINT], signal.default_int_handler, interrupt.handle)


def heard() -> AbstractContextManager[None]:
    """Within the block Ctrl-C raises KeyboardInterrupt also while a kernel is compiled, unless the
    program handles it in a way of its own."""
    return _handling([signal.SIGINT], signal.default_int_handler, _break)


def unwound() -> AbstractContextManager[None]:
    """Within the block SIGTERM and SIGHUP unwind the stack, so that what was begun is removed,
    unless the program handles them in a way of its own, or ignores them. Those that come while that
    is done are ignored."""
    return _handling([signal.SIGTERM, signal.SIGHUP], signal.SIG_DFL, _leave)


def _leave(signum: int, frame: FrameType | None) -> None:
    for other in (signal.SIGTERM, signal.SIGHUP):  # a terminal that closes sends two
        if signal.getsignal(other) is _leave:
            signal.signal(other, signal.SIG_IGN)
    raise SystemExit(128 + signum)


@contextmanager
def _handling(signums: Iterable[signal.Signals], usual: Any, handler: Any) -> Iterator[None]:
    """Within the block a handler of those signals whose handler is the usual one. Only the main
    thread has any."""
    is_main = threading.current_thread() is threading.main_thread()
    ours = [signum for signum in signums if is_main and signal.getsignal(signum) is usual]
    try:
        for signum in ours:
            signal.signal(signum, handler)
        yield
    finally:
        for signum in ours:
            signal.signal(signum, usual)
