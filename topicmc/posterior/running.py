"""The standard error of a running mean, from what was recorded of it while it grew.

Let g be nearly linear about the mean of some x_t with weights v_t, and let g(x̄) and Σ v_t be
recorded from time to time. Then Σ v_t g(x̄) grows between two records by the weight of the updates
in between times their mean of g. These means are put together in batches of equal weight, about √n
of n records, so that batches hardly resemble their neighbours, and how much they differ tells how
far the mean is off (batch means; Glynn & Whitt 1991).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

RUNNING, WEIGHT = "running log likelihood", "running weight"
"""What a trace calls g(x̄) and Σ v_t."""
FEWEST = 16
"""Records from which a standard error is told."""


def running_errors(trace: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    """The standard error, by chain, of the log likelihood under the running mean, from the records
    of a trace; of chains with enough of them. A mean that has begun again has less weight than it
    had, or comes after records without one, as of averaged chains: what was recorded before is of
    another."""
    records: dict[str, list[tuple[float, float]]] = {}
    for record in trace:
        for chain, scalars in record["chains"].items():
            own = records.setdefault(chain, [])
            keeps = RUNNING in scalars and WEIGHT in scalars
            if own and not (keeps and scalars[WEIGHT] >= own[-1][0]):
                own.clear()
            if keeps:
                own.append((scalars[WEIGHT], scalars[RUNNING]))
    return {
        int(chain): standard_error(*np.array(pairs, np.float64).T)
        for chain, pairs in records.items()
        if len(pairs) >= FEWEST
    }


def standard_error(weights: np.ndarray, means: np.ndarray) -> float:
    """The standard error of the last of some running means (n,), by their growing weights (n,);
    NaN for one batch."""
    grown, sums = np.diff(weights, prepend=0.0), np.diff(weights * means, prepend=0.0)
    n_batches = math.isqrt(len(weights))
    batch = np.minimum((n_batches * weights / weights[-1]).astype(int), n_batches - 1)
    weight = np.bincount(batch, grown, n_batches)
    full = weight > 0
    weight, value = weight[full], np.bincount(batch, sums, n_batches)[full] / weight[full]
    if len(weight) < 2:
        return math.nan
    share = weight / weight.sum()
    squares = (share**2 * (value - means[-1]) ** 2).sum()
    return float(np.sqrt(squares / (1 - (share**2).sum())))
