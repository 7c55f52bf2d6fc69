# mypy: disable-error-code="call-arg,var-annotated,assignment"
"""Sweeps over remembered assignments word by word: the law, the random numbers and the arguments of
`topicmc.kernels.gibbs.redraw`, in another order of time.

Given θ, or counts that stand still, documents share nothing, and each comes to its tokens in its
own order (`topicmc.kernels.word_order`). So a word's row of φ is made once for all its tokens and
stays in the nearest cache, and what comes and goes is a document's counts, which are small.

A batch of tokens, no two of one document, goes through a draw step by step: what one token waits
for, the others have time to do. A token is not taken out of the counts. In its own lane of the
table its share is a known slice, which the target steps over.
"""

import numpy as np
from numba import njit

from topicmc.kernels.gibbs import inverse_sums
from topicmc.kernels.lanes import (
    LANES,
    TABLE_EXTRA,
    TABLE_HEAD,
    add,
    aligned_zeros,
    close,
    load,
    mul,
    one_hot,
    philox_places,
    pick_block,
    pick_lane,
    prefetch,
    replace,
    splat,
    store,
    tables,
    to_floats,
)
from topicmc.kernels.prior import Beta, entry, entry_lanes, row_of
from topicmc.kernels.word_order import BATCH, BEGINS, Tile

_ONE, _NONE = np.float32(1), np.float32(0)
_COUNT = np.uint16(1)
LONGEST = 65_535
"""Tokens of a document, at most: its counts take two bytes."""
# Beyond this share of the total, a token's own slice would leave too few digits of the rest.
_LARGEST_SLICE = np.float32(1 - 1 / 64)


def redraw(
    tile: Tile,
    offsets: np.ndarray,
    z: np.ndarray,
    word_topic: np.ndarray,
    topic_totals: np.ndarray,
    alpha: np.ndarray,
    beta: Beta,
    *,
    counted: bool,
    first_id: int = 0,
    key: np.uint64,
    update: int,
) -> tuple[np.ndarray, np.ndarray]:
    """One sweep over the documents of a tile, whose tokens all have topics; none is longer than
    `LONGEST`.

    Arguments are those of `topicmc.kernels.gibbs.redraw`; z is renewed in place. Returns the topics
    before and after, two arrays (T,) of the type of z, in the order of the tile.
    """
    n_padded, n_docs = word_topic.shape[1], tile.last - tile.first
    offsets = offsets[tile.first : tile.last + 1]
    before, after = np.empty((2, len(tile.docs)), z.dtype)
    scale, without_one = inverse_sums(topic_totals, beta)
    rows = aligned_zeros((3, n_padded), np.float32)
    rows[1], rows[2] = alpha, scale
    scratch = (
        aligned_zeros(n_docs * n_padded, np.uint16),
        offsets[:-1].copy(),
        rows,
        tables(BATCH, n_padded).reshape(-1),
        np.zeros((2, BATCH), np.int64),
        np.zeros((2, BATCH), np.int32),
        aligned_zeros((3, BATCH), np.float32),
    )
    _draw(
        tile.docs, tile.words, tile.ends, offsets, z, word_topic.reshape(-1), beta.entries,
        without_one if counted else None, first_id + tile.first, np.uint64(key), update, scratch,
        before, after,
    )  # fmt: skip
    return before, after


def count_changes(
    tile: Tile,
    before: np.ndarray,
    after: np.ndarray,
    word_topic: np.ndarray,
    words: tuple[int, int],
) -> np.ndarray:
    """Counts what the tokens of words first … last − 1 have changed, ``before`` and ``after`` as
    `redraw` returns them; returns the change of topic_totals, int64 (Kp,)."""
    first, last = np.searchsorted(tile.words, words)
    totals = np.zeros(word_topic.shape[1], np.int64)
    ends = tile.ends[first:last]
    start = int(tile.ends[first - 1]) if first else 0
    longest = int(np.diff(ends, prepend=start).max(initial=0))
    _count_changes(
        start, tile.words[first:last], ends, before, after, word_topic.reshape(-1), totals,
        np.empty(longest, np.int64),
    )  # fmt: skip
    return totals


@njit(nogil=True, cache=True, error_model="numpy")
def _without_own(table, begin, n_padded, counts, base, rows, phi, row, prior, old, own):
    """Makes a token's table anew, with the weight that its topic has without it; returns the last
    row."""
    alpha, scale = rows[1], rows[2]
    cumulative = splat(_NONE)
    for k in range(0, n_padded, LANES):
        level = mul(add(to_floats(load(phi, row + k)), entry_lanes(prior, k)), load(scale, k))
        weight = mul(add(to_floats(load(counts, base + k)), load(alpha, k)), level)
        cumulative = add(cumulative, replace(weight, old - k, own))
        store(table, begin + TABLE_HEAD + k, cumulative)
    return cumulative


@njit(nogil=True, cache=True, error_model="numpy")
def _draw(
    docs, words, ends, offsets, z, phi, entries, without_one, first_id, key, update,
    scratch, before, after,
):  # fmt: skip
    # Places in arrays are unsigned: numba would look whether they are negative.
    counts, next_of, rows, table, places, names, numbers = scratch
    psi, alpha, scale = rows[0], rows[1], rows[2]
    at, row_of_token = places[0], places[1]
    place_of, id_of = names[0], names[1]
    uniforms, owns, slices = numbers[0], numbers[1], numbers[2]
    n_padded = len(alpha)
    stride, width = n_padded + TABLE_EXTRA, np.uintp(n_padded)
    size, one = np.uintp(len(docs)), np.uintp(1)
    for d in range(np.uintp(len(next_of))):
        for i in range(np.uintp(offsets[d]), np.uintp(offsets[d + one])):
            counts[d * width + np.uintp(z[i])] += _COUNT
    w, end, row, prior = -1, np.uintp(0), np.intp(0), row_of(entries, 0)
    first = np.uintp(0)
    while first < size:
        n = np.uintp(0)
        while n < BATCH and first + n < size and (n == 0 or docs[first + n] < BEGINS):
            d = np.uintp(docs[first + n] & ~BEGINS)
            place = np.uintp(next_of[d])
            next_of[d] = place + one
            at[n] = place
            before[first + n] = z[place]
            place_of[n] = place - offsets[d]
            id_of[n] = first_id + d
            n += one
        philox_places(key, place_of, 1, id_of, update, uniforms, 0)
        for j in range(n):
            i = first + j
            if i == end:
                w += 1
                end = np.uintp(ends[w])
                word = np.intp(words[w])
                row, prior = word * n_padded, row_of(entries, word)
                ahead = np.intp(words[min(w + 1, len(words) - 1)]) * n_padded
                for k in range(0, n_padded, LANES):
                    prefetch(phi, ahead + k)
                    level = add(to_floats(load(phi, row + k)), entry_lanes(prior, k))
                    store(psi, k, mul(level, load(scale, k)))
            row_of_token[j] = row
            base, old = np.uintp(docs[i] & ~BEGINS) * width, np.uintp(before[i])
            whole = np.float32(np.int32(counts[base + old])) + alpha[old]
            own = psi[old]
            if without_one is not None:
                own = np.float32(phi[np.uintp(row) + old]) - _ONE + entry(prior, old)
                own *= without_one[old]
            owns[j] = (whole - _ONE) * own
            slices[j] = max(whole * psi[old] - owns[j], _NONE)
            cumulative = splat(_NONE)
            begin = np.intp(j) * stride + TABLE_HEAD
            for k in range(0, n_padded, LANES):
                weight = add(to_floats(load(counts, np.intp(base) + k)), load(alpha, k))
                cumulative = add(cumulative, mul(weight, load(psi, k)))
                store(table, begin + k, cumulative)
        for j in range(n):
            begin, old = np.intp(j) * stride, np.intp(before[first + j])
            lanes = load(table, begin + TABLE_HEAD + n_padded - LANES)
            lanes = add(lanes, one_hot(old & (LANES - 1), -slices[j]))
            total = close(table, begin, lanes)
            if slices[j] > _LARGEST_SLICE * (total + slices[j]):
                base, at_row = np.intp(docs[first + j] & ~BEGINS) * n_padded, row_of_token[j]
                lanes = _without_own(
                    table, begin, n_padded, counts, base, rows, phi, at_row,
                    row_of(entries, at_row // n_padded), old, owns[j],
                )  # fmt: skip
                total = close(table, begin, lanes)
                slices[j] = _NONE
            uniforms[j] *= total
        for j in range(n):
            begin, old = np.intp(j) * stride, np.intp(before[first + j])
            lane, rest = pick_lane(table, begin, uniforms[j])
            end_of_own = table[np.uintp(begin + TABLE_HEAD + old)]
            inside = (lane == old & (LANES - 1)) & (rest >= end_of_own - slices[j])
            rest += slices[j] * np.float32(inside)
            new = pick_block(table, begin, n_padded, lane, rest)
            after[first + j] = new if new >= 0 else old
        for j in range(n):
            i = first + j
            base = np.uintp(docs[i] & ~BEGINS) * width
            counts[base + np.uintp(before[i])] -= _COUNT
            counts[base + np.uintp(after[i])] += _COUNT
            z[np.uintp(at[j])] = after[i]
        first += n


@njit(nogil=True, cache=True)
def _count_changes(start, words, ends, before, after, word_topic, totals, changed):
    n_padded = np.uintp(len(totals))
    for w in range(np.uintp(len(words))):
        row = np.uintp(words[w]) * n_padded
        n = np.uintp(0)
        # Whether a token has changed cannot be foreseen, so they are listed without a branch.
        for i in range(np.uintp(start), np.uintp(ends[w])):
            changed[n] = i
            n += np.uintp(before[i] != after[i])
        for j in range(n):
            i = np.uintp(changed[j])
            old, new = np.uintp(before[i]), np.uintp(after[i])
            word_topic[row + old] -= np.int32(1)
            word_topic[row + new] += np.int32(1)
            totals[old] -= 1
            totals[new] += 1
        start = ends[w]
