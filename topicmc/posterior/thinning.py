"""Which positions of a chain are kept: a law that looks neither at the clock nor at what was kept.

Positions are sweeps, or trajectories of each chain (`topicmc.engine.method.Method.position`).
When a run is at position p, those in (p/2, p] that are multiples of a stride are kept; the stride
doubles as p grows, so that there are between half of ``samples`` and all of them. So the first half
of a run is burn-in, at whatever moment it is read, and what is kept depends on p alone: not on the
number of threads or workers, or on an interruption.
"""

import numpy as np


def stride(position: int, samples: int) -> int:
    """The smallest power of two with at most ``samples`` of its multiples in (p/2, p]."""
    result = 1
    while position // result - position // 2 // result > samples:
        result *= 2
    return result


def is_kept(position: int, now: int, samples: int) -> bool:
    """Whether the state at ``position`` is kept when a run is at position ``now``."""
    return now // 2 < position <= now and position % stride(now, samples) == 0


def number_kept(first: int, now: int, samples: int) -> int:
    """How many positions from ``first`` on are kept when a run is at position ``now``."""
    apart, before = stride(now, samples), max(first - 1, now // 2)
    return max(0, now // apart - before // apart)


def longest_kept(before: int, now: int) -> int:
    """The position that a state stands for when a run has gone from ``before`` to ``now``: the one
    of those passed that is kept longest, a multiple of the greatest power of two."""
    power = 1
    while now // (2 * power) > before // (2 * power):
        power *= 2
    return now // power * power


def evenly(n: int, most: int) -> list[int]:
    """Which of n samples to take, at most so many: evenly, the first and the last among them."""
    return np.linspace(0, n - 1, min(most, n)).round().astype(int).tolist()
