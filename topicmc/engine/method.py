"""What the training loop asks: of a method the next round, of a model what is read off its chains.

The loop knows no model and no sampler. A *method* makes rounds and says where its chains are; a
*model* brings the method, and writes, scores and traces the states of chains.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from topicmc.engine.transport.base import Transport
from topicmc.errors import TopicmcError
from topicmc.storage.checkpoints import Checkpoint

Entry = dict[str, Any]
"""One kept sample in the index of a run."""


class Method(Protocol):
    """The chains and workers of this process. All methods are collective but `arrays` and `facts`:
    every process calls them in the same order."""

    @property
    def update(self) -> int:
        """Updates per chain so far, the same on every process."""

    @property
    def position(self) -> int:
        """The clock that samples go by: sweeps completed, or trajectories of each chain. It does
        not depend on the number of workers."""

    @property
    def in_burn_in(self) -> bool:
        """Whether the state is still that of the start, and no posterior sample."""

    def is_start(self, position: int) -> bool:
        """Whether a state at that position is no posterior sample."""

    def position_of_round(self, number: int) -> int:
        """The position after so many rounds, for what runs of format 1 have kept."""

    @property
    def chains(self) -> Mapping[int, Any]:
        """The states of the chains that this process holds, by number; some are made when they are
        looked up, so let go of one before the next."""

    def distinct(self) -> Sequence[int]:
        """The chains, here and elsewhere, whose states differ now."""

    def round(self) -> tuple[int, ...]:
        """Makes the next round; returns how much the workers of this process drew of what the model
        counts (`Model.counted`)."""

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


@runtime_checkable
class EndsStart(Protocol):
    """What a `Method` has besides whose start can end early, so that a run within a time budget
    comes to samples."""

    def is_late(self, seconds: float) -> bool:
        """Whether the start takes too long after so many seconds of training, and can do with less.
        Not collective."""

    def end_start(self) -> str:
        """Leaves out what it can of the start; returns what there is to say about that.
        Collective."""


class Evaluator(Protocol):
    """Scores states on data that were held out. Collective."""

    figure: str
    """What the score is called in the metrics: lower is better, and what is no finite number means
    that a chain has diverged."""
    most_averaged: int | None
    """Kept samples of a chain whose predictions are averaged while it trains, about; None: all."""

    def of_chains(
        self, chains: Mapping[int, Any], distinct: Sequence[int]
    ) -> tuple[float, dict[str, Any]] | None:
        """The score of the chains as they are, and what else belongs in the metrics; None when
        there is nothing to score."""

    def of_samples(self, entries: Sequence[Entry]) -> tuple[float, float] | None:
        """The scores of the newest kept sample of each chain, in the mean, and of the predictions
        averaged over them; None when there are none, or nothing to score."""


class Model(Protocol):
    """A model on its data, and the method that samples it."""

    @property
    def method(self) -> Method:
        """The method that moves its chains."""

    @property
    def evaluator(self) -> Evaluator:
        """What scores its states."""

    counted: tuple[str, ...]
    """What is counted of the data that rounds draw: first what an epoch is made of, last what the
    speed is told in."""
    epoch: int
    """How much of the first an epoch draws, by all chains."""
    expected_updates: float | None
    """Of the whole run, where that can be told."""
    first_look: int
    """The position at which it is first looked whether the chains have converged."""
    trace_unit: int
    """Positions between two records of the trace, at least."""
    remedy: str
    """What to do when a chain has diverged."""

    def write_sample(self, chain: Any, round_number: int) -> Entry:
        """Writes the state of a chain into the run; its index entry, without its position."""

    def write_mean(self, chain: Any, round_number: int) -> Entry | None:
        """Writes the running mean of a chain into the run; its ``file``, its ``checksum`` and what
        else is to be known of it. None where the chain keeps none."""

    def scalars(self) -> dict[int, dict[str, float]]:
        """Of each hosted chain numbers by name that belong in the trace: they must not depend on
        how components of the model are numbered. Collective."""

    def warm_up(self) -> None:
        """Compiles what the trace needs; the method has been warmed up. Collective."""


class WaitFraction:
    """The part of the time since it was last asked that a process has waited for others."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._asked, self._waited = time.perf_counter(), transport.waited

    def of_workers(self) -> list[float]:
        """The fraction of each worker's process; collective."""
        now, waited = time.perf_counter(), self._transport.waited
        fraction = (waited - self._waited) / max(now - self._asked, 1e-9)
        self._asked, self._waited = now, waited
        hosted = dict.fromkeys(self._transport.workers, fraction)
        return self._transport.gather(hosted).tolist()


def check_same(
    transport: Transport, arrays: Iterable[np.ndarray], *, what: str, when: str, instead: str
) -> None:
    """TopicmcError on every process unless all hold the same arrays, bit for bit: ``what`` they are
    and after ``when``, and what else can be done ``instead`` is told. Costs eight bytes a process.
    Collective."""
    if transport.n_processes == 1:
        return
    mine = hashlib.blake2b(b"".join(array.tobytes() for array in arrays), digest_size=8)
    number = float(int.from_bytes(mine.digest(), "big") >> 11)  # of 53 bits: a float64 holds it
    everyone = transport.gather(dict.fromkeys(transport.workers, number))
    apart = np.flatnonzero(everyone != everyone[0]).tolist()
    if apart:
        some = ", ".join(map(str, apart[:8])) + (" and others" if len(apart) > 8 else "")
        raise TopicmcError(
            f"rank{'s' * (len(apart) > 1)} {some} hold{'s' * (len(apart) == 1)} other {what} than"
            f" rank 0 after {when}: their processors or mathematical libraries round differently;"
            f" run all ranks on machines of one kind, or {instead}"
        )
