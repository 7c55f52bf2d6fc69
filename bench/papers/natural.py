"""LDA by SGLD in the natural parametrisation, with control variates (Baker 2018, 3.5.3).

θ_kw is real, φ_kw = e^θ_kw / Σ_w e^θ_kw, and e^θ_kw has the prior Gamma(β, 1). By Fisher's identity
the gradient of the log posterior needs the counts of the corpus under θ alone,

    β − e^θ_kw + n_kw(θ) − φ_kw n_k·(θ),       n_kw(θ) = Σ_d E_θ[n_dkw],

and methods differ in how they estimate n(θ) from a minibatch S of n of D documents:

    sgld          D/n Σ_{d∈S} c_d(θ)
    cv            n(θ̂) + D/n Σ_{d∈S} (c_d(θ) − c_d(θ̂))
    saga          Σ_d r_d + D/n Σ_{d∈S} (c_d(θ) − r_d), r_d being c_d at the last visit
    cv, released  n(θ̂): the released code takes c_d(θ̂) from topics drawn under θ, so that all of the
                  minibatch cancels, and what is sampled is the posterior given counts of long ago

θ̂ is where plain gradient steps without noise end. c_d at θ and θ̂ have the same uniforms.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from topicmc.corpora import Corpus, Documents
from topicmc.corpora.offsets import offsets
from topicmc.kernels.assignments import sample_assignments
from topicmc.kernels.batch import Minibatch, gather
from topicmc.kernels.gibbs import UNASSIGNED, topic_rows
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import split_documents
from topicmc.models.lda.completion import perplexity, token_probabilities
from topicmc.models.mixture.model import training_documents

WORDS, TOPICS, BATCH, ALPHA, BETA = 1000, 20, 50, 1.0, 1.0
EVERY = 200  # updates between evaluations
SWEEPS, BURN_IN = 10, 5
Counts = Callable[[np.ndarray, int], np.ndarray]
"""n̂ float64 (W, K) of weights e^θ and the number of an update."""


class Data:
    """The first ``n_docs`` documents of a corpus in its commonest words, in minibatches."""

    def __init__(self, corpus: Corpus, n_docs: int, seed: int) -> None:
        whole = training_documents(corpus)
        totals = np.bincount(whole.word_ids, whole.counts, corpus.n_words)
        common = np.sort(np.argsort(-totals, kind="stable")[:WORDS])
        self.number = np.full(corpus.n_words, -1, np.int64)
        self.number[common] = np.arange(WORDS)
        self.documents = self.of(whole.part(0, n_docs))
        self.heldout = split_documents(self.of(corpus.heldout), seed=0)
        self.n_docs, self.seed, self.threads = self.documents.n_docs, seed, Threads(1)
        self.offsets = offsets(self.documents.sizes)
        self._random = np.random.default_rng(seed)
        self._order = np.zeros(0, np.int64)

    def of(self, documents: Documents) -> Documents:
        """The common words of some documents."""
        numbers = self.number[np.asarray(documents.word_ids)]
        kept = numbers >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])[np.asarray(documents.indptr)]
        return Documents(ends, numbers[kept].astype(np.uint32), np.asarray(documents.counts)[kept])

    def batch(self) -> Minibatch:
        """The next of a pass over the documents in random order."""
        if len(self._order) < BATCH:
            self._order = self._random.permutation(self.n_docs)
        chosen, self._order = self._order[:BATCH], self._order[BATCH:]
        return self.minibatch(np.sort(chosen))

    def minibatch(self, chosen: np.ndarray) -> Minibatch:
        d = self.documents
        return gather(d.indptr, d.word_ids, d.counts, chosen, WORDS)

    def drawn(
        self, batch: Minibatch, weights: np.ndarray, update: int, z: np.ndarray | None = None
    ) -> np.ndarray:
        """Σ_d c_d of a minibatch: float64 (W, K); ``z`` takes the topics of the last sweep."""
        theta = weights.astype(np.float32)
        rows = topic_rows(theta, theta.sum(axis=0, dtype=np.float64), batch.words)
        assignments = sample_assignments(
            batch, rows, padded_topics(np.full(TOPICS, ALPHA)), sweeps=SWEEPS, burn_in=BURN_IN,
            key=stream_key(self.seed, "gibbs"), update=update, threads=self.threads, z=z,
        )  # fmt: skip
        counts = np.zeros((WORDS, TOPICS))
        counts[batch.words] = assignments.word_topic[:, :TOPICS] / assignments.scale
        return counts

    def all_batches(self) -> list[Minibatch]:
        starts = range(0, self.n_docs, 2000)
        return [self.minibatch(np.arange(s, min(s + 2000, self.n_docs))) for s in starts]

    def perplexity(self, weights: np.ndarray) -> float:
        """Of held-out documents under one state."""
        theta = np.ascontiguousarray(weights, np.float32)
        sums, alpha = theta.sum(axis=0, dtype=np.float64), np.full(TOPICS, ALPHA)
        found = token_probabilities(self.heldout, theta, sums, alpha, seed=0, threads=self.threads)
        return round(perplexity(found), 2)


def plain(data: Data) -> Counts:
    """N̂ Σ c_d."""

    def counts(weights: np.ndarray, update: int) -> np.ndarray:
        return data.n_docs / BATCH * data.drawn(data.batch(), weights, update)

    return counts


def anchored(data: Data, anchor: np.ndarray, released: bool) -> Counts:
    """Control variates at θ̂."""
    whole = sum(data.drawn(batch, anchor, 0) for batch in data.all_batches())

    def counts(weights: np.ndarray, update: int) -> np.ndarray:
        if released:
            return whole
        batch = data.batch()
        change = data.drawn(batch, weights, update) - data.drawn(batch, anchor, update)
        return whole + data.n_docs / BATCH * change

    return counts


def recalled(data: Data, begin: np.ndarray) -> Counts:
    """Control variates at the last visits; r_d are topics of one sweep, as c_d is here."""
    topics = np.zeros(data.offsets[-1], np.uint16)
    whole = np.zeros((WORDS, TOPICS))

    def visit(batch: Minibatch, weights: np.ndarray, update: int) -> np.ndarray:
        """Σ c_d − r_d over the minibatch; r_d are renewed."""
        z = np.full(batch.n_tokens, UNASSIGNED)
        data.drawn(batch, weights, update, z)
        away = data.offsets[batch.doc_ids] - batch.offsets[:-1]
        here = np.arange(batch.n_tokens) + np.repeat(away, np.diff(batch.offsets))
        words = batch.words[batch.tokens]
        change = np.zeros((WORDS, TOPICS))
        np.add.at(change, (words, z), 1)
        if update:
            np.add.at(change, (words, topics[here]), -1)
        topics[here] = z
        return change

    for batch in data.all_batches():
        whole += visit(batch, begin, 0)

    def counts(weights: np.ndarray, update: int) -> np.ndarray:
        change = visit(data.batch(), weights, update)
        estimate = whole + data.n_docs / BATCH * change
        whole[:] += change
        return estimate

    return counts


def gradient(weights: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Of the log posterior in θ, for an estimate of the counts: float64 (W, K)."""
    return BETA - weights + counts - weights / weights.sum(axis=0) * counts.sum(axis=0)


def walk(
    data: Data, theta: np.ndarray, counts: Counts, step: float, updates: int, noise: bool = True
) -> tuple[np.ndarray, list[float]]:
    """θ after so many updates of ε = ``step``, and perplexities on the way."""
    random = np.random.default_rng(data.seed + 1)
    scores = []
    for update in range(1, updates + 1):
        weights = np.exp(theta)
        theta = theta + step / 2 * gradient(weights, counts(weights, update))
        if noise:
            theta += random.normal(scale=step**0.5, size=theta.shape)
        if update % EVERY == 0:
            scores.append(data.perplexity(np.exp(theta)))
    return theta, scores
