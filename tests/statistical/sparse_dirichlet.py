"""The sparse Dirichlet of Baker's thesis (§5.2.3, B.5), sampled by the samplers of topicmc.

1,000 observations in ten categories, 800, 100 and 100 in the first three, prior α = 0.1: the
posterior is Dir(800.1, 100.1, 100.1, 0.1 × 7). A category is a word; each topic of one chain is an
independent replicate with minibatches of its own. As in the thesis: 1,000 updates are discarded,
1,000 kept, and the distance of a replicate is the mean over components of the Kolmogorov-Smirnov
distances of the Rosenblatt transforms from the uniform law.
"""

import numpy as np
from scipy import stats

from topicmc.kernels.padding import padded_size
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.samplers.state import Chain, TopicCounts, sum_topics

OBSERVED = np.array([800, 100, 100, 0, 0, 0, 0, 0, 0, 0])
ALPHA = 0.1
POSTERIOR = OBSERVED + ALPHA
N = int(OBSERVED.sum())
SCIR_STEPS = (1.0, 5e-1, 1e-1, 5e-2, 1e-2, 5e-3, 1e-3)
_SGRLD = (5e-1, 1e-1, 5e-2, 1e-2, 5e-3, 1e-3, 5e-4, 1e-4)
SGRLD_STEPS = (*_SGRLD, *(2 * step for step in _SGRLD))
"""Table B.5.1, read in both conventions: as ε, and as Patterson and Teh's ε/2."""


def sample(sampler, step, *, batch_size, n_replicates, seed, n_kept=1000, n_discarded=1000):
    """Kept θ, float64 (n_kept, 10, n_replicates); every replicate starts at θ = 1."""
    generator = np.random.default_rng(seed)
    theta = np.ones((OBSERVED.size, n_replicates), np.float32)
    chain = Chain(0, theta, sum_topics(theta))
    counts = np.zeros((OBSERVED.size, padded_size(n_replicates)), np.float32)
    batch = TopicCounts(np.arange(OBSERVED.size, dtype=np.int32), counts)
    key, threads, kept = stream_key(seed, "sparse dirichlet"), Threads(1), []
    for update in range(n_discarded + n_kept):
        draws = generator.multivariate_hypergeometric(OBSERVED, batch_size, n_replicates)
        counts[:, :n_replicates] = draws.T
        sampler.move(chain, batch, scale=N / batch_size, step=step, key=key, threads=threads)
        if update >= n_discarded:
            kept.append(chain.theta.astype(float))
    return np.array(kept)


def distances(theta):
    """Mean Kolmogorov-Smirnov distance of each replicate of θ (n_kept, 10, n_replicates)."""
    rest = np.cumsum(theta[:, ::-1], axis=1)[:, ::-1]
    rest_alpha = np.cumsum(POSTERIOR[::-1])[::-1]
    n, result = len(theta), []
    grid = np.arange(n + 1)[:, None] / n
    for j in range(OBSERVED.size - 1):
        law = stats.beta(POSTERIOR[j], rest_alpha[j + 1])
        u = np.sort(law.cdf(theta[:, j] / rest[:, j]), axis=0)
        result.append(np.maximum(grid[1:] - u, u - grid[:-1]).max(axis=0))
    return np.mean(result, axis=0)


def best(sampler, steps, **options):
    """For each replicate, the least distance over the steps, as the thesis chose them."""
    return np.min([distances(sample(sampler, step, **options)) for step in steps], axis=0)
