"""Processes of others that tests end, and wait for."""

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether a process still runs; a zombie nobody has waited for does not."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_for_the_end_of(processes: Iterable[int], seconds: float) -> None:
    """Fails when one of them still runs after so many seconds."""
    deadline = time.monotonic() + seconds
    while any(map(alive, processes)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
