"""SCIR whose cost depends on the words of the minibatch, not on the vocabulary.

A word that is absent from the minibatch has â = b_kw, and CIR moves with the same â compose
(Chapman-Kolmogorov): moves of h₁ and h₂ are one move of h₁ + h₂ in law. So such a word waits, and
is moved over the time that has passed when it is next seen (`refresh`) or read (`settle`).

What holds. Given every â, the words have exactly the law of `Scir`, jointly, at the updates that
hold them and wherever they are settled. Meanwhile Σ_w θ_wk, by which φ is normalised when counts
are estimated, takes a waiting word at its conditional mean: `Chain.topic_sums` is the conditional
expectation of the eager chain's sums,

    S_k ← e^−h S_k + (1 − e^−h) B_k + Σ_{w in batch} (θ'_wk − e^−h θ_wk − (1 − e^−h) b_kw),

with B_k = Σ_w b_kw. It lacks noise of variance at most Σ_w (2 θ_wk t_w + b_kw t_w²), t_w the time
that w has waited: a relative error of about √(2t/S_k). After `settle` the sums are those of θ
itself.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topicmc.kernels import cir, simplex
from topicmc.kernels.threads import Threads
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.running_mean import MeanChain
from topicmc.samplers.scir import Scir
from topicmc.samplers.state import (
    Chain,
    TopicCounts,
    blockwise,
    check_step,
    is_finite,
    sum_topics,
    word_slots,
)

_WAITED = np.uint64(0x6A09E667F3BCC909)  # tells the draws of a refresh from those of a move


@dataclass(frozen=True)
class LazyScir:
    """SCIR with waiting words.

    Per update: `refresh` the words of the minibatch, estimate their counts from the refreshed θ,
    then `move`. Call `settle` before θ is read as a whole, averaged, or handed to another worker.
    A word of the minibatch that has waited costs two transitions, so where the minibatch holds more
    than a share ``waits_below`` of the words, all are moved and none waits.
    """

    prior: RowPrior
    waits_below: float = 0.5
    state: ClassVar[type[Chain]] = MeanChain
    start: ClassVar[str] = "stream"
    waits: ClassVar[bool] = True
    free_scale: ClassVar[bool] = False
    tokens_per_move: ClassVar[float] = 3.0
    paper: ClassVar[str] = (
        "Baker, J., Fearnhead, P., Fox, E. B. and Nemeth, C. (2018). Large-scale stochastic"
        " sampling from the probability simplex. Advances in Neural Information Processing"
        " Systems 31."
    )

    @classmethod
    def whole(cls) -> type[Scir]:
        """Eager moves."""
        return Scir

    @staticmethod
    def initial_total(beta: float, n_words: int, n_topics: int, n_tokens: int) -> float:
        """On the scale of the counts."""
        return beta * n_words + n_tokens / n_topics

    @staticmethod
    def steps(total: float, n_topics: int, n_tokens: int, *, kept: bool) -> tuple[float, ...]:
        """The steps that reached each perplexity soonest."""
        return (3.0, 1.0, 0.0) if kept else (0.5, 20.0, 0.6)

    def refresh(self, chain: Chain, words: np.ndarray, *, key: np.uint64, threads: Threads) -> None:
        """Moves `words` (int32, distinct, ascending) by the time that each has waited."""
        if chain.moved_at is None:
            return
        waited = chain.clock - chain.moved_at[words]
        late = waited > 0
        words, waited = words[late], waited[late]
        nobody = TopicCounts(words, np.empty((0, chain.theta.shape[1]), np.float32))
        slots = np.full(len(words), -1, np.int32)
        expected = self._expected(chain, words, waited, threads)
        key = np.uint64(key ^ _WAITED)
        moved = self._transition(chain, nobody, slots, waited, 1.0, key, threads)
        chain.topic_sums = chain.topic_sums + (moved - expected)
        chain.moved_at[words] = chain.clock

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
        """One update of the words of `counts`, which must be fresh, by `scale` N̂ and `step` h;
        whether the chain is finite."""
        check_step(step)
        n_words, words = len(chain.theta), counts.words
        if chain.moved_at is not None and np.any(chain.moved_at[words] != chain.clock):
            raise ValueError("refresh the words of a minibatch before they are moved")
        if len(words) > self.waits_below * n_words:
            self._move_all(chain, counts, scale, step, key, threads)
        else:
            if chain.moved_at is None:
                chain.moved_at = np.full(n_words, chain.clock)
            slots = np.arange(len(words), dtype=np.int32)
            steps = np.full(len(words), float(step))
            expected = self._expected(chain, words, steps, threads)
            moved = self._transition(chain, counts, slots, steps, scale, key, threads)
            # All words as if absent, then what the words of the batch have gained over that.
            gain = self.prior.totals(n_words, chain.theta.shape[1], -np.expm1(-step))
            chain.topic_sums = np.exp(-step) * chain.topic_sums + gain + (moved - expected)
            chain.clock += step
            chain.moved_at[words] = chain.clock
        chain.update += 1
        return is_finite(chain)

    def _move_all(
        self,
        chain: Chain,
        counts: TopicCounts,
        scale: float,
        step: float,
        key: np.uint64,
        threads: Threads,
    ) -> None:
        """Every word by the time that it has waited and the step."""
        n_words = len(chain.theta)
        everyone = TopicCounts(np.arange(n_words, dtype=np.int32), counts.counts)
        steps = np.full(n_words, float(step))
        if chain.moved_at is not None:
            steps += chain.clock - chain.moved_at
        slots = word_slots(counts, n_words)
        chain.topic_sums = self._transition(chain, everyone, slots, steps, scale, key, threads)
        chain.clock += step
        chain.moved_at = None

    def settle(self, chain: Chain, *, key: np.uint64, threads: Threads) -> None:
        """Brings every word up to date and renews the topic sums from θ."""
        everyone = np.arange(len(chain.theta), dtype=np.int32)
        self.refresh(chain, everyone, key=key, threads=threads)
        chain.topic_sums = sum_topics(chain.theta, threads)
        chain.moved_at = None

    def _expected(
        self, chain: Chain, words: np.ndarray, steps: np.ndarray, threads: Threads
    ) -> np.ndarray:
        """Σ E[θ'] of some words if they were absent for so long: float64 (K,)."""
        n_words, n_topics = chain.theta.shape
        beta = self.prior.rows(n_words, n_topics, np.float64)
        return blockwise(simplex.decayed_blocks, chain.theta, words, steps, beta, threads=threads)

    def _transition(
        self,
        chain: Chain,
        counts: TopicCounts,
        slots: np.ndarray,
        steps: np.ndarray,
        scale: float,
        key: np.uint64,
        threads: Threads,
    ) -> np.ndarray:
        """Moves counts.words; returns Σ θ' over them, float64 (K,)."""
        return blockwise(
            cir.cir_blocks,
            chain.theta,
            counts.words,
            steps,
            slots,
            counts.counts,
            self.prior.rows(*chain.theta.shape),
            scale,
            key,
            np.uint32(chain.update),
            threads=threads,
        )
