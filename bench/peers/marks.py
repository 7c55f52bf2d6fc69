"""When a contender's topics are kept, and the corpus as each library wants it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

N_SAMPLES = 8  # states over the last half of the longest run, for the averaged perplexity


@dataclass(frozen=True)
class Settings:
    """What holds for all contenders alike; ``unit`` is of the budgets: ``s`` or ``sweeps``."""

    topics: int
    alpha: float
    beta: float
    threads: int
    seed: int
    unit: str = "s"


@dataclass(frozen=True)
class Kept:
    """A state on disk. ``budgets``: those that it stands for; ``sample``: whether it is one of the
    samples that the averaged perplexity of the longest budget is made of."""

    file: Path
    seconds: float
    budgets: tuple[float, ...]
    sample: bool
    alpha: np.ndarray | None
    facts: dict[str, Any] = field(default_factory=dict)


class Marks:
    """The moments at which topics are kept.

    A state is the first one at or after its moment, so that a contender with long steps has had a
    little more than the budget, never less.

    Args:
        budgets: ascending, in ``unit``.
        unit: ``s`` or ``sweeps``.
        folder: for the files.
        receive: is given what is kept.
        sampled: keep also `N_SAMPLES` states, evenly over the last half of the longest budget.
    """

    def __init__(
        self,
        budgets: Sequence[float],
        unit: str,
        folder: Path,
        receive: Callable[[Kept], None],
        sampled: bool,
    ) -> None:
        self.budgets = tuple(budgets)
        self.folder = folder
        self._unit = unit
        self._receive = receive
        last = self.budgets[-1]
        steps = range(1, N_SAMPLES + 1) if sampled else ()
        self._samples = {last * (N_SAMPLES + step) / (2 * N_SAMPLES) for step in steps}
        self._pending = sorted({*self.budgets, *self._samples})
        self._n_kept = 0

    @property
    def open(self) -> bool:
        """Whether a moment is still to come."""
        return bool(self._pending)

    def due(self, seconds: float, sweeps: float = 0) -> bool:
        """Whether the state at this moment is to be kept."""
        return self.open and self._progress(seconds, sweeps) >= self._pending[0]

    def take(
        self,
        seconds: float,
        phi: np.ndarray,
        alpha: np.ndarray | None = None,
        sweeps: float = 0,
        **facts: Any,
    ) -> None:
        """Keeps φ (K × W) and, if it was learned, α (K)."""
        progress = self._progress(seconds, sweeps)
        reached = [mark for mark in self._pending if mark <= progress]
        self._pending = self._pending[len(reached) :]
        budgets = tuple(mark for mark in reached if mark in self.budgets)
        if sweeps:
            facts["sweeps"] = sweeps
        self._keep(seconds, phi, budgets, bool(self._samples.intersection(reached)), alpha, facts)

    def take_for(
        self, budget: float, seconds: float, phi: np.ndarray, alpha: np.ndarray | None, **facts: Any
    ) -> None:
        """Keeps the outcome of a run that was made for one budget."""
        self._keep(seconds, phi, (budget,), False, alpha, facts)

    def take_mean(self, seconds: float, phi: np.ndarray, alpha: np.ndarray | None) -> None:
        """Keeps what a library has averaged over samples itself."""
        self._keep(seconds, phi, (), True, alpha, {})

    def _progress(self, seconds: float, sweeps: float) -> float:
        return seconds if self._unit == "s" else sweeps

    def _keep(self, seconds, phi, budgets, sample, alpha, facts) -> None:
        file = self.folder / f"phi-{self._n_kept:03d}.npy"
        self._n_kept += 1
        np.save(file, phi)
        self._receive(Kept(file, seconds, budgets, sample, alpha, facts))


def bags(corpus) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(word ids, counts) of each training document."""
    for number in range(corpus.n_shards):
        shard = corpus.shard(number)
        ids, counts = np.asarray(shard.word_ids), np.asarray(shard.counts)
        for first, last in zip(shard.indptr[:-1], shard.indptr[1:], strict=True):
            yield ids[first:last], counts[first:last]


def token_lists(corpus) -> Iterator[list[str]]:
    """The words of each training document, each as often as it occurs."""
    words = np.array(corpus.vocabulary, object)
    for ids, counts in bags(corpus):
        yield words[np.repeat(ids, counts)].tolist()
