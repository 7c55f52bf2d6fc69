"""Training time, and what is due by it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from topicmc.settings.values import Interval


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

    def __init__(self, interval: Interval, seconds: float, updates: int) -> None:
        self._interval = interval
        self._last = self._multiples(seconds, updates)

    def _multiples(self, seconds: float, updates: int) -> int:
        """How many there have been."""
        by_time = seconds // self._interval.seconds if self._interval.seconds else 0
        by_updates = updates // self._interval.updates if self._interval.updates else 0
        return int(by_time + by_updates)

    def __call__(self, seconds: float, updates: int) -> bool:
        multiples = self._multiples(seconds, updates)
        due, self._last = multiples > self._last, multiples
        return due
