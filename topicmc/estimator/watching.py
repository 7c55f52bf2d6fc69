"""Who is told how `LDA.fit` goes: the logger "topicmc", whoever looks on, and a callback."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from topicmc.engine.loop import Listener, Status
from topicmc.host.interrupts import Interrupt
from topicmc.models.lda.run import TopicRun
from topicmc.storage.run_fields import scored

logger = logging.getLogger("topicmc")


@dataclass(frozen=True)
class Evaluation:
    """Where training stands at an evaluation; what a callback of `LDA` is given.

    Attributes:
        update: updates of the chain so far.
        epochs: passes over the documents so far.
        seconds: of training so far.
        fraction: of what was asked for, 0 to 1.
        perplexity: of the chain as it is. It is that of the held-out documents of a prepared
            corpus; of documents in memory that of some of them, and then lower than that of new
            ones. None where there is none of these that has two words, as of a corpus without
            held-out documents.
        perplexity_averaged: the same, averaged over the samples kept so far that are past the point
            at which their chain comes to rest; None where none was scored, as during the start.
        samples: posterior samples kept so far; 0 during the start.
        tokens_per_second: since the last evaluation.
    """

    update: int
    epochs: float
    seconds: float
    fraction: float
    perplexity: float | None
    perplexity_averaged: float | None
    samples: int
    tokens_per_second: int


class Watcher:
    """A listener that passes on what it hears to another, to the log and to a callback.

    Args:
        other: the listener that it passes on to.
        callback: given an `Evaluation`; True ends the training.
        n_docs: documents of the corpus.
    """

    def __init__(
        self, other: Listener, callback: Callable[[Evaluation], Any] | None, n_docs: int
    ) -> None:
        self._other = other
        self._callback = callback
        self._n_docs = n_docs
        self._fraction = 0.0
        self.interrupt = Interrupt()
        self.stopped = False

    def progress(self, status: Status) -> None:
        self._fraction = status.fraction
        self._other.progress(status)

    def evaluated(self, record: dict[str, Any]) -> None:
        from topicmc.engine.listeners import Terms, summary

        self._other.evaluated(record)
        logger.info("%s", summary(record, Terms.of(TopicRun)))
        if self._callback is None:
            return
        taken = ("update", "seconds", "perplexity", "perplexity_averaged", "samples")
        found = self._callback(
            Evaluation(
                **{name: scored(record, name) for name in taken},
                epochs=record["documents"] / self._n_docs,
                fraction=self._fraction,
                tokens_per_second=record["tokens_per_second"],
            )
        )
        if isinstance(found, bool | np.bool_) and found:
            self.stopped = self.interrupt.requested = True

    def message(self, text: str) -> None:
        self._other.message(text)
        logger.info("%s", text)

    def close(self) -> None:
        self._other.close()
