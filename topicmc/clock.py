"""Training time, and what is due by it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from topicmc.config import Interval


class Clock:
    """Training seconds: it runs inside `running` only."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start


class Due:
    """Says when something that happens at every multiple of an `Interval` is due."""

    def __init__(self, interval: str, seconds: float, updates: int) -> None:
        self._interval = Interval.parse(interval)
        self._last = self._multiple(seconds, updates)

    def _multiple(self, seconds: float, updates: int) -> int:
        if self._interval.seconds is None:
            return updates // (self._interval.updates or 1)
        return int(seconds // self._interval.seconds)

    def __call__(self, seconds: float, updates: int) -> bool:
        multiple = self._multiple(seconds, updates)
        due, self._last = multiple > self._last, multiple
        return due
