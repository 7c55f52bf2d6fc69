# mypy: disable-error-code="call-arg,var-annotated"
"""First topics given θ or counts, word by word: from the random numbers of `topicmc.kernels.gibbs`,
where tokens start from p(z = k) ∝ α_k φ_kw, which is one table for all tokens of a word."""

import numpy as np
from numba import njit

from topicmc.kernels.by_word import fill_uniforms
from topicmc.kernels.gibbs import UNIT, draw_prior, inverse_sums
from topicmc.kernels.lanes import add, levels, load, mul, prefetch, splat, store
from topicmc.kernels.padding import LANES
from topicmc.kernels.prior import Beta, entry_lanes, row_of
from topicmc.kernels.scratch import kept
from topicmc.kernels.tables import TABLE_HEAD, close, pick, tables
from topicmc.kernels.word_order import BEGINS, Tile


def start(
    tile: Tile,
    offsets: np.ndarray,
    z: np.ndarray,
    word_topic: np.ndarray,
    topic_totals: np.ndarray,
    alpha: np.ndarray,
    beta: Beta,
    *,
    doc_ids: np.ndarray,
    key: np.uint64,
    update: int,
) -> None:
    """Draws a topic for each token of a tile that has none, whose z is the greatest value of its
    type.

    Arguments are those of `topicmc.kernels.by_word.redraw`.
    """
    starts = offsets[tile.first : tile.last + 1]
    next_of = kept("next", len(doc_ids), np.int64)
    next_of[:] = starts[:-1]
    uniforms = kept("uniforms", len(tile.docs) + 64, np.float32)
    fill_uniforms(starts, doc_ids, 0, np.uint64(key), update, uniforms)
    weights = UNIT * alpha * inverse_sums(topic_totals, beta)[0]
    given = (word_topic.reshape(-1).view(np.int32), word_topic.dtype == np.int32)
    _draw(
        tile.docs, tile.words, tile.ends, next_of, z, given, beta.entries, weights, alpha, uniforms,
        starts[0], tables(1, len(alpha)).reshape(-1),
    )  # fmt: skip


@njit(nogil=True, cache=True, error_model="numpy")
def _draw(
    docs, words, ends, next_of, z, given, entries, weights, alpha, uniforms, tile_begin, table
):  # fmt: skip
    phi, integers = given
    n_padded, i, unassigned = len(alpha), 0, np.intp(z.dtype.type(-1))
    for w in range(len(words)):
        word = np.intp(words[w])
        row, prior = word * n_padded, row_of(entries, word)
        ahead = np.intp(words[min(w + 2, len(words) - 1)]) * n_padded
        cumulative = splat(np.float32(0))
        for k in range(0, n_padded, LANES):
            prefetch(phi, ahead + k)
            level = add(levels(phi, row + k, integers), entry_lanes(prior, k))
            cumulative = add(cumulative, mul(level, load(weights, k)))
            store(table, TABLE_HEAD + k, cumulative)
        total = close(table, 0, cumulative)
        while i < ends[w]:
            d = np.intp(docs[i] & ~BEGINS)
            place = next_of[d]
            next_of[d] = place + 1
            if np.intp(z[place]) == unassigned:
                uniform = uniforms[place - tile_begin]
                new = pick(table, 0, n_padded, uniform * total)
                z[place] = new if new >= 0 else draw_prior(alpha, uniform)
            i += 1
