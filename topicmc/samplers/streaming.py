"""The start of SCIR: moves by their means, which carry what has been seen.

In a start θ is not sampled but moved to where a CIR move goes in the mean,

    θ'_kw = e^−h θ_kw + (1 − e^−h) â_kw,

so that it holds decayed counts of the minibatches so far, as in streaming Gibbs sampling (Gao,
Chen and Zhu 2016). The gamma noise of a move, of the size of √θ, drowns what one minibatch says of
rarer words, and to draw it can take as long as to draw the topics of the tokens. Words wait as
ever. When the start is over θ is drawn from its law given these counts, Gamma(θ, 1).

References
----------
Gao, Y., Chen, J. and Zhu, J. (2016). Streaming Gibbs sampling for LDA model. arXiv:1601.01142.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topicmc.kernels import simplex
from topicmc.kernels.threads import Threads
from topicmc.samplers.lazy import LazyScir
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.scir import FORGETTING, Scir
from topicmc.samplers.state import Chain, TopicCounts, blockwise

_NOTHING = RowPrior(1e-30)  # below what a weight is stored as


@dataclass(frozen=True)
class StreamingScir(LazyScir):
    """`LazyScir` without noise, for states that are no samples."""

    def _transition(
        self, chain: Chain, counts: TopicCounts, slots: np.ndarray, steps: np.ndarray,
        scale: float, key: np.uint64, threads: Threads,
    ) -> np.ndarray:  # fmt: skip
        beta = self.prior.rows(*chain.theta.shape)
        return blockwise(
            simplex.mean_blocks, chain.theta, counts.words, steps, slots, counts.counts, beta,
            scale, threads=threads,
        )  # fmt: skip

    def enter(self, chain: Chain, *, key: np.uint64, threads: Threads) -> None:
        """Draws θ from Gamma(θ, 1), in place, once all words are up to date: the chain begins. It
        is no update."""
        self.settle(chain, key=key, threads=threads)
        everyone = np.arange(len(chain.theta), dtype=np.int32)
        Scir(_NOTHING).move(
            chain,
            TopicCounts(everyone, chain.theta.copy()),
            scale=1.0,
            step=FORGETTING,
            key=key,
            threads=threads,
        )
        chain.update -= 1
