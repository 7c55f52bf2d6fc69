"""Many independent SCIR entries at once, for tests of their law: each entry of θ is a replicate."""

import numpy as np
from scipy import stats

from topicmc.kernels.padding import padded_size
from topicmc.kernels.random import stream_key
from topicmc.kernels.simplex import FLOOR
from topicmc.kernels.threads import Threads
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.scir import Scir
from topicmc.samplers.state import Chain, TopicCounts, sum_topics

N_TOPICS = 100
BETA = 1e-5
NOBODY = TopicCounts(np.empty(0, np.int32), np.empty((0, N_TOPICS), np.float32))
ONE = Threads(1)


def replicates(theta: float, n: int) -> Chain:
    """A chain of n entries, all θ; n is a multiple of N_TOPICS."""
    values = np.full((n // N_TOPICS, N_TOPICS), theta, np.float32)
    return Chain(0, values, sum_topics(values))


def everyone(shape, chain: Chain) -> TopicCounts:
    """Counts that give the entries the parameter â = shape, a number or one per entry."""
    counts = np.zeros((chain.theta.shape[0], padded_size(N_TOPICS)), np.float32)
    counts[:, :N_TOPICS] = np.asarray(shape) - BETA
    return TopicCounts(np.arange(len(counts), dtype=np.int32), counts)


def moved(chain: Chain, shape: float, step: float, *, absent: bool, seed: int = 1) -> Chain:
    """One move of every entry with â = shape, as words absent from the batch (â = β) or in it."""
    counts = NOBODY if absent else everyone(shape, chain)
    sampler = Scir(RowPrior(shape if absent else BETA))
    key = stream_key(seed, "move")
    assert sampler.move(chain, counts, scale=1.0, step=step, key=key, threads=ONE)
    return chain


def same_law(x, y) -> float:
    """p-value of the two-sample Kolmogorov-Smirnov test; both are floored as θ is."""
    x, y = (np.maximum(np.asarray(v, np.float32).ravel(), FLOOR) for v in (x, y))
    return stats.ks_2samp(x, y, method="asymp").pvalue
