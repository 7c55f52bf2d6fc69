"""The training loop: rounds, samples, evaluation, checkpoints, stopping.

The loop knows nothing of what a round does; it asks a method (`topicmc.distributed`) for the next
one, and a transport whether the other processes agree. The clock counts rounds: neither loading,
nor the compilation of kernels, nor evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from topicmc.corpora import Corpus
from topicmc.engine.clock import Clock, Due
from topicmc.engine.ending import first_look, has_converged, is_due
from topicmc.engine.interrupts import Interrupt
from topicmc.engine.method import open_method
from topicmc.engine.progress import fraction
from topicmc.engine.transport.base import Transport
from topicmc.engine.waiting import announced
from topicmc.errors import DivergedError
from topicmc.kernels.threads import Threads
from topicmc.models.lda.defaults import expected_updates
from topicmc.models.lda.heldout import HeldOut
from topicmc.models.lda.samples import KeptSamples
from topicmc.models.lda.scoring import SPLIT_SEED
from topicmc.models.lda.tracing import Tracer
from topicmc.settings.config import Interval, TrainConfig
from topicmc.storage.checkpoints import believed
from topicmc.storage.runs import RunDirectory

# What evaluations may take where it is left to the program how many there are: a share of the
# training time, and some seconds of a run.
EVALUATION_SHARE, EVALUATION_SECONDS = 0.15, 1.0


@dataclass(frozen=True)
class Status:
    """Where training stands: ``fraction`` of what was asked for, updates per chain, documents and
    training seconds so far, and corpus tokens visited per second."""

    fraction: float
    update: int
    documents: int
    seconds: float
    tokens_per_second: float


@dataclass(frozen=True)
class Outcome:
    """How training ended."""

    interrupted: bool
    update: int
    documents: int
    seconds: float
    perplexity: float | None
    """Held-out, of the newest kept sample; of the state at the end where there is no sample."""
    perplexity_averaged: float | None
    """With predictions averaged over the kept samples; None where there are none."""
    samples: int
    """Kept, of all chains."""
    converged: bool
    """Whether a run that trains until then has seen that it has; told on the root."""


class Listener(Protocol):
    """Who is told how training goes; called on the root process only."""

    def progress(self, status: Status) -> None:
        """After each round."""

    def evaluated(self, record: dict[str, Any]) -> None:
        """After each evaluation, with the object that went into ``metrics.jsonl``."""

    def message(self, text: str) -> None:
        """A sentence for the person who waits."""

    def close(self) -> None:
        """When training has ended, however it did."""


class Training:
    """One run of a method on a corpus, from wherever it stands to where it should end.

    Args:
        config: resolved settings.
        corpus: an open corpus.
        run: where everything is written.
        transport: who hosts which workers.
        listener: who is told.
        resume: go on from the run's checkpoint, if it has one.
        slow: factor by which a worker is slowed down, for experiments.
    """

    def __init__(
        self,
        config: TrainConfig,
        corpus: Corpus,
        run: RunDirectory,
        transport: Transport,
        listener: Listener,
        *,
        resume: bool = False,
        slow: Mapping[int, float] | None = None,
    ) -> None:
        self.config = config
        self.run = run
        self.transport = transport
        self.listener = listener
        threads = Threads(config.threads)
        self.method = open_method(config, corpus, transport, threads, slow, run.path)
        self.heldout = HeldOut(
            corpus, config.topics, self.method.alpha, SPLIT_SEED, transport, threads
        )
        self.samples = KeptSamples(run, transport, config.samples, corpus.n_tokens)
        self.tracer = Tracer(config, corpus, run, transport, threads)
        self.clock, self._evaluating = Clock(), Clock()
        self.rounds = self.documents = self.tokens = 0
        self._n_docs = corpus.n_docs
        self._expected = expected_updates(config, corpus.n_docs)
        self._record: dict[str, Any] = {}
        self._first_look = first_look(config, corpus.n_docs)
        self._converged = False  # known to the root, of runs that train until then
        self._saved_round = -1
        if resume:
            self._restore()

    @property
    def update(self) -> int:
        """Updates per chain, in the mean over chains."""
        return self.method.update

    def train(self, interrupt: Interrupt) -> Outcome:
        """Rounds until the target or an interruption; always leaves a checkpoint behind.

        Raises DivergedError when the perplexity or the weights stop being numbers.
        """
        if not self._agree(self._is_over())[0]:
            self._warm_up()
        at = (self.clock.seconds, self.update)
        evaluated = (self._record.get("seconds", 0.0), self._record.get("update", 0))
        evaluation = Due(self.config.evaluation_interval(self._expected), *evaluated)
        checkpoint = Due(Interval.parse(self.config.checkpoint_every), *at)
        if self._agree(False, evaluation(*at))[1]:
            self._evaluate()  # it was due when the run was interrupted
        interrupted = False
        while not interrupted and not self._agree(self._is_over())[0]:
            self._round()
            at = (self.clock.seconds, self.update)
            interrupted, evaluate, save = self._agree(
                interrupt.requested, evaluation(*at) and self._affordable(), checkpoint(*at)
            )
            if evaluate and not interrupted:
                self._evaluate()
            if save and not interrupted:
                self._checkpoint()
        if not interrupted and self._record.get("round") != self.rounds:
            self._evaluate()
        self._checkpoint()
        perplexity, averaged = self._record.get("perplexity"), None
        kept = None if interrupted else self.heldout.of_samples(self.run, self.samples.entries)
        if kept is not None:
            perplexity, averaged = kept
        return Outcome(
            interrupted,
            self.update,
            self.documents,
            self.clock.seconds,
            perplexity,
            averaged,
            len(self.samples.entries),
            self._converged,
        )

    # ---- steps of the loop

    def _round(self) -> None:
        before = self.method.position
        with self.clock.running():
            info = self.method.round()
            done = self.transport.sum(np.array([info.documents, info.tokens], np.int64))
        self.rounds += 1
        self.documents += int(done[0])
        self.tokens += int(done[1])
        self.samples.keep(self.method, self.rounds)
        seconds = round(self.clock.seconds, 3)
        self.tracer.record(self.method, round=self.rounds, seconds=seconds)
        if self.transport.is_root:
            due = is_due(before, self.method.position, self._first_look)
            if due and self.config.until == "converged":
                self._converged = has_converged(self.run)
            self.listener.progress(self._status())

    def _affordable(self) -> bool:
        """Whether to evaluate when it is due: always, unless when was left to the program, and
        people would have to wait for it. More is left for later, where the verdict looks."""
        free = EVALUATION_SECONDS + EVALUATION_SHARE * self.clock.seconds
        spent = self._evaluating.seconds
        return self.config.evaluate_every != "auto" or spent <= self._fraction() * free

    def _evaluate(self) -> None:
        # The first one compiles kernels, which says nothing of the others.
        with self._evaluating.running() if self._record else nullcontext():
            self._record = self._evaluation()
        if self.transport.is_root:
            self.run.append_metrics(self._record)
            self.listener.evaluated(self._record)

    def _evaluation(self) -> dict[str, Any]:
        """The object for ``metrics.jsonl``; DivergedError when the perplexity is no number."""
        scores = self.heldout.of_chains(self.method.chains, self.method.distinct())
        perplexity = None if scores is None else math.exp(-np.mean(scores))
        if perplexity is not None and not math.isfinite(perplexity):
            raise DivergedError(
                f"the held-out perplexity is {perplexity} after update {self.update}; lower"
                f" --step-size (now {self.config.step_size:g})"
            )
        kept = self.heldout.of_samples(self.run, self.samples.entries)
        averaged = perplexity if kept is None else kept[1]
        before = self._record
        seconds = self.clock.seconds - before.get("seconds", 0.0)
        tokens = self.tokens - before.get("tokens", 0)
        return {
            "round": self.rounds,
            "position": self.method.position,
            "update": self.update,
            "documents": self.documents,
            "tokens": self.tokens,
            "seconds": round(self.clock.seconds, 3),
            "perplexity": perplexity,
            "perplexity_averaged": averaged,
            "log_likelihood": scores,
            "samples": len(self.samples.entries),
            "tokens_per_second": round(tokens / max(seconds, 1e-9)),
            **self.method.metrics(),
        }

    def _checkpoint(self) -> None:
        number = self.rounds
        if number == self._saved_round:
            return
        part = f"rank-{self.transport.rank:03d}"
        checksums = self.run.write_checkpoint_part(
            number, part, self.method.arrays(), self.method.facts()
        )
        everyone = self.transport.exchange(checksums)
        if self.transport.is_root:
            merged = {name: value for files in everyone for name, value in files.items()}
            facts = {
                "seconds": self.clock.seconds,
                "documents": self.documents,
                "tokens": self.tokens,
                "record": self._record,
                "converged": self._converged,
            }
            self.run.commit_checkpoint(number, merged, facts)
        self.samples.stand_in(self.method, number)
        self.transport.barrier()
        self._saved_round = number

    def _restore(self) -> None:
        checkpoint = self.run.checkpoint()
        if checkpoint is not None:
            with believed(checkpoint):
                notice = self.method.restore(checkpoint)
            if notice is not None and self.transport.is_root:
                self.listener.message(notice)
            self.rounds = self._saved_round = checkpoint.manifest["round"]
            self.clock.seconds = checkpoint.manifest["seconds"]
            self.documents = checkpoint.manifest["documents"]
            self.tokens = checkpoint.manifest["tokens"]
            self._record = checkpoint.manifest["record"]
            self._converged = checkpoint.manifest.get("converged", False)
        elif self.transport.is_root:
            self.listener.message(
                "no checkpoint was written yet: the run starts from its beginning"
            )
        self.samples.rewind(self.method)
        self.tracer.rewind(self.method.position)
        if self.transport.is_root:
            self.run.rewind_metrics(self.rounds)

    def _warm_up(self) -> None:
        """Compiles the kernels before the clock starts; says so when they are not in the cache."""
        with announced(self.listener.message if self.transport.is_root else None):
            self.method.warm_up()
            self.tracer.warm_up(self.method)

    # ---- where it stands

    def _agree(self, *flags: bool) -> list[bool]:
        """Each flag as the processes agree on it: the first is raised when anyone raises it, the
        others when the root does, whose clock counts."""
        if self.transport.n_processes == 1:
            return list(flags)
        raised = np.array(flags, np.int64)
        raised[1:] *= self.transport.is_root
        return [bool(flag) for flag in self.transport.sum(raised)]

    def _is_over(self) -> bool:
        ended = self._converged and self.config.until == "converged"
        return ended or self._fraction() >= 1

    def _fraction(self) -> float:
        return fraction(
            self.config,
            self._n_docs,
            update=self.update,
            documents=self.documents,
            seconds=self.clock.seconds if self.transport.is_root else 0.0,
        )

    def _status(self) -> Status:
        return Status(
            min(1.0, self._fraction()),
            self.update,
            self.documents,
            self.clock.seconds,
            self.tokens / max(self.clock.seconds, 1e-9),
        )
