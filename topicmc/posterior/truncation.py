"""Which samples of a chain a mean is best made of: those past the point at which its fit comes to
rest.

The first half of a run is burn-in by rule, yet a short run may still climb in its second half. Then
what a mean gains from more samples is less than what it loses by older ones. The samples to leave
out are told by the marginal standard error rule (MSER; White 1997, "An effective truncation
heuristic for bias reduction in simulation output"): of the log likelihoods x_1 … x_n of some
held-out documents leave out the first d, with

    d = argmin Σ_{i > d} (x_i − x̄_{> d})² / (n − d)²,

where x̄_{> d} is the mean of those that are left, at least a quarter: the variance of a few may be
small by chance. Where the log likelihood moves by less than 0.025 all samples are taken: a mean
over more of them gains more than that. (So it did on KOS, by 0.9 %. And the log joint, which climbs
when perplexity has long been level, would have lost 1.6 % there.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from topicmc.posterior.traces import LOG_LIKELIHOOD, Recorded, chain_trace
from topicmc.storage.runs import of_each_chain

_LEAST, _FEWEST = 0.25, 4  # that are left: a share of the values; samples
_LEVEL = 0.025  # between the first and the last quarter of the values, in nats a token


def at_rest(run: Recorded, entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of the index entries of samples, oldest first, those past the truncation of their chain; all
    of a chain whose log likelihood was not recorded, or which is in its start.

    Raises DataError when the trace is damaged.
    """
    return of_each_chain(entries, partial(_of_chain, run))


def _of_chain(run: Recorded, entries: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    if any(entry["burn_in"] or "position" not in entry for entry in entries):
        return entries
    positions, values = chain_trace(run, LOG_LIKELIHOOD, entries[0]["chain"])
    here = np.isfinite(values) & (positions >= entries[0]["position"])
    positions, values = positions[here], values[here]
    quarter = len(values) // 4
    if quarter == 0 or abs(values[-quarter:].mean() - values[:quarter].mean()) < _LEVEL:
        return entries
    first = positions[truncation(values)]
    older = sum(entry["position"] < first for entry in entries)
    return entries[max(0, min(older, len(entries) - _FEWEST)) :]


def truncation(values: np.ndarray) -> int:
    """How many of the first values, float (n,), MSER leaves out."""
    if len(values) < 2:
        return 0
    rest = values - values.mean()  # so that no digits are lost in the difference of squares
    n_left = np.arange(len(values), max(2, math.ceil(_LEAST * len(values))) - 1, -1)
    sums = np.cumsum(rest[::-1])[::-1][: len(n_left)]
    squares = np.cumsum(rest[::-1] ** 2)[::-1][: len(n_left)]
    return int(np.argmin((squares - sums**2 / n_left) / n_left**2))
