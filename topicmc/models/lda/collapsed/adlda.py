"""AD-LDA: collapsed Gibbs sampling on all workers at once (Newman, Asuncion, Smyth & Welling 2007).

Each worker draws topics for its own documents under its own copy of the counts; then the copies are
made one, n_kw ← n_kw + Σ_s (n^s_kw − n_kw), by an integer sum that is exact in any order. With one
worker there is nothing to reconcile.

An *update* draws one block of each worker's documents (`topicmc.models.lda.collapsed.worker`). A
round is ``trajectory`` updates, after which the workers synchronise; `rounds_per_sweep` rounds
visit every document once. The result depends on the number of workers and on the blocks, not on
threads; blocks of one document (``batch_size`` 1) on one worker are plain collapsed Gibbs sampling.

Which documents a worker has at an update, and under which β they are drawn, is in
`topicmc.models.lda.collapsed.growing`; topics are always reported under the final β.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from topicmc.engine.method import WaitFraction
from topicmc.kernels.collapsed import assignment_dtype
from topicmc.kernels.joint import log_words
from topicmc.kernels.random import stream_key
from topicmc.models.lda.collapsed.compilation import compiling_documents
from topicmc.models.lda.collapsed.consensus import warm_up as warm_up_consensus
from topicmc.models.lda.collapsed.growing import Schedule, Worker
from topicmc.models.lda.collapsed.parts import Part
from topicmc.models.lda.collapsed.reconciliation import AllReduce, Reconciliation
from topicmc.models.lda.collapsed.start_topics import StartTopics
from topicmc.models.lda.collapsed.word_orders import FEW_TOPICS, WordOrders
from topicmc.models.lda.collapsed.worker import CollapsedWorker
from topicmc.models.lda.partition import share_out
from topicmc.models.lda.planning.starts import is_late, latest, told_late
from topicmc.models.lda.priors.learned import learned_alpha, learned_beta, prior_metrics
from topicmc.models.lda.task import Task
from topicmc.models.lda.workers import Tokens, expand
from topicmc.samplers.row_prior import RowPrior
from topicmc.samplers.state import Chain
from topicmc.storage.checkpoints import Checkpoint
from topicmc.storage.scratch import scratch_array

_ROWS = 2_048  # of counts that are worth a thread's while
_STEPS = 5  # of the fixed point that priors are learned by, after each sweep


class Adlda:
    """The workers of this process, and the round that draws their documents.

    Args:
        task: of all chains of the run.
        number: of the chain, where a run has several (`topicmc.models.lda.collapsed.independent`).
        tokens: those of each hosted worker, where they are known.
    """

    def __init__(
        self, task: Task, number: int = 0, tokens: Mapping[int, Tokens] | None = None
    ) -> None:
        config, corpus, transport, origin = task.config, task.corpus, task.transport, task.origin
        self.config = config
        self.number = number
        self.transport = transport
        self.threads = task.threads
        self.slow = task.slow
        self.alpha = np.full(config.topics, config.alpha, np.float64)
        self.prior = RowPrior(config.beta, task.additions)
        self.time_budget = config.time_budget
        """Seconds, or None."""
        self.latest = latest(config.start, keeps_assignments=True)
        """The share of them that the start may take."""
        self._left_out = np.zeros(2, np.int64)  # updates and sweeps of a late start
        if origin is not None:
            self.alpha = origin.alpha(number)
            self.prior = self.prior.with_base(origin.beta(number))
        self.schedule = Schedule(config, corpus)
        self.start_topics = StartTopics(config, self.schedule, origin, number, transport)
        self.round_number = 0
        self._waited = WaitFraction(transport)
        self._n_words = corpus.n_words
        join = int(stream_key(config.seed, "join", number))
        generator = np.random.Generator(np.random.Philox(key=join))
        ranks = generator.random(corpus.n_docs, np.float32)
        key = stream_key(config.seed, "collapsed", number)
        if tokens is None:
            ranges = share_out(task.documents, config.workers)
            tokens = {w: expand(task.documents, ranges[w], task.scratch) for w in transport.workers}
        self.tokens = tokens
        self.workers: dict[int, Worker] = {}
        for worker in transport.workers:
            offsets, words, first = self.tokens[worker]
            z = scratch_array(len(words), assignment_dtype(config.topics), task.scratch)
            docs = scratch_array(len(words), np.uint16, task.scratch)
            orders = WordOrders(words, corpus.n_words, docs)
            sampler = CollapsedWorker(
                offsets, words, first, corpus.n_words, config.topics, key, z, orders
            )
            mine = ranks[first : first + len(offsets) - 1].copy()
            self.workers[worker] = Worker(sampler, self.schedule, mine)
        self.reconciliation = self._reconciliation(
            next(iter(self.samplers.values())).word_topic.shape
        )

    def _reconciliation(self, shape: tuple[int, ...]) -> Reconciliation:
        return AllReduce(self.transport, shape)

    @property
    def samplers(self) -> dict[int, CollapsedWorker]:
        """The hosted workers' documents and counts."""
        return {number: worker.sampler for number, worker in self.workers.items()}

    # ---- one round

    @property
    def update(self) -> int:
        """Updates that each worker has made."""
        return self._clock - int(self._left_out[0])

    @property
    def _clock(self) -> int:
        """The update of the schedule, from which those of a late start are not missing."""
        return self.round_number * self.config.trajectory

    def round(self) -> tuple[int, int]:
        """`trajectory` updates of every hosted worker, then everyone's counts become one."""
        before = self.sweep
        self._begin_again(before)
        documents = tokens = 0
        for number in self.workers:
            done = self.advance(number)
            documents += done[0]
            tokens += done[1]
        self.reconciliation.share(self.samplers)
        self.round_number += 1
        self._learn(before)
        self.start_topics.forget(self.sweep)
        return documents, tokens

    def _begin_again(self, sweep: int) -> None:
        """Lets the next member of the start begin, or the chain itself, where one has ended."""
        if not self.start_topics.member_ended(sweep):
            return
        self.start_topics.keep_member(sweep, self._counts)
        for sampler in self.samplers.values():
            sampler.clear()
        self._share_all()

    def is_late(self, seconds: float) -> bool:
        """Whether the start takes too long after so many seconds of training, and can do without
        some of its sweeps."""
        late = is_late(seconds, self.time_budget, self.latest)
        return late and self.schedule.next_if_late(self.sweep) > self.sweep

    def end_start(self) -> str:
        """Leaves out sweeps of the start; returns what there is to say about that. Collective."""
        made, sweep, clock = self.position, self.sweep, self._clock
        self.start_topics.leave_out_members(sweep, self._counts)
        self._go_to(self.schedule.after(self.schedule.next_if_late(sweep)))
        left_out = self.sweep - sweep
        self._left_out += [self._clock - clock, left_out]
        return told_late(made, left_out, self.schedule.start_sweeps)

    def _go_to(self, update: int) -> None:
        """Goes on with an update that a round begins with."""
        self.round_number = update // self.config.trajectory
        for worker in self.workers.values():
            worker.update = update

    def _topics(self, sweep: int) -> tuple[np.ndarray, np.ndarray] | None:
        """θ float32 (W, Kp) and its sums, for tokens to be drawn given them in a sweep; None: the
        counts."""
        return self.start_topics.theta(sweep, self.prior)

    def _kinds(self) -> list[tuple[np.ndarray, np.ndarray] | None]:
        """What `_topics` may return, topics over one word."""
        return self.start_topics.kinds()

    def _learn(self, before: int) -> None:
        """New priors if a sweep has ended since ``before``, while they are to be learned."""
        config = self.config
        if not self.schedule.learns(before, self.sweep):
            return
        if config.learns_alpha:
            histogram = np.sum([s.mix_histogram() for s in self.samplers.values()], axis=0)
            self.alpha = learned_alpha(self.alpha, self.transport.sum(histogram), steps=_STEPS)
        if config.learns_beta:
            counts = self._counts()
            theta, totals = self._theta(counts), self._totals(counts).astype(np.float64)
            sums = totals + self.prior.totals(*theta.shape)
            beta = learned_beta(self.prior, theta, sums, totals, steps=_STEPS, threads=self.threads)
            # Where workers do not wait for each other, processes may see other counts.
            beta = float(self.transport.sum(np.array([beta * self.transport.is_root]))[0])
            self.prior = self.prior.with_base(beta)

    def advance(self, number: int) -> tuple[int, int]:
        """`trajectory` updates of one worker; returns documents and tokens drawn."""
        worker, config = self.workers[number], self.config
        start = time.perf_counter()
        one_by_one = config.batch_size == 1
        at_once = config.trajectory if one_by_one else 1
        documents = tokens = 0
        for _ in range(0, config.trajectory, at_once):
            docs = worker.documents(worker.update, at_once)
            sweep = self.schedule.place(worker.update)[0]
            tokens += worker.sampler.draw(
                docs,
                self.alpha,
                self.prior.with_base(self.prior.base * self.schedule.beta_factor(worker.update)),
                topics=self._topics(sweep),
                sweep=sweep,
                begins=self.schedule.members.begins(sweep),
                one_by_one=one_by_one,
                threads=self.threads,
            )
            documents += len(docs)
            worker.update += at_once
        if number in self.slow:
            time.sleep((self.slow[number] - 1) * (time.perf_counter() - start))
        return documents, tokens

    # ---- what the loop asks

    @property
    def sweep(self) -> int:
        """Sweeps of the schedule completed, or left out."""
        return self.schedule.position(self._clock)

    @property
    def position(self) -> int:
        """Sweeps completed."""
        return self.sweep - int(self._left_out[1])

    @property
    def in_burn_in(self) -> bool:
        """Whether no sweep behind the start is completed, so that no state is a sample yet."""
        return self.schedule.is_start(self.sweep)

    def is_start(self, position: int) -> bool:
        """Whether a state after so many sweeps is no sample."""
        return self.schedule.is_start(position + int(self._left_out[1]))

    def log_joints(self) -> dict[int, float]:
        """The log joint of the one chain, on every process."""
        counts = self.reconciliation.counts()
        totals = self._totals(counts)
        beta = self.prior.rows(len(counts), len(totals), np.float64)
        words = log_words(counts, totals, beta, self.threads)
        mixes = sum(s.log_mixes(self.alpha) for s in self.samplers.values())
        return {self.number: words + float(self.transport.sum(np.array([mixes]))[0])}

    def position_of_round(self, number: int) -> int:
        """Sweeps completed after that round, on as many workers as there are now."""
        return self.schedule.position(number * self.config.trajectory)

    @property
    def chains(self) -> dict[int, Chain]:
        """The one chain there is, on the process that hosts worker 0."""
        return {self.number: self.chain()} if 0 in self.workers else {}

    def glimpses(self, words: np.ndarray) -> dict[int, Chain]:
        """As `chains`, with θ of some words alone, int64 (n,)."""
        return {self.number: self.chain(words)} if 0 in self.workers else {}

    def chain(self, words: np.ndarray | None = None) -> Chain:
        """The chain, with θ_wk = n_kw + b_kw of all words or of some, on any process."""
        counts = self._counts()
        sizes = self._totals(counts).astype(np.float64)
        prior = self.prior.totals(self._n_words, len(sizes))
        return Chain(
            self.number, self._theta(counts, words), sizes + prior, self.update,
            alpha=self.alpha, beta=self.prior.base, share=sizes / max(1.0, sizes.sum()),
            of_counts=True,
        )  # fmt: skip

    def _theta(self, counts: np.ndarray, words: np.ndarray | None = None) -> np.ndarray:
        """n_kw + b_kw of all words or of some: float32 (n, K)."""
        rows = counts if words is None else counts[words]
        theta = np.empty(rows.shape, np.float32)

        def fill(first: int, last: int, _: int) -> None:
            np.copyto(theta[first:last], rows[first:last], casting="unsafe")

        self.threads.run_over(fill, len(rows), _ROWS)
        self.prior.add_to(theta, words)
        return theta

    def _counts(self) -> np.ndarray:
        """n_wk as all workers know it: int32 (W, K)."""
        return self.reconciliation.counts()[:, : self.config.topics]

    def _totals(self, counts: np.ndarray) -> np.ndarray:
        """The tokens of each topic, int64 (K,), of counts that all workers know."""
        return next(iter(self.samplers.values())).topic_totals[: self.config.topics]

    def distinct(self) -> list[int]:
        """The chains whose states differ: the only one."""
        return [self.number]

    def metrics(self) -> dict[str, Any]:
        """Where the start and the sweeps stand, and how the workers fare."""
        facts: dict[str, Any] = {
            "sweep": round(self.schedule.swept(self._clock), 3),
            "joined": round(self.schedule.share(max(0, self._clock - 1)), 4),
            "burn_in": self.in_burn_in,
            **prior_metrics(self.config.learn, self.alpha, self.prior.base),
        }
        made = self.schedule.position(max(0, self._clock - 1))
        of = self.schedule.members
        if made < of.end:
            facts["stage"] = "on a subset"
            if self.config.start == "consensus":
                facts["stage"] = f"short chain {of.ended(made) + 1} of {of.number}"
        if self.config.workers > 1:
            facts["waited"] = self._waited.of_workers()
        return facts

    # ---- checkpoints

    def arrays(self) -> dict[str, np.ndarray]:
        """The assignments of the hosted workers, from which all counts follow; and the counts of
        the members of the start that have ended."""
        mine = {f"z-{number:03d}": sampler.z for number, sampler in self.samplers.items()}
        return {**mine, **(self.start_topics.arrays() if 0 in self.workers else {})}

    def facts(self) -> dict[str, Any]:
        """The numbers that go with `arrays`, as JSON values."""
        return {
            "round": self.round_number,
            "updates": {str(number): worker.update for number, worker in self.workers.items()},
            "alpha": self.alpha.tolist(),
            "beta": self.prior.base,
            "members": len(self.start_topics.members),
            "apart": True,  # the arrays of members
            "members_ended": self.start_topics.ended,
            "left_out": self._left_out.tolist(),
            "given_beta": self.start_topics.base,
            "swept": max(self.schedule.swept(worker.update) for worker in self.workers.values()),
        }

    def restore(self, checkpoint: Checkpoint) -> str | None:
        """Puts the hosted workers where the checkpoint left them.

        On another number of workers, or where a start has other documents than it had in the
        version that saved the run, each token keeps its topic, and the next sweep begins. Returns a
        sentence that says so, or None.
        """
        parts = [checkpoint.facts(name) for name in checkpoint.parts()]
        updates = {int(number): n for part in parts for number, n in part["updates"].items()}
        alpha = np.array(parts[0]["alpha"], np.float64)
        if alpha.shape != self.alpha.shape or not (np.isfinite(alpha) & (alpha >= 0)).all():
            raise ValueError(f"alpha is no prior of {len(self.alpha)} topics")
        self.alpha = alpha
        self.prior = self.prior.with_base(float(parts[0]["beta"]))
        self.start_topics.restore(checkpoint, parts[0], self._n_words)
        self._left_out[:] = parts[0].get("left_out", 0)
        alike = self._shared_out_alike(checkpoint, len(updates))
        if alike and all(map(self._on_the_same_clock, parts)):
            self.round_number = int(parts[0]["round"])
            for number, worker in self.workers.items():
                worker.sampler.adopt(checkpoint.array(f"z-{number:03d}", mmap=True))
                worker.update = updates[number]
            self._share_all()
            return None
        z = [checkpoint.array(f"z-{number:03d}", mmap=True) for number in sorted(updates)]
        sizes = self.transport.gather({n: len(s.tokens) for n, s in self.samplers.items()})
        ends = np.cumsum(sizes).astype(np.int64)
        # Workers that do not wait for each other are as far as the slowest.
        self._go_to(self.schedule.after(min(part["swept"] for part in parts)))
        self._left_out[0] = self._left_out[0] * self._clock // max(1, *updates.values())
        for number, worker in self.workers.items():
            first, last = ends[number] - int(sizes[number]), ends[number]
            worker.sampler.adopt(*_between(z, first, last))
        self._share_all()
        n_before = len(updates)
        made = f"This run was made on {n_before} worker{'s' * (n_before > 1)}"
        made += f" and goes on with {self.config.workers}"
        if alike:
            made = "This run was saved by a version whose starts have other documents in a sweep"
        elif len(updates) == self.config.workers:
            made = "The workers have other documents than when this run was saved"
        return (
            f"{made}: every token keeps its topic and the next sweep begins; the result is as valid"
            " but not bit for bit what it would have been"
        )

    def _on_the_same_clock(self, facts: dict[str, Any]) -> bool:
        """Whether a process that saved these facts had made as many sweeps as it would have now."""
        return facts["swept"] == max(map(self.schedule.swept, facts["updates"].values()))

    def _shared_out_alike(self, checkpoint: Checkpoint, n_workers: int) -> bool:
        """Whether every worker had the documents that it has now."""
        alike = n_workers == self.config.workers and all(
            checkpoint.length(f"z-{number:03d}") == len(worker.sampler.tokens)
            for number, worker in self.workers.items()
        )
        return not self.transport.sum(np.array([not alike], np.int64))[0]

    def _share_all(self) -> None:
        self.reconciliation.share(self.samplers)

    # ---- compilation

    def warm_up(self) -> None:
        """Compiles every kernel a round needs, on throw-away data of the same types."""
        self._compile_by_word()
        self._compile()

    def _compile_by_word(self) -> None:
        """What draws in the order of words, if anything does, and elsewhere what else draws."""
        for worker in list(self.workers.values())[:1]:
            sampler = worker.sampler
            if self._draws_by_word(sampler):
                with compiling_documents(self.config, self.prior, sampler.tokens):
                    tiny = self._tiny(sampler)
                    tiny.adopt(np.zeros_like(tiny.z))
                    self._draw_one(tiny, 1, 1, self._kinds()[0])

    def _compile(self) -> None:
        """What is not compiled yet of what a round needs."""
        config = self.config
        if config.start == "consensus":
            warm_up_consensus()
        for worker in list(self.workers.values())[:1]:
            sampler = worker.sampler
            by_itself, by_word = [0], [1, 2] if self._draws_by_word(sampler) else []
            later = 2 if self.schedule.grows and config.topics > FEW_TOPICS else None
            for topics in self._kinds():
                tiny = self._tiny(sampler)
                apart = Part(np.array([0, 2]), tiny.offsets)
                apart.of(tiny.tokens)
                apart.put(apart.of(tiny.z), tiny.z)
                # Only under counts do documents join that are drawn by themselves.
                documents = by_word or by_itself if topics is not None else by_itself + by_word
                for sweep, document in product((0, 1), documents):
                    if sweep == 0 and document == later and topics is None:
                        continue  # it joins when others have topics
                    self._draw_one(tiny, document, sweep, topics)
            tiny.adopt(tiny.z)
            if config.learn != "none":
                one = np.ones((1, config.topics), np.float32)
                learned_alpha(self.alpha, tiny.mix_histogram())
                prior = self.prior.summed(1)
                learned_beta(prior, one, one[0].astype(np.float64), one[0].astype(np.float64))

    def _tiny(self, sampler: CollapsedWorker) -> CollapsedWorker:
        """With the types of a sampler: a document that is drawn by itself, and two that are drawn
        word by word, of which one has few of the topics."""
        offsets = np.cumsum([0, 2, 16, max(16, self.config.topics // 4)])
        tokens = np.zeros(offsets[-1], sampler.tokens.dtype)
        return CollapsedWorker(offsets, tokens, 0, 1, self.config.topics, sampler.key)

    def _draw_one(
        self,
        tiny: CollapsedWorker,
        document: int,
        sweep: int,
        topics: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        tiny.draw(
            np.array([document]), self.alpha, self.prior.summed(1), sweep=sweep,
            one_by_one=self.config.batch_size == 1, threads=self.threads, topics=topics,
        )  # fmt: skip

    def _draws_by_word(self, sampler: CollapsedWorker) -> bool:
        """Whether the first block of a sweep over all documents is drawn word by word."""
        n_docs = max(1, len(sampler.joined) // self.schedule.per_sweep)
        docs = np.arange(min(n_docs, len(sampler.joined)))
        return len(docs) > 0 and sampler.is_by_word(docs, self.threads)


def _between(parts: list[np.ndarray], first: int, last: int) -> list[np.ndarray]:
    """Elements first … last − 1 of arrays that lie one after another."""
    starts = np.cumsum([0, *map(len, parts)])[:-1]
    return [
        part[max(0, first - start) : max(0, last - start)]
        for part, start in zip(parts, starts, strict=True)
    ]
