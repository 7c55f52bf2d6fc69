# mypy: disable-error-code="call-arg,var-annotated"
"""Topic assignments of a minibatch given the topics φ, word by word: what
`topicmc.kernels.gibbs.sample_assignments` does, from the same random numbers, by the kernels of
`topicmc.kernels.by_word` and, of many topics, `topicmc.kernels.by_word_slots`.

The tokens are ordered once for all sweeps.
"""

import numpy as np
from numba import njit

from topicmc.kernels import by_word, by_word_slots
from topicmc.kernels.batch import Minibatch
from topicmc.kernels.by_word import fill_uniforms
from topicmc.kernels.gibbs import UNASSIGNED, Assignments, add_up, check, draw_prior
from topicmc.kernels.lanes import (
    LANES,
    TABLE_HEAD,
    add,
    aligned_zeros,
    close,
    load,
    mul,
    pick,
    prefetch,
    splat,
    store,
    tables,
)
from topicmc.kernels.prior import no_prior
from topicmc.kernels.scratch import kept
from topicmc.kernels.threads import Threads
from topicmc.kernels.word_order import BEGINS, LONGEST, Tile, cut, order_tile

_PIECE = 10_000  # tokens that are worth a thread's while
# Tokens of a word, in the mean, and sweeps from which on it pays, measured on abstracts, articles
# and blog posts at K = 20 … 4,000; and from how many topics on slots do.
_TOKENS_A_WORD, _SWEEPS, _MANY_TOPICS = 6, 3, 640


def pays(batch: Minibatch, n_padded: int, sweeps: int) -> bool:
    """Whether this is the cheaper way to draw, which does not depend on threads or time."""
    return (
        sweeps >= _SWEEPS
        and batch.n_tokens >= _TOKENS_A_WORD * max(1, len(batch.words))
        and n_padded <= by_word_slots.MOST_TOPICS
        and int(np.diff(batch.offsets).max()) <= LONGEST
    )


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
    want_doc_topic: bool = False,
    z: np.ndarray | None = None,
) -> Assignments:
    """Arguments, law and result are those of `topicmc.kernels.gibbs.sample_assignments`, without
    Rao-Blackwell counts; documents have at most `LONGEST` tokens. A draw differs where rounding
    decides it."""
    z = check(batch, phi_rows, alpha, sweeps, burn_in, z)
    n_padded, offsets = phi_rows.shape[1], batch.offsets
    ranges = cut(0, batch.n_docs, offsets, n_padded, threads.n_threads, _PIECE)
    redraw = by_word_slots.redraw if n_padded > _MANY_TOPICS else by_word.redraw
    n_slots = max(1, min(threads.n_threads, len(ranges)))
    sums = [aligned_zeros(phi_rows.shape, np.int32) for _ in range(n_slots)]
    doc_topic = np.zeros((batch.n_docs if want_doc_topic else 0, n_padded), np.int32)
    given = (np.ascontiguousarray(phi_rows, np.float32), np.ones(n_padded), alpha)

    def sample(i: int, slot: int) -> None:
        first, last = ranges[i]
        tile = order_tile(first, last, offsets, batch.tokens, len(phi_rows))
        doc_ids = batch.doc_ids[first:last]
        here = slice(offsets[first], offsets[last])
        if np.any(z[here] == UNASSIGNED):
            _start(tile, offsets[first : last + 1], z, given[0], alpha, doc_ids, key, update)
        for sweep in range(1, sweeps + 1):
            _, after, _ = redraw(
                tile, offsets, z, *given, no_prior(n_padded), counted=False, doc_ids=doc_ids,
                sweep=sweep, key=key, update=update,
            )  # fmt: skip
            if sweep > burn_in:
                _add_words(tile.words, tile.ends, after, sums[slot])
                if want_doc_topic:
                    _add_documents(offsets[first : last + 1], z, doc_topic[first:last])

    threads.run_in_slots(sample, len(ranges))
    scale = float(sweeps - burn_in)
    return Assignments(add_up(sums, threads), doc_topic if want_doc_topic else None, scale)


def _start(
    tile: Tile, offsets: np.ndarray, z: np.ndarray, phi_rows: np.ndarray, alpha: np.ndarray,
    doc_ids: np.ndarray, key: np.uint64, update: int,
) -> None:  # fmt: skip
    """Draws p(z = k) ∝ α_k φ_kw for the tokens of a tile that have no topic."""
    next_of = kept("next", len(doc_ids), np.int64)
    next_of[:] = offsets[:-1]
    uniforms = kept("uniforms", len(tile.docs) + 64, np.float32)
    fill_uniforms(offsets, doc_ids, 0, np.uint64(key), update, uniforms)
    table = tables(1, len(alpha)).reshape(-1)
    _draw_first(
        tile.docs, tile.words, tile.ends, next_of, z, phi_rows.reshape(-1), alpha, uniforms,
        offsets[0], table,
    )  # fmt: skip


@njit(nogil=True, cache=True, error_model="numpy")
def _draw_first(docs, words, ends, next_of, z, phi, alpha, uniforms, tile_begin, table):
    n_padded, i = len(alpha), 0
    for w in range(len(words)):
        row = np.intp(words[w]) * n_padded
        ahead = np.intp(words[min(w + 2, len(words) - 1)]) * n_padded
        cumulative = splat(np.float32(0))
        for k in range(0, n_padded, LANES):
            prefetch(phi, ahead + k)
            cumulative = add(cumulative, mul(load(phi, row + k), load(alpha, k)))
            store(table, TABLE_HEAD + k, cumulative)
        total = close(table, 0, cumulative)
        while i < ends[w]:
            d = np.intp(docs[i] & ~BEGINS)
            place = next_of[d]
            next_of[d] = place + 1
            if z[place] == UNASSIGNED:
                uniform = uniforms[place - tile_begin]
                new = pick(table, 0, n_padded, uniform * total)
                z[place] = new if new >= 0 else draw_prior(alpha, uniform)
            i += 1


@njit(nogil=True, cache=True)
def _add_words(words, ends, topics, sums):
    i = np.uintp(0)
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
