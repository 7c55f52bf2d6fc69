# mypy: disable-error-code="call-arg,var-annotated,assignment"
"""Sweeps word by word for many topics: `topicmc.kernels.by_word`, at a cost that follows the number
of topics in a document, not K.

As in `topicmc.kernels.sparse` the conditional is a mixture of two parts,

    p(z_di = k | …) ∝ n_dk^{−di} φ_kw  +  α_k φ_kw.

The first is summed over the topics that the document has. A line of 64 bytes holds 16 slots: their
topics, then their counts. The second is one table for all tokens of a word, made when their turn
comes; what a token adds to it itself is a slice, which the target steps over.

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
    add,
    bits_of,
    count_at_most,
    fma,
    gather,
    lane_of,
    load,
    mul,
    one_less_where,
    peek,
    peek_bits,
    prefetch,
    splat,
    store,
    swap_where,
    to_floats,
)
from topicmc.kernels.padding import LANES
from topicmc.kernels.prior import Beta, Rows, entry, entry_lanes, row_of
from topicmc.kernels.scratch import kept
from topicmc.kernels.tables import (
    LARGEST_SLICE,
    TABLE_EXTRA,
    TABLE_HEAD,
    close,
    pick,
    pick_lane,
    surround,
)
from topicmc.kernels.trees import scan
from topicmc.kernels.word_order import BATCH, BEGINS, Tile

_ONE, _NONE, _INFINITY = np.float32(1), np.float32(0), np.float32(np.inf)
_COUNT = np.uint16(1)
# A line of slots costs as much as so many blocks of 16 topics do in the other kernel, and what
# depends on neither as much as so many lines: fitted to K = 300 … 2,000, abstracts and articles.
_LINE, _FIXED = 4, 6
_ROWS = 1 << 16  # bytes of tables of words that a batch has tokens of
_FEW = 8  # lines that most documents do not exceed
_AHEAD = 3  # words from asking for a row to reading it
_ASKED = 4  # lines of a document that are asked for before their turn comes; more gain nothing
_LINE_SIZE = 2 * LANES  # numbers in a line; a slot is named by where its topic lies
_COUNTS = np.uintp(LANES)  # from the topic of a slot to its count
_FIRST, _N_LINES, _NEXT = range(3)  # of a document: its first slot, its lines, its next token
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
    number; blocks that are found empty are dropped from it. The draws do not depend on bits that
    are left over.
    """
    n_padded = word_topic.shape[1]
    offsets = offsets[tile.first : tile.last + 1]
    before, after = np.empty((2, len(tile.docs)), z.dtype)
    scale, without_one = (UNIT * inverse for inverse in inverse_sums(topic_totals, beta))
    lengths = np.diff(offsets)
    lines = -(-np.minimum(lengths, n_padded) // LANES)
    ends = _LINE_SIZE * np.cumsum(lines)
    held = None if isinstance(beta.entries, Rows) else held
    n_rows = BATCH if held is not None else max(2, min(BATCH, _ROWS // (4 * n_padded)))
    n_rows, n_blocks = n_rows + _AHEAD, n_padded // LANES
    widest, wide = int(lines.max(initial=1)) * LANES, n_padded + TABLE_EXTRA
    changes = np.zeros((2, n_padded), np.int64)
    slots = kept("slots", _LINE_SIZE * int(lines.sum()), np.uint16)
    slots.reshape(-1, 2, LANES)[:] = [[n_padded], [0]]
    # Three numbers of each, and one more, so that none lies in two lines of a cache.
    documents = kept("documents", 4 * len(lengths), np.int32).reshape(-1, 4)
    documents[:, _FIRST] = ends - _LINE_SIZE * lines
    psi = kept("rows", n_padded + LANES, np.float32)
    psi[n_padded:] = 0
    blocks = kept("blocks", (n_rows + 1) * n_blocks, np.uint16)
    blocks.reshape(-1, n_blocks)[:] = np.arange(n_blocks)
    slot_of = kept("slot of", n_padded, np.int64)
    slot_of.fill(-1)
    uniforms = kept("uniforms", len(tile.docs) + 64, np.float32)
    scratch = (
        slots,
        documents,
        (psi, alpha, scale, alpha * scale),
        (
            surround(kept("tables", BATCH * (widest + TABLE_EXTRA), np.float32), widest),
            surround(kept("second", (n_rows + 1) * wide, np.float32), n_padded),
        ),
        (
            blocks,
            kept("places of blocks", n_rows * n_blocks, np.uint16),
            np.full(n_rows + 1, n_blocks),
        ),
        kept("places", 8 * BATCH, np.int64).reshape(8, BATCH),
        kept("numbers", 5 * BATCH, np.float32).reshape(5, BATCH),
        uniforms,
    )
    fill_uniforms(offsets, doc_ids, sweep, np.uint64(key), update, uniforms)
    _take_slots(offsets, z, slots, documents, slot_of)
    _tally(slots, documents, changes[0])
    _draw(
        tile.docs, tile.words, tile.ends, offsets[0], z, word_topic.reshape(-1), n_padded,
        beta.entries, without_one if counted else None, held, scratch, before, after,
    )  # fmt: skip
    _tally(slots, documents, changes[1])
    return before, after, changes[1] - changes[0]


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
def _take_slots(offsets, z, slots, documents, slot_of):
    """Slots of the topics that documents have, in the order in which they come."""
    one = np.uintp(1)
    for d in range(np.uintp(len(documents))):
        first = np.uintp(documents[d, _FIRST])
        end = first
        for i in range(np.uintp(offsets[d]), np.uintp(offsets[d + one])):
            topic = np.uintp(z[i])
            # Whether a topic is new cannot be foreseen, so there is no branch.
            new = slot_of[topic] < 0
            slot = end if new else np.uintp(slot_of[topic])
            slot_of[topic] = slot
            slots[slot] = topic
            slots[slot + _COUNTS] += _COUNT
            end += np.uintp(new)
            end += _COUNTS * np.uintp(new & (end % _COUNTS == 0))
        for i in range(np.uintp(offsets[d]), np.uintp(offsets[d + one])):
            slot_of[np.uintp(z[i])] = -1
        documents[d, _N_LINES] = (np.intp(end - first) + _LINE_SIZE - 1) // _LINE_SIZE
        documents[d, _NEXT] = offsets[d] - offsets[0]


@njit(nogil=True, cache=True)
def _tally(slots, documents, totals):
    for d in range(np.uintp(len(documents))):
        first, n_lines = documents[d, _FIRST], documents[d, _N_LINES]
        for line in range(first, first + _LINE_SIZE * n_lines, _LINE_SIZE):
            for slot in range(np.uintp(line), np.uintp(line + LANES)):
                count = np.int64(slots[slot + _COUNTS])
                if count > 0:
                    totals[np.uintp(slots[slot])] += count


@njit(nogil=True, cache=True)
def _list(blocks, begin, held, word, n_blocks):
    """The blocks of a word that are not left out, written from a place on; returns their number. If
    none can be left out, they are there already."""
    if held is None:
        return np.intp(n_blocks)
    return blocks_of(held, word, blocks, begin)


@njit(nogil=True, cache=True)
def _smooth(second, begin, rows, entries, n_padded):
    """φ of a word without tokens, and the table of what all words have of their second part;
    returns the total of that."""
    psi, alpha, scale, _ = rows
    cumulative, prior = splat(_NONE), row_of(entries, 0)
    for k in range(0, n_padded, LANES):
        level = mul(entry_lanes(prior, k), load(scale, k))
        store(psi, k, level)
        cumulative = fma(level, load(alpha, k), cumulative)
        store(second, begin + TABLE_HEAD + k, cumulative)
    return close(second, begin, cumulative)


@njit(nogil=True, cache=True)
def _open(second, r, rows, lists, held, phi, word, prior, n_padded):
    """φ of a word, and the table of its second part, of the blocks listed; returns the total of
    that."""
    psi, alpha, scale, _ = rows
    blocks, place_of, n_listed = lists
    begin, at = r * (n_padded + TABLE_EXTRA), r * (n_padded // LANES)
    cumulative, row, place = splat(_NONE), word * n_padded, begin + TABLE_HEAD
    for i in range(np.uintp(n_listed[np.uintp(r)])):
        block = np.intp(blocks[np.uintp(at) + i])
        k = LANES * block
        tally, factor = to_floats(load(phi, row + k)), load(scale, k)
        level = mul(add(tally, entry_lanes(prior, k)), factor)
        store(psi, k, level)
        if held is None:
            cumulative = fma(level, load(alpha, k), cumulative)
        else:
            cumulative = fma(mul(tally, factor), load(alpha, k), cumulative)
            drop_if(held, word, block, count_at_most(tally, _NONE) == LANES)
        place_of[np.uintp(at + block)] = i
        store(second, place, cumulative)
        place += LANES
    for k in range(place, place + TABLE_EXTRA - TABLE_HEAD, LANES):
        store(second, k, splat(_INFINITY))
    return close(second, begin, cumulative)


@njit(nogil=True, cache=True)
def _leave(r, rows, lists, prior, n_padded):
    """Makes φ that of a word without tokens again."""
    psi, _, scale, _ = rows
    blocks, _, n_listed = lists
    at = np.uintp(r * (n_padded // LANES))
    for i in range(np.uintp(n_listed[np.uintp(r)])):
        k = LANES * np.intp(blocks[at + i])
        store(psi, k, mul(entry_lanes(prior, k), load(scale, k)))


@njit(nogil=True, cache=True, error_model="numpy")
def _move(slots, first, n_lines, old_slot, new):
    """Counts a token of another topic, which may have no slot yet, than that of its slot; returns
    the lines in use."""
    last = first + _LINE_SIZE * n_lines
    found = empty = last
    # All is read before anything is written: a vector cannot be loaded while a part is on its way.
    for at in range(last - _LINE_SIZE, first - _LINE_SIZE, -_LINE_SIZE):
        lane = lane_of(load(slots, at), np.int32(new))
        gap = lane_of(load(slots, at + LANES), np.int32(0))
        found = at + lane if lane < LANES else found
        empty = at + gap if gap < LANES else empty
    old_slot = np.uintp(old_slot)
    left = slots[old_slot + _COUNTS] - _COUNT
    slots[old_slot + _COUNTS] = left
    free = old_slot if left == 0 else np.uintp(empty)
    slot = np.uintp(found) if found < last else free
    slots[slot] = new
    slots[slot + _COUNTS] += _COUNT
    return n_lines + np.intp(slot >= np.uintp(last))


@njit(nogil=True, cache=True, error_model="numpy")
def _draw(
    docs, words, ends, begin_of_tile, z, phi, n_padded, entries, without_one, held, scratch, before,
    after,
):  # fmt: skip
    # Places in arrays are unsigned: numba would look whether they are negative.
    slots, documents, rows, (table, second), lists, places, numbers, uniforms = scratch
    blocks, place_of, n_listed = lists
    at, slot_of_token, drawn, word_of = places[0], places[1], places[2], places[3]
    new_slots, start_of, lines_of, row_of_token = places[4], places[5], places[6], places[7]
    psi, alpha, _, prior_of = rows
    targets, slices, firsts, totals = numbers[0], numbers[1], numbers[2], numbers[3]
    remains = numbers[4]
    stride, wide, n_blocks = len(table) // BATCH, n_padded + TABLE_EXTRA, n_padded // LANES
    n_rows = len(n_listed) - 1  # behind them is the one that all words share
    size, one, tile_begin = np.uintp(len(docs)), np.uintp(1), np.uintp(begin_of_tile)
    topics_given = phi, prior_of, entries
    w, end, row, total, prior = -1, np.uintp(0), np.intp(0), _NONE, row_of(entries, 0)
    ahead, share, of_all = np.intp(0), np.intp(0), _NONE
    if held is not None:
        of_all = _smooth(second, n_rows * wide, rows, entries, n_padded)
    n_next = np.intp(0)
    for i in range(min(_AHEAD, len(words))):
        n_next = _list(blocks, i * n_blocks, held, np.intp(words[i]), n_blocks)
        n_listed[i] = n_next
    r, next_r, next_row = np.intp(n_rows - 1), np.intp(_AHEAD - 1), np.intp(0)
    first = np.uintp(0)
    while first < size:
        n, stop = np.uintp(0), np.uintp(ends[min(w + n_rows - _AHEAD - 1, len(ends) - 1)])
        while n < BATCH and first + n < stop and (n == 0 or docs[first + n] < BEGINS):
            d = np.uintp(docs[first + n] & ~BEGINS)
            place, start = np.uintp(documents[d, _NEXT]), np.intp(documents[d, _FIRST])
            documents[d, _NEXT] = place + one
            at[n] = place
            before[first + n] = z[tile_begin + place]
            targets[n] = uniforms[place]
            start_of[n], lines_of[n] = start, documents[d, _N_LINES]
            for line in range(_ASKED):
                prefetch(slots, start + _LINE_SIZE * line)
            n += one
        for j in range(n):
            if first + j == end:
                if held is not None and w >= 0:
                    _leave(r, rows, lists, prior, n_padded)
                w += 1
                n_tokens = np.intp(ends[w]) - np.intp(end)
                end, word = np.uintp(ends[np.uintp(w)]), np.intp(words[np.uintp(w)])
                r = r + 1 if r + 1 < n_rows else np.intp(0)
                row, prior = word * n_padded, row_of(entries, word)
                opened = _open(second, r, rows, lists, held, phi, word, prior, n_padded)
                total = of_all + opened
                # A row to come is asked for bit by bit: all at once would take long to come.
                word = np.intp(words[np.uintp(min(w + _AHEAD, len(words) - 1))])
                next_r = next_r + 1 if next_r + 1 < n_rows else np.intp(0)
                next_row = word * n_padded
                n_next = _list(blocks, next_r * n_blocks, held, word, n_blocks)
                n_listed[np.uintp(next_r)] = n_next
                ahead, share = np.intp(0), (n_next + n_tokens - 1) // n_tokens
            until = ahead + share if ahead + share < n_next else n_next
            for i in range(next_r * n_blocks + ahead, next_r * n_blocks + until):
                prefetch(phi, next_row + LANES * np.intp(blocks[np.uintp(i)]))
            ahead += share
            word_of[j], row_of_token[j], totals[j] = w, r, total
            old = np.uintp(before[first + j])
            own = psi[old]
            if without_one is not None:
                own = np.float32(phi[np.uintp(row) + old]) - _ONE + entry(prior, old)
                own *= without_one[old]
            remains[j] = min(own / psi[old], _ONE) if psi[old] > _NONE else _ONE
            slices[j] = alpha[old] * psi[old] * (_ONE - remains[j])
            begin, start, slot = np.intp(j) * stride + TABLE_HEAD, start_of[j], np.intp(0)
            cumulative, old = splat(_NONE), np.int32(old)
            for line in range(lines_of[j]):
                place = start + _LINE_SIZE * line
                topics = load(slots, place)
                tally = one_less_where(load(slots, place + LANES), topics, old)
                level = swap_where(gather(psi, 0, slots, place), topics, old, splat(own))
                lane = lane_of(topics, old)
                slot = place + lane if lane < LANES else slot
                cumulative = add(cumulative, mul(to_floats(tally), level))
                store(table, begin + LANES * line, cumulative)
            slot_of_token[j] = slot
        n_drawn = np.uintp(0)
        for j in range(n):
            begin, lines = np.intp(j) * stride, lines_of[j]
            end_of_lines = load(table, begin + TABLE_HEAD + LANES * (lines - 1))
            firsts[j] = close(table, begin, end_of_lines)
            rest = totals[j] - slices[j]
            if slices[j] > LARGEST_SLICE * totals[j]:
                word, old = np.intp(words[word_of[j]]), np.intp(before[first + j])
                rest = scan(topics_given, word, old, remains[j], _INFINITY)[1]
            targets[j] *= firsts[j] + rest
        for j in range(n):
            begin, lines = np.intp(j) * stride, lines_of[j]
            lane, rest = pick_lane(table, begin, targets[j])
            # Not as many steps as lines, which cannot be foreseen.
            bits, block, column = bits_of(rest), np.intp(0), begin + TABLE_HEAD + lane
            for step in range(_FEW):
                below = peek_bits(table, column + LANES * step) <= bits
                block += np.intp(below & (step < lines))
            for step in range(_FEW, lines):
                block += np.intp(peek_bits(table, column + LANES * step) <= bits)
            slot = start_of[j] + _LINE_SIZE * block + lane
            found = (lane < LANES) & (block < lines) & (targets[j] < firsts[j])
            slot = slot if found else slot_of_token[j]
            new_slots[j] = slot
            after[first + j] = slots[np.uintp(slot)]
            drawn[n_drawn] = j
            n_drawn += np.uintp(targets[j] >= firsts[j])
        for i in range(n_drawn):
            j = np.uintp(drawn[i])
            old, target = np.intp(before[first + j]), targets[j] - firsts[j]
            word = np.intp(words[word_of[j]])
            if slices[j] > LARGEST_SLICE * totals[j]:
                new = scan(topics_given, word, old, remains[j], target)[0]
            else:
                of, of_held = row_of_token[j], totals[j] - of_all - slices[j]
                place = LANES * np.intp(place_of[np.uintp(of * n_blocks + old // LANES)])
                end_of_own = peek(second, of * wide + TABLE_HEAD + place + old % LANES)
                end_of_own += peek(second, of * wide + LANES - 1 + old % LANES)
                if held is not None and target >= of_held:
                    of, target = n_rows, target - of_held
                else:
                    target += slices[j] * np.float32(target >= end_of_own - slices[j])
                new = pick(second, of * wide, LANES * n_listed[np.uintp(of)], target)
                block = np.intp(blocks[np.uintp(of * n_blocks + max(new, 0) // LANES)])
                new = LANES * block + new % LANES if new >= 0 else -1
            if new >= 0 and new != old:
                d = np.uintp(docs[first + j] & ~BEGINS)
                documents[d, _N_LINES] = _move(
                    slots, start_of[j], lines_of[j], slot_of_token[j], new
                )
                after[first + j] = new
        for j in range(n):
            old_slot, new_slot = np.uintp(slot_of_token[j]), np.uintp(new_slots[j])
            slots[old_slot + _COUNTS] -= _COUNT
            slots[new_slot + _COUNTS] += _COUNT
            z[tile_begin + np.uintp(at[j])] = after[first + j]
        first += n
