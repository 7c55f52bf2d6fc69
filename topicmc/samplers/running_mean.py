"""The posterior mean of θ by SCIR's zero-variance principle, from one running sum.

The generator of the CIR process, applied to θ, is â − θ (Baker 2018, 3.4, has −½ ∇log π in its
place, which is no use here: for shapes below 1 its mean does not exist). A move has E θ' = e^−h θ +
(1 − e^−h) â, so that over any time in which the chain is at rest

    Σ_t (1 − e^−h_t) (â_t − θ_t) = θ_T − θ_0 − Σ_t (θ_{t+1} − E θ_{t+1}),

whose mean is 0 but for what is of the two ends, for any steps and any minibatches. So â − θ is a
control variate for θ. With â_t of variance V̂, independent of each other, and steps of h, K times
the variance of a mean over K updates is

    of θ: V̂ + a coth(h/2),    of θ + (â − θ) = â: V̂,

and 1 is the best coefficient. The mean of θ is therefore told by the mean of â, for which no state
need be kept: words that are not in the minibatch have â = b_kw.

An update of step h at time t has the weight t³ (1 − e^−h). Its sum over the first half of a run is
a sixteenth of the whole where h stays the same, and a tenth where it falls as t^−0.6: what the mean
forgets needs no second array.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numba import njit

from topicmc.engine.state import Array, Number
from topicmc.kernels.threads import Threads
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.state import Chain, TopicCounts

_ROWS = 256  # of counts that are worth a thread's while


@dataclass
class MeanChain(Chain):
    """A chain with the running mean of what θ moves towards, which is empty while chains are
    averaged."""

    counts_sum: Annotated[np.ndarray | None, Array(np.float32, "W", "K")] = None
    """Σ_t v_t N̂ E[n_kw], with v_t the weights of the updates past the start; never None."""
    weight_sum: Annotated[float, Number(float)] = 0.0
    """Σ_t v_t."""

    def __post_init__(self) -> None:
        if self.counts_sum is None:
            self.counts_sum = np.zeros_like(self.theta)

    def empty(self) -> None:
        """Begins the mean anew."""
        assert self.counts_sum is not None
        if self.weight_sum > 0:
            self.counts_sum.fill(0)
            self.weight_sum = 0.0


def note(
    chain: MeanChain, counts: TopicCounts, *, scale: float, step: float, threads: Threads
) -> None:
    """Takes up the â of one update, before the move that it is for: ``scale`` is N̂, ``step`` h."""
    weight = -math.expm1(-step) * float(chain.update + 1) ** 3
    factor = np.float32(weight * scale)
    assert chain.counts_sum is not None

    def add(first: int, last: int, i: int) -> None:
        _add(chain.counts_sum, counts.words[first:last], counts.counts[first:last], factor)

    threads.run_over(add, len(counts.words), _ROWS)
    chain.weight_sum += weight


@njit(nogil=True, cache=True, error_model="numpy")
def _add(sums, words, counts, factor):
    for i in range(words.size):
        row, count = sums[words[i]], counts[i]
        for k in range(row.size):
            row[k] += factor * count[k]


def running_mean(chain: Chain, prior: RowPrior) -> np.ndarray | None:
    """The mean of θ: float32 (W, K), an estimate of the posterior mean and no sample; None where
    the chain keeps none, or is in its start still."""
    if not isinstance(chain, MeanChain) or chain.weight_sum == 0:
        return None
    assert chain.counts_sum is not None
    mean = chain.counts_sum * np.float32(1 / chain.weight_sum)
    prior.add_to(mean)
    return mean
