"""Schedules: the size of a step, and the prior of an annealed start."""


def step_size(t: int, a: float, b: float, c: float) -> float:
    """a (1 + t/b)^−c: the step of update t (Patterson and Teh 2013)."""
    return a * (1.0 + t / b) ** -c


def annealed_beta(t: int, beta: float, n_updates: int) -> float:
    """β at update t of a start that lowers it from 1 to its target over n updates, as a power of t:
    quickly first, so that a run cut short has sharp topics too.

    Under a large β topics are blunt and words move between them freely, so that a chain finds
    better ones than it would under the target at once; where the target is above 1 nothing changes.
    """
    if t >= n_updates or beta >= 1:
        return beta
    return (1 + t / n_updates * (beta ** (-1 / 3) - 1)) ** -3
