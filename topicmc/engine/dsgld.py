"""Distributed stochastic-gradient MCMC: what one round is (Ahn, Shahbaba & Welling 2014, Alg. 1).

In a round each chain visits a worker and makes a trajectory of τ_s updates on that worker's
documents; then its last state moves on and, during burn-in, the chains of a group are averaged. An
average is no posterior sample. Training on one machine is the same thing with one worker and one
chain: the chain stays, τ = 1, and nothing moves.

A minibatch of n documents from worker s estimates the sum over the whole corpus without bias when
scaled by D_s / (q_s n), q_s being how often the worker is used (Proposition 3.1 with N_s / (N q_s);
with one worker it is D / n).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.engine import chains
from topicmc.engine.balance import Balance
from topicmc.engine.method import RoundInfo, WaitedShare
from topicmc.engine.schedule import batch_documents, split_groups, worker_of
from topicmc.engine.transport.base import Transport
from topicmc.kernels.batch import Minibatch
from topicmc.kernels.threads import Threads
from topicmc.models.lda.defaults import initial_total
from topicmc.models.lda.learned_priors import prior_metrics
from topicmc.models.lda.partition import share_out
from topicmc.models.lda.updates import Updates
from topicmc.models.lda.workers import WorkerDocuments
from topicmc.samplers import Chain, initial_chain
from topicmc.settings.config import TrainConfig
from topicmc.storage.runs import Checkpoint


class Dsgld:
    """The chains and workers of this process, and the round that moves them.

    Args:
        config: resolved settings.
        corpus: an open corpus; only the shard files of the hosted workers are read.
        transport: who hosts which workers.
        threads: the threads of this process.
        slow: factor by which a worker is slowed down, for experiments.
    """

    def __init__(
        self,
        config: TrainConfig,
        corpus: Corpus,
        transport: Transport,
        threads: Threads,
        slow: Mapping[int, float] | None = None,
    ) -> None:
        self.config = config
        self.transport = transport
        self.threads = threads
        self.slow = slow or {}
        self.alpha = np.full(config.topics, config.alpha, np.float64)
        ranges = share_out(corpus, config.workers)
        self.documents = {
            worker: WorkerDocuments(corpus, ranges[worker]) for worker in transport.workers
        }
        self.groups = split_groups(config.chains, config.groups)
        self.round_number = 0
        self.updates = Updates(config, corpus.n_tokens, threads)
        self.balance = Balance(config, transport)
        self.positions = dict.fromkeys(transport.workers, 0)
        self._waited = WaitedShare(transport)
        self._document_tokens = max(2, round(corpus.n_tokens / max(1, corpus.n_docs)))
        self._n_words = corpus.n_words
        self._chains: dict[int, Chain] = {
            worker: self._initial_chain(chain, corpus)
            for chain, worker in enumerate(self._places(0))
            if worker in transport.workers
        }

    def _initial_chain(self, number: int, corpus: Corpus) -> Chain:
        config = self.config
        n_words, n_tokens, topics = corpus.n_words, corpus.n_tokens, config.topics
        total = initial_total(config.sampler, config.beta, n_words, topics, n_tokens)
        chain = initial_chain(
            number, n_words, topics, beta=config.beta, n_tokens=n_tokens, seed=config.seed,
            total=total,
        )  # fmt: skip
        chain.alpha, chain.beta = self.alpha.copy(), config.beta
        chain.share = np.full(topics, 1 / topics)
        return chain

    def _places(self, round_number: int) -> tuple[int, ...]:
        config = self.config
        return worker_of(config.schedule, round_number, config.chains, config.workers, config.seed)

    @property
    def update(self) -> int:
        """Updates per chain, in the mean over chains."""
        return self.round_number * self.config.trajectory

    @property
    def position(self) -> int:
        """Trajectories of each chain, which are as long on any number of workers."""
        return self.round_number

    @property
    def burning_in(self) -> bool:
        """Whether the chains, in the mean, are still in their start, or are averages."""
        return self.is_start(self.position)

    def is_start(self, position: int) -> bool:
        """Whether a state after so many trajectories is no sample: one of the start, or an average
        of chains, whose variance is too small by the size of the group."""
        update = position * self.config.trajectory
        return self.updates.burning_in(update) or (self._averages(update) and self._coupled)

    def log_joints(self) -> dict[int, float]:
        """None: assignments are not kept."""
        return {}

    def position_of_round(self, number: int) -> int:
        """The same number: a round is a trajectory."""
        return number

    @property
    def chains(self) -> Mapping[int, Chain]:
        """The hosted chains to be read, by number. A chain in which words wait is copied when it is
        looked up, so that who reads when does not change what comes next."""
        hosted = {chain.index: chain for chain in self._chains.values()}

        def settled(number: int) -> Chain:
            chain = hosted[number]
            if chain.moved_at is None:
                return chain
            copied = replace(chain, theta=chain.theta.copy(), moved_at=chain.moved_at.copy())
            return self.updates.settle(copied)

        return chains.MadeToBeRead(list(hosted), settled)

    # ---- one round

    def round(self) -> RoundInfo:
        """Moves the chains on, makes every hosted trajectory, averages groups, renews the plan."""
        if self.round_number > 0:
            self._travel()
        updates = documents = tokens = 0
        measured = dict.fromkeys(self.transport.workers, np.nan)
        for worker, chain in self._chains.items():
            start = time.perf_counter()
            n_updates = self.balance.plan.trajectory[worker]
            for _ in range(n_updates):
                batch = self._update(worker, chain)
                documents += batch.n_docs
                tokens += batch.n_tokens
            if worker in self.slow:
                time.sleep((self.slow[worker] - 1) * (time.perf_counter() - start))
            measured[worker] = (time.perf_counter() - start) / n_updates
            updates += n_updates
        self.round_number += 1
        self._average()
        if self.config.workers > 1:
            self.balance.renew(measured)
        return RoundInfo(updates, documents, tokens)

    def _update(self, worker: int, chain: Chain) -> Minibatch:
        """One update of a chain on a minibatch of a worker's documents."""
        config = self.config
        documents = self.documents[worker]
        doc_ids = batch_documents(
            config.seed, worker, self.positions[worker], documents.n_docs, config.batch_size
        )
        self.positions[worker] += 1
        batch = documents.minibatch(doc_ids, self.threads)
        scale = documents.n_docs / (self.balance.plan.selection_freq[worker] * len(doc_ids))
        self.updates.move(chain, batch, scale, mean_update=self.update)
        return batch

    def _settled(self) -> dict[int, Chain]:
        """The hosted chains themselves, brought up to date."""
        return {worker: self.updates.settle(chain) for worker, chain in self._chains.items()}

    def _travel(self) -> None:
        before, after = self._places(self.round_number - 1), self._places(self.round_number)
        if before != after:
            self._chains = chains.hand_over(self._settled(), self.transport, before, after)

    @property
    def _coupled(self) -> bool:
        return any(len(group) > 1 for group in self.groups)

    def _averages(self, update: int) -> bool:
        """Whether a round that ends at that update averages groups."""
        return 0 < update <= (self.config.average_until or 0)

    def distinct(self) -> list[int]:
        """The chains whose states differ now: after averaging, the first of each group."""
        if self._averages(self.update):
            return [group[0] for group in self.groups]
        return list(range(self.config.chains))

    def _average(self) -> None:
        if self._coupled and self._averages(self.update):
            places = self._places(self.round_number - 1)
            groups = [[places[chain] for chain in group] for group in self.groups]
            chains.average(self._settled(), self.transport, groups, self.threads)

    def metrics(self) -> dict[str, Any]:
        """The step size and the start; and how the workers fare, when there are several."""
        step = self.updates.step_size(self.update)
        known: dict[str, Any] = {"step_size": step, "burn_in": self.burning_in}
        for chain in list(self._chains.values())[:1]:
            assert chain.alpha is not None and chain.beta is not None
            known |= prior_metrics(self.config.learn, chain.alpha, chain.beta)
        if self.config.workers > 1:
            known |= self.balance.metrics() | {"waited": self._waited.of_workers()}
        return known

    # ---- checkpoints

    def arrays(self) -> dict[str, np.ndarray]:
        """What a checkpoint must hold of the hosted chains."""
        return chains.arrays(self._chains.values())

    def facts(self) -> dict[str, Any]:
        """The numbers that go with `arrays`, as JSON values."""
        return {
            "round": self.round_number,
            **self.balance.facts(),
            "positions": {str(worker): n for worker, n in self.positions.items()},
            "chains": chains.facts(self._chains.values()),
        }

    def restore(self, checkpoint: Checkpoint) -> str | None:
        """Puts the hosted chains and workers where the checkpoint left them.

        On another number of workers the documents are shared out anew: the plan starts over, each
        worker goes on past the minibatches that any had seen, and chains beyond the number of
        workers are dropped. Returns a sentence that says so, or None.
        """
        parts = [checkpoint.facts(name) for name in checkpoint.parts()]
        positions = {int(w): int(n) for part in parts for w, n in part["positions"].items()}
        saved = {int(c): facts for part in parts for c, facts in part["chains"].items()}
        self.round_number = parts[0]["round"]
        n_before, n_workers = len(parts[0]["trajectory"]), self.config.workers
        if n_before == n_workers:
            self.balance.restore(parts)
        else:
            positions = dict.fromkeys(range(n_workers), max(positions.values()))
        self.positions = {worker: positions[worker] for worker in self.transport.workers}
        shape = self._n_words, self.config.topics
        self._chains = {
            worker: chains.restored(chain, saved[chain], checkpoint, self.threads, shape)
            for chain, worker in enumerate(self._places(self.round_number - 1))
            if worker in self.transport.workers
        }
        if n_before == n_workers:
            return None
        return (
            f"This run was made on {n_before} workers and goes on with {n_workers}: the"
            f" documents are shared out anew, {self.config.chains} of {len(saved)} chains go on"
            " from their last state, and the result is as valid but not bit for bit what the"
            f" {n_before} workers would have given."
        )

    def warm_up(self) -> None:
        """Compiles every kernel that a round needs."""
        for worker in list(self.transport.workers)[:1]:
            # The documents of several pieces are merged, which has kernels of its own.
            documents = self.documents[worker]
            documents.minibatch(np.array([0, documents.n_docs - 1]))
        self.updates.warm_up(self._document_tokens)
