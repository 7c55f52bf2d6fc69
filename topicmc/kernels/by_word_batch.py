# mypy: disable-error-code="call-arg,var-annotated"
"""Topic assignments of a minibatch given the topics φ, word by word: what
`topicmc.kernels.gibbs.sample_assignments` does, from the same random numbers, by the kernels of
`topicmc.kernels.by_word` and, of many topics, `topicmc.kernels.by_word_slots`.

The tokens are ordered once for all sweeps.
"""

from typing import Any

import numpy as np
from numba import njit

from topicmc.kernels import by_word, by_word_slots, by_word_start
from topicmc.kernels.batch import Minibatch
from topicmc.kernels.collapsed import assignment_dtype
from topicmc.kernels.gibbs import Assignments, check
from topicmc.kernels.padding import aligned_empty
from topicmc.kernels.prior import no_prior
from topicmc.kernels.threads import Threads
from topicmc.kernels.word_order import LONGEST, cut, of_words, order_tile, word_ranges

_PIECE = 10_000  # tokens that are worth a thread's while
_PARTS = 4  # of the words, for each thread: one that comes late has less to do
# Tokens of a word, in the mean, and sweeps from which on it pays, measured on abstracts, articles
# and blog posts at K = 20 … 4,000; and from how many topics on slots do. Of many topics a word's
# row takes longer to make, so that it pays from 0.28 √K tokens on, measured at K = 640 … 10,000.
_TOKENS_A_WORD, _SWEEPS, _MANY_TOPICS = 6, 3, 640
_FOR_A_ROW = 0.28


def pays(batch: Minibatch, n_padded: int, sweeps: int) -> bool:
    """Whether this is the cheaper way to draw, which does not depend on threads or time."""
    return (
        come_up_often(batch.n_tokens, len(batch.words), n_padded, sweeps)
        and n_padded <= by_word_slots.MOST_TOPICS
        and int(np.diff(batch.offsets).max()) <= LONGEST
    )


def come_up_often(n_tokens: int, n_words: int, n_padded: int, sweeps: int) -> bool:
    """Whether so many tokens of so many words, drawn in so many sweeps, are worth an order."""
    least = max(_TOKENS_A_WORD, _FOR_A_ROW * n_padded**0.5)
    return sweeps >= _SWEEPS and n_tokens >= least * max(1, n_words)


def sample_assignments(
    batch: Minibatch,
    phi_rows: np.ndarray,
    alpha: np.ndarray,
    *,
    sweeps: int,
    burn_in: int,
    key: np.uint64,
    update: int,
    threads: Threads,
    want_word_topic: bool = True,
    want_doc_topic: bool = False,
    z: np.ndarray | None = None,
) -> Assignments:
    """Arguments, law and result are those of `topicmc.kernels.gibbs.sample_assignments`; documents
    have at most `LONGEST` tokens. A draw differs where rounding decides it."""
    n_padded, offsets = phi_rows.shape[1], batch.offsets
    # As small as topics that are kept from sweep to sweep, but for 241 … 255: both share what is
    # compiled. Of either type the greatest number says that there is none yet.
    held = check(batch, phi_rows, alpha, sweeps, burn_in, z).astype(assignment_dtype(n_padded))
    unassigned = np.iinfo(held.dtype).max
    ranges = cut(0, batch.n_docs, offsets, n_padded, threads.n_threads, _PIECE)
    redraw = by_word_slots.redraw if n_padded > _MANY_TOPICS else by_word.redraw
    doc_topic = np.zeros((batch.n_docs if want_doc_topic else 0, n_padded), np.int32)
    given = (np.ascontiguousarray(phi_rows, np.float32), np.ones(n_padded), alpha)
    drawn: list[Any] = [None] * len(ranges)

    def sample(i: int) -> None:
        first, last = ranges[i]
        tile = order_tile(first, last, offsets, batch.tokens, len(phi_rows))
        doc_ids = batch.doc_ids[first:last]
        names: dict[str, Any] = {"doc_ids": doc_ids, "key": key, "update": update}
        if np.any(held[offsets[first] : offsets[last]] == unassigned):
            by_word_start.start(tile, offsets, held, *given, no_prior(n_padded), **names)
        drawn[i] = tile, []
        for sweep in range(1, sweeps + 1):
            _, after, _ = redraw(
                tile, offsets, held, *given, no_prior(n_padded), counted=False, sweep=sweep, **names
            )
            if sweep > burn_in:
                if want_word_topic:
                    drawn[i][1].append(after)
                if want_doc_topic:
                    _add_documents(offsets[first : last + 1], held, doc_topic[first:last])

    threads.run(sample, len(ranges))
    if z is not None:
        z[:] = held
    scale = float(sweeps - burn_in)
    word_topic = _word_topic_sums(drawn, phi_rows.shape, threads) if want_word_topic else None
    return Assignments(word_topic, doc_topic if want_doc_topic else None, scale)


def _word_topic_sums(drawn: list[Any], shape: tuple[int, ...], threads: Threads) -> np.ndarray:
    """n_kw summed over the sweeps kept of each tile: int32 of the ``shape`` (B, Kp)."""
    sums = aligned_empty(shape, np.int32)
    # One table of sums, of which each thread has rows of its own.
    n_parts = _PARTS * threads.n_threads if threads.n_threads > 1 else 1
    parts = word_ranges(drawn[0][0], n_parts, shape[0]) if drawn else [(0, shape[0])]

    def count(i: int) -> None:
        sums[slice(*parts[i])] = 0
        for tile, topics in drawn:
            here, start = of_words(tile, *parts[i])
            for after in topics:
                _add_words(start, tile.words[here], tile.ends[here], after, sums)

    threads.run(count, len(parts))
    return sums


@njit(nogil=True, cache=True)
def _add_words(start, words, ends, topics, sums):
    i = np.uintp(start)
    for w in range(len(words)):
        row = sums[np.intp(words[w])]
        while i < np.uintp(ends[w]):
            row[np.uintp(topics[i])] += 1
            i += np.uintp(1)


@njit(nogil=True, cache=True)
def _add_documents(offsets, z, sums):
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            sums[d, np.uintp(z[i])] += 1
