"""The training loop: rounds, samples, evaluation, checkpoints, stopping.

The loop knows neither model nor sampler; it asks a method (`topicmc.engine.method`) for the next
round, and a transport whether the other processes agree. The clock counts rounds: neither loading,
nor the compilation of kernels, nor evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from topicmc.engine.clock import Clock, Due
from topicmc.engine.compiling import compiling
from topicmc.engine.ending import fraction, has_converged, is_due
from topicmc.engine.method import EndsStart, Entry, Model
from topicmc.engine.samples import KeptSamples
from topicmc.engine.trace import Tracer
from topicmc.engine.transport.base import Transport
from topicmc.errors import DivergedError
from topicmc.host.interrupts import Interrupt
from topicmc.settings.groups import Run
from topicmc.settings.values import AUTO
from topicmc.storage.checkpoints import INDEX, believed
from topicmc.storage.runs import RunDirectory

# What evaluations may take where it is left to the program how many there are: a share of the
# training time, and some seconds of a run. And what checkpoints may.
EVALUATION_SHARE, EVALUATION_SECONDS = 0.15, 1.0
CHECKPOINT_SHARE = 0.1


@dataclass(frozen=True)
class Status:
    """Where training stands: ``fraction`` of what was asked for, 1 once the chains have converged
    if that is the end, updates per chain, items of the data drawn and training seconds so far, and
    ``speed`` in units of the data per second, both as `Model.counted` names them."""

    fraction: float
    update: int
    items: int
    seconds: float
    speed: float


@dataclass(frozen=True)
class Outcome:
    """How training ended."""

    interrupted: bool
    update: int
    items: int
    """Of the data drawn."""
    seconds: float
    score: float | None
    """On held-out data, of the newest kept sample; of the state at the end where there is no
    sample."""
    score_averaged: float | None
    """With predictions averaged over kept samples; None where there are none."""
    averaged_over: int
    """How many those are."""
    samples: int
    """Kept, of all chains."""
    converged: bool
    """Whether a run with ``until`` "converged" has converged; known on the root."""


class Listener(Protocol):
    """Receives the events of training; called on the root process only."""

    def progress(self, status: Status) -> None:
        """After each round."""

    def evaluated(self, record: dict[str, Any]) -> None:
        """After each evaluation, with the object that went into ``metrics.jsonl``."""

    def message(self, text: str) -> None:
        """A sentence for the person who waits."""

    def close(self) -> None:
        """When training has ended, however it did."""


class Training:
    """One run of a method, from wherever it stands to where it should end.

    Args:
        config: resolved settings.
        model: what is trained.
        run: where everything is written.
        transport: who hosts which workers.
        listener: who is told.
        resume: go on from the run's checkpoint, if it has one.
    """

    def __init__(
        self,
        config: Run,
        model: Model,
        run: RunDirectory,
        transport: Transport,
        listener: Listener,
        *,
        resume: bool = False,
    ) -> None:
        self.config = config
        self.model = model
        self.run = run
        self.transport = transport
        self.listener = listener
        self.method = model.method
        write = model.write_sample, model.write_mean
        self.samples = KeptSamples(run, transport, config.samples, *write)
        self.tracer = Tracer(model, run, transport)
        self.clock, self._evaluating, self._saving = Clock(), Clock(), Clock()
        self._states_scored, self._samples_scored = 0, set[str]()
        self.rounds = 0
        self.drawn = np.zeros(len(model.counted), np.int64)
        self._record: dict[str, Any] = {}
        self._converged = False  # known to the root, of runs that train until then
        self._saved: tuple[int, int | None, bool] = (-1, None, False)  # `_stage` of the checkpoint
        self._kept_round = -1  # of what goes with a checkpoint
        if resume:
            self._restore()
        self._begun = self.clock.seconds  # when this process began

    @property
    def update(self) -> int:
        """Updates per chain, in the mean over chains."""
        return self.method.update

    def train(self, interrupt: Interrupt) -> Outcome:
        """Rounds until the target or an interruption; always leaves a checkpoint behind.

        Raises DivergedError when the score or a state stops being a number.
        """
        if not self._agree(self._is_over())[0]:
            self._warm_up()
        at = (self.clock.seconds, self.update)
        evaluated = (self._record.get("seconds", 0.0), self._record.get("update", 0))
        evaluation = Due(self.config.evaluation_interval(self.model.expected_updates), *evaluated)
        checkpoint = Due(self.config.checkpoint_interval(), *at)
        late = evaluation(*at) and self._record.get("round") != self.rounds and self._affordable()
        _, late, averaged = self._agree(False, late, late and self._scores_samples())
        if late:
            self._evaluate(averaged)  # it was due when the run was interrupted
        interrupted = False
        while not interrupted:
            # A signal may have come while a state was restored, scored or saved.
            stops = interrupt.requested and self.rounds > 0
            interrupted, over = self._agree(stops, self._is_over())
            if interrupted or over:
                break
            self._round()
            at = (self.clock.seconds, self.update)
            due = evaluation(*at) and self._affordable()
            averaged = due and self._scores_samples()
            # The last checkpoint follows the last evaluation.
            save = checkpoint(*at) and self._affords_checkpoint() and not self._is_over()
            interrupted, evaluate, averaged, save, late = self._agree(
                interrupt.requested, due, averaged, save, self._start_is_late()
            )
            if evaluate and not interrupted:
                self._evaluate(averaged)
            if save and not interrupted:
                with self._saving.running():
                    self._checkpoint()
            if late:
                self._end_start()
        if not interrupted:
            self._look()
            if self._record.get("round") != self.rounds:
                self._evaluate()
        self._checkpoint()
        score, mean, entries = self._record.get(self._figure), None, self._to_score()
        kept = None if interrupted else self.model.evaluator.of_samples(entries)
        if kept is not None:
            score, mean = kept
        self.samples.clean_up()
        return Outcome(
            interrupted,
            self.update,
            int(self.drawn[0]),
            self.clock.seconds,
            score,
            mean,
            0 if mean is None else len(entries),
            len(self.samples.entries),
            self._converged,
        )

    # ---- steps of the loop

    def _round(self) -> None:
        before = self.method.position
        with self.clock.running():
            own = self.method.round()
            mine = np.zeros_like(self.drawn)  # of a process without a chain, too
            mine[: len(own)] = own
            drawn = self.transport.sum(mine)
        self.rounds += 1
        self.drawn += drawn
        self.samples.keep(self.method, self.rounds)
        self.tracer.record(round=self.rounds, seconds=round(self.clock.seconds, 3))
        if self.transport.is_root:
            if is_due(before, self.method.position, self.model.first_look):
                self._look()
            self.listener.progress(self._status())

    def _look(self) -> None:
        """Notes on the root whether the chains have converged, where a run ends when they have."""
        if self.transport.is_root and self.config.until == "converged":
            self._converged = self._converged or has_converged(self.run)

    def _start_is_late(self) -> bool:
        method = self.method
        return (
            isinstance(method, EndsStart)
            and not self._is_over()
            and method.is_late(self.clock.seconds)
        )

    def _end_start(self) -> None:
        assert isinstance(self.method, EndsStart)
        with self.clock.running():
            said = self.method.end_start()
        if self.transport.is_root:
            self.listener.message(said)

    def _affordable(self, states: int = 0) -> bool:
        """Whether to evaluate when it is due: always, unless when was left to the program, and
        people would have to wait for it, or for the scores of ``states`` beside it. More is left
        for later, where the verdict looks."""
        free = EVALUATION_SECONDS + EVALUATION_SHARE * self.clock.seconds
        spent = self._evaluating.seconds * (1 + states / max(1, self._states_scored))
        return self.config.evaluate_every != AUTO or spent <= self._fraction() * free

    def _affords_checkpoint(self) -> bool:
        """Whether to save when it is due: always, unless when was left to the program, and what
        this process has saved took its share of the time."""
        free = CHECKPOINT_SHARE * (self.clock.seconds - self._begun)
        return self.config.checkpoint_every != AUTO or self._saving.seconds <= free

    def _scores_samples(self) -> bool:
        """Whether an evaluation scores the samples too: the last one does."""
        new = {entry["file"] for entry in self._to_score()} - self._samples_scored
        return self._is_over() or self._affordable(len(self.method.distinct()) + len(new))

    def _to_score(self) -> list[Entry]:
        return self.samples.to_average(self.tracer, self.model.evaluator.most_averaged)

    def _evaluate(self, averaged: bool = True) -> None:
        """Scores the chains, and the samples too if they are to be ``averaged``."""
        entries = self._to_score() if averaged else []
        files = {entry["file"] for entry in entries}
        # The first one compiles kernels, which says nothing of the others.
        first = not self._record
        with nullcontext() if first else self._evaluating.running():
            self._record = self._evaluation(entries)
        if not first:
            self._states_scored += len(self.method.distinct()) + len(files - self._samples_scored)
        self._samples_scored = files or self._samples_scored
        if self.transport.is_root:
            self.run.append_metrics(self._record)
            self.listener.evaluated(self._record)

    @property
    def _figure(self) -> str:
        return self.model.evaluator.figure

    def _evaluation(self, entries: list[Entry]) -> dict[str, Any]:
        """The object for ``metrics.jsonl``, with predictions averaged over some samples;
        DivergedError when the score is no number."""
        found = self.model.evaluator.of_chains(self.method.chains, self.method.distinct())
        score, details = (None, {}) if found is None else found
        if score is not None and not math.isfinite(score):
            raise DivergedError(
                f"the held-out {self._figure} is {score} after update {self.update};"
                f" {self.model.remedy}"
            )
        kept = self.model.evaluator.of_samples(entries) if entries else None
        counted, before = self._counted(), self._record
        seconds = self.clock.seconds - before.get("seconds", 0.0)
        unit = self.model.counted[-1]
        work = counted[unit] - before.get(unit, 0)
        return {
            "round": self.rounds,
            "position": self.method.position,
            "update": self.update,
            **counted,
            "seconds": round(self.clock.seconds, 3),
            self._figure: score,
            f"{self._figure}_averaged": score if kept is None else kept[1],
            "averaged_over": 0 if kept is None else len(entries),
            **details,
            "samples": len(self.samples.entries),
            f"{unit}_per_second": round(work / max(seconds, 1e-9)),
            **self.method.metrics(),
        }

    def _counted(self) -> dict[str, int]:
        """What was drawn of the data so far, by name."""
        return dict(zip(self.model.counted, self.drawn.tolist(), strict=True))

    def _checkpoint(self) -> None:
        """Writes the states and means that go with a checkpoint, and then that: it holds the index
        of them. Where a run was killed in between, it goes back to the one before."""
        if self.rounds != self._kept_round:
            self.samples.keep_provisional(self.method, self.rounds)
            self.samples.keep_means(self.method, self.rounds)
            self.transport.barrier()
        if self.rounds != self._saved[0]:
            self._save(self.rounds)
        elif self.transport.is_root and self._stage() != self._saved:
            self._note()
        self._saved, self._kept_round = self._stage(), self.rounds

    def _stage(self) -> tuple[int, int | None, bool]:
        """How far the run has come: its rounds, the last that was evaluated, and whether it has
        converged, as the root knows."""
        return self.rounds, self._record.get("round"), self._converged

    def _save(self, number: int) -> None:
        # Nobody writes before the root has seen that the run is still its own.
        self.run.check_lease()
        self.transport.barrier()
        part = f"rank-{self.transport.rank:03d}"
        checksums = self.run.write_checkpoint_part(
            number, part, self.method.arrays(), self.method.facts()
        )
        everyone = self.transport.exchange(checksums)
        if self.transport.is_root:
            index = {"samples": self.samples.index}
            everyone += [self.run.write_checkpoint_part(number, INDEX, {}, index)]
            merged = {name: value for files in everyone for name, value in files.items()}
            facts = {
                "seconds": self.clock.seconds,
                **self._counted(),
                "layout": self.config.layout(),
                **self._found(),
            }
            self.run.commit_checkpoint(number, merged, facts)

    def _note(self) -> None:
        """Writes into the checkpoint of this round what has been found out since."""
        checkpoint = self.run.checkpoint()
        assert checkpoint is not None
        manifest = {**checkpoint.manifest, **self._found()}
        self.run.commit_checkpoint(self.rounds, manifest["files"], manifest)

    def _found(self) -> dict[str, Any]:
        """What a checkpoint says of evaluations."""
        return {
            "record": self._record,
            "converged": self._converged,
            "evaluating": self._evaluating.seconds,
            "states_scored": self._states_scored,
        }

    def _restore(self) -> None:
        checkpoint = self.run.checkpoint()
        saved: list[Entry] | None = None
        if checkpoint is not None:
            with believed(checkpoint):
                notice = self.method.restore(checkpoint)
                self._adopt(checkpoint.manifest)
            saved = self.run.samples_of(checkpoint)
            if notice is not None and self.transport.is_root:
                self.listener.message(notice)
        elif self.transport.is_root:
            self.listener.message(
                "no checkpoint was written yet: the run starts from its beginning"
            )
        lost = self.samples.rewind(self.method, self.rounds, saved)
        if lost and self.transport.is_root:
            more = f" and {len(lost) - 1:,} more" if lost[1:] else ""
            place = self.run.path / "samples" / lost[0]
            self.listener.message(f"{place}{more}: damaged or gone, and left out")
        if saved is not None and self.samples.index and not lost:
            self._kept_round = self.rounds  # else what goes with a checkpoint is made up for
        self.tracer.rewind(self.method.position, self.rounds)
        if self.transport.is_root:
            self.run.rewind_metrics(self._record.get("round", 0))

    def _adopt(self, manifest: Mapping[str, Any]) -> None:
        """Goes on from the totals of a checkpoint."""
        self.rounds = manifest["round"]
        self.clock.seconds = manifest["seconds"]
        self.drawn[:] = [manifest[name] for name in self.model.counted]
        self._record = manifest["record"]
        self._evaluating.seconds = manifest.get("evaluating", 0.0)
        self._states_scored = manifest.get("states_scored", 0)
        ends_early = self.config.until == "converged"  # else it trains on, to another state
        self._converged = ends_early and manifest.get("converged", False)
        self._saved = self._stage()

    def _warm_up(self) -> None:
        """Compiles the kernels before the clock starts; says so when they are not in the cache."""
        with compiling(self.listener.message if self.transport.is_root else None):
            self.method.warm_up()
            self.model.warm_up()

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
        return self._converged or self._fraction() >= 1

    def _fraction(self) -> float:
        return fraction(
            self.config,
            self.model.epoch,
            update=self.update,
            items=int(self.drawn[0]),
            seconds=self.clock.seconds if self.transport.is_root else 0.0,
        )

    def _status(self) -> Status:
        return Status(
            1.0 if self._converged else min(1.0, self._fraction()),
            self.update,
            int(self.drawn[0]),
            self.clock.seconds,
            self.drawn[-1] / max(self.clock.seconds, 1e-9),
        )
