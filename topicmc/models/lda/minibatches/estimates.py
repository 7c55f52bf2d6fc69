"""Estimates of the counts of the whole corpus from a minibatch S, of which SCIR makes â = b + n̂.

With c_d = E_θ[n_dkw] and N̂ what the minibatch is scaled up by:

    plain   n̂ = N̂ Σ_{d∈S} c_d(θ)
    cv      n̂ = Σ_d c_d(θ̂) + N̂ Σ_{d∈S} (c_d(θ) − c_d(θ̂)),  θ̂ the state of some time ago
    saga    n̂ = Σ_d r_d + N̂ Σ_{d∈S} (c_d(θ) − r_d),  r_d what c_d was at the last visit of d

(Baker 2018, 3.3 and 5.6, where the last two are future work.) All are unbiased; saga is where S
does not depend on when documents were last visited. So its minibatches do not come in passes, in
which those of S are the ones visited longest ago, and n̂ runs ahead. But the estimates of cv and
saga can be negative where a gamma law has a shape b + n̂: they are taken for 0 then, which is a bias
upwards of small counts, and the share of the entries for which that is so is counted. Both say
something of all words, so that none waits. They take one worker, begin when the start of a chain
is over, with one pass over the documents, and cost a pass over θ in each update.

c_d is a mean over a few Gibbs sweeps. At θ̂ a document has as many, from the same kind of start,
whose error then cancels, and the uniforms that it has at θ. The r_d are kept as the topics of the
tokens in the sweeps that count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Protocol

import numpy as np

from topicmc.engine.state import Array, Number
from topicmc.kernels.batch import Minibatch
from topicmc.kernels.threads import Threads
from topicmc.models.lda.workers import WorkerDocuments
from topicmc.samplers.running_mean import MeanChain
from topicmc.samplers.state import Chain, TopicCounts

_PASSES = 4  # over the documents after which cv takes another θ̂


class Draws(Protocol):
    """Topics of a minibatch drawn given a chain's θ, or another."""

    def counts(self, theta: np.ndarray, topic_sums: np.ndarray, batch: Minibatch) -> np.ndarray:
        """Σ_d c_d of the words of the minibatch: float32 (B, K) or wider, padded by zeros."""

    def kept(self, theta: np.ndarray, topic_sums: np.ndarray, batch: Minibatch) -> np.ndarray:
        """The topics of its tokens in each sweep that counts: uint16 (T, S)."""


class Estimate(NamedTuple):
    """What a minibatch says of the corpus."""

    counts: TopicCounts
    """Of which ``scale`` times is n̂."""
    scale: float
    drawn: np.ndarray
    """Σ_{d∈S} c_d(θ): float32 (B, K) or wider."""


Estimator = Callable[[Any, Minibatch, float, Draws], Estimate]
"""What makes one of a chain, a minibatch, how many documents each of its stands for, and draws.
What it remembers is in the state of the chain."""


def plain(chain: Chain, batch: Minibatch, scale: float, draws: Draws) -> Estimate:
    """N̂ Σ_{d∈S} c_d."""
    counts = draws.counts(chain.theta, chain.topic_sums, batch)
    return Estimate(TopicCounts(batch.words, counts), scale, counts)


@dataclass
class WholeChain(MeanChain):
    """A chain that knows something of the counts of all documents."""

    clipped: Annotated[float, Number(float)] = 0.0
    """The share of the entries of n̂ that were negative at the last update."""


@dataclass
class AnchoredChain(WholeChain):
    """A chain with control variates at a former state."""

    anchor: Annotated[np.ndarray | None, Array(np.float32, "W", "K", travels=False)] = None
    """θ̂; None in the start."""
    anchor_counts: Annotated[np.ndarray | None, Array(np.float32, "W", "K", travels=False)] = None
    """Σ_d c_d(θ̂)."""
    anchored_at: Annotated[int, Number(int)] = 0
    """The update at which θ̂ was the state."""


@dataclass
class RecalledChain(WholeChain):
    """A chain that remembers what each document said at its last visit."""

    recalled: Annotated[np.ndarray | None, Array(np.uint16, "T", "S", travels=False)] = None
    """The topics of all tokens in S sweeps; None in the start."""
    recalled_sum: Annotated[np.ndarray | None, Array(np.int32, "W", "K", travels=False)] = None
    """S Σ_d r_d."""


STATES: dict[str, type[Chain]] = {"cv": AnchoredChain, "saga": RecalledChain}


class _OfAll:
    """What both have in common: the documents, pass by pass.

    Args:
        documents: all of the corpus.
        batch_size: how many are drawn together.
        threads: who gathers them.
    """

    def __init__(self, documents: WorkerDocuments, batch_size: int, threads: Threads) -> None:
        self._documents = documents
        self._batch_size = batch_size
        self._threads = threads

    def _batches(self) -> Iterator[Minibatch]:
        n, size = self._documents.n_docs, self._batch_size
        for first in range(0, n, size):
            ids = np.arange(first, min(first + size, n))
            yield self._documents.minibatch(ids, self._threads)

    @staticmethod
    def _estimate(
        chain: WholeChain, batch: Minibatch, whole: np.ndarray, change: np.ndarray, scale: float,
        drawn: np.ndarray,
    ) -> Estimate:  # fmt: skip
        """n̂ = whole + N̂ change, the one float32 (W, K), in whose place it is made, the other of the
        words of the minibatch; what is below 0 is 0."""
        n_words, n_topics = whole.shape
        whole[batch.words] += np.float32(scale) * change[:, :n_topics]
        chain.clipped = clip(whole)
        return Estimate(TopicCounts(np.arange(n_words, dtype=np.int32), whole), 1.0, drawn)


class ControlVariate(_OfAll):
    """Control variates at θ̂, the state at the end of the start, and then every few passes."""

    def __call__(
        self, chain: AnchoredChain, batch: Minibatch, scale: float, draws: Draws
    ) -> Estimate:
        every = _PASSES * -(-self._documents.n_docs // self._batch_size)
        if chain.anchor is None or chain.update - chain.anchored_at >= every:
            self._anchor(chain, draws)
        assert chain.anchor is not None and chain.anchor_counts is not None
        now = draws.counts(chain.theta, chain.topic_sums, batch)
        sums = chain.anchor.sum(axis=0, dtype=np.float64)
        change = now - draws.counts(chain.anchor, sums, batch)
        return self._estimate(chain, batch, chain.anchor_counts.copy(), change, scale, now)

    def _anchor(self, chain: AnchoredChain, draws: Draws) -> None:
        """Makes the state θ̂."""
        chain.anchor, chain.anchored_at = chain.theta.copy(), chain.update
        chain.anchor_counts = np.zeros_like(chain.theta)
        for batch in self._batches():
            counts = draws.counts(chain.theta, chain.topic_sums, batch)
            chain.anchor_counts[batch.words] += counts[:, : chain.theta.shape[1]]


class Saga(_OfAll):
    """Control variates at the last visit of each document."""

    def __init__(self, documents: WorkerDocuments, batch_size: int, threads: Threads) -> None:
        super().__init__(documents, batch_size, threads)
        self.offsets = documents.token_offsets()
        """int64 (D + 1,): where the tokens of a document begin."""

    def __call__(
        self, chain: RecalledChain, batch: Minibatch, scale: float, draws: Draws
    ) -> Estimate:
        if chain.recalled is None:
            self._recall(chain, draws)
        assert chain.recalled is not None and chain.recalled_sum is not None
        n_topics = chain.theta.shape[1]
        kept = draws.kept(chain.theta, chain.topic_sums, batch)
        here, sweeps = self._tokens_of(batch), np.float32(kept.shape[1])
        change = _counted(batch, kept, n_topics)
        drawn = np.divide(change, sweeps, dtype=np.float32)
        change -= _counted(batch, chain.recalled[here], n_topics)
        known, changed = (
            np.divide(counts, sweeps, dtype=np.float32) for counts in (chain.recalled_sum, change)
        )
        estimate = self._estimate(chain, batch, known, changed, scale, drawn)
        chain.recalled[here] = kept
        chain.recalled_sum[batch.words] += change
        return estimate

    def _recall(self, chain: RecalledChain, draws: Draws) -> None:
        """Visits every document."""
        chain.recalled_sum = np.zeros(chain.theta.shape, np.int32)
        for batch in self._batches():
            kept = draws.kept(chain.theta, chain.topic_sums, batch)
            if chain.recalled is None:
                chain.recalled = np.zeros((self.offsets[-1], kept.shape[1]), np.uint16)
            chain.recalled[self._tokens_of(batch)] = kept
            chain.recalled_sum[batch.words] += _counted(batch, kept, chain.theta.shape[1])

    def _tokens_of(self, batch: Minibatch) -> np.ndarray:
        """The places of the minibatch's tokens among all: int64 (T,)."""
        away = self.offsets[batch.doc_ids] - batch.offsets[:-1]
        return np.arange(batch.n_tokens) + np.repeat(away, np.diff(batch.offsets))


def clip(whole: np.ndarray) -> float:
    """Makes what is below 0 of some counts 0, in place; returns its share of the entries."""
    share = np.count_nonzero(whole < 0) / whole.size
    np.maximum(whole, 0, out=whole)
    return float(share)


def _counted(batch: Minibatch, kept: np.ndarray, n_topics: int) -> np.ndarray:
    """How often each word of a minibatch has each topic, in all sweeps: int32 (B, K)."""
    total = np.zeros(len(batch.words) * n_topics, np.int32)
    for topics in kept.T:
        places = batch.tokens.astype(np.intp) * n_topics + topics
        np.add.at(total, places, np.int32(1))
    return total.reshape(-1, n_topics)


ESTIMATORS: dict[str, type[ControlVariate] | type[Saga]] = {"cv": ControlVariate, "saga": Saga}
