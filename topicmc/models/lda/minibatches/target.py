"""LDA's posterior of the topics, as D-SGLD samples it: SCIR and SGRLD on minibatches of documents.

A minibatch of n of the D_s documents of worker s estimates the counts of the whole corpus without
bias when they are scaled by D_s / (q_s n), q_s being how often a chain is on the worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from topicmc.engine.dsgld import Held, Part
from topicmc.engine.schedule import batch_items, worker_of
from topicmc.engine.state import ReadOnDemand, Table
from topicmc.kernels.simplex import FLOOR
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.formats import is_of_older_layout, older_state
from topicmc.models.lda.minibatches.estimates import ESTIMATORS, Estimator, Saga, WholeChain, plain
from topicmc.models.lda.minibatches.updates import Updates, state_of
from topicmc.models.lda.partition import share_out
from topicmc.models.lda.planning.chain_defaults import initial_total
from topicmc.models.lda.priors.learned import prior_metrics
from topicmc.models.lda.samples import share_by_sums
from topicmc.models.lda.task import Task
from topicmc.models.lda.workers import WorkerDocuments
from topicmc.samplers.registry import sampler_of
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.running_mean import MeanChain
from topicmc.samplers.state import Chain, initial_chain, sum_topics
from topicmc.storage.checkpoints import Checkpoint

CHAINS = "chains"


class Beginning(Protocol):
    """Topics that chains begin with."""

    def theta(self, chain: int) -> np.ndarray:
        """Of a chain: float32 (W, K), which the caller may change."""

    def alpha(self, chain: int) -> np.ndarray:
        """Its prior of the mixes of documents: float64 (K,)."""

    def beta(self, chain: int) -> float:
        """Its prior of the words."""


class TopicChains:
    """The `topicmc.engine.dsgld.Target` of minibatch LDA; a chain travels as a whole.

    Args:
        task: of the chains; its origin counts for nothing here.
        beginning: what chains begin with, if they go on from other topics.
    """

    at_once = 1

    def __init__(self, task: Task, beginning: Beginning | None = None) -> None:
        config, corpus, threads = task.config, task.documents, task.threads
        self._config = config
        self._origin = beginning
        self._threads = threads
        self._corpus = corpus
        ranges = share_out(corpus, config.workers)
        self.documents = {
            worker: WorkerDocuments(corpus, ranges[worker]) for worker in task.transport.workers
        }
        self.prior = RowPrior(config.beta, task.additions)
        self.updates = Updates(config, corpus.n_tokens, threads, self.prior)
        self._sampler = sampler_of(config.sampler)
        self._state = state_of(config)
        self.table = Table(
            self._state,
            {
                "W": corpus.n_words,
                "K": config.topics,
                "T": corpus.n_tokens,
                "S": config.sweeps - config.burn_in,
            },
        )
        self._estimators: dict[int, Estimator] = {
            worker: ESTIMATORS[config.estimate](documents, config.batch_size, threads)
            for worker, documents in self.documents.items()
            if config.estimate in ESTIMATORS
        }
        self.parts: Mapping[str, Part] = {CHAINS: Part(self.table, self._places)}

    def _places(self, round_number: int) -> tuple[int, ...]:
        config = self._config
        return worker_of(config.schedule, round_number, config.chains, config.workers, config.seed)

    def initial(self, part: str, index: int) -> Chain:
        config, corpus = self._config, self._corpus
        total = initial_total(config, Extent.of(corpus))
        chain = initial_chain(
            index, corpus.n_words, config.topics, prior=self.prior, total=total, seed=config.seed
        )
        chain.alpha, chain.beta = np.full(config.topics, config.alpha, np.float64), config.beta
        chain.share = np.full(config.topics, 1 / config.topics)
        if self._origin is not None:
            self._carry_over(chain, total)
        return self._state(**vars(chain))

    def has_begun(self) -> None:
        """Lets go of what the chains began with: there will be no others."""
        self._origin = None

    def _carry_over(self, chain: Chain, total: float) -> None:
        """Begins with topics that were found before; for SGRLD on its own scale, whose sums say
        nothing of the topics' sizes."""
        assert self._origin is not None
        chain.alpha, chain.beta = self._origin.alpha(chain.index), self._origin.beta(chain.index)
        chain.theta = self._origin.theta(chain.index)
        sums = sum_topics(chain.theta)
        chain.share = sums / sums.sum()
        if self._sampler.free_scale:
            chain.theta *= (total / sums).astype(np.float32)
            np.maximum(chain.theta, FLOOR, out=chain.theta)
        chain.topic_sums = sum_topics(chain.theta)

    def update(
        self, worker: int, states: Mapping[str, Chain], position: int, *, frequency: float,
        mean_update: int,
    ) -> tuple[int, int]:  # fmt: skip
        """One update on a minibatch; documents and tokens drawn."""
        config, documents = self._config, self.documents[worker]
        estimator = self._estimators.get(worker, plain)
        if isinstance(estimator, Saga) and not self.updates.is_start(states[CHAINS].update):
            # Of each pass the first: it knows nothing of when documents were last visited.
            position *= documents.n_docs // min(config.batch_size, documents.n_docs)
        ids = batch_items(config.seed, worker, position, documents.n_docs, config.batch_size)
        batch = documents.minibatch(ids, self._threads)
        scale = documents.n_docs / (frequency * len(ids))
        self.updates.move(
            states[CHAINS], batch, scale, mean_update=mean_update,
            estimator=estimator,
        )  # fmt: skip
        return batch.n_docs, batch.n_tokens

    def settle(self, state: Chain) -> Chain:
        return self.updates.settle(state)

    def after_averaging(self, state: Chain) -> None:
        state.topic_sums = sum_topics(state.theta, self._threads)
        if isinstance(state, MeanChain):
            state.empty()  # what it held is of a chain that is no more

    def after_round(self, number: int, held: Held) -> None:
        """Nothing: priors are learned in the updates."""

    def chains(self, held: Held) -> Mapping[int, Chain]:
        """The hosted chains. One in which words wait is copied when it is looked up, so that who
        reads when does not change what comes next."""
        hosted = {chain.index: chain for chain in held[CHAINS].values()}

        def settled(number: int) -> Chain:
            chain = hosted[number]
            if chain.moved_at is not None:
                copied = replace(chain, theta=chain.theta.copy(), moved_at=chain.moved_at.copy())
                chain = self.updates.settle(copied)
            return replace(chain, share=self._share_of(chain))

        return ReadOnDemand(list(hosted), settled)

    def _share_of(self, chain: Chain) -> np.ndarray | None:
        """Each topic's share of the tokens. Behind the start the sums of θ tell it, if they are on
        the scale of counts; recent minibatches are of the worker that the chain was on last."""
        if self._sampler.free_scale or self.in_start(chain.update):
            return chain.share
        prior = self.updates.prior_of(chain)
        return share_by_sums(chain.topic_sums, prior.totals(*chain.theta.shape))

    def in_start(self, update: int) -> bool:
        return self.updates.in_burn_in(update - 1)

    def metrics(self, update: int, states: Sequence[Chain]) -> dict[str, Any]:
        """The step size, and priors that are learned, of the first chain."""
        known: dict[str, Any] = {"step_size": self.updates.step_size(update)}
        for chain in states[:1]:
            assert chain.alpha is not None and chain.beta is not None
            known |= prior_metrics(self._config.learn, chain.alpha, chain.beta)
            if isinstance(chain, WholeChain):
                known["clipped"] = chain.clipped
        return known

    def restored(
        self, part: str, index: int, saved: Mapping[int, Any], checkpoint: Checkpoint
    ) -> Chain:
        if is_of_older_layout(saved[index]):
            state = older_state(index, saved[index], checkpoint, self.table, self._threads)
            return self._state(**vars(state))
        return self.table.restored(index, saved[index], checkpoint)

    def warm_up(self) -> None:
        tokens_a_word = 1.0
        for documents in list(self.documents.values())[:1]:
            # The documents of several pieces are merged, which has kernels of its own.
            documents.minibatch(np.array([0, documents.n_docs - 1]))
            batch = documents.minibatch(np.arange(min(documents.n_docs, self._config.batch_size)))
            tokens_a_word = batch.n_tokens / max(1, len(batch.words))
        corpus = self._corpus
        document_tokens = max(2, round(corpus.n_tokens / max(1, corpus.n_docs)))
        self.updates.warm_up(document_tokens, max(1.0, tokens_a_word))
