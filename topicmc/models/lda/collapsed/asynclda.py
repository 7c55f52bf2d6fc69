"""Async-LDA: AD-LDA without barriers, after Y-LDA (Smola & Narayanamurthy 2010).

The counts over all workers are a table that every process can add to and read while the others
work: over MPI a window, spread over the ranks. After each ``trajectory`` of updates a worker adds
what it has changed since its own last synchronisation and reads the table, in one step. A slow
worker delays no other; a worker's counts are behind by what the others have not yet told.

With several ranks the result depends on timing: the same seed does not give the same bits, and the
metrics say so ("reproducible": false). Workers in one process take turns, which is reproducible.

The training loop itself meets once per round (to agree on stopping, evaluation and checkpoints). So
that these meetings are rare, a round over several ranks lasts `SLICE` seconds for everyone, or less
where a sweep or a fortieth of the time budget is shorter; a rank then waits for the others by at
most one trajectory.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from topicmc.engine.transport.base import Transport
from topicmc.models.lda.collapsed.adlda import Adlda
from topicmc.models.lda.collapsed.reconciliation import Reconciliation
from topicmc.models.lda.collapsed.worker import CollapsedWorker
from topicmc.settings.groups import EVALUATIONS
from topicmc.storage.checkpoints import Checkpoint

SLICE = 2.0  # seconds, at most


class SharedCounts:
    """Counts in a table of the transport; each worker tells and learns when it likes."""

    def __init__(self, transport: Transport, shape: tuple[int, ...]) -> None:
        self._table = transport.shared_table(shape)
        self._known: dict[int, np.ndarray] = {}

    def share(self, workers: Mapping[int, CollapsedWorker]) -> None:
        for number, worker in workers.items():
            known = self._known.setdefault(number, np.zeros_like(worker.word_topic))
            np.subtract(worker.word_topic, known, out=known)
            self._table.add(known, worker.word_topic)
            known[:] = worker.word_topic
            worker.renew_totals()

    def counts(self) -> np.ndarray:
        return self._table.read()


class AsyncLda(Adlda):
    """The same workers as AD-LDA's, synchronised one by one through a shared table."""

    def _reconciliation(self, shape: tuple[int, ...]) -> Reconciliation:
        self._mean_update = 0.0
        self._least_update = 0
        return SharedCounts(self.transport, shape)

    @property
    def _clock(self) -> int:
        """In the mean over workers, which may stand at different updates."""
        return int(self._mean_update)

    @property
    def sweep(self) -> int:
        """Sweeps that every worker has completed, or left out."""
        return self.schedule.position(self._least_update)

    def round(self) -> tuple[int, int]:
        """Trajectories of every hosted worker, each followed by its synchronisation."""
        before = self.sweep
        updates = documents = tokens = 0
        until = time.perf_counter() + (self._slice if self.transport.n_processes > 1 else 0)
        while True:
            for number, sampler in self.samplers.items():
                if self.transport.n_processes == 1:
                    # In turn, a worker knows all there is: its view need not be saved to resume.
                    self.reconciliation.share({number: sampler})
                done = self.advance(number)
                self.reconciliation.share({number: sampler})
                documents += done[0]
                tokens += done[1]
            updates += self.config.trajectory
            if updates >= self.schedule.per_sweep or time.perf_counter() >= until:
                break
        self.round_number += 1
        self._meet()
        self._learn(before)
        self.start_topics.forget(self.sweep)
        return documents, tokens

    @property
    def _slice(self) -> float:
        """Seconds of a round, such that a run within a time budget is evaluated as often as any."""
        return min(SLICE, (self.time_budget or math.inf) / EVALUATIONS)

    def _meet(self) -> None:
        updates = self.transport.gather({n: w.update for n, w in self.workers.items()})
        self._mean_update, self._least_update = float(updates.mean()), int(updates.min())

    def _totals(self, counts: np.ndarray) -> np.ndarray:
        """Of the table: a worker knows them as they were when it last told of its own."""
        return counts[:, : self.config.topics].sum(axis=0, dtype=np.int64)

    def _go_to(self, update: int) -> None:
        super()._go_to(update)
        self._meet()

    def metrics(self) -> dict[str, Any]:
        return {**super().metrics(), "reproducible": self.transport.n_processes == 1}

    def restore(self, checkpoint: Checkpoint) -> str | None:
        notice = super().restore(checkpoint)
        self._meet()
        return notice

    def _share_all(self) -> None:
        for _ in range(2):  # all tell, then all learn
            self.reconciliation.share(self.samplers)
            self.transport.barrier()
