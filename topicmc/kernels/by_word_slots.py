# mypy: disable-error-code="call-arg,var-annotated,assignment"
"""Sweeps word by word for many topics: `topicmc.kernels.by_word`, at a cost that follows the number
of topics in a document, not K.

As in `topicmc.kernels.sparse` the conditional is a mixture of two parts,

    p(z_di = k | …) ∝ n_dk^{−di} φ_kw  +  α_k φ_kw.

The first is summed over the topics that the document has: 16 slots a line, each a topic and its
count. The second is one table for all tokens of a word, made when their turn comes; what a token
adds to it itself is a slice, which the target steps over.

Where many topics are, few words have tokens of most. Then the second part is split once more,

    α_k φ_kw  =  α_k n_kw / (n_k + W β)  +  α_k β / (n_k + W β),

and the table of a word is of the blocks of 16 topics that it has tokens of
(`topicmc.kernels.held`); that of the other summand is the same for all words.
"""

import numpy as np
from numba import njit

from topicmc.kernels.by_word import fill_uniforms
from topicmc.kernels.gibbs import UNIT, inverse_sums
from topicmc.kernels.held import blocks_of, drop_if
from topicmc.kernels.lanes import (
    LANES,
    LARGEST_SLICE,
    TABLE_EXTRA,
    TABLE_HEAD,
    add,
    bits_of,
    close,
    count_at_most,
    fma,
    gather,
    lane_of,
    load,
    mul,
    peek,
    peek_bits,
    pick,
    pick_lane,
    prefetch,
    splat,
    store,
    surround,
    swap_where,
    to_floats,
)
from topicmc.kernels.prior import Beta, Rows, entry, entry_lanes, row_of
from topicmc.kernels.scratch import kept
from topicmc.kernels.trees import scan
from topicmc.kernels.word_order import BATCH, BEGINS, Tile

_ONE, _NONE, _INFINITY = np.float32(1), np.float32(0), np.float32(np.inf)
_COUNT = np.uint16(1)
# A line of slots costs as much as so many blocks of 16 topics do in the other kernel, and what
# depends on neither as much as so many lines: fitted to K = 300 … 2,000, abstracts and articles.
_LINE, _FIXED = 4, 6
_ROWS = 1 << 16  # bytes of tables of words that a batch has tokens of
_FEW = 8  # lines that most documents do not exceed
_ASKED = 64  # slots of a document that are asked for before their turn comes; more gain nothing
_SEEN = 8  # the documents whose lines are counted are one in so many
MOST_TOPICS = 65_520
"""Topics, at most: one number more says that a slot is empty."""


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
    held: np.ndarray | None = None,
    doc_ids: np.ndarray,
    sweep: int = 1,
    key: np.uint64,
    update: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One sweep over the documents of a tile: `topicmc.kernels.by_word.redraw`, whose arguments,
    law and result these are; the draws differ. At most `MOST_TOPICS`.

    With ``held``, of `topicmc.kernels.held`, the cost of a word follows what it holds, if β is one
    number; blocks that are found empty are dropped from it. The draws do not depend on it.
    """
    n_padded = word_topic.shape[1]
    offsets = offsets[tile.first : tile.last + 1]
    before, after = np.empty((2, len(tile.docs)), z.dtype)
    scale, without_one = (UNIT * inverse for inverse in inverse_sums(topic_totals, beta))
    lengths = np.diff(offsets)
    lines = -(-np.minimum(lengths, n_padded) // LANES)
    starts = np.zeros(len(offsets), np.int64)
    np.cumsum(LANES * lines, out=starts[1:])
    held = None if isinstance(beta.entries, Rows) else held
    n_rows = BATCH if held is not None else max(2, min(BATCH, _ROWS // (4 * n_padded)))
    n_rows, n_blocks = n_rows + 1, n_padded // LANES  # one more, for the word to come
    widest = int(lines.max(initial=1)) * LANES
    changes = np.zeros(n_padded, np.int64)
    scratch = (
        (kept("slots", starts[-1], np.uint16), kept("counts", starts[-1], np.uint16)),
        (starts, kept("lines", len(lengths), np.int64), kept("next", len(lengths), np.int64)),
        (kept("rows", n_padded + LANES, np.float32), alpha, scale, alpha * scale),
        (
            surround(kept("tables", BATCH * (widest + TABLE_EXTRA), np.float32), widest),
            surround(kept("second", n_rows * (n_padded + TABLE_EXTRA), np.float32), n_padded),
            surround(kept("smooth", n_padded + TABLE_EXTRA, np.float32), n_padded),
        ),
        (
            kept("blocks", n_rows * n_blocks, np.uint16).reshape(n_rows, n_blocks),
            kept("places of blocks", n_rows * n_blocks, np.uint16).reshape(n_rows, n_blocks),
            np.zeros(n_rows, np.int64),
        ),
        (
            kept("slot of", n_padded, np.int64),
            kept("places", 5 * BATCH, np.int64).reshape(5, BATCH),
        ),
        kept("numbers", 5 * BATCH, np.float32).reshape(5, BATCH),
        kept("uniforms", len(tile.docs) + 64, np.float32),
    )
    (topic_of, counts), (slot_of, _) = scratch[0], scratch[5]
    topic_of.fill(n_padded)
    counts.fill(0)
    slot_of.fill(-1)
    scratch[2][0][n_padded:] = 0
    _draw(
        tile.docs, tile.words, tile.ends, offsets, z, word_topic.reshape(-1), n_padded,
        beta.entries, without_one if counted else None, doc_ids, sweep,
        np.uint64(key), update, held, scratch, before, after, changes,
    )  # fmt: skip
    return before, after, changes


def pays(docs: np.ndarray, offsets: np.ndarray, z: np.ndarray, n_padded: int) -> bool:
    """Whether this kernel is cheaper for some documents than `topicmc.kernels.by_word`: by the
    lines of slots that documents have, so that it does not depend on threads or time."""
    n_blocks = n_padded // LANES
    if n_blocks <= _LINE * (_FIXED + 1):
        return False
    return _LINE * (lines_a_token(docs[::_SEEN], offsets, z, n_padded) + _FIXED) < n_blocks


def lines_a_token(docs: np.ndarray, offsets: np.ndarray, z: np.ndarray, n_padded: int) -> float:
    """Lines of slots that a token's document has, in the mean over the tokens of documents."""
    n_tokens = int((offsets[docs + 1] - offsets[docs]).sum())
    return _lines(docs, offsets, z, np.full(n_padded, -1)) / max(1, n_tokens)


@njit(nogil=True, cache=True)
def _lines(docs, offsets, z, seen):
    total = 0
    for d in docs:
        n = 0
        for i in range(offsets[d], offsets[d + 1]):
            topic = np.intp(z[i])
            n += seen[topic] != d
            seen[topic] = d
        total += (n + LANES - 1) // LANES * (offsets[d + 1] - offsets[d])
    return total


@njit(nogil=True, cache=True)
def _take_slots(offsets, z, slots, places, slot_of):
    """Slots of the topics that documents have, in the order in which they come."""
    topic_of, counts = slots
    starts, n_lines, next_of = places
    for d in range(np.uintp(len(n_lines))):
        n = np.uintp(starts[d])
        for i in range(np.uintp(offsets[d]), np.uintp(offsets[d + np.uintp(1)])):
            topic = np.uintp(z[i])
            # Whether a topic is new cannot be foreseen, so there is no branch.
            new = slot_of[topic] < 0
            slot = n if new else np.uintp(slot_of[topic])
            slot_of[topic] = slot
            topic_of[slot] = topic
            counts[slot] += _COUNT
            n += np.uintp(new)
        for slot in range(np.uintp(starts[d]), n):
            slot_of[np.uintp(topic_of[slot])] = -1
        n_lines[d] = (np.intp(n) - starts[d] + LANES - 1) // LANES
        next_of[d] = offsets[d]


@njit(nogil=True, cache=True)
def _tally(slots, starts, n_lines, totals, sign):
    topic_of, counts = slots
    for d in range(np.uintp(len(n_lines))):
        for slot in range(np.uintp(starts[d]), np.uintp(starts[d] + LANES * n_lines[d])):
            if counts[slot] > 0:
                totals[np.uintp(topic_of[slot])] += sign * np.int64(counts[slot])


@njit(nogil=True, cache=True)
def _list(blocks, r, held, word, n_blocks):
    """The blocks of a word that are not left out; returns their number."""
    if held is None:
        for i in range(np.uintp(n_blocks)):
            blocks[r, i] = i
        return np.intp(n_blocks)
    return blocks_of(held, word, blocks[r])


@njit(nogil=True, cache=True)
def _smooth(table, rows, entries, n_padded):
    """φ of a word without tokens, and the table of what all words have of their second part;
    returns the total of that."""
    psi, alpha, scale, _ = rows
    cumulative, prior = splat(_NONE), row_of(entries, 0)
    for k in range(0, n_padded, LANES):
        level = mul(entry_lanes(prior, k), load(scale, k))
        store(psi, k, level)
        cumulative = fma(level, load(alpha, k), cumulative)
        store(table, TABLE_HEAD + k, cumulative)
    return close(table, 0, cumulative)


@njit(nogil=True, cache=True)
def _open(table, begin, rows, blocks, place_of, held, phi, word, prior, n_padded):
    """φ of a word, and the table of its second part, of the blocks listed; returns the total of
    that."""
    psi, alpha, scale, _ = rows
    cumulative, row, place = splat(_NONE), word * n_padded, begin + TABLE_HEAD
    for i in range(np.uintp(len(blocks))):
        block = np.intp(blocks[i])
        k = LANES * block
        tally, factor = to_floats(load(phi, row + k)), load(scale, k)
        level = mul(add(tally, entry_lanes(prior, k)), factor)
        store(psi, k, level)
        if held is None:
            cumulative = fma(level, load(alpha, k), cumulative)
        else:
            cumulative = fma(mul(tally, factor), load(alpha, k), cumulative)
            drop_if(held, word, block, count_at_most(tally, _NONE) == LANES)
        place_of[np.uintp(block)] = i
        store(table, place, cumulative)
        place += LANES
    for k in range(place, place + TABLE_EXTRA - TABLE_HEAD, LANES):
        store(table, k, splat(_INFINITY))
    return close(table, begin, cumulative)


@njit(nogil=True, cache=True)
def _leave(rows, blocks, prior):
    """Makes φ that of a word without tokens again."""
    psi, _, scale, _ = rows
    for i in range(np.uintp(len(blocks))):
        k = LANES * np.intp(blocks[i])
        store(psi, k, mul(entry_lanes(prior, k), load(scale, k)))


@njit(nogil=True, cache=True, error_model="numpy")
def _move(slots, first, n_lines, old_slot, new):
    """Counts a token of another topic, which may have no slot yet, than that of its slot; returns
    the lines in use."""
    topic_of, counts = slots
    last = first + LANES * n_lines
    found = empty = last
    # All is read before anything is written: a vector cannot be loaded while a part is on its way.
    for at in range(last - LANES, first - LANES, -LANES):
        lane, gap = (
            lane_of(load(topic_of, at), np.int32(new)),
            lane_of(load(counts, at), np.int32(0)),
        )
        found = at + lane if lane < LANES else found
        empty = at + gap if gap < LANES else empty
    old_slot = np.uintp(old_slot)
    left = counts[old_slot] - _COUNT
    counts[old_slot] = left
    free = old_slot if left == 0 else np.uintp(empty)
    slot = np.uintp(found) if found < last else free
    topic_of[slot] = new
    counts[slot] += _COUNT
    return n_lines + np.intp(slot >= np.uintp(last))


@njit(nogil=True, cache=True, error_model="numpy")
def _draw(
    docs, words, ends, offsets, z, phi, n_padded, entries, without_one, doc_ids, sweep, key,
    update, held, scratch, before, after, changes,
):  # fmt: skip
    # Places in arrays are unsigned: numba would look whether they are negative.
    slots, places, rows, tables, (blocks, place_of, n_held), lists, numbers, uniforms = scratch
    topic_of, counts = slots
    starts, n_lines, next_of = places
    table, second, smooth = tables
    at, slot_of_token, listed, word_of, new_slots = (
        lists[1][0],
        lists[1][1],
        lists[1][2],
        lists[1][3],
        lists[1][4],
    )
    psi, alpha, _, prior_of = rows
    targets, slices, firsts, totals = numbers[0], numbers[1], numbers[2], numbers[3]
    remains = numbers[4]
    stride, wide = len(table) // BATCH, n_padded + TABLE_EXTRA
    n_rows, n_blocks = blocks.shape
    size, one, tile_begin = np.uintp(len(docs)), np.uintp(1), np.uintp(offsets[0])
    topics_given = phi, prior_of, entries
    fill_uniforms(offsets, doc_ids, sweep, key, update, uniforms)
    _take_slots(offsets, z, slots, places, lists[0])
    _tally(slots, starts, n_lines, changes, -1)
    w, end, row, total, prior = -1, np.uintp(0), np.intp(0), _NONE, row_of(entries, 0)
    ahead, share, of_all = np.intp(0), np.intp(0), _NONE
    if held is not None:
        of_all = _smooth(smooth, rows, entries, n_padded)
    n_held[0] = _list(blocks, 0, held, np.intp(words[0]) if size else 0, n_blocks)
    next_row, next_blocks = np.intp(0), blocks[0]
    first = np.uintp(0)
    while first < size:
        n, stop = np.uintp(0), np.uintp(ends[min(w + n_rows - 2, len(ends) - 1)])
        while n < BATCH and first + n < stop and (n == 0 or docs[first + n] < BEGINS):
            d = np.uintp(docs[first + n] & ~BEGINS)
            place = np.uintp(next_of[d])
            next_of[d] = place + one
            at[n] = place
            before[first + n] = z[place]
            targets[n] = uniforms[place - tile_begin]
            for k in range(0, _ASKED, 2 * LANES):
                prefetch(topic_of, starts[d] + k)
                prefetch(counts, starts[d] + k)
            n += one
        for j in range(n):
            if first + j == end:
                if held is not None and w >= 0:
                    _leave(rows, blocks[w % n_rows, : n_held[w % n_rows]], prior)
                w += 1
                n_tokens = np.intp(ends[w]) - np.intp(end)
                end, word, r = np.uintp(ends[w]), np.intp(words[w]), w % n_rows
                row, prior = word * n_padded, row_of(entries, word)
                total = of_all + _open(
                    second, r * wide, rows, blocks[r, : n_held[r]], place_of[r], held, phi, word,
                    prior, n_padded,
                )  # fmt: skip
                # The row of the next is asked for bit by bit: all at once would take long to come.
                word, r = np.intp(words[min(w + 1, len(words) - 1)]), (w + 1) % n_rows
                n_held[r] = _list(blocks, r, held, word, n_blocks)
                next_row, next_blocks = word * n_padded, blocks[r, : n_held[r]]
                ahead, share = np.intp(0), (n_held[r] + n_tokens - 1) // n_tokens
            until = ahead + share if ahead + share < len(next_blocks) else len(next_blocks)
            for i in range(ahead, until):
                prefetch(phi, next_row + LANES * np.intp(next_blocks[np.uintp(i)]))
            ahead += share
            word_of[j], totals[j] = w, total
            d, old = np.uintp(docs[first + j] & ~BEGINS), np.uintp(before[first + j])
            own = psi[old]
            if without_one is not None:
                own = np.float32(phi[np.uintp(row) + old]) - _ONE + entry(prior, old)
                own *= without_one[old]
            remains[j] = min(own / psi[old], _ONE) if psi[old] > _NONE else _ONE
            slices[j] = alpha[old] * psi[old] * (_ONE - remains[j])
            begin, start, slot = np.intp(j) * stride + TABLE_HEAD, starts[d], np.intp(0)
            cumulative = splat(_NONE)
            for k in range(0, LANES * n_lines[d], LANES):
                topics = load(topic_of, start + k)
                tally = to_floats(load(counts, start + k))
                weight = mul(tally, gather(psi, 0, topic_of, start + k))
                fewer = mul(add(tally, splat(-_ONE)), splat(own))
                weight = swap_where(weight, topics, np.int32(old), fewer)
                lane = lane_of(topics, np.int32(old))
                slot = start + k + lane if lane < LANES else slot
                cumulative = add(cumulative, weight)
                store(table, begin + k, cumulative)
            slot_of_token[j] = slot
        n_listed = np.uintp(0)
        for j in range(n):
            d, begin = np.uintp(docs[first + j] & ~BEGINS), np.intp(j) * stride
            lines = n_lines[d]
            end_of_lines = load(table, begin + TABLE_HEAD + LANES * (lines - 1))
            firsts[j] = close(table, begin, end_of_lines)
            rest = totals[j] - slices[j]
            if slices[j] > LARGEST_SLICE * totals[j]:
                word, old = np.intp(words[word_of[j]]), np.intp(before[first + j])
                rest = scan(topics_given, word, old, remains[j], _INFINITY)[1]
            targets[j] *= firsts[j] + rest
        for j in range(n):
            d, begin = np.uintp(docs[first + j] & ~BEGINS), np.intp(j) * stride
            lines = n_lines[d]
            lane, rest = pick_lane(table, begin, targets[j])
            # Not as many steps as lines, which cannot be foreseen.
            bits, block, column = bits_of(rest), np.intp(0), begin + TABLE_HEAD + lane
            for step in range(_FEW):
                below = peek_bits(table, column + LANES * step) <= bits
                block += np.intp(below & (step < lines))
            for step in range(_FEW, lines):
                block += np.intp(peek_bits(table, column + LANES * step) <= bits)
            slot = starts[d] + LANES * block + lane
            found = (lane < LANES) & (block < lines) & (targets[j] < firsts[j])
            slot = slot if found else slot_of_token[j]
            new_slots[j] = slot
            after[first + j] = topic_of[np.uintp(slot)]
            listed[n_listed] = j
            n_listed += np.uintp(targets[j] >= firsts[j])
        for i in range(n_listed):
            j = np.uintp(listed[i])
            old, target = np.intp(before[first + j]), targets[j] - firsts[j]
            word = np.intp(words[word_of[j]])
            if slices[j] > LARGEST_SLICE * totals[j]:
                new = scan(topics_given, word, old, remains[j], target)[0]
            else:
                r = word_of[j] % n_rows
                begin, held_total = r * wide, totals[j] - of_all - slices[j]
                if held is None or target < held_total:
                    place = LANES * np.intp(place_of[r, np.uintp(old // LANES)]) + old % LANES
                    end_of_own = peek(second, begin + TABLE_HEAD + place)
                    end_of_own += peek(second, begin + LANES - 1 + old % LANES)
                    target += slices[j] * np.float32(target >= end_of_own - slices[j])
                    new = pick(second, begin, LANES * n_held[r], target)
                    block = np.intp(blocks[r, np.uintp(max(new, 0) // LANES)])
                    new = LANES * block + new % LANES if new >= 0 else -1
                else:
                    new = pick(smooth, 0, n_padded, target - held_total)
            if new >= 0 and new != old:
                d = np.uintp(docs[first + j] & ~BEGINS)
                n_lines[d] = _move(slots, starts[d], n_lines[d], slot_of_token[j], new)
                after[first + j] = new
        for j in range(n):
            old_slot, new_slot = np.uintp(slot_of_token[j]), np.uintp(new_slots[j])
            counts[old_slot] -= _COUNT
            counts[new_slot] += _COUNT
            z[np.uintp(at[j])] = after[first + j]
        first += n
    _tally(slots, starts, n_lines, changes, 1)
