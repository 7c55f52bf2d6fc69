"""The simplex of Baker's thesis (5.2.3, 5.3.2, B.5): 1,000 observations in ten categories.

A category is a word, and each topic of one chain is an independent replicate with minibatches of
its own. As in the thesis 1,000 updates are discarded and 1,000 kept, every step of Table B.5.1 is
tried, and the best one taken for each replicate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from topicmc.kernels.padding import padded_size
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.scir import Scir
from topicmc.samplers.sgrld import Sgrld
from topicmc.samplers.state import Chain, TopicCounts, sum_topics

SCIR_STEPS = (1.0, 5e-1, 1e-1, 5e-2, 1e-2, 5e-3, 1e-3)
_SGRLD = (5e-1, 1e-1, 5e-2, 1e-2, 5e-3, 1e-3, 5e-4, 1e-4)
SGRLD_STEPS = (*_SGRLD, *(2 * step for step in _SGRLD))
"""Table B.5.1, read in both conventions: as ε, and as Patterson and Teh's ε/2."""


@dataclass(frozen=True)
class Target:
    """A Dirichlet posterior of counts int64 (W,) under a symmetric prior."""

    observed: np.ndarray
    alpha: float = 0.1

    @property
    def posterior(self) -> np.ndarray:
        return self.observed + self.alpha


SPARSE = Target(np.array([800, 100, 100, 0, 0, 0, 0, 0, 0, 0]))
DENSE = Target(np.array([112, 119, 92, 98, 95, 96, 102, 92, 91, 103]))


class Released:
    """SGRLD with the drift of the code that was released beside the thesis (docs/errata.md)."""

    def __init__(self, prior: RowPrior) -> None:
        self._alpha = float(prior.base)
        self._generator = np.random.default_rng(0)

    def move(
        self, chain: Chain, batch: TopicCounts, *, scale: float, step: float, **_: Any
    ) -> None:
        theta = chain.theta.astype(np.float64)
        n = scale * batch.counts[:, : theta.shape[1]].astype(np.float64)
        mean = theta / theta.sum(axis=0) * n.sum(axis=0)
        drift = theta * (self._alpha - theta + n - mean) + 1
        noise = self._generator.normal(scale=np.sqrt(step), size=theta.shape)
        moved = np.abs(theta + step / 2 * drift + np.sqrt(theta) * noise)
        chain.theta[:] = np.where(np.isfinite(moved), moved, theta)  # large steps diverge


SAMPLERS: dict[str, tuple[Any, Sequence[float]]] = {
    "SCIR": (Scir, SCIR_STEPS),
    "SGRLD": (Sgrld, SGRLD_STEPS),
    "SGRLD, released drift": (Released, SGRLD_STEPS),
}


def sample(
    target: Target,
    sampler: Any,
    step: float,
    *,
    batch_size: int,
    n_replicates: int,
    seed: int,
    n_kept: int = 1000,
    n_discarded: int = 1000,
) -> np.ndarray:
    """Kept θ, float64 (n_kept, W, n_replicates); every replicate starts at θ = 1."""
    generator = np.random.default_rng(seed)
    theta = np.ones((target.observed.size, n_replicates), np.float32)
    chain = Chain(0, theta, sum_topics(theta))
    counts = np.zeros((target.observed.size, padded_size(n_replicates)), np.float32)
    batch = TopicCounts(np.arange(target.observed.size, dtype=np.int32), counts)
    key, threads, kept = stream_key(seed, "simplex"), Threads(1), []
    scale = target.observed.sum() / batch_size
    for update in range(n_discarded + n_kept):
        draws = generator.multivariate_hypergeometric(target.observed, batch_size, n_replicates)
        counts[:, :n_replicates] = draws.T
        sampler.move(chain, batch, scale=scale, step=step, key=key, threads=threads)
        if update >= n_discarded:
            kept.append(chain.theta.astype(float))
    return np.array(kept)


def distances(target: Target, theta: np.ndarray) -> np.ndarray:
    """Of θ (n, W, R), (R,): the mean over components of the Kolmogorov-Smirnov distances of the
    Rosenblatt transforms from the uniform law."""
    rest = np.cumsum(theta[:, ::-1], axis=1)[:, ::-1]
    rest_alpha = np.cumsum(target.posterior[::-1])[::-1]
    n, result = len(theta), []
    grid = np.arange(n + 1)[:, None] / n
    for j in range(target.observed.size - 1):
        law = stats.beta(target.posterior[j], rest_alpha[j + 1])
        u = np.sort(law.cdf(theta[:, j] / rest[:, j]), axis=0)
        result.append(np.maximum(grid[1:] - u, u - grid[:-1]).max(axis=0))
    return np.mean(result, axis=0)


def best(target: Target, sampler: Any, steps: Sequence[float], **options: Any) -> np.ndarray:
    """(R,): for each replicate the least distance over the steps, as the thesis chose them."""
    tried = [distances(target, sample(target, sampler, step, **options)) for step in steps]
    return np.nanmin(tried, axis=0)
