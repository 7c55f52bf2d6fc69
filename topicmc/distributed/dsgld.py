"""Distributed stochastic-gradient MCMC: what one round is (Ahn, Shahbaba & Welling 2014, Alg. 1).

In a round each chain visits a worker and makes a trajectory of τ_s updates on that worker's
documents; then its last state moves on and the chains of a group are averaged. Training on one
machine is the same thing with one worker and one chain: the chain stays, τ = 1, and nothing moves.

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

from topicmc.config import TrainConfig
from topicmc.corpora import Corpus
from topicmc.defaults import initial_total
from topicmc.distributed.methods import RoundInfo, WaitedShare
from topicmc.distributed.schedule import (
    Plan,
    batch_documents,
    partition,
    plan_trajectories,
    should_replan,
    smooth_delays,
    split_groups,
    worker_of,
)
from topicmc.distributed.transport import State, Transport
from topicmc.distributed.workers import WorkerDocuments
from topicmc.errors import DivergedError
from topicmc.kernels.assignments import sample_assignments
from topicmc.kernels.batch import Minibatch
from topicmc.kernels.gibbs import UNASSIGNED, topic_rows
from topicmc.kernels.histograms import mix_histogram
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.runs import Checkpoint
from topicmc.samplers import (
    Chain,
    TopicCounts,
    annealed_beta,
    initial_chain,
    step_size,
    sum_topics,
)
from topicmc.samplers.lazy import LazyScir
from topicmc.samplers.priors import learned_alpha, learned_beta, prior_metrics
from topicmc.samplers.sgrld import Sgrld

_WAITS_BELOW = 0.5  # share of the words in a minibatch up to which SCIR lets the others wait
# Priors are learned from minibatches: α by this rate at every update, and β, for which all of θ is
# read, by that at every tenth; not while topics are blunt, so late in the start.
_ALPHA_RATE, _BETA_RATE, _BETA_EVERY = 0.2, 0.5, 10
_LEARN_FROM = 0.8
_FORGET = 0.1  # weight of the newest minibatch in a topic's share of the tokens


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
        ranges = partition(corpus.shard_sizes, config.workers)
        self.documents = {
            worker: WorkerDocuments(corpus, ranges[worker]) for worker in transport.workers
        }
        self.groups = split_groups(config.chains, config.groups)
        self.round_number = 0
        self.plan: Plan = plan_trajectories([1.0] * config.workers, config.trajectory)
        self.delays: np.ndarray | None = None
        self._planned_for = np.ones(config.workers)  # the delays that the plan rests on
        self.positions = dict.fromkeys(transport.workers, 0)
        self._waited = WaitedShare(transport)
        self._n_tokens, self._n_docs = corpus.n_tokens, corpus.n_docs
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
    def burning_in(self) -> bool:
        """Whether the chains, in the mean, are still in an annealed start, or learn priors that
        are fixed afterwards."""
        return self._anneals(self.update) or (
            self.config.learn_until == "burn-in" and self._learns(self.update)
        )

    # ---- one round

    def round(self) -> RoundInfo:
        """Moves the chains on, makes every hosted trajectory, averages groups, renews the plan."""
        if self.round_number > 0:
            self._travel()
        updates = documents = tokens = 0
        measured = dict.fromkeys(self.transport.workers, np.nan)
        for worker, chain in self._chains.items():
            start = time.perf_counter()
            n_updates = self.plan.trajectory[worker]
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
            self._renew_plan(measured)
        return RoundInfo(updates, documents, tokens)

    def _update(self, worker: int, chain: Chain) -> Minibatch:
        """One update of a chain on a minibatch of a worker's documents."""
        config = self.config
        documents = self.documents[worker]
        doc_ids = batch_documents(
            config.seed, worker, self.positions[worker], documents.n_docs, config.batch_size
        )
        self.positions[worker] += 1
        batch = documents.minibatch(doc_ids)
        scale = documents.n_docs / (self.plan.selection_freq[worker] * len(doc_ids))
        self._move(chain, batch, scale)
        return batch

    def _anneals(self, update: int) -> bool:
        """Whether a chain at that update is still in its annealed start."""
        return self.config.start == "anneal" and update < self.config.anneal_updates

    def _learns(self, update: int) -> bool:
        """Whether a chain learns its priors at that update."""
        config = self.config
        if config.learn == "none" or update < _LEARN_FROM * config.anneal_updates:
            return False
        return config.learn_until == "end" or update < config.anneal_updates

    def _sampler(self, chain: Chain) -> LazyScir | Sgrld:
        config = self.config
        beta = config.beta if chain.beta is None else chain.beta
        if self._anneals(chain.update):
            beta = annealed_beta(chain.update, beta, config.anneal_updates)
        if config.sampler == "sgrld":
            return Sgrld(beta)
        return LazyScir(beta, _WAITS_BELOW)

    def _move_key(self, chain: Chain) -> np.uint64:
        return stream_key(self.config.seed, "move", chain.index)

    def _move(self, chain: Chain, batch: Minibatch, scale: float) -> None:
        config = self.config
        sampler, key = self._sampler(chain), self._move_key(chain)
        if isinstance(sampler, LazyScir):
            sampler.refresh(chain, batch.words, key=key, threads=self.threads)
        # A chain that lags behind the mean must not go on learning when samples are kept.
        learns = self._learns(chain.update) and self._learns(max(chain.update, self.update))
        z = np.full(batch.n_tokens, UNASSIGNED) if learns else None
        assignments = sample_assignments(
            batch,
            topic_rows(chain.theta, chain.topic_sums, batch.words),
            padded_topics(self.alpha if chain.alpha is None else chain.alpha),
            sweeps=config.sweeps,
            burn_in=config.burn_in,
            key=stream_key(config.seed, "gibbs", chain.index),
            update=chain.update,
            threads=self.threads,
            z=z,
        )
        counts = assignments.word_topic.astype(np.float32)
        counts /= assignments.scale
        self._note_share(chain, counts)
        step = step_size(chain.update, config.step_size, config.step_offset, config.step_decay)
        info = sampler.move(
            chain, TopicCounts(batch.words, counts), scale=scale, step=step, key=key,
            threads=self.threads,
        )  # fmt: skip
        if z is not None:
            self._learn(chain, batch, z)
        if not info.finite:
            raise DivergedError(
                f"chain {chain.index} diverged at update {chain.update}: its weights are no longer"
                f" finite; lower --step-size (now {config.step_size:g}) or raise --batch-size"
            )

    def _note_share(self, chain: Chain, counts: np.ndarray) -> None:
        share = counts[:, : self.config.topics].sum(axis=0, dtype=np.float64)
        if chain.share is not None and share.any():
            chain.share = (1 - _FORGET) * chain.share + _FORGET * share / share.sum()

    def _learn(self, chain: Chain, batch: Minibatch, z: np.ndarray) -> None:
        """Takes the chain's priors a step towards what the minibatch says of them."""
        config = self.config
        assert chain.alpha is not None and chain.beta is not None and chain.share is not None
        if config.learn in ("alpha", "both"):
            starts, lengths = batch.offsets[:-1], np.diff(batch.offsets)
            histogram = mix_histogram(starts, lengths, z, config.topics)
            chain.alpha = learned_alpha(chain.alpha, histogram, rate=_ALPHA_RATE)
        if config.learn in ("beta", "both") and chain.update % _BETA_EVERY == 0:
            totals = chain.share * self._n_tokens
            chain.beta = learned_beta(
                chain.beta, chain.theta, chain.topic_sums, totals, rate=_BETA_RATE
            )

    # ---- chains on the move

    def _settle(self, chain: Chain) -> Chain:
        """The chain itself, with every word brought up to date."""
        sampler = self._sampler(chain)
        if isinstance(sampler, LazyScir) and chain.moved_at is not None:
            sampler.settle(chain, key=self._move_key(chain), threads=self.threads)
        return chain

    @property
    def chains(self) -> dict[int, Chain]:
        """The hosted chains to be read, by worker. A chain in which words wait is copied first, so
        that who reads when does not change what comes next."""
        return {
            worker: self._settle(replace(chain, theta=chain.theta.copy(), moved_at=waiting.copy()))
            if (waiting := chain.moved_at) is not None
            else chain
            for worker, chain in self._chains.items()
        }

    def _travel(self) -> None:
        before, after = self._places(self.round_number - 1), self._places(self.round_number)
        if before == after:
            return
        held: dict[int, State] = {
            worker: (
                chain.theta,
                chain.topic_sums,
                np.array([chain.index, chain.update]),
                _beside(chain),
            )
            for worker, chain in ((w, self._settle(c)) for w, c in self._chains.items())
        }
        moved = self.transport.route(held, list(zip(before, after, strict=True)))
        self._chains = {
            worker: _with(Chain(int(header[0]), theta, topic_sums, int(header[1])), beside)
            for worker, (theta, topic_sums, header, beside) in moved.items()
        }

    @property
    def averaging(self) -> bool:
        """Whether the round just made ended with the averaging of groups."""
        until = self.config.average_until
        return until is None or self.round_number * self.config.trajectory <= until

    def distinct(self) -> list[int]:
        """The chains whose states differ now: after averaging, the first of each group."""
        if self.averaging and self.round_number > 0:
            return [group[0] for group in self.groups]
        return list(range(self.config.chains))

    def _average(self) -> None:
        if not self.averaging:
            return
        places = self._places(self.round_number - 1)
        groups = [[places[chain] for chain in group] for group in self.groups if len(group) > 1]
        if not groups:
            return
        theta = {w: self._settle(chain).theta for w, chain in self._chains.items()}
        beside = {w: _beside(chain) for w, chain in self._chains.items()}
        self.transport.average(theta, groups)
        self.transport.average(beside, groups)
        for worker, chain in self._chains.items():
            chain.topic_sums = sum_topics(chain.theta, self.threads)
            _with(chain, beside[worker])

    def _renew_plan(self, measured: Mapping[int, float]) -> None:
        """Balanced workers need each other's delays, and so wait for the slowest of the round;
        others only note their own."""
        delays = np.full(self.config.workers, np.nan)
        delays[list(measured)] = list(measured.values())
        if self.config.balance:
            delays = self.transport.gather(dict(measured))
        if np.isnan(delays).all():
            return
        self.delays = smooth_delays(self.delays, delays)
        if self.config.balance and should_replan(self._planned_for, self.delays):
            self.plan = plan_trajectories(self.delays, self.config.trajectory)
            self._planned_for = self.delays

    def _own_delays(self) -> dict[int, float]:
        """Seconds per update, smoothed, of the hosted workers."""
        if self.delays is None:
            return {}
        return {worker: float(self.delays[worker]) for worker in self.transport.workers}

    def metrics(self) -> dict[str, Any]:
        """The step size and the start; and how the workers fare, when there are several."""
        config = self.config
        step = step_size(self.update, config.step_size, config.step_offset, config.step_decay)
        facts = {"step_size": step, "burn_in": self.burning_in}
        for chain in list(self._chains.values())[:1]:
            assert chain.alpha is not None and chain.beta is not None
            facts |= prior_metrics(config.learn, chain.alpha, chain.beta)
        if config.workers == 1:
            return facts
        return {
            **facts,
            "trajectory": list(self.plan.trajectory),
            "delays": [
                None if np.isnan(delay) else float(delay)
                for delay in self.transport.gather(self._own_delays())
            ],
            "waited": self._waited.of_workers(),
        }

    # ---- checkpoints

    def arrays(self) -> dict[str, np.ndarray]:
        """What a checkpoint must hold of the hosted chains."""
        arrays: dict[str, np.ndarray] = {}
        for chain in self._chains.values():
            number = f"{chain.index:03d}"
            arrays |= {f"theta-{number}": chain.theta, f"beside-{number}": _beside(chain)}
            if chain.moved_at is not None:
                arrays |= {f"moved-{number}": chain.moved_at, f"sums-{number}": chain.topic_sums}
        return arrays

    def facts(self) -> dict[str, Any]:
        """The numbers that go with `arrays`, as JSON values."""
        return {
            "round": self.round_number,
            "trajectory": list(self.plan.trajectory),
            "delays": {str(worker): delay for worker, delay in self._own_delays().items()},
            "planned_for": self._planned_for.tolist(),
            "positions": {str(worker): n for worker, n in self.positions.items()},
            "chains": {
                str(chain.index): {
                    "update": chain.update,
                    "clock": chain.clock,
                    "waiting": chain.moved_at is not None,
                }
                for chain in self._chains.values()
            },
        }

    def restore(self, checkpoint: Checkpoint) -> str | None:
        """Puts the hosted chains and workers where the checkpoint left them.

        On another number of workers the documents are shared out anew: the plan starts over, each
        worker goes on past the minibatches that any had seen, and chains beyond the number of
        workers are dropped. Returns a sentence that says so, or None.
        """
        parts = [checkpoint.facts(name) for name in checkpoint.parts()]
        first = parts[0]
        positions = {int(w): n for part in parts for w, n in part["positions"].items()}
        saved = {int(c): facts for part in parts for c, facts in part["chains"].items()}
        self.round_number = first["round"]
        n_before = len(first["trajectory"])
        same = n_before == self.config.workers
        if same:
            self.plan = Plan(tuple(first["trajectory"]))
            delays = {int(w): delay for part in parts for w, delay in part["delays"].items()}
            if delays:
                known = [delays.get(worker, np.nan) for worker in range(n_before)]
                self.delays = smooth_delays(None, known)
            self._planned_for = np.array(first["planned_for"])
        else:
            positions = dict.fromkeys(range(self.config.workers), max(positions.values()))
        self.positions = {worker: positions[worker] for worker in self.transport.workers}
        self._chains = {}
        for chain, worker in enumerate(self._places(self.round_number - 1)):
            if worker in self.transport.workers:
                self._chains[worker] = self._restored(chain, saved[chain], checkpoint)
        if same:
            return None
        return (
            f"This run was made on {n_before} workers and goes on with {self.config.workers}: the"
            f" documents are shared out anew, {self.config.chains} of {len(saved)} chains go on"
            " from their last state, and the result is as valid but not bit for bit what the"
            f" {n_before} workers would have given."
        )

    def _restored(self, number: int, facts: dict[str, Any], checkpoint: Checkpoint) -> Chain:
        theta = checkpoint.array(f"theta-{number:03d}")
        chain = Chain(number, theta, np.zeros(0), facts["update"], facts["clock"])
        if facts["waiting"]:
            chain.moved_at = checkpoint.array(f"moved-{number:03d}")
            chain.topic_sums = checkpoint.array(f"sums-{number:03d}")
        else:
            chain.topic_sums = sum_topics(theta, self.threads)
        return _with(chain, checkpoint.array(f"beside-{number:03d}"))

    # ---- compilation

    def warm_up(self) -> None:
        """Compiles every kernel a round needs, on throw-away data of the same types."""
        config = self.config
        for worker in list(self.transport.workers)[:1]:
            self.documents[worker].minibatch(np.zeros(1, np.int64))
        tiny = initial_chain(0, 32, config.topics, beta=config.beta, n_tokens=100, seed=0)
        _with(tiny, np.full(2 * config.topics + 1, 0.1))
        # A document of the usual length, for which the same kernel is chosen.
        length = max(2, round(self._n_tokens / max(1, self._n_docs)))
        words = np.arange(2, dtype=np.int32)
        tokens = np.arange(length, dtype=np.uint32) % 2
        batch = Minibatch(np.zeros(1, np.int64), np.array([0, length]), tokens, words)
        self._move(tiny, batch, 1.0)
        if config.learn != "none":
            self._learn(tiny, batch, np.zeros(length, np.uint16))
        self._settle(tiny)


def _beside(chain: Chain) -> np.ndarray:
    """What belongs to a chain beside θ: α, the topics' shares, β; float64 (2K + 1,)."""
    return np.concatenate([chain.alpha, chain.share, [chain.beta]])


def _with(chain: Chain, beside: np.ndarray) -> Chain:
    """The chain itself, with what `_beside` said."""
    chain.alpha, chain.share, last = np.split(beside, [len(beside) // 2, len(beside) - 1])
    chain.beta = float(last[0])
    return chain
