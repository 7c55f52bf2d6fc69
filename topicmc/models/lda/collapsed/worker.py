"""Collapsed Gibbs sampling of one worker's documents: assignments, and the counts they are drawn
under (Griffiths & Steyvers 2004).

The documents of a block are drawn under the counts before the block, so that threads share one
table of counts and the result is the same for any number of them; afterwards the counts are brought
up to date, exactly. A block is a part of the documents, so that counts are far less stale than
AD-LDA's usual copy of them for each thread and sweep. A block that comes again and has enough
tokens of each word is drawn word by word (`topicmc.kernels.by_word`), the others document by
document: it is the same law. Blocks of one document are plain collapsed Gibbs sampling: there every
token is counted as soon as it is drawn, which only one thread can do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from topicmc.kernels import by_word, by_word_slots, by_word_start
from topicmc.kernels.assignments import redraw
from topicmc.kernels.collapsed import (
    assign,
    assignment_dtype,
    collapsed_sweep,
    count_changes,
    empty_counts,
)
from topicmc.kernels.held import held_blocks, hold_tokens
from topicmc.kernels.histograms import mix_histogram
from topicmc.kernels.joint import log_mixes
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.prior import Beta, no_prior
from topicmc.kernels.threads import Threads
from topicmc.kernels.word_order import Tile, word_ranges
from topicmc.models.lda.collapsed.parts import Part
from topicmc.models.lda.collapsed.word_orders import FEW_TOPICS, WordOrders
from topicmc.samplers.row_prior import RowPrior

_PIECE = 8_192  # tokens that are worth a thread's while
_FLAT = RowPrior(1e9)  # under which all topics are alike
_LEARN_FROM = 100_000  # documents that priors are learned from, or up to twice as many
_TRACED = 20_000  # documents that the log joint is estimated from
_CHECKED = 1 << 24  # assignments at a time
_ADOPTED = 65_536  # documents, or tokens, that are counted at a time


class _Under(NamedTuple):
    """What the tokens of documents are drawn under."""

    alpha: np.ndarray
    """Padded: float32 (Kp,)."""
    beta: Beta
    sweep: int
    threads: Threads
    topics: tuple[np.ndarray, np.ndarray] | None
    """θ and its sums, in place of the counts."""


class CollapsedWorker:
    """One worker's documents with the topic of each token, and its view of all workers' counts.

    Args:
        offsets: int64 (D_s + 1,), where the tokens of each document begin.
        tokens: word ids (T,), unsigned.
        first_id: number of the first document in the corpus; names the random numbers.
        n_words: W.
        n_topics: K.
        key: of the random numbers.
        z: where the topics are to be kept, (T,) of `assignment_dtype`; by default in memory.
        orders: of the tokens by word; by default its own.
    """

    def __init__(
        self,
        offsets: np.ndarray,
        tokens: np.ndarray,
        first_id: int,
        n_words: int,
        n_topics: int,
        key: np.uint64,
        z: np.ndarray | None = None,
        orders: WordOrders | None = None,
    ) -> None:
        self.offsets = offsets
        self.tokens = tokens
        self.first_id = first_id
        self.key = key
        self.n_topics = n_topics
        self.z = np.empty(len(tokens), assignment_dtype(n_topics)) if z is None else z
        """Topics, unsigned (T,)."""
        # The type's greatest value, which is no topic, says "not assigned yet".
        self.unassigned = self.z.dtype.type(np.iinfo(self.z.dtype).max)
        self.z[:] = self.unassigned
        self._orders = orders or WordOrders(tokens, n_words)
        self.joined = np.zeros(len(offsets) - 1, bool)
        """bool (D_s,): the documents whose tokens have topics."""
        self.word_topic, self.topic_totals = empty_counts(n_words, n_topics)
        """int32 (W, Kp) and int64 (Kp,): counts over all workers, as far as this one knows."""
        self._held: np.ndarray | None = None  # `held_blocks`, while all changes are noted there

    def adopt(self, *z: np.ndarray) -> None:
        """Takes over saved assignments, one part after another; the counts become those of these
        tokens alone. ValueError unless they are topics of as many tokens, of all of a document's or
        none."""
        # Of another type they fit all the same, and what says "no topic" remains what says it.
        np.concatenate(z, out=self.z, casting="unsafe")
        for first in range(0, len(self.z), _CHECKED):
            part = self.z[first : first + _CHECKED]
            if ((part >= self.n_topics) & (part != self.unassigned)).any():
                raise ValueError(f"an assignment beyond the {self.n_topics} topics")
        starts = np.minimum(self.offsets[:-1], max(0, len(self.z) - 1))
        self.joined = (np.diff(self.offsets) == 0) | (self.z[starts] != self.unassigned)
        self.word_topic[:] = 0
        self.topic_totals[:] = 0
        for first in range(0, len(self.joined), _ADOPTED):
            ends = self.offsets[first : first + _ADOPTED + 1]
            drawn = self.z[ends[0] : ends[-1]] != self.unassigned
            if (np.repeat(self.joined[first : first + _ADOPTED], np.diff(ends)) != drawn).any():
                raise ValueError("a document of which some tokens have topics")
        for first in range(0, len(self.joined), _ADOPTED):
            docs = first + np.flatnonzero(self.joined[first : first + _ADOPTED])
            if len(docs):
                here = Part(docs, self.offsets)
                self._count(here, np.full(here.n_tokens, self.unassigned))

    def clear(self) -> None:
        """Forgets the topics of its documents, which are to join anew, and no more counts them."""
        width = self.word_topic.shape[1]
        for first in range(0, len(self.z), _ADOPTED):
            part = slice(first, first + _ADOPTED)
            drawn = self.z[part] != self.unassigned
            places = self.tokens[part][drawn].astype(np.intp) * width + self.z[part][drawn]
            # By one index into a flat array, which numpy has a fast way for.
            np.subtract.at(self.word_topic.reshape(-1), places, np.int32(1))
        self.renew_totals()
        self.z[:] = self.unassigned
        self.joined[:] = False

    def _count(
        self, part: Part, before: np.ndarray, threads: Threads | None = None, n_parts: int = 1
    ) -> None:
        """Counts what the tokens of some documents have changed from ``before``, their z."""
        changed = part.offsets, part.of(self.tokens), before, part.of(self.z), self.word_topic
        n_words = len(self.word_topic)
        changes = [np.zeros(0)] * n_parts

        def count(i: int) -> None:
            words = (i * n_words // n_parts, (i + 1) * n_words // n_parts)
            changes[i] = count_changes(*changed, words)

        (threads or Threads()).run(count, n_parts)
        for change in changes:
            self.topic_totals += change
        if self._held is not None:
            hold_tokens(self._held, part.of(self.tokens), part.of(self.z), self.unassigned)

    def renew_totals(self, totals: np.ndarray | None = None) -> None:
        """Makes topic_totals the sums of word_topic, after others' changes came in; they are given
        where they are known."""
        self._held = None
        known = self.word_topic.sum(axis=0, dtype=np.int64) if totals is None else totals
        self.topic_totals[:] = known

    def mix_histogram(self) -> np.ndarray:
        """`topicmc.kernels.histograms.mix_histogram` of the documents that have joined; if many, of
        every n-th, n times."""
        docs = np.flatnonzero(self.joined)
        n = max(1, len(docs) // _LEARN_FROM)
        part = docs[::n]
        starts = self.offsets[part]
        return n * mix_histogram(starts, self.offsets[part + 1] - starts, self.z, self.n_topics)

    def log_mixes(self, alpha: np.ndarray) -> float:
        """log p(z) of the documents that have joined, scaled up from a part of them if many."""
        docs = np.flatnonzero(self.joined)
        part = docs[:: max(1, len(docs) // _TRACED)]
        return log_mixes(self.offsets, self.z, part, alpha) * len(docs) / max(1, len(part))

    def draw(
        self,
        docs: np.ndarray,
        alpha: np.ndarray,
        prior: RowPrior,
        *,
        sweep: int,
        one_by_one: bool,
        threads: Threads,
        topics: tuple[np.ndarray, np.ndarray] | None = None,
        begins: int = 0,
    ) -> int:
        """New topics for the tokens of some documents, ascending int64 (n,); returns their number.

        alpha is float64 (K,), and ``prior`` that of the topics. With ``topics``, θ float32 (W, Kp)
        and its sums (Kp,), tokens are drawn given those topics instead of the counts.

        Documents that have none yet get their first: at random in sweep ``begins``, later from the
        conditional under the counts so far.
        """
        if len(docs) == 0:
            return 0
        under = _Under(padded_topics(alpha), self._beta(prior), sweep, threads, topics)
        old, new = docs[self.joined[docs]], docs[~self.joined[docs]]
        if one_by_one and topics is None:
            self._draw_one_by_one(old, new, under, sweep > begins)
        else:
            # What tokens of their own the counts have is to be known of all documents of a block.
            many = len(under.alpha) > FEW_TOPICS
            apart = topics is None and many and len(old) > 0 and len(new) > 0
            at_random = sweep == begins and topics is None
            for some in (old, new) if apart else (docs,):
                self._draw_block(some, under, at_random)
        self.joined[new] = True
        return int((self.offsets[docs + 1] - self.offsets[docs]).sum())

    def _draw_block(self, docs: np.ndarray, under: _Under, at_random: bool) -> None:
        part, new = Part(docs, self.offsets), docs[~self.joined[docs]]
        tiles = self._tiles(part, new, under.threads, under.topics is not None, at_random)
        if not tiles:
            self._draw_frozen(part, docs[self.joined[docs]], new, under, at_random)
        elif len(new):
            self._begin_by_word(part, tiles, under)
        else:
            self._draw_by_word(part, tiles, under)

    def _beta(self, prior: RowPrior) -> Beta:
        return prior.rows(len(self.word_topic), self.n_topics)

    def _draw_one_by_one(
        self, old: np.ndarray, new: np.ndarray, under: _Under, sequential: bool
    ) -> None:
        state = (
            self.offsets, self.tokens, self.z, self.word_topic, self.topic_totals, under.alpha,
            under.beta,
        )  # fmt: skip
        self._held = None
        key, first_id, sweep = self.key, self.first_id, under.sweep
        if len(old):
            collapsed_sweep(*state, docs=old, sweep=sweep, key=key, first_id=first_id)
        if len(new):
            assign(*state, docs=new, sequential=sequential, sweep=sweep, key=key, first_id=first_id)

    def is_by_word(self, docs: np.ndarray, threads: Threads) -> bool:
        """Whether these documents, ascending int64 (n,), are drawn word by word in a sweep."""
        part = Part(docs, self.offsets)
        return bool(self._tiles(part, docs[:0], threads, given=False, at_random=False))

    def _tiles(
        self, part: Part, new: np.ndarray, threads: Threads, given: bool, at_random: bool
    ) -> list[Tile]:
        """The documents in the order of words, if they had better be drawn so. First topics are,
        where topics are ``given``, or under counts where there are many."""
        n_padded = self.word_topic.shape[1]
        first_of_few = len(new) > 0 and not given and (at_random or n_padded <= FEW_TOPICS)
        if first_of_few or n_padded > by_word_slots.MOST_TOPICS:
            return []
        return self._orders.tiles(part, n_padded, threads)

    def _given(self, under: _Under) -> tuple[tuple[Any, ...], bool]:
        """What kernels draw tokens under, the counts or topics; and whether that counts them."""
        given = (self.word_topic, self.topic_totals, under.alpha, under.beta)
        if under.topics is not None:
            given = (*under.topics, under.alpha, no_prior(len(under.alpha)))
        return given, under.topics is None

    def _begin_by_word(self, part: Part, tiles: list[Tile], under: _Under) -> None:
        """Documents of which some join, and nothing is in what they are drawn under."""
        given, _ = self._given(under)
        z = part.of(self.z)
        before = z.copy()

        def begin(i: int) -> None:
            by_word_start.start(
                tiles[i], part.offsets, z, *given,
                doc_ids=self._doc_ids(part, tiles[i]), key=self.key, update=under.sweep,
            )  # fmt: skip

        under.threads.run(begin, len(tiles))
        self._redraw(part, z, tiles, given, False, under)
        part.put(z, self.z)
        self._count(part, before, under.threads, under.threads.n_threads)

    def _doc_ids(self, part: Part, tile: Tile) -> np.ndarray:
        return self.first_id + part.docs[tile.first : tile.last]

    def _draw_by_word(self, part: Part, tiles: list[Tile], under: _Under) -> None:
        given, counted = self._given(under)
        z = part.of(self.z)
        changed = self._redraw(part, z, tiles, given, counted, under)
        part.put(z, self.z)
        self._count_by_word(tiles, changed, under.threads)

    def _redraw(
        self,
        part: Part,
        z: np.ndarray,
        tiles: list[Tile],
        given: tuple[Any, ...],
        counted: bool,
        under: _Under,
    ) -> list[Any]:
        """A sweep over tiles, whose tokens all have topics; what the kernel returns for each."""
        changed: list[Any] = [None] * len(tiles)
        redraw_tile: Callable[..., Any] = by_word.redraw
        if by_word_slots.pays(np.arange(len(part.docs)), part.offsets, z, len(given[2])):
            redraw_tile = by_word_slots.redraw
            if counted:
                if self._held is None:
                    self._held = held_blocks(*self.word_topic.shape)
                redraw_tile = partial(redraw_tile, held=self._held)
        elif counted:
            self._held = None

        def draw(i: int) -> None:
            changed[i] = redraw_tile(
                tiles[i], part.offsets, z, *given, doc_ids=self._doc_ids(part, tiles[i]),
                key=self.key, update=under.sweep, counted=counted,
            )  # fmt: skip

        under.threads.run(draw, len(tiles))
        return changed

    def _count_by_word(self, tiles: list[Tile], changed: list[Any], threads: Threads) -> None:
        """Counts what tiles have changed, as the kernels return it."""
        # Each thread has as many tokens to count, of words of its own.
        n = min(threads.n_threads, len(tiles))
        ranges = word_ranges(tiles[0], n, len(self.word_topic))

        def count(i: int) -> None:
            for tile, (before, after, _) in zip(tiles, changed, strict=True):
                by_word.count_changes(tile, before, after, self.word_topic, ranges[i], self._held)

        threads.run(count, n)
        for _, _, totals in changed:
            self.topic_totals += totals

    def _draw_frozen(
        self, part: Part, old: np.ndarray, new: np.ndarray, under: _Under, at_random: bool
    ) -> None:
        before = part.copy_of(self.z)
        # More pieces than threads, so that a long document does not keep the others waiting; but
        # a small block is not worth the threads.
        n_parts = min(under.threads.n_threads, 1 + part.n_tokens // _PIECE)
        given, counted = self._given(under)
        tokens = self.offsets, self.tokens, self.z
        options: dict[str, Any] = {
            "first_id": self.first_id, "key": self.key, "update": under.sweep,
            "threads": under.threads if n_parts > 1 else Threads(),
        }  # fmt: skip
        if len(old):
            redraw(old, *tokens, *given, counted=counted, **options)
        if len(new) and at_random:
            flat = *given[:-1], self._beta(_FLAT)
            redraw(new, *tokens, *flat, counted=False, sweeps=0, **options)
        elif len(new):
            redraw(new, *tokens, *given, counted=False, **options)
        self._count(part, before, under.threads, n_parts)
