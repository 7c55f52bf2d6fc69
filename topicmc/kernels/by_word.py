# mypy: disable-error-code="call-arg,var-annotated,assignment"
"""Sweeps over kept assignments word by word: the law, the random numbers and the arguments of
`topicmc.kernels.gibbs.redraw`, in another order of time.

Given θ, or counts that stand still, documents share nothing, and each comes to its tokens in its
own order (`topicmc.kernels.word_order`). So a word's row of φ is made once for all its tokens and
stays in the nearest cache, with the products that α adds to the weights of each, and what comes and
goes is a document's counts, which are small.

A batch of tokens, no two of one document, goes through a draw step by step: what one token waits
for, the others have time to do. That is why the steps are short and many. A token is not taken out
of the counts: its share of the sum of weights is a known slice, which the target steps over.
"""

import numpy as np
from numba import njit

from topicmc.kernels.gibbs import UNIT, inverse_sums
from topicmc.kernels.held import hold
from topicmc.kernels.lanes import (
    add,
    fma,
    levels,
    load,
    mul,
    peek,
    peek_level,
    philox_lanes,
    prefetch,
    replace,
    splat,
    store,
    to_floats,
)
from topicmc.kernels.padding import LANES
from topicmc.kernels.prior import Beta, entry, entry_lanes, row_of
from topicmc.kernels.scratch import kept
from topicmc.kernels.tables import (
    LARGEST_SLICE,
    TABLE_EXTRA,
    TABLE_HEAD,
    close,
    pick_block,
    pick_lane,
    surround,
)
from topicmc.kernels.word_order import BATCH, BEGINS, Tile, of_words

_ONE, _NONE = np.float32(1), np.float32(0)
_COUNT = np.uint16(1)
_LISTED = 128  # changed tokens whose counts are asked for before they change
_AHEAD = 3  # words from asking for a row to reading it
# Numbers in the tables of a batch, which should stay in the nearest cache; a batch that they would
# make smaller than this waits for its tokens one after another.
_TABLES, _FEWEST = 5_120, 4


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
    doc_ids: np.ndarray,
    sweep: int = 1,
    key: np.uint64,
    update: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One sweep over the documents of a tile, whose tokens all have topics; none is longer than
    `LONGEST`.

    Arguments are those of `topicmc.kernels.gibbs.redraw`; z is renewed in place. doc_ids int64
    (n,) names the documents of the tile and, with the sweep, their random numbers. Returns the
    topics before and after, two arrays (T,) of the type of z, in the order of the tile, and the
    change of the number of tokens of each topic, int64 (Kp,).
    """
    n_padded, n_docs = word_topic.shape[1], tile.last - tile.first
    offsets = offsets[tile.first : tile.last + 1]
    before, after = np.empty((2, len(tile.docs)), z.dtype)
    scale, without_one = (UNIT * inverse for inverse in inverse_sums(topic_totals, beta))
    changes = np.zeros((2, n_padded), np.int32)
    counts = kept("counts", n_docs * n_padded, np.uint16)
    counts.fill(0)
    next_of = kept("next", n_docs, np.int64)
    next_of[:] = offsets[:-1]
    uniforms = kept("uniforms", len(tile.docs) + 64, np.float32)
    scratch = (
        counts,
        next_of,
        kept("rows", 2 * n_padded, np.float32),
        surround(kept("tables", BATCH * (n_padded + TABLE_EXTRA), np.float32), n_padded),
        kept("places", 3 * BATCH, np.int64),
        kept("numbers", 2 * BATCH, np.float32),
        uniforms,
    )
    fill_uniforms(offsets, doc_ids, sweep, np.uint64(key), update, uniforms)
    _count(offsets, z, counts, n_padded)
    _tally(counts, changes[0])
    given = (word_topic.reshape(-1).view(np.int32), word_topic.dtype == np.int32)
    _draw(
        tile.docs, tile.words, tile.ends, offsets[0], z, given, alpha, scale, beta.entries, counted,
        without_one, scratch, before, after,
    )  # fmt: skip
    _tally(counts, changes[1])
    return before, after, changes[1] - changes[0]


def count_changes(
    tile: Tile,
    before: np.ndarray,
    after: np.ndarray,
    word_topic: np.ndarray,
    words: tuple[int, int],
    held: np.ndarray | None = None,
) -> None:
    """Counts what the tokens of words first … last − 1 have changed, ``before`` and ``after`` as
    `redraw` returns them, and notes what the words hold now (`topicmc.kernels.held`)."""
    here, start = of_words(tile, *words)
    _count_changes(
        start, tile.words[here], tile.ends[here], before, after, word_topic.reshape(-1),
        word_topic.shape[1], kept("changed", 4 * _LISTED, np.int64), held,
    )  # fmt: skip


@njit(nogil=True, cache=True)
def fill_uniforms(offsets, doc_ids, sweep, key, update, uniforms):
    """A uniform for each token of some documents, one document after another, as
    `topicmc.kernels.gibbs` has them; 64 more are written over."""
    begin = offsets[0]
    for d in range(len(offsets) - 1):
        for i in range(0, offsets[d + 1] - offsets[d], 64):
            at = offsets[d] - begin + i
            philox_lanes(key, i >> 2, sweep, doc_ids[d], update, uniforms, at)


@njit(nogil=True, cache=True, error_model="numpy")
def _without_own(table, begin, counts, base, alpha, scale, given, row, prior, old, own):
    """Makes a token's table anew, with the weight that its topic has without it; returns the last
    row."""
    phi, integers = given
    cumulative = splat(_NONE)
    for k in range(0, len(alpha), LANES):
        level = add(levels(phi, row + k, integers), entry_lanes(prior, k))
        level = mul(level, load(scale, k))
        weight = mul(add(to_floats(load(counts, base + k)), load(alpha, k)), level)
        cumulative = add(cumulative, replace(weight, old - k, own))
        store(table, begin + TABLE_HEAD + k, cumulative)
    return cumulative


@njit(inline="always")
def _four_tables(counts, base_of, j, psi, smooth, table, stride):
    """The tables of tokens j … j + 3 of a batch, all of one word."""
    one = np.uintp(1)
    b0, b1 = np.intp(base_of[j]), np.intp(base_of[j + one])
    b2, b3 = np.intp(base_of[j + np.uintp(2)]), np.intp(base_of[j + np.uintp(3)])
    t0 = np.intp(j) * stride + TABLE_HEAD
    t1, t2, t3 = t0 + stride, t0 + 2 * stride, t0 + 3 * stride
    sums0, sums1, sums2, sums3 = splat(_NONE), splat(_NONE), splat(_NONE), splat(_NONE)
    for k in range(0, len(psi), LANES):
        of_word, of_prior = load(psi, k), load(smooth, k)
        sums0 = add(sums0, fma(to_floats(load(counts, b0 + k)), of_word, of_prior))
        store(table, t0 + k, sums0)
        sums1 = add(sums1, fma(to_floats(load(counts, b1 + k)), of_word, of_prior))
        store(table, t1 + k, sums1)
        sums2 = add(sums2, fma(to_floats(load(counts, b2 + k)), of_word, of_prior))
        store(table, t2 + k, sums2)
        sums3 = add(sums3, fma(to_floats(load(counts, b3 + k)), of_word, of_prior))
        store(table, t3 + k, sums3)


@njit(nogil=True, cache=True)
def _count(offsets, z, counts, n_padded):
    width, one = np.uintp(n_padded), np.uintp(1)
    for d in range(np.uintp(len(offsets) - 1)):
        for i in range(np.uintp(offsets[d]), np.uintp(offsets[d + one])):
            counts[d * width + np.uintp(z[i])] += _COUNT


@njit(nogil=True, cache=True)
def _tally(counts, totals):
    for base in range(0, len(counts), len(totals)):
        for k in range(0, len(totals), LANES):
            store(totals, k, add(load(totals, k), load(counts, base + k)))


@njit(nogil=True, cache=True, error_model="numpy")
def _draw(
    docs, words, ends, begin_of_tile, z, given, alpha, scale, entries, counted, without_one,
    scratch, before, after,
):  # fmt: skip
    # Places in arrays are unsigned: numba would look whether they are negative.
    (phi, integers), (counts, next_of, rows, table, places, numbers, uniforms) = given, scratch
    at, base_of, row_of_token = (
        places[:BATCH],
        places[BATCH : 2 * BATCH],
        places[2 * BATCH :],
    )
    lane_of = row_of_token  # which has been read by then: addresses of more would be spilled
    psi, smooth = rows[: len(alpha)], rows[len(alpha) :]
    targets, slices = numbers[:BATCH], numbers[BATCH:]
    n_padded = len(alpha)
    stride, width = n_padded + TABLE_EXTRA, np.uintp(n_padded)
    most = max(_FEWEST, min(BATCH, _TABLES // stride))
    size, one, tile_begin = np.uintp(len(docs)), np.uintp(1), np.uintp(begin_of_tile)
    w, row, end, first = -1, np.intp(0), np.uintp(0), np.uintp(0)
    while first < size:
        n = np.uintp(0)
        while n < most and first + n < size and (n == 0 or docs[first + n] < BEGINS):
            d = np.uintp(docs[first + n] & ~BEGINS)
            place = np.uintp(next_of[d])
            next_of[d] = place + one
            at[n] = place
            base_of[n] = d * width
            n += one
        for j in range(n):
            place = np.uintp(at[j])
            before[first + j] = z[place]
            targets[j] = uniforms[place - tile_begin]
        j = np.uintp(0)
        while j < n:
            i = first + j
            if i == end:
                w += 1
                end = np.uintp(ends[w])
                word = np.intp(words[w])
                row, prior = word * n_padded, row_of(entries, word)
                ahead = np.intp(words[min(w + _AHEAD, len(words) - 1)]) * n_padded
                for k in range(0, n_padded, LANES):
                    prefetch(phi, ahead + k)
                    level = add(levels(phi, row + k, integers), entry_lanes(prior, k))
                    level = mul(level, load(scale, k))
                    store(psi, k, level)
                    store(smooth, k, mul(level, load(alpha, k)))
            stop = min(n, j + end - i)
            # Four tokens at a time: each vector of the word's row is read once for all of them.
            while j + np.uintp(3) < stop:
                _four_tables(counts, base_of, j, psi, smooth, table, stride)
                for m in range(j, j + np.uintp(4)):
                    row_of_token[m] = row
                j += np.uintp(4)
            while j < stop:
                base, cumulative = np.intp(base_of[j]), splat(_NONE)
                begin = np.intp(j) * stride + TABLE_HEAD
                for k in range(0, n_padded, LANES):
                    tally = to_floats(load(counts, base + k))
                    cumulative = add(cumulative, fma(tally, load(psi, k), load(smooth, k)))
                    store(table, begin + k, cumulative)
                row_of_token[j] = row
                j += one
        for j in range(n):
            base, old, row_j = np.uintp(base_of[j]), np.uintp(before[first + j]), row_of_token[j]
            whole = np.float32(np.int32(counts[base + old])) + alpha[old]
            prior = row_of(entries, row_j // n_padded)
            if counted:
                level = np.float32(phi[np.uintp(row_j) + old])
                own = (level - _ONE + entry(prior, old)) * without_one[old]
                level = (level + entry(prior, old)) * scale[old]
            else:
                level = peek_level(phi, row_j + np.intp(old), integers)
                level = own = (level + entry(prior, old)) * scale[old]
            own *= whole - _ONE
            slices[j] = max(whole * level - own, _NONE)
            begin = np.intp(j) * stride
            total = close(table, begin, load(table, begin + TABLE_HEAD + n_padded - LANES))
            if slices[j] > LARGEST_SLICE * total:
                lanes = _without_own(
                    table, begin, counts, base_of[j], alpha, scale, given, row_j, prior,
                    np.intp(old), own,
                )  # fmt: skip
                total = close(table, begin, lanes)
                slices[j] = _NONE
            targets[j] *= total - slices[j]
        for j in range(n):
            begin, old = np.intp(j) * stride, np.intp(before[first + j])
            end_of_own = peek(table, begin + LANES - 1 + (old & (LANES - 1)))
            end_of_own += peek(table, begin + TABLE_HEAD + old)
            target = targets[j]
            target += slices[j] * np.float32(target >= end_of_own - slices[j])
            lane, rest = pick_lane(table, begin, target)
            lane_of[j] = lane
            targets[j] = rest
        for j in range(n):
            begin = np.intp(j) * stride
            new = pick_block(table, begin, n_padded, lane_of[j], targets[j])
            after[first + j] = new if new >= 0 else before[first + j]
        for j in range(n):
            i, base = first + j, np.uintp(base_of[j])
            counts[base + np.uintp(before[i])] -= _COUNT
            counts[base + np.uintp(after[i])] += _COUNT
            z[np.uintp(at[j])] = after[i]
        first += n


@njit(nogil=True, cache=True)
def _count_changes(start, words, ends, before, after, word_topic, n_padded, changed, held):
    # Whether a token has changed cannot be foreseen, so they are listed without a branch.
    n, i = np.uintp(0), np.uintp(start)
    for w in range(np.uintp(len(words))):
        row, end = np.uintp(words[w]) * np.uintp(n_padded), np.uintp(ends[w])
        whole = n_padded <= 2 * LANES * (end - i)
        if whole:
            for k in range(0, n_padded, LANES):
                prefetch(word_topic, np.intp(row) + k)
        while i < end:
            for _ in range(min(end - i, np.uintp(_LISTED))):
                old, new = row + np.uintp(before[i]), row + np.uintp(after[i])
                if not whole:
                    prefetch(word_topic, np.intp(old))
                    prefetch(word_topic, np.intp(new))
                changed[n], changed[n + np.uintp(1)] = old, new
                n += np.uintp(2 * (old != new))
                if held is not None:
                    hold(held, np.uintp(words[w]), np.uintp(after[i]))
                i += np.uintp(1)
            if n > 2 * _LISTED:
                _apply(word_topic, changed, n)
                n = np.uintp(0)
    _apply(word_topic, changed, n)


@njit(inline="always")
def _apply(word_topic, changed, n):
    for j in range(np.uintp(0), n, np.uintp(2)):
        word_topic[np.uintp(changed[j])] -= np.int32(1)
        word_topic[np.uintp(changed[j + np.uintp(1)])] += np.int32(1)
