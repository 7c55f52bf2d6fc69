"""When a run that trains until it has converged is looked at, and what is looked for.

What is seen does not depend on the clock: a run ends at the same state on any machine. It is looked
at a third of the way to its maximum, or where half of it is past the start if that is later, and
then whenever it has become half as long again: the verdict rests on the newer half of a run.
"""

from __future__ import annotations

import math

from topicmc.models.lda.defaults import expected_updates
from topicmc.posterior.convergence import aligned
from topicmc.posterior.traces import traces
from topicmc.settings.config import TrainConfig
from topicmc.storage.runs import RunDirectory
from topicmc.topics.verdict import is_final

_FIRST = 1 / 3  # of the maximum
_LONGER = 1.5


def first_look(config: TrainConfig, n_docs: int) -> int:
    """The position of the first look at a run with these resolved settings."""
    if config.keeps_assignments:
        start, most = config.start_sweeps, config.epochs
    else:
        start, most = -(-config.anneal_updates // config.trajectory), None
        updates = expected_updates(config, n_docs)
        if updates is not None:
            most = updates / config.trajectory
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
