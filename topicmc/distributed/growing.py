"""A growing start: which documents are drawn when, and under which β.

It begins with a random subset of the documents, which grows from sweep to sweep, new ones being
drawn under the counts so far, while β falls from 1 to its value. Blocks and rounds are shares of
the subset: workers synchronise more often while it is small. Which documents are in it depends on
the seed and the document alone.
"""

from __future__ import annotations

import math

import numpy as np

from topicmc.config import TrainConfig
from topicmc.corpora import Corpus
from topicmc.defaults import rounds_per_sweep
from topicmc.samplers.collapsed import CollapsedWorker
from topicmc.suitable import ROUNDS

# The subset that a growing start begins with has at least so many tokens for each topic, and for
# each word: fewer find poor topics, more take longer to find the same.
FIRST_TOKENS, FIRST_WORD_TOKENS = 9_000, 75
GROWTH = 1.12  # by which the subset grows from sweep to sweep, at least
GROWN_BY = 0.8  # share of the annealing by whose end all documents must be in
FIRST_BETA = 1.0  # what an annealed start begins with


class Schedule:
    """Which documents a worker visits when, and under which β: a function of the number of
    updates that it has made.

    Args:
        config: resolved settings.
        corpus: an open corpus.
    """

    def __init__(self, config: TrainConfig, corpus: Corpus) -> None:
        self._config = config
        self._least = 1 if config.remember else ROUNDS
        self._rounds = rounds_per_sweep(config, corpus.n_docs)
        self.per_sweep = config.trajectory * self._rounds
        self._annealed = config.anneal_updates / self.per_sweep if config.start != "plain" else 0.0
        self._first_share = 1.0
        if config.start == "grow":
            first = max(FIRST_TOKENS * config.topics, FIRST_WORD_TOKENS * corpus.n_words)
            self._first_share = min(1.0, first / corpus.n_tokens)
        self._growth = max(GROWTH, self._first_share ** (-1 / max(1.0, GROWN_BY * self._annealed)))
        n_growing = math.ceil(-math.log(self._first_share) / math.log(self._growth) - 1e-9)
        sizes = [config.trajectory * self._rounds_of(sweep) for sweep in range(n_growing)]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def _rounds_of(self, sweep: int) -> int:
        """Rounds of a sweep: fewer while there are few documents, but some."""
        return min(self._rounds, max(self._least, math.ceil(self._share_of(sweep) * self._rounds)))

    def _share_of(self, sweep: int) -> float:
        return min(1.0, self._first_share * self._growth**sweep)

    def place(self, update: int) -> tuple[int, int, int]:
        """The sweep that an update belongs to, its number there, and how many the sweep has."""
        last = len(self._starts) - 1
        if update >= self._starts[last]:
            sweeps, within = divmod(update - int(self._starts[last]), self.per_sweep)
            return last + sweeps, within, self.per_sweep
        sweep = int(np.searchsorted(self._starts, update, side="right")) - 1
        first, end = self._starts[sweep : sweep + 2]
        return sweep, update - int(first), int(end - first)

    def swept(self, update: int) -> float:
        """Sweeps made after so many updates."""
        sweep, within, size = self.place(update)
        return sweep + within / size

    def after(self, swept: float) -> int:
        """The first update of the first sweep that begins after so many sweeps."""
        sweep, last = math.ceil(swept), len(self._starts) - 1
        return int(self._starts[min(sweep, last)]) + max(0, sweep - last) * self.per_sweep

    def share(self, update: int) -> float:
        """The share of the documents that have joined by then."""
        return self._share_of(self.place(update)[0]) if update < self._starts[-1] else 1.0

    def burning_in(self, update: int) -> bool:
        """Whether a worker that has made so many updates is still starting."""
        return self.swept(update) < self._annealed or self.share(max(0, update - 1)) < 1

    def learns(self, update: int) -> bool:
        """Whether priors are learned after that update: at the end of sweeps, once all documents
        are in and annealing is nearly over (blunt topics would have α grow, and keep them so)."""
        sweep, within, _ = self.place(update)
        if self._config.learn == "none" or within != 0 or sweep < GROWN_BY * self._annealed:
            return False
        return self._config.learn_until == "end" or self.burning_in(update - 1)

    def beta_factor(self, update: int) -> float:
        """What β is multiplied by at an update: less and less, down to 1, geometrically."""
        left = max(0.0, 1 - self.swept(update) / self._annealed) if self._annealed else 0.0
        return max(1.0, FIRST_BETA / self._config.beta) ** left


class Worker:
    """One worker's place in the schedule."""

    def __init__(self, sampler: CollapsedWorker, schedule: Schedule, ranks: np.ndarray) -> None:
        self.sampler = sampler
        self.schedule = schedule
        self.update = 0
        self._ranks = ranks  # float (D_s,): documents join in this order
        self._active: tuple[int, np.ndarray] = (-1, np.zeros(0, np.int64))

    def documents(self, update: int, n_updates: int) -> np.ndarray:
        """The documents that so many updates of one sweep, from a given one on, draw."""
        sweep, first, size = self.schedule.place(update)
        if self._active[0] != sweep:
            self._active = (sweep, np.flatnonzero(self._ranks < self.schedule.share(update)))
        docs = self._active[1]
        return docs[len(docs) * first // size : len(docs) * (first + n_updates) // size]
