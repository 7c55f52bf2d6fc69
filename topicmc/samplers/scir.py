"""The stochastic Cox-Ingersoll-Ross process: exact moves, no discretisation error.

Each θ_kw follows the CIR process dθ = (â − θ) dt + √(2θ) dW for a time h, with
â_kw = b_kw + N̂ Σ_d E[n_dkw] estimated from the minibatch; its stationary law is Gamma(â_kw, 1). The
transition (Baker's thesis, Eqn 5.3.3, Algorithm 3) is

    θ'_kw = (1 − e^−h)/2 · V,    V ~ noncentral χ²(2 â_kw, 2 θ_kw e^−h / (1 − e^−h)),

or as a mixture, θ'_kw = (1 − e^−h) Gamma(â_kw + P, 1) with P ~ Poisson(θ_kw e^−h / (1 − e^−h)).
`topicmc.kernels.cir` says how it is drawn. `step` is h. After M moves of h from θ_0, with V̂ the
variance of â (Corollary 5.4.2):

    E θ_M   = θ_0 e^−Mh + a (1 − e^−Mh),
    Var θ_M = 2 θ_0 (e^−Mh − e^−2Mh) + a (1 − e^−Mh)² + (1 − e^−2Mh) (1 − e^−h)/(1 + e^−h) V̂.

References
----------
Baker, J. (2018). Large-scale Bayesian computation using stochastic gradient Markov chain Monte
    Carlo. PhD thesis, Lancaster University. Chapter 5.
Baker, J., Fearnhead, P., Fox, E. B. and Nemeth, C. (2018). Large-scale stochastic sampling from the
    probability simplex. NeurIPS 31.
van Dyk, D. and Park, T. (2008). Partially collapsed Gibbs samplers: theory and methods. JASA 103.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from topicmc.kernels import cir
from topicmc.kernels.simplex import FLOOR
from topicmc.kernels.threads import Threads
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.state import (
    Chain,
    TopicCounts,
    blockwise,
    check_step,
    finish_move,
    sum_topics,
    word_slots,
)

FORGETTING = 50.0  # a time after which a CIR process does not know where it began


@dataclass(frozen=True)
class Scir:
    """SCIR for topics with a Dirichlet prior."""

    prior: RowPrior
    state: ClassVar[type[Chain]] = Chain
    kernel: ClassVar[Any] = cir._cir_blocks
    """The kernel of a move, by which its compilation is known to numba's cache."""

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
        """One update of chain.theta in place, by `scale` N̂ and `step` h; whether the chain is
        finite."""
        check_step(step)
        n_words, n_topics = chain.theta.shape
        words = np.arange(n_words, dtype=np.int32)
        steps = np.full(n_words, float(step))
        sums = blockwise(
            cir.cir_blocks,
            chain.theta,
            words,
            steps,
            word_slots(counts, n_words),
            counts.counts,
            self.prior.rows(n_words, n_topics),
            scale,
            key,
            np.uint32(chain.update),
            threads=threads,
        )
        return finish_move(chain, sums)

    def redraw_sums(
        self, chain: Chain, totals: np.ndarray, *, key: np.uint64, threads: Threads
    ) -> None:
        """Draws the sums Σ_w θ_wk anew given the topics of all tokens, Gamma(B_k + n_k, 1), and
        scales θ to them, in place. φ stays as it is. totals: n_k (K,).

        Tokens are drawn given φ, whatever its sums, which are then behind. A move changes φ by an
        amount that falls with Σ_w θ_wk; with sums left behind, φ would dwell where n_k has been
        large. With sums that are independent of φ given the topics of the tokens, a move keeps the
        law of φ (partial collapsing: what was integrated out in one draw is drawn before anything
        is conditioned on it; van Dyk and Park 2008).
        """
        n_words, n_topics = chain.theta.shape
        one = Chain(0, np.ones((1, n_topics), np.float32), np.ones(n_topics), chain.update)
        counts = np.zeros((1, n_topics), np.float32)
        counts[0, : len(totals)] = totals
        Scir(self.prior.summed(n_words)).move(
            one,
            TopicCounts(np.zeros(1, np.int32), counts),
            scale=1.0,
            step=FORGETTING,
            key=key,
            threads=threads,
        )
        chain.theta *= (one.topic_sums / chain.topic_sums).astype(np.float32)
        np.maximum(chain.theta, FLOOR, out=chain.theta)
        chain.topic_sums = sum_topics(chain.theta, threads)
