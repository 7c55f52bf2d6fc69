# mypy: disable-error-code="call-arg,var-annotated"
"""Topic assignments of a minibatch given the topics φ, for many topics: the draws of
`topicmc.kernels.gibbs`, at a cost that follows the number of topics in a document, not K.

The conditional is a mixture of two parts (Yao, Mimno & McCallum 2009, section 3),

    p(z_di = k | …) ∝ n_dk^{−di} φ_kw  +  α_k φ_kw.

The first is summed over the topics that the document has; each has a slot, and φ is gathered 16
slots at a time. The second does not change while φ is fixed: its sums over blocks of 16 topics and
groups of 16 blocks are kept for each word of the minibatch, in a tree whose leaves are the rows of
φ themselves (a flat F+tree; Yu et al. 2015). That is one number for 15 topics, made in one pass,
and a draw reads three cache lines. Nothing is approximated: no proposals that could be rejected.
"""

import numpy as np
from numba import njit

from topicmc.kernels.batch import Minibatch
from topicmc.kernels.gibbs import UNASSIGNED, Assignments, check, draw_prior, share_out
from topicmc.kernels.lanes import (
    LANES,
    TABLE_EXTRA,
    TABLE_HEAD,
    add,
    aligned_zeros,
    close,
    count_at_most,
    gather,
    last,
    load,
    mul,
    one_hot,
    peek,
    philox_lanes,
    pick,
    prefetch,
    prefix,
    splat,
    store,
    tables,
)
from topicmc.kernels.threads import Threads

_BLOCKS = LANES * LANES  # topics in a group of blocks
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
    want_doc_topic: bool = False,
    z: np.ndarray | None = None,
) -> Assignments:
    """Sums of assignments over the last ``sweeps − burn_in`` of ``sweeps`` Gibbs sweeps.

    Arguments, result, law and keys of the randomness are those of
    `topicmc.kernels.gibbs.sample_assignments`, without its Rao-Blackwell option; the draws differ.
    The result does not depend on the number of threads. Beside phi_rows and the result, float32 and
    int32 (B, Kp), it takes a fifteenth of phi_rows for the trees, however many threads there are.

    Raises ValueError for arguments that do not fit together.
    """
    z = check(batch, phi_rows, alpha, sweeps, burn_in, z)
    n_words, n_padded = phi_rows.shape
    phi = np.ascontiguousarray(phi_rows, np.float32).reshape(-1)
    n_groups = -(-n_padded // _BLOCKS)
    tree_size = LANES * (-(-n_groups // LANES) + n_groups)
    trees = aligned_zeros(n_words * tree_size, np.float32)
    parts = np.linspace(0, n_words, 4 * threads.n_threads + 1).astype(np.int64)
    threads.run(
        lambda i: _build(phi, alpha, n_groups, tree_size, trees, parts[i], parts[i + 1]),
        len(parts) - 1,
    )

    lengths = np.diff(batch.offsets)
    order = np.argsort(-lengths, kind="stable")
    n_pieces = share_out(batch.n_tokens * sweeps, -(-batch.n_docs // _TURNS), threads)
    drawn = np.empty((sweeps - burn_in, batch.n_tokens), np.uint16)

    def piece(i: int) -> None:
        _sample(
            order[i * _TURNS :], n_pieces * _TURNS, batch.doc_ids, batch.offsets, batch.tokens, z,
            phi, alpha, trees, tree_size, n_groups, sweeps, burn_in, np.uint64(key), update,
            _scratch(int(lengths.max(initial=1)), n_padded), drawn,
        )  # fmt: skip

    threads.run(piece, n_pieces)
    word_topic = aligned_zeros(phi_rows.shape, np.int32)
    threads.run(
        lambda i: _tally(batch.tokens, drawn, word_topic, parts[i], parts[i + 1]), len(parts) - 1
    )
    doc_topic = None
    if want_doc_topic:
        doc_topic = np.zeros((batch.n_docs, n_padded), np.int32)
        _tally(np.repeat(np.arange(batch.n_docs), lengths), drawn, doc_topic, 0, batch.n_docs)
    return Assignments(word_topic, doc_topic, float(len(drawn)))


def _scratch(longest: int, n_padded: int) -> tuple[np.ndarray, ...]:
    """For each document that takes turns: counts and topics by slot, slots by topic, a table, and
    uniforms."""
    size = _room(min(longest, n_padded))
    return (
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


@njit(nogil=True, cache=True, error_model="numpy")
def _build(phi, alpha, n_groups, tree_size, trees, first, end):
    """Trees of the words first … end − 1: the running sums of α_k φ_kw over groups, padded to whole
    lines; then for each group a line of those over its blocks. Infinite where there are none."""
    n_padded = len(alpha)
    for word in range(first, end):
        tree, row = word * tree_size, word * n_padded
        for i in range(tree, tree + tree_size):
            trees[i] = _INFINITY
        line = tree + tree_size - LANES * n_groups
        total = _NONE
        for group in range(n_groups):
            running = _NONE
            start = _BLOCKS * group
            for k in range(start, min(start + _BLOCKS, n_padded), LANES):
                running += last(prefix(mul(load(phi, row + k), load(alpha, k))))
                trees[line + k // LANES] = running
            total += running
            trees[tree + group] = total


@njit(inline="always")
def _descend(trees, tree, tree_size, n_groups, phi, row, alpha, rest):
    """The topic at which the running sum of α_k φ_kw passes `rest`; −1 if rounding hides it.

    No branch depends on what is drawn, so that the processor can run ahead.
    """
    group = 0
    for line in range(tree, tree + n_groups, LANES):
        group += count_at_most(load(trees, line), rest)
    beyond = group == n_groups
    group = min(group, n_groups - 1)
    below = peek(trees, tree + max(group - 1, 0))
    rest -= below if group > 0 else _NONE
    line = tree + tree_size - LANES * (n_groups - group)
    block = count_at_most(load(trees, line), rest)
    below = peek(trees, line + max(block - 1, 0))
    rest -= below if block > 0 else _NONE
    k = min(_BLOCKS * group + LANES * block, len(alpha) - LANES)
    lane = count_at_most(prefix(mul(load(phi, row + k), load(alpha, k))), rest)
    beyond |= lane == LANES
    k += min(lane, LANES - 1)
    return -1 if beyond or not alpha[k] * phi[row + k] > _NONE else k


@njit(nogil=True, cache=True, error_model="numpy")
def _start(
    first, length, uniform_at, uniforms, tokens, z, phi, alpha, trees, tree_size, n_groups
):  # fmt: skip
    """Draws topics from p(z = k) ∝ α_k φ_kw for the tokens of a document that have none."""
    for i in range(length):
        token = first + i
        prefetch(trees, np.intp(tokens[min(token + _AHEAD, len(tokens) - 1)]) * tree_size)
        if z[token] == UNASSIGNED:
            word = np.intp(tokens[token])
            tree, row = word * tree_size, word * len(alpha)
            uniform = peek(uniforms, uniform_at + i)
            target = uniform * peek(trees, tree + n_groups - 1)
            new = _descend(trees, tree, tree_size, n_groups, phi, row, alpha, target)
            z[token] = new if new >= 0 else draw_prior(alpha, uniform)


@njit(inline="always")
def _change(counts, base, slot, by):
    """Adds to a count by a whole vector, which later loads can forward."""
    block = base + (slot & -LANES)
    store(counts, block, add(load(counts, block), one_hot(slot & (LANES - 1), by)))


@njit(inline="always")
def _include(topic, base, map_at, counts, topic_of, slot_of, used):
    """Counts a token of a topic, which takes the next slot if it has none; returns slots in use."""
    slot = np.intp(slot_of[map_at + topic])
    new = slot < 0
    slot = used if new else slot
    slot_of[map_at + topic] = slot
    topic_of[base + slot] = topic
    _change(counts, base, slot, _ONE)
    return used + np.intp(new)


@njit(nogil=True, cache=True, error_model="numpy")
def _compact(base, map_at, counts, topic_of, slot_of, used):
    """Takes the slots from topics without tokens; returns how many are left in use."""
    n = 0
    for slot in range(used):
        topic, count = topic_of[base + slot], counts[base + slot]
        counts[base + slot] = 0
        slot_of[map_at + topic] = -1
        if count > 0:
            counts[base + n] = count
            topic_of[base + n] = topic
            slot_of[map_at + topic] = n
            n += 1
    return n


@njit(nogil=True, cache=True, error_model="numpy")
def _sample(
    order, step, doc_ids, offsets, tokens, z, phi, alpha, trees, tree_size, n_groups, sweeps,
    burn_in, key, update, scratch, drawn,
):  # fmt: skip
    """All sweeps over documents order[0 : 4], order[step : step + 4], …; those that are kept are
    written to drawn, uint16 (kept, T)."""
    counts, topic_of, slot_of, table, uniforms = scratch
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
            for slot in range(base, base + used[j]):
                counts[slot] = 0
                slot_of[map_at + topic_of[slot]] = -1
            first[j] = offsets[d]
            length[j] = offsets[d + 1] - offsets[d]
            for i in range(0, length[j], 64):
                philox_lanes(key, i >> 2, 0, doc_ids[d], update, uniforms, uniform_at + i)
            _start(
                first[j], length[j], uniform_at, uniforms, tokens, z, phi, alpha, trees, tree_size,
                n_groups,
            )  # fmt: skip
            n = 0
            for token in range(first[j], first[j] + length[j]):
                n = _include(np.intp(z[token]), base, map_at, counts, topic_of, slot_of, n)
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
                    row, tree = word * n_padded, word * tree_size
                    old = np.intp(z[token])
                    n = used[j]
                    if n == room[j] or i % _TIDY == 0:
                        n = _compact(base, map_at, counts, topic_of, slot_of, n)
                        room[j] = _room(n)
                    # As in the dense kernel, what was drawn last is counted only now.
                    if pending[j] >= 0:
                        n = _include(pending[j], base, map_at, counts, topic_of, slot_of, n)
                    used[j] = n
                    _change(counts, base, np.intp(slot_of[map_at + old]), -_ONE)
                    ahead = np.intp(tokens[min(token + 1, len(tokens) - 1)])
                    prefetch(trees, ahead * tree_size)
                    for slot in range(base + max(0, n - _NEW), base + n):
                        prefetch(phi, ahead * n_padded + np.intp(topic_of[slot]))
                    n = (n + LANES - 1) & -LANES
                    begin = table_at + TABLE_HEAD
                    if n != width[j]:
                        width[j] = n
                        for k in range(begin + n, begin + n + _TAIL, LANES):
                            store(table, k, splat(_INFINITY))
                    cumulative = splat(_NONE)
                    for slot in range(0, n, LANES):
                        level = gather(phi, row, topic_of, base + slot)
                        cumulative = add(cumulative, mul(load(counts, base + slot), level))
                        store(table, begin + slot, cumulative)
                    own = close(table, table_at, cumulative)
                    total = own + peek(trees, tree + n_groups - 1)
                    target = peek(uniforms, j * uniform_size + i) * total
                    if target < own:
                        slot = pick(table, table_at, n, target)
                        new = np.intp(topic_of[base + slot]) if slot >= 0 else old
                    else:
                        rest = target - own
                        new = _descend(trees, tree, tree_size, n_groups, phi, row, alpha, rest)
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
