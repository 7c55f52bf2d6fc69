# mypy: disable-error-code="call-arg,var-annotated"
"""Topic assignments for many topics: the draws of `topicmc.kernels.gibbs`, at a cost that follows
the number of topics in a document, not K.

The conditional is a mixture of two parts (Yao, Mimno & McCallum 2009, section 3),

    p(z_di = k | …) ∝ n_dk^{−di} φ_kw  +  α_k φ_kw.

The first is summed over the topics that the document has; each has a slot, and φ is gathered 16
slots at a time. The second does not change while φ is fixed: `topicmc.kernels.trees` draws from it.
Nothing is approximated: no proposals that could be rejected.

Under counts, a token's own count must not speak for its topic. In the first part that topic's
weight is lowered for the draw; in the second, what the count adds is a known slice of the range,
which the target steps over.
"""

import numpy as np
from numba import njit

from topicmc.kernels.batch import Minibatch
from topicmc.kernels.gibbs import Assignments, check, draw_prior, inverse_sums, pieces_of
from topicmc.kernels.lanes import (
    add,
    gather,
    load,
    mul,
    peek,
    philox_lanes,
    prefetch,
    replace,
    splat,
    store,
    to_floats,
)
from topicmc.kernels.padding import LANES, aligned_zeros
from topicmc.kernels.prior import Beta, entry, entry_gather, row_of
from topicmc.kernels.tables import LARGEST_SLICE, TABLE_EXTRA, TABLE_HEAD, close, pick, tables
from topicmc.kernels.threads import Threads
from topicmc.kernels.trees import descend, end_of, mass, plant, scan

_TURNS = 4  # documents that take turns
_AHEAD = 8  # tokens from asking for a word's tree to reading it
_TIDY = 64  # tokens after which slots without tokens are looked for
_NEW = 16  # slots whose topics may have come so late that their φ is in no cache
_TAIL = TABLE_EXTRA - TABLE_HEAD
_ONE, _NONE, _INFINITY = np.float32(1), np.float32(0), np.float32(np.inf)


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
    """Sums of assignments over the last ``sweeps − burn_in`` of ``sweeps`` Gibbs sweeps.

    Arguments, result, law and keys of the randomness are those of
    `topicmc.kernels.gibbs.sample_assignments`; the draws differ.
    The result does not depend on the number of threads. Beside phi_rows and the result, float32 and
    int32 (B, Kp), it takes a fifteenth of phi_rows for the trees, however many threads there are.

    Raises ValueError for arguments that do not fit together.
    """
    z = check(batch, phi_rows, alpha, sweeps, burn_in, z)
    n_words, n_padded = phi_rows.shape
    phi = np.ascontiguousarray(phi_rows, np.float32).reshape(-1)
    lengths = np.diff(batch.offsets)
    drawn = np.empty((sweeps - burn_in, batch.n_tokens), np.uint16)
    _share_out(
        batch.doc_ids, batch.offsets[:-1], lengths, batch.tokens, z,
        (phi, alpha, _NONE), n_words, np.arange(n_words), alpha,
        (np.ones(n_padded, np.float32),) * 2, False, sweeps, burn_in, key, update, drawn, threads,
    )  # fmt: skip
    word_topic = doc_topic = None
    if want_word_topic:
        word_topic = _word_topic_sums(batch.tokens, drawn, phi_rows.shape, threads)
    if want_doc_topic:
        doc_topic = np.zeros((batch.n_docs, n_padded), np.int32)
        _tally(np.repeat(np.arange(batch.n_docs), lengths), drawn, doc_topic, 0, batch.n_docs)
    return Assignments(word_topic, doc_topic, float(len(drawn)))


def _word_topic_sums(
    tokens: np.ndarray, drawn: np.ndarray, shape: tuple[int, ...], threads: Threads
) -> np.ndarray:
    """n_kw summed over the sweeps that drew: int32 of the ``shape`` (B, Kp)."""
    sums = aligned_zeros(shape, np.int32)
    parts = np.linspace(0, shape[0], 4 * threads.n_threads + 1).astype(np.int64)
    threads.run(lambda i: _tally(tokens, drawn, sums, parts[i], parts[i + 1]), len(parts) - 1)
    return sums


def redraw(
    docs: np.ndarray,
    offsets: np.ndarray,
    tokens: np.ndarray,
    z: np.ndarray,
    word_topic: np.ndarray,
    topic_totals: np.ndarray,
    alpha: np.ndarray,
    beta: Beta,
    *,
    counted: bool,
    sweeps: int = 1,
    first_id: int = 0,
    key: np.uint64,
    update: int,
    threads: Threads,
) -> None:
    """Sweeps over kept assignments, in place: `topicmc.kernels.gibbs.redraw`, whose arguments
    and law these are; the draws differ.

    It takes a fifteenth of the memory of word_topic for the trees of the words that are drawn.
    """
    n_words = len(word_topic)
    starts, lengths = offsets[docs], offsets[docs + 1] - offsets[docs]
    seen = np.zeros(n_words, np.bool_)
    _mark(starts, lengths, tokens, seen)
    scales = inverse_sums(topic_totals, beta)
    prior = np.asarray(alpha * scales[0], np.float32)
    topics = (word_topic.reshape(-1), prior, beta.entries)
    _share_out(
        docs + first_id, starts, lengths, tokens, z, topics, n_words, np.flatnonzero(seen), alpha,
        scales, counted, sweeps, sweeps, key, update, np.zeros((0, 0), np.uint16), threads,
    )  # fmt: skip


def _share_out(
    doc_ids, starts, lengths, tokens, z, topics, n_words, words, alpha, scales, counted, sweeps,
    burn_in, key, update, drawn, threads,
) -> None:  # fmt: skip
    forest = plant(topics, words, n_words, threads)
    order = np.argsort(-lengths, kind="stable")
    n_pieces = pieces_of(int(lengths.sum()) * max(1, sweeps), -(-len(order) // _TURNS), threads)

    def piece(i: int) -> None:
        _sample(
            order[i * _TURNS :], n_pieces * _TURNS, doc_ids, starts, lengths, tokens, z, topics,
            forest, alpha, scales, counted, sweeps, burn_in, np.uint64(key), update,
            _scratch(int(lengths.max(initial=1)), len(alpha)), drawn,
        )  # fmt: skip

    threads.run(piece, n_pieces)


def _scratch(longest: int, n_padded: int) -> tuple[np.ndarray, ...]:
    """For each document that takes turns: counts, weights and topics by slot, slots by topic, a
    table, and uniforms."""
    size = _room(min(longest, n_padded))
    return (
        np.zeros(_TURNS * size, np.float32),
        aligned_zeros(_TURNS * size, np.float32),
        aligned_zeros(_TURNS * size, np.int32),
        np.full(_TURNS * n_padded, -1, np.int32),
        tables(_TURNS, size).reshape(-1),
        aligned_zeros(_TURNS * (-(-longest // 64) * 64), np.float32),
    )


@njit(inline="always")
def _room(n_topics):
    """Slots for a document of so many topics, until those without tokens are looked for again."""
    return (n_topics + n_topics // 8 + 4 + LANES - 1) & -LANES


@njit(nogil=True, cache=True)
def _mark(starts, lengths, tokens, seen):
    """Raises the flags of the words of some documents."""
    for d in range(len(starts)):
        for i in range(starts[d], starts[d] + lengths[d]):
            seen[np.intp(tokens[i])] = True


@njit(nogil=True, cache=True, error_model="numpy")
def _start(first, length, uniform_at, uniforms, tokens, z, topics, forest, alpha):
    """Draws topics from p(z = k) ∝ α_k φ_kw for the tokens of a document that have none."""
    unassigned = np.intp(np.iinfo(z.dtype).max)
    for i in range(length):
        token = first + i
        prefetch(forest[0], np.intp(tokens[min(token + _AHEAD, len(tokens) - 1)]) * forest[1])
        if np.intp(z[token]) == unassigned:
            word = np.intp(tokens[token])
            uniform = peek(uniforms, uniform_at + i)
            new = descend(forest, topics, word, uniform * mass(forest, word))
            z[token] = new if new >= 0 else draw_prior(alpha, uniform)


@njit(inline="always")
def _change(counts, weights, base, slot, by, scale):
    """Adds to a count and renews its weight; that by a whole vector, which later loads can
    forward."""
    count = counts[base + slot] + by
    counts[base + slot] = count
    block = base + (slot & -LANES)
    store(weights, block, replace(load(weights, block), slot & (LANES - 1), count * scale))


@njit(inline="always")
def _include(topic, base, map_at, slots, scale, used):
    """Counts a token of a topic, which takes the next slot if it has none; returns slots in use."""
    counts, weights, topic_of, slot_of = slots
    slot = np.intp(slot_of[map_at + topic])
    new = slot < 0
    slot = used if new else slot
    slot_of[map_at + topic] = slot
    topic_of[base + slot] = topic
    _change(counts, weights, base, slot, _ONE, scale[topic])
    return used + np.intp(new)


@njit(nogil=True, cache=True, error_model="numpy")
def _compact(base, map_at, slots, used):
    """Takes the slots from topics without tokens; returns how many are left in use."""
    counts, weights, topic_of, slot_of = slots
    n = 0
    for slot in range(base, base + used):
        topic, count, weight = topic_of[slot], counts[slot], weights[slot]
        counts[slot] = weights[slot] = 0
        slot_of[map_at + topic] = -1
        if count > 0:
            counts[base + n], weights[base + n], topic_of[base + n] = count, weight, topic
            slot_of[map_at + topic] = n
            n += 1
    return n


@njit(nogil=True, cache=True, error_model="numpy")
def _draw_second(topics, forest, word, topic, remains, own_slice, rest):
    """A topic by its weight in the second part, where that of one topic lacks own_slice, so that
    only a part of it remains."""
    if own_slice > LARGEST_SLICE * mass(forest, word):
        return scan(topics, word, topic, remains, rest)[0]
    if own_slice > _NONE and rest >= end_of(forest, topics, word, topic) - own_slice:
        rest += own_slice
    return descend(forest, topics, word, rest)


@njit(nogil=True, cache=True, error_model="numpy")
def _sample(
    order, step, doc_ids, starts, lengths, tokens, z, topics, forest, alpha, scales, counted,
    sweeps, burn_in, key, update, scratch, drawn,
):  # fmt: skip
    """All sweeps over documents order[0 : 4], order[step : step + 4], …; those that are kept are
    written to drawn, uint16 (kept, T)."""
    counts, weights, topic_of, slot_of, table, uniforms = scratch
    slots = counts, weights, topic_of, slot_of
    phi, prior, entries = topics
    scale, without_one = scales
    n_padded = len(alpha)
    size, table_size = len(counts) // _TURNS, len(table) // _TURNS
    uniform_size = len(uniforms) // _TURNS
    first, length = np.zeros(_TURNS, np.int64), np.zeros(_TURNS, np.int64)
    used, room = np.zeros(_TURNS, np.int64), np.zeros(_TURNS, np.int64)
    width, pending = np.zeros(_TURNS, np.int64), np.zeros(_TURNS, np.int64)
    for start in range(0, len(order), step):
        members = min(_TURNS, len(order) - start)
        for j in range(members):
            d = order[start + j]
            base, map_at, uniform_at = j * size, j * n_padded, j * uniform_size
            for at in range(base, base + used[j]):
                counts[at] = weights[at] = 0
                slot_of[map_at + topic_of[at]] = -1
            first[j], length[j] = starts[d], lengths[d]
            for i in range(0, length[j], 64):
                philox_lanes(key, i >> 2, 0, doc_ids[d], update, uniforms, uniform_at + i)
            _start(first[j], length[j], uniform_at, uniforms, tokens, z, topics, forest, alpha)
            n = 0
            for token in range(first[j], first[j] + length[j]):
                n = _include(np.intp(z[token]), base, map_at, slots, scale, n)
            used[j] = n
            room[j] = _room(n)
            pending[j] = -1
        for sweep in range(1, sweeps + 1):
            kept = sweep - burn_in - 1
            for j in range(members):
                doc = doc_ids[order[start + j]]
                for i in range(0, length[j], 64):
                    philox_lanes(key, i >> 2, sweep, doc, update, uniforms, j * uniform_size + i)
            for i in range(length[0]):
                for j in range(members):
                    if i >= length[j]:
                        break  # the longest document is first
                    token = first[j] + i
                    base, map_at, table_at = j * size, j * n_padded, j * table_size
                    word = np.intp(tokens[token])
                    row, smooth = word * n_padded, row_of(entries, word)
                    old = np.intp(z[token])
                    n = used[j]
                    if n == room[j] or i % _TIDY == 0:
                        n = _compact(base, map_at, slots, n)
                        room[j] = _room(n)
                    # As in the dense kernel, what was drawn last is counted only now.
                    if pending[j] >= 0:
                        n = _include(pending[j], base, map_at, slots, scale, n)
                    used[j] = n
                    slot = np.intp(slot_of[map_at + old])
                    _change(counts, weights, base, slot, -_ONE, scale[old])
                    block = base + (slot & -LANES)
                    intact = load(weights, block)
                    remains, own_slice = _ONE, _NONE
                    if counted:
                        n_kw, b_kw = np.float32(phi[row + old]), entry(smooth, old)
                        remains = (n_kw - _ONE + b_kw) / (n_kw + b_kw)
                        remains = min(max(remains * (_ONE + without_one[old]), _NONE), _ONE)
                        own_slice = (_ONE - remains) * (n_kw + b_kw) * prior[old]
                        lower = weights[base + slot] * remains
                        store(weights, block, replace(intact, slot & (LANES - 1), lower))
                    ahead = np.intp(tokens[min(token + 1, len(tokens) - 1)])
                    prefetch(forest[0], ahead * forest[1])
                    for at in range(base + max(0, n - _NEW), base + n):
                        prefetch(phi, ahead * n_padded + np.intp(topic_of[at]))
                    n = (n + LANES - 1) & -LANES
                    begin = table_at + TABLE_HEAD
                    if n != width[j]:
                        width[j] = n
                        for k in range(begin + n, begin + n + _TAIL, LANES):
                            store(table, k, splat(_INFINITY))
                    cumulative = splat(_NONE)
                    for at in range(0, n, LANES):
                        level = to_floats(gather(phi, row, topic_of, base + at))
                        level = add(level, entry_gather(smooth, topic_of, base + at))
                        cumulative = add(cumulative, mul(load(weights, base + at), level))
                        store(table, begin + at, cumulative)
                    if counted:
                        store(weights, block, intact)
                    own = close(table, table_at, cumulative)
                    rest = mass(forest, word) - own_slice
                    if own_slice > LARGEST_SLICE * mass(forest, word):
                        rest = scan(topics, word, old, remains, _INFINITY)[1]
                    target = peek(uniforms, j * uniform_size + i) * (own + rest)
                    if target < own:
                        slot = pick(table, table_at, n, target)
                        new = np.intp(topic_of[base + slot]) if slot >= 0 else old
                    else:
                        rest = target - own
                        new = _draw_second(topics, forest, word, old, remains, own_slice, rest)
                        new = new if new >= 0 else old
                    z[token] = new
                    pending[j] = new
                    if kept >= 0:
                        drawn[kept, token] = new


@njit(nogil=True, cache=True)
def _tally(rows, drawn, counts, first, end):
    """Counts the topics drawn for each token by the token's row, for rows first … end − 1."""
    for sweep in range(len(drawn)):
        for i in range(len(rows)):
            if first <= rows[i] < end:
                counts[rows[i], drawn[sweep, i]] += 1
