"""The schedule of a start: which documents are drawn when, under which topics, and under which β.

A growing start begins with a random subset of the documents, which grows from sweep to sweep, new
ones being drawn under the counts so far, while β falls from 1 to its value. As it grows, a sweep
has more and more blocks: those that join are the new ones, and the others stay as they were, so
that they need no new order. Workers synchronise more often while the subset is small. Which
documents are in it depends on the seed and the document alone.

A consensus start has members, which share `GROWN_BY` of it; after them some sweeps are drawn given
what they have in common (`topicmc.models.lda.collapsed.consensus`). On large corpora each member is
a growing start of its own, and begins with other documents than the others. A start on a subset
has one member, whose documents grow up to the subset; after it all documents are drawn given its
topics. A warm start begins with sweeps that are drawn given topics.

The clock is sweeps: how long the start is, which documents are in, β and what is learned depend on
the sweep alone. How many updates a sweep has depends on the number of workers.
"""

from __future__ import annotations

import math

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.offsets import offsets
from topicmc.models.lda.collapsed.worker import CollapsedWorker
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.origin import GIVEN_SWEEPS
from topicmc.models.lda.planning.pace import ROUNDS
from topicmc.models.lda.planning.plan import rounds_per_sweep
from topicmc.models.lda.planning.starts import (
    GROWN_BY,
    LEAST_START,
    NO_GROWTH,
    NO_MEMBERS,
    Growth,
    Members,
)
from topicmc.models.lda.settings import Resolved

FIRST_BETA = 1.0  # what an annealed start begins with


class Schedule:
    """Which documents a worker visits when, and under which β: a function of the number of
    updates that it has made.

    Args:
        config: resolved settings.
        corpus: an open corpus, or its extent.
    """

    def __init__(self, config: Resolved, corpus: Corpus | Extent) -> None:
        self._config = config
        self._least = 1 if config.remember else ROUNDS
        self._rounds = rounds_per_sweep(config, corpus.n_docs)
        self.per_sweep = config.trajectory * self._rounds
        self.start_sweeps = config.start_sweeps
        size = Extent.of(corpus)
        self.members, grows = NO_MEMBERS, config.start == "grow"
        if config.start == "consensus":
            self.members = Members.of(self.start_sweeps, size, config.topics)
        elif config.start == "subset":
            share = config.start_documents / size.n_docs
            self.members = Members.on_subset(self.start_sweeps, share, size, config.topics)
        given = self.members.number > 0 or config.start == "warm"
        self.given = range(self.members.end, self.members.end + GIVEN_SWEEPS * given)
        """The sweeps that are drawn given topics, of members or of another run."""
        self._growth = Growth.over(self.start_sweeps, size, config.topics) if grows else NO_GROWTH
        if self.members.growth is not NO_GROWTH:
            self._annealed = self.members.sweeps
        else:
            self._annealed = self.start_sweeps if grows or config.start == "anneal" else 0
        self._edges: list[np.ndarray] = []  # of the sweeps in which documents may join
        growing = range(max(self.members.end, self._growth.n_growing + self.grows))
        sizes = [config.trajectory * self._rounds_of(sweep) for sweep in growing]
        self._starts = offsets(sizes)
        for sweep, n_updates in zip(growing, sizes, strict=True):
            self._edges.append(self._edges_of(sweep, n_updates))

    @property
    def grows(self) -> bool:
        """Whether documents join under the counts of others."""
        return self._growth is not NO_GROWTH or self.members.growth is not NO_GROWTH

    def _rounds_of(self, sweep: int) -> int:
        """Rounds of a sweep: fewer while there are few documents, but some."""
        share = self._share(sweep)
        return min(self._rounds, max(self._least, math.ceil(share * self._rounds)))

    def _edges_of(self, sweep: int, n_updates: int) -> np.ndarray:
        """`edges` of a sweep of so many updates, once those of the sweeps before are known."""
        begins = sweep == self.members.begins(sweep)
        share, before = self._share(sweep), 0.0 if begins else self._share(sweep - 1)
        if share == before or (begins and share == self._share(sweep + 1)):
            return np.zeros(0, np.float32)
        old = np.zeros(0, np.float32) if begins else self._edges[-1][:-1]
        if len(old) == n_updates:  # there is no update for those that join
            old, before = old[:0], 0.0
        new = np.linspace(before, share, n_updates - len(old) + 1)
        return np.concatenate([old, new.astype(np.float32)])

    def edges(self, sweep: int) -> np.ndarray:
        """Where documents join, the shares of all at which the blocks of a sweep begin and the
        last one ends, float32 (updates + 1,); none in a sweep over the documents of the one before.
        """
        return self._edges[sweep] if sweep < len(self._edges) else np.zeros(0, np.float32)

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

    def passes(self, update: int) -> float:
        """How often so many updates draw each document, in the mean: not all take part in the
        sweeps of a start."""
        sweep, within, size = self.place(update)
        partial = min(sweep, max(self.members.end, self._growth.n_growing))
        whole = sum(map(self._share, range(partial))) + sweep - partial
        return whole + self._share(sweep) * within / size

    def after(self, swept: float) -> int:
        """The first update of the first sweep that begins after so many sweeps."""
        sweep, last = math.ceil(swept), len(self._starts) - 1
        return int(self._starts[min(sweep, last)]) + max(0, sweep - last) * self.per_sweep

    def _share(self, sweep: int) -> float:
        """The share of the documents that take part in a sweep."""
        return self.members.share(sweep) if self.members.number else self._growth.share(sweep)

    def share(self, update: int) -> float:
        """The share of the documents that have joined by then."""
        return self._share(self.position(update))

    def position(self, update: int) -> int:
        """Sweeps completed after so many updates."""
        return self.place(update)[0]

    def starts(self, sweep: int) -> bool:
        """Whether a sweep is one of the start, as those drawn given topics are, however short."""
        return sweep < max(self.start_sweeps, self.given.stop)

    def is_start(self, position: int) -> bool:
        """Whether a state after so many sweeps is one of the start: made by it, or that which a
        chain begins with."""
        return self.starts(position - 1)

    def next_if_late(self, position: int) -> int:
        """The sweep that a start goes on with after so many, if it is late: that after its members,
        or one of its last few, in which all documents join."""
        if position < self.given.stop:
            return max(position, self.members.end)
        return max(position, self.start_sweeps - LEAST_START)

    def learns(self, before: int, after: int) -> bool:
        """Whether priors are learned when the sweeps completed go from ``before`` to ``after``: at
        the end of a sweep, once annealing is nearly over (blunt topics would have α grow, and keep
        them so). By the last sweep of the start all documents are in."""
        config = self._config
        if config.learn == "none" or after <= before or after < GROWN_BY * self.start_sweeps:
            return False
        if before < self.given.start and config.start == "consensus":  # by one member of several
            return False
        return config.learn_until == "end" or self.starts(before)

    def beta_factor(self, update: int) -> float:
        """What β is multiplied by at an update: less and less, down to 1, geometrically."""
        swept = self.swept(update)
        if not self._annealed or (self.members.number and swept >= self.members.end):
            return 1.0
        left = max(0.0, 1 - (swept - self.members.begins(int(swept))) / self._annealed)
        return max(1.0, FIRST_BETA / self._config.beta) ** left


class Worker:
    """One worker's place in the schedule."""

    def __init__(self, sampler: CollapsedWorker, schedule: Schedule, ranks: np.ndarray) -> None:
        self.sampler = sampler
        self.schedule = schedule
        self.update = 0
        self._ranks = ranks  # float32 (D_s,): documents join in this order
        # The sweep, its documents, and where its blocks begin among them.
        self._active = (-1, np.zeros(0, np.int64), np.zeros(1, np.int64))
        # The sweep in which they began to join, in which order, and their ranks.
        self._order = (-1, np.zeros(0, np.int64), np.zeros(0, np.float32))

    def documents(self, update: int, n_updates: int) -> np.ndarray:
        """The documents that so many updates of one sweep, from a given one on, draw: ascending
        int64 (n,)."""
        sweep, first, size = self.schedule.place(update)
        if self._active[0] != sweep:
            edges = self.schedule.edges(sweep)
            if len(edges):
                blocks = self._joining_blocks(sweep, edges)
            else:
                blocks = self._equal_blocks(sweep, self.schedule.share(update), size)
            self._active = (sweep, *blocks)
        _, docs, starts = self._active
        return np.sort(docs[starts[first] : starts[first + n_updates]])

    def _equal_blocks(self, sweep: int, share: float, size: int) -> tuple[np.ndarray, np.ndarray]:
        """A share of the documents in their order, and where each of so many blocks begins."""
        self._order = (-1, np.zeros(0, np.int64), np.zeros(0, np.float32))
        docs = np.flatnonzero(self._turned(sweep) < share)
        return docs, len(docs) * np.arange(size + 1) // size

    def _joining_blocks(self, sweep: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The documents in the order in which they join, and where each block begins."""
        begins = self.schedule.members.begins(sweep)
        if self._order[0] != begins:
            ranks = self._turned(sweep)
            docs = np.argsort(ranks, kind="stable")
            self._order = (begins, docs, ranks[docs])
        _, docs, ranks = self._order
        return docs, np.searchsorted(ranks, edges)

    def _turned(self, sweep: int) -> np.ndarray:
        """The ranks in a sweep. They are turned from member to member of a consensus start, such
        that no two begin with the same documents and all together with any."""
        members = self.schedule.members
        ended = members.ended(sweep)
        if sweep >= members.end or ended == 0:
            return self._ranks
        return (self._ranks + np.float32(ended / members.number)) % np.float32(1)
