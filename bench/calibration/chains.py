"""Chains of the samplers on tiny corpora, by the project's own classes and kernels.

Samplers that keep assignments run as they do in training: `open_method` makes the method, `round`
moves it. Minibatch chains run many replications at once (`Stacked`), as single ones would spend
their time between kernels: the draws are those of `assignments.sample_assignments`, the moves those
of `Scir` and `Sgrld`; `tests/statistical/test_sbc.py` compares one replication with
`topicmc.models.lda.minibatches.updates.Updates`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibration.models import Model, State, TinyCorpus
from topicmc.engine.method import Method
from topicmc.engine.transport.local import LocalTransport
from topicmc.kernels.assignments import sample_assignments
from topicmc.kernels.batch import gather
from topicmc.kernels.gibbs import UNASSIGNED, topic_rows
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.methods import open_method
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.planning.plan import rounds_per_sweep
from topicmc.models.lda.settings import TrainConfig
from topicmc.samplers.lazy import LazyScir
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.scir import Scir
from topicmc.samplers.sgrld import Sgrld
from topicmc.samplers.state import Chain, TopicCounts, initial_chain

_SETTLING_SWEEPS = 30  # from φ alone to assignments given φ
_RUN = TrainConfig(start="plain", learn="none", threads=1, epochs=1e6)


@dataclass(frozen=True)
class Assigned:
    """A sampler that keeps the topic of each token; ``options`` are fields of `TrainConfig`."""

    options: Mapping[str, Any] = field(default_factory=dict)
    burn_in: int = 60  # sweeps before the first state
    thin: int = 16  # sweeps between states

    def states(self, model: Model, corpus: TinyCorpus, seed: int, n: int) -> Iterator[State]:
        """n states of one chain: φ drawn from its Dirichlet law given the counts."""
        method = started(model, corpus, seed, self.options)
        a_sweep = rounds_per_sweep(method.config, corpus.n_docs)
        generator = np.random.default_rng([seed, 1])
        rounds = self.burn_in * a_sweep
        while method.in_burn_in:
            method.round()
        for _ in range(n):
            for _ in range(rounds):
                method.round()
            yield state_of(method, generator)
            rounds = self.thin * a_sweep


def started(model: Model, corpus: TinyCorpus, seed: int, options: Mapping[str, Any]) -> Any:
    """The method of a training run with these options, at its start."""
    priors = {"topics": model.n_topics, "alpha": model.alpha, "beta": model.beta}
    config = resolve(
        TrainConfig(**{**_RUN.as_dict(), **priors, "seed": seed, **options}),
        Extent.of(corpus),
    )
    transport = LocalTransport(config.workers)
    return open_method(config, corpus, transport, Threads(1))


def state_of(method: Method, generator: np.random.Generator) -> State:
    """φ ~ Dirichlet(β + n_k) given the assignments, as where intervals are made, and these."""
    theta = generator.standard_gamma(method.chains[0].theta.astype(np.float64).T)
    theta = np.maximum(theta, 1e-300)
    z = np.concatenate([sampler.z for sampler in method.samplers.values()])
    return State(theta / theta.sum(axis=1, keepdims=True), z.astype(np.int64))


@dataclass(frozen=True)
class Minibatch:
    """A sampler of minibatches: ``batch_size`` documents, steps of one size."""

    sampler: type[Scir] | type[Sgrld]
    step: float
    batch_size: int
    burn_in: int  # updates before the first state
    thin: int  # updates between states
    sweeps: int = 6  # of an update's documents; the first third is not counted

    def states(
        self, model: Model, corpora: Sequence[TinyCorpus], seed: int, n: int
    ) -> Iterator[list[State]]:
        """n times the state of each corpus's chain. Assignments are drawn given φ."""
        stack = Stacked(self, model, corpora, seed)
        for _ in range(self.burn_in):
            stack.update()
        for _ in range(n):
            for _ in range(self.thin):
                stack.update()
            yield stack.states()


class Stacked:
    """Chains of R corpora side by side.

    For the draws word w of corpus r is row r W + w of one φ; for the moves its topic k is column
    r K + k of one θ (W, R K). Neither kernel mixes rows of the one, or columns of the other.
    """

    def __init__(
        self, chains: Minibatch, model: Model, corpora: Sequence[TinyCorpus], seed: int
    ) -> None:
        self.chains, self.model, self.seed = chains, model, seed
        self.shape = len(corpora), model.n_words, model.n_topics
        n, n_words, n_topics = self.shape
        total = model.beta * n_words
        if chains.sampler is not Sgrld:
            n_tokens = round(np.mean([corpus.n_tokens for corpus in corpora]))
            total = LazyScir.initial_total(model.beta, n_words, n_topics, n_tokens)
        self.chain: Chain = initial_chain(
            0,
            n_words,
            n * n_topics,
            prior=RowPrior(model.beta),
            total=total,
            seed=seed,
        )
        documents = [corpus.shard(0) for corpus in corpora]
        ends = np.cumsum([0, *(d.n_entries for d in documents)])
        indptr = [d.indptr[:-1] + end for d, end in zip(documents, ends, strict=False)]
        self.indptr = np.concatenate([*indptr, ends[-1:]])
        self.word_ids = np.concatenate(
            [r * n_words + d.word_ids.astype(np.uint32) for r, d in enumerate(documents)]
        ).astype(np.uint32)
        self.counts = np.concatenate([d.counts for d in documents])
        self.alpha = padded_topics(np.full(n_topics, model.alpha))
        self.generator = np.random.default_rng([seed, 2])
        self._left = np.zeros((n, 0), np.int64)

    def minibatch(self) -> np.ndarray:
        """Documents of each corpus, int64 (R, batch_size): without replacement, in passes."""
        n, size = len(self._left), self.chains.batch_size
        if self._left.shape[1] < size:
            order = self.generator.random((n, self.model.n_docs)).argsort(axis=1)
            self._left = order + np.arange(n)[:, None] * self.model.n_docs
        taken, self._left = self._left[:, :size], self._left[:, size:]
        return taken

    def rows(self) -> np.ndarray:
        """φ float32 (R W, K)."""
        n, n_words, n_topics = self.shape
        phi = self.chain.theta * (1.0 / self.chain.topic_sums).astype(np.float32)
        return np.ascontiguousarray(phi.reshape(n_words, n, n_topics).transpose(1, 0, 2)).reshape(
            n * n_words, n_topics
        )

    def assignments(self, docs, *, sweeps, burn_in, purpose, z=None):
        """The minibatch of these documents, and sums of their assignments over kept sweeps."""
        n, n_words, n_topics = self.shape
        batch = gather(self.indptr, self.word_ids, self.counts, docs, n * n_words)
        z = np.full(batch.n_tokens, UNASSIGNED) if z is None else z
        drawn = sample_assignments(
            batch,
            topic_rows(self.rows(), np.ones(n_topics), batch.words),
            self.alpha,
            sweeps=sweeps,
            burn_in=burn_in,
            key=stream_key(self.seed, purpose, 0),
            update=self.chain.update,
            threads=Threads(1),
            z=z,
        )
        return batch, drawn, z

    def update(self, docs: np.ndarray | None = None) -> None:
        """One update of every chain, on documents (R, batch_size) if they are given."""
        n, n_words, n_topics = self.shape
        docs = self.minibatch() if docs is None else docs
        sweeps = self.chains.sweeps
        batch, drawn, _ = self.assignments(
            docs.reshape(-1), sweeps=sweeps, burn_in=sweeps // 3, purpose="gibbs"
        )
        counts = np.zeros((n * n_words, n_topics), np.float32)
        counts[batch.words] = drawn.word_topic[:, :n_topics].astype(np.float32)
        counts /= drawn.scale
        beside = counts.reshape(n, n_words, n_topics).transpose(1, 0, 2).reshape(n_words, -1)
        finite = self.chains.sampler(RowPrior(self.model.beta)).move(
            self.chain,
            TopicCounts(np.arange(n_words, dtype=np.int32), np.ascontiguousarray(beside)),
            scale=self.model.n_docs / docs.shape[1],
            step=self.chains.step,
            key=stream_key(self.seed, "move", 0),
            threads=Threads(1),
        )
        assert finite

    def states(self) -> list[State]:
        """φ of each chain, and assignments drawn given it."""
        n, n_words, _ = self.shape
        docs = np.arange(n * self.model.n_docs)
        batch, _, z = self.assignments(
            docs, sweeps=_SETTLING_SWEEPS, burn_in=_SETTLING_SWEEPS - 1, purpose="settle"
        )
        phi = self.rows().astype(np.float64).reshape(n, n_words, -1).transpose(0, 2, 1)
        phi /= phi.sum(axis=2, keepdims=True)
        parts = np.split(z.astype(np.int64), batch.offsets[:: self.model.n_docs][1:-1])
        return [State(p, part) for p, part in zip(phi, parts, strict=True)]
