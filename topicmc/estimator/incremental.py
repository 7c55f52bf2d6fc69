"""Training on documents as they come: one SCIR move of a chain for each minibatch.

It is an update of `topicmc train --sampler scir`, of documents that are at hand instead of drawn
from a corpus. The chain samples the topics of a corpus of so many documents, of which those that
come are taken for a random sample; so they should come in random order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress

import numpy as np

from topicmc.corpora import Documents
from topicmc.errors import DivergedError
from topicmc.kernels.batch import gather
from topicmc.kernels.gibbs import sample_assignments, topic_rows
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.posterior.samples import phi_of
from topicmc.posterior.thinning import is_kept
from topicmc.samplers import Chain, TopicCounts, annealed_beta, initial_chain, step_size, sum_topics
from topicmc.samplers.scir import Scir

START = 128
"""Updates over which β falls from 1 to its value; states behind them are posterior samples."""
_STEP = 0.5, 20.0, 0.6  # a, b, c of the step of update t, a (1 + t/b)^−c
_SWEEPS, _BURN_IN = 5, 2


@dataclass
class Stream:
    """A chain and the samples kept of it by the law of `topicmc.posterior.thinning`, as arrays."""

    chain: Chain
    alpha: np.ndarray
    """float64 (K,): the prior of the mixes."""
    beta: float
    n_samples: int
    seed: int
    numbers: list[int] = field(default_factory=list)
    """The updates after which samples were kept."""
    samples: list[np.ndarray] = field(default_factory=list)
    """Their φ, float32 (K, W); the present one during the start."""

    @classmethod
    def begin(
        cls,
        n_words: int,
        alpha: np.ndarray,
        beta: float,
        *,
        n_tokens: float,
        n_samples: int,
        seed: int,
    ) -> Stream:
        """At its start, for a corpus of some ``n_tokens`` tokens."""
        n_topics, n_tokens = len(alpha), round(n_tokens)
        chain = initial_chain(0, n_words, n_topics, beta=beta, n_tokens=n_tokens, seed=seed)
        return cls(chain, alpha, beta, n_samples, seed)

    @classmethod
    def go_on(
        cls,
        theta: np.ndarray,
        alpha: np.ndarray,
        beta: float,
        *,
        samples: list[np.ndarray],
        n_samples: int,
        seed: int,
    ) -> Stream:
        """Behind its start, at a state θ, float32 (W, K), of a chain with some samples."""
        chain = Chain(0, theta, sum_topics(theta), START)
        return cls(chain, alpha, beta, n_samples, seed, [START] * len(samples), samples)

    def update(self, documents: Documents, scale: float, threads: Threads) -> None:
        """One move, on documents that stand for ``scale`` times as many.

        Raises DivergedError when the weights stop being numbers.
        """
        chain, now = self.chain, self.chain.update
        info = Scir(annealed_beta(now, self.beta, START)).move(
            chain,
            self._expected_counts(documents, threads),
            scale=scale,
            step=step_size(now, *_STEP),
            key=stream_key(self.seed, "move"),
            threads=threads,
        )
        if not info.finite:
            raise DivergedError(f"the chain diverged at update {now}; raise batch_size")

    def _expected_counts(self, documents: Documents, threads: Threads) -> TopicCounts:
        chain = self.chain
        arrays = documents.indptr, documents.word_ids, documents.counts
        batch = gather(*arrays, np.arange(documents.n_docs), len(chain.theta))
        assignments = sample_assignments(
            batch,
            topic_rows(chain.theta, chain.topic_sums, batch.words),
            padded_topics(self.alpha),
            sweeps=_SWEEPS,
            burn_in=_BURN_IN,
            key=stream_key(self.seed, "gibbs"),
            update=chain.update,
            threads=threads,
        )
        counts = assignments.word_topic.astype(np.float32)
        counts /= assignments.scale
        return TopicCounts(batch.words, counts)

    def keep(self) -> None:
        """Forgets samples that are no longer kept, and takes the present state for one, if it is to
        be or there is none."""
        now = self.chain.update
        stays = [
            number >= START and is_kept(number, now, self.n_samples) for number in self.numbers
        ]
        self.numbers = list(compress(self.numbers, stays))
        self.samples = list(compress(self.samples, stays))
        if now < START or is_kept(now, now, self.n_samples):
            self.numbers.append(now)
            self.samples.append(phi_of(self.chain.theta).astype(np.float32))
