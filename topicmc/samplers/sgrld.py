"""Stochastic gradient Riemannian Langevin dynamics in the expanded-mean parametrisation.

    θ'_kw = | θ_kw + ε/2 (b_kw − θ_kw + N̂ Σ_d E[n_dkw − φ_kw n_dk·]) + √θ_kw ξ_kw |,  ξ_kw ~ N(0, ε)

with the sum over the documents of the minibatch, φ_kw = θ_kw / Σ_w θ_kw and N̂ = D/n (in D-SGLD,
N̂ = D_s / (q_s n)). This is Eqn 6.2 of Ahn's thesis, whose closing bracket is misplaced: the noise
stands outside the factor ε/2. For small ε the stationary law of φ is the posterior, and Σ_w θ_wk is
independent of it, Gamma(Σ_w b_kw, 1) as in the prior: minibatches do not pull on it. So θ lives on
the scale of the prior, not of the counts (as SCIR's does), and φ moves by the relative amount
ε/2 · N̂ n_k· / Σ_w θ_wk per update: a chain that starts with larger sums moves more slowly.

Convention: `step` is this ε. The code released by Patterson and Teh moves by ε·drift with noise
√(2ε θ), so its epsilon is half of this one.

References
----------
Patterson, S. and Teh, Y. W. (2013). Stochastic gradient Riemannian Langevin dynamics on the
    probability simplex. NIPS 26.
Ahn, S. (2015). Stochastic gradient MCMC: algorithms and applications. PhD thesis, University of
    California, Irvine. Eqn 6.2.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from topicmc.kernels import simplex
from topicmc.kernels.threads import Threads
from topicmc.samplers.eager import Eager
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.state import (
    Chain,
    TopicCounts,
    blockwise,
    check_step,
    finish_move,
    word_slots,
)


@dataclass(frozen=True)
class Sgrld(Eager):
    """SGRLD for topics with a Dirichlet prior."""

    prior: RowPrior
    kernel: ClassVar[Any] = simplex._langevin_blocks
    """The kernel of a move, by which its compilation is known to numba's cache."""
    start: ClassVar[str] = "plain"
    free_scale: ClassVar[bool] = True
    tokens_per_move: ClassVar[float] = 0.3
    paper: ClassVar[str] = (
        "Patterson, S. and Teh, Y. W. (2013). Stochastic gradient Riemannian Langevin dynamics on"
        " the probability simplex. Advances in Neural Information Processing Systems 26."
    )

    @staticmethod
    def initial_total(beta: float, n_words: int, n_topics: int, n_tokens: int) -> float:
        """On the scale of the prior, β W, but not so small that it would wander to zero."""
        return max(beta, 0.01) * n_words

    @staticmethod
    def steps(total: float, n_topics: int, n_tokens: int, *, kept: bool) -> tuple[float, ...]:
        """ε in proportion to the scale of θ: in an update φ moves by the relative amount
        ε/2 · (n_tokens / K) / total."""
        unit = total * n_topics / n_tokens
        return (0.1 * unit, 1.0, 0.0) if kept else (3.0 * unit, 20.0, 0.6)

    def move(
        self,
        chain: Chain,
        counts: TopicCounts,
        *,
        scale: float,
        step: float,
        key: np.uint64,
        threads: Threads,
    ) -> bool:
        """One update of chain.theta in place, by `scale` N̂ and `step` ε; whether the chain is
        finite."""
        check_step(step)
        n_words, n_topics = chain.theta.shape
        words = np.arange(n_words, dtype=np.int32)
        # Σ_d φ_kw n_dk· = φ_kw n_k·, so what multiplies −θ_kw is the same for all words of a topic.
        batch_sums = counts.counts[:, :n_topics].sum(axis=0, dtype=np.float64)
        shrink = (1.0 + scale * batch_sums / chain.topic_sums).astype(np.float32)
        sums = blockwise(
            simplex.langevin_blocks,
            chain.theta,
            words,
            word_slots(counts, n_words),
            counts.counts,
            shrink,
            self.prior.rows(n_words, n_topics),
            scale,
            step,
            key,
            np.uint32(chain.update),
            threads=threads,
        )
        return finish_move(chain, sums)
