"""Training on documents as they come: one SCIR move of a chain for each minibatch.

It is an update as of `topicmc train --sampler scir`, but with five sweeps, of documents that are at
hand instead of drawn from a corpus. The chain samples the topics of a corpus of so many documents,
of which those that come are taken for a random sample; so they should come in random order.

A chain that begins anew first finds its topics, while β falls from 1 to its value. This start is as
many updates as minibatches make up the corpus, but 50 at least and 128 at most; it holds no
posterior sample. One that goes on from samples of `fit` or a run has none: each of these counts as
an update, so that they have all made room for newer ones when as many updates have been made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np

from topicmc.corpora import Documents
from topicmc.errors import DivergedError
from topicmc.kernels.assignments import sample_assignments
from topicmc.kernels.batch import gather
from topicmc.kernels.gibbs import topic_rows
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.lda.samples import phi_of
from topicmc.posterior.thinning import is_kept
from topicmc.samplers.lazy import LazyScir
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.scir import Scir
from topicmc.samplers.state import Chain, TopicCounts, initial_chain, sum_topics
from topicmc.samplers.steps import annealed_beta, step_size

LEAST_START, MOST_START = 50, 128
"""Updates of a start."""
_STEP = 0.5, 20.0, 0.6  # a, b, c of the step of update t, a (1 + t/b)^−c
_SWEEPS, _BURN_IN = 5, 2


def length_of_start(n_batches: float) -> int:
    """Updates of a start, where so many minibatches make up the corpus."""
    return min(max(round(n_batches), LEAST_START), MOST_START)


@dataclass
class Stream:
    """A chain and the samples kept of it by the law of `topicmc.posterior.thinning`."""

    chain: Chain
    alpha: np.ndarray
    """float64 (K,): the prior of the mixes."""
    prior: RowPrior
    n_samples: int
    seed: int
    start: int
    """Updates until β has come to its value."""
    first: int
    """The first position at which the state is a posterior sample."""
    position: int = 0
    """That of the present state: updates, and samples that it began with."""
    positions: list[int] = field(default_factory=list)
    """Those at which samples were kept."""
    samples: list[np.ndarray] = field(default_factory=list)
    """Their φ, float32 (K, W); the present one during the start. Also Σ_w θ_wk, float64 (K,):"""
    sums: list[np.ndarray] = field(default_factory=list)

    @classmethod
    def begin(
        cls,
        n_words: int,
        alpha: np.ndarray,
        prior: RowPrior,
        *,
        n_tokens: float,
        n_batches: float,
        n_samples: int,
        seed: int,
    ) -> Stream:
        """At its start, for a corpus of some ``n_tokens`` tokens in some ``n_batches``."""
        n_topics = len(alpha)
        total = LazyScir.initial_total(prior.base, n_words, n_topics, round(n_tokens))
        chain = initial_chain(0, n_words, n_topics, prior=prior, total=total, seed=seed)
        start = length_of_start(n_batches)
        return cls(chain, alpha, prior, n_samples, seed, start, first=start + 1)

    @classmethod
    def begin_with(
        cls,
        alpha: np.ndarray,
        prior: RowPrior,
        *,
        phi: np.ndarray,
        sums: np.ndarray,
        n_batches: float,
        n_samples: int,
        seed: int,
    ) -> Stream:
        """At its start, with topics φ (K, W) that are no posterior sample, of sums (K,) of θ."""
        theta = np.ascontiguousarray(phi.T) * sums.astype(np.float32)
        start = length_of_start(n_batches)
        chain = Chain(0, theta, sum_topics(theta), 0)
        return cls(chain, alpha, prior, n_samples, seed, start, first=start + 1)

    @classmethod
    def go_on(
        cls,
        alpha: np.ndarray,
        prior: RowPrior,
        *,
        draw: Callable[[int], np.ndarray],
        sums: list[np.ndarray],
        n_samples: int,
        seed: int,
    ) -> Stream:
        """Behind its start, from the last of some samples: ``draw`` gives the φ (K, W) of each, and
        ``sums`` are those of θ, (K,). Samples that the next update leaves no room for are not
        drawn."""
        number = len(sums)
        last = draw(number - 1)
        theta = np.ascontiguousarray(last.T) * sums[-1].astype(np.float32)
        chain = Chain(0, theta, sum_topics(theta), MOST_START)
        kept = [p for p in range(1, number + 1) if is_kept(p, number + 1, n_samples)]
        return cls(
            chain, alpha, prior, n_samples, seed, MOST_START, 1, number, kept,
            [last if p == number else draw(p - 1) for p in kept], [sums[p - 1] for p in kept],
        )  # fmt: skip

    def copy(self) -> Stream:
        """One that goes on, while this one stays as it is."""
        return replace(self, chain=replace(self.chain, theta=self.chain.theta.copy()))

    @property
    def is_starting(self) -> bool:
        """Whether there is no posterior sample yet."""
        return self.position < self.first

    def update(self, documents: Documents, scale: float, threads: Threads) -> None:
        """One move, on documents that stand for ``scale`` times as many.

        Raises DivergedError when the weights stop being numbers.
        """
        chain, now = self.chain, self.chain.update
        prior = self.prior.with_base(annealed_beta(now, self.prior.base, self.start))
        finite = Scir(prior).move(
            chain,
            self._expected_counts(documents, threads),
            scale=scale,
            step=step_size(now, *_STEP),
            key=stream_key(self.seed, "stream move"),
            threads=threads,
        )
        if not finite:
            raise DivergedError(f"the chain diverged at update {now}; raise batch_size")
        self.position += 1

    def _expected_counts(self, documents: Documents, threads: Threads) -> TopicCounts:
        chain = self.chain
        arrays = documents.indptr, documents.word_ids, documents.counts
        batch = gather(*arrays, np.arange(documents.n_docs), len(chain.theta), threads)
        assignments = sample_assignments(
            batch,
            topic_rows(chain.theta, chain.topic_sums, batch.words, threads),
            padded_topics(self.alpha),
            sweeps=_SWEEPS,
            burn_in=_BURN_IN,
            key=stream_key(self.seed, "stream gibbs"),
            update=chain.update,
            threads=threads,
        )
        return TopicCounts(batch.words, assignments.mean_word_topic(threads))

    def keep(self, threads: Threads) -> None:
        """Forgets samples that are no longer kept, and takes the present state for one, if it is to
        be or there is none."""
        now = self.position
        stays = [p >= self.first and is_kept(p, now, self.n_samples) for p in self.positions]
        self.positions = list(compress(self.positions, stays))
        self.samples = list(compress(self.samples, stays))
        self.sums = list(compress(self.sums, stays))
        if not self.samples or is_kept(now, now, self.n_samples):
            self.positions.append(now)
            self.samples.append(phi_of(self.chain.theta, threads).astype(np.float32))
            self.sums.append(np.array(self.chain.topic_sums))
