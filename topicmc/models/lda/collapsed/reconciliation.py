"""How the workers of AD-LDA synchronise their counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from topicmc.engine.transport.base import Transport
from topicmc.models.lda.collapsed.worker import CollapsedWorker


class Reconciliation(Protocol):
    """How what each worker has counted becomes known to the others."""

    def share(self, workers: Mapping[int, CollapsedWorker]) -> None:
        """Tells of what these workers have changed since they last shared, and renews their counts
        by what others have told; every process may call it when it likes only if that is said."""

    def counts(self) -> np.ndarray:
        """The counts over all workers as told so far: int32 (W, Kp)."""


class AllReduce:
    """Counts that are summed over all workers at once: collective, exact."""

    def __init__(self, transport: Transport, shape: tuple[int, ...]) -> None:
        self._transport = transport
        self._total = np.zeros(shape, np.int32)

    def share(self, workers: Mapping[int, CollapsedWorker]) -> None:
        if self._transport.n_workers == 1:
            self._total = workers[0].word_topic
            return
        first, *others = workers.values()
        change = first.word_topic - self._total
        for worker in others:
            change += worker.word_topic
            change -= self._total
        self._total += self._transport.sum(change)
        totals = self._total.sum(axis=0, dtype=np.int64)
        for worker in workers.values():
            worker.word_topic[:] = self._total
            worker.renew_totals(totals)

    def counts(self) -> np.ndarray:
        return self._total
