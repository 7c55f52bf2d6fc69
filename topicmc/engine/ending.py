"""When a run ends: when what was asked for is done, or when it has converged.

Whether it has converged does not depend on the clock: a run ends at the same state on any machine.
It is looked at a third of the way to its maximum, or where half of it is past the start if that is
later, then whenever it has become half as long again, and at its end: the verdict rests on the
newer half of a run.
"""

from __future__ import annotations

import math

from topicmc.posterior.agreement import is_final
from topicmc.posterior.convergence import aligned
from topicmc.posterior.traces import traces
from topicmc.settings.groups import Run
from topicmc.storage.runs import RunDirectory

_FIRST = 1 / 3  # of the maximum
_LONGER = 1.5


def fraction(config: Run, epoch: int, *, update: int, items: int, seconds: float) -> float:
    """The fraction that is done, 1 or more at the end: of the updates, or else of the epochs, each
    of which draws ``epoch`` items, or of the time budget, whichever is used up first."""
    done = 0.0
    if config.updates is not None:
        done = update / config.updates
    elif config.epochs is not None:
        done = items / (config.epochs * epoch)
    if config.time_budget is not None:
        done = max(done, seconds / config.time_budget)
    return done


def first_look(start: int, most: float | None) -> int:
    """The position of the first look at a run whose start is so long, and which is at most so long
    where that is known."""
    return max(2 * start, math.ceil(_FIRST * (most or 0)))


def is_due(before: int, now: int, first: int) -> bool:
    """Whether a look lies in the positions after ``before``, up to ``now``."""
    look = float(first)
    while look <= before:
        look *= _LONGER
    return look <= now


def has_converged(run: RunDirectory) -> bool:
    """Whether the verdict on the chains of a run, by their traces, is one that more training would
    hardly change: they have converged, or rest in modes of their own.

    Raises DataError when the trace is damaged.
    """
    return is_final({name: aligned(list(of.values())) for name, of in traces(run).items()})
