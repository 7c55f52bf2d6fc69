"""What the training loop asks of a method, and the methods there are."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from topicmc.corpora import Corpus
from topicmc.engine.transport.base import Transport
from topicmc.kernels.threads import Threads
from topicmc.samplers import Chain
from topicmc.settings.config import TrainConfig
from topicmc.storage.runs import Checkpoint


@dataclass(frozen=True)
class RoundInfo:
    """What the workers of this process did in one round."""

    updates: int
    documents: int
    tokens: int


class Method(Protocol):
    """The chains and workers of this process. All methods are collective but `arrays` and `facts`:
    every process calls them in the same order."""

    alpha: np.ndarray  # float64 (K,), the prior of the topic mix

    @property
    def update(self) -> int:
        """Updates per chain so far, the same on every process."""

    @property
    def position(self) -> int:
        """The clock that samples go by: sweeps completed, or trajectories of each chain. It does
        not depend on the number of workers."""

    @property
    def burning_in(self) -> bool:
        """Whether the state is still that of the start, and no posterior sample."""

    def is_start(self, position: int) -> bool:
        """Whether a state at that position is no posterior sample."""

    def log_joints(self) -> Mapping[int, float]:
        """log p(words, assignments) of the chains that keep assignments, by their numbers; of a
        large corpus its part on the mixes is estimated from every so many documents. Collective."""

    def position_of_round(self, number: int) -> int:
        """The position after so many rounds, for what runs of format 1 have kept."""

    @property
    def chains(self) -> Mapping[int, Chain]:
        """The chains that this process holds, by number; some are made when they are looked up, so
        let go of one before the next."""

    def distinct(self) -> Sequence[int]:
        """The chains, here and elsewhere, whose states differ now."""

    def round(self) -> RoundInfo:
        """The next round."""

    def metrics(self) -> dict[str, Any]:
        """What a metrics record should hold of this method."""

    def arrays(self) -> dict[str, np.ndarray]:
        """What a checkpoint must hold of this process, by file name."""

    def facts(self) -> dict[str, Any]:
        """The numbers that go with `arrays`, as JSON values."""

    def restore(self, checkpoint: Checkpoint) -> str | None:
        """Goes on from a checkpoint; returns what there is to say about that, if anything."""

    def warm_up(self) -> None:
        """Compiles every kernel that a round needs."""


def open_method(
    config: TrainConfig,
    corpus: Corpus,
    transport: Transport,
    threads: Threads,
    slow: Mapping[int, float] | None = None,
    scratch: Path | None = None,
) -> Method:
    """The method that ``config.sampler`` names, at its start; ``scratch`` is a folder for working
    memory that need not stay in memory."""
    if config.sampler == "adlda" and config.chains > 1:
        from topicmc.models.lda.collapsed.independent import IndependentChains

        return IndependentChains(config, corpus, transport, threads, slow, scratch)
    if config.sampler == "adlda":
        from topicmc.models.lda.collapsed.adlda import Adlda

        return Adlda(config, corpus, transport, threads, slow, scratch)
    if config.sampler == "asynclda":
        from topicmc.models.lda.collapsed.asynclda import AsyncLda

        return AsyncLda(config, corpus, transport, threads, slow, scratch)
    if config.remember:
        from topicmc.models.lda.collapsed.kept_assignments import Remembered

        return Remembered(config, corpus, transport, threads, slow, scratch)
    from topicmc.engine.dsgld import Dsgld

    return Dsgld(config, corpus, transport, threads, slow)


class WaitedShare:
    """The share of the time since it was last asked that a process has waited for others."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._asked, self._waited = time.perf_counter(), transport.waited

    def of_workers(self) -> list[float]:
        """The share of each worker's process; collective."""
        now, waited = time.perf_counter(), self._transport.waited
        share = (waited - self._waited) / max(now - self._asked, 1e-9)
        self._asked, self._waited = now, waited
        mine = dict.fromkeys(self._transport.workers, share)
        return self._transport.gather(mine).tolist()
