# mypy: disable-error-code="call-arg,var-annotated"
"""Topic assignments of a minibatch given the topics φ: Gibbs sampling with η integrated out,

    p(z_di = k | …) ∝ (α_k + n_dk^{−i}) φ_kw        (Ahn thesis, Eqn 6.3).

The cost of a draw is mostly latency, so several documents take turns, token by token. They share
nothing: the assignments of a document depend on its tokens, φ, α and its own random numbers only.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from topicmc.kernels.batch import Minibatch
from topicmc.kernels.lanes import (
    add,
    div,
    load,
    mul,
    one_hot,
    peek,
    philox_lanes,
    prefetch,
    replace,
    splat,
    store,
    to_floats,
    to_ints,
)
from topicmc.kernels.padding import LANES, aligned_empty, aligned_zeros, padded_size
from topicmc.kernels.prior import Beta, entry, entry_lanes, row_of
from topicmc.kernels.tables import TABLE_HEAD, close, pick, tables
from topicmc.kernels.threads import Threads

UNASSIGNED = np.uint16(0xFFFF)
UNIT = 2.0**24
"""A factor of all weights, which leaves the law as it is. θ can be 1e-30 beside sums of many
millions, and processors are slow where a float32 lies below 1e-38."""
_ONE = np.float32(1)
_NONE = np.float32(0)
_PIECE = 8_192  # tokens that are worth a thread's while
_ROWS = 1_024  # and rows of topics


class Assignments(NamedTuple):
    """Sums over the kept sweeps, those asked for; divide by ``scale`` for the means E[n_kw] and
    E[n_dk]."""

    word_topic: np.ndarray | None  # int32 (B, Kp)
    doc_topic: np.ndarray | None  # int32 (n, Kp)
    scale: float

    def mean_word_topic(self, threads: Threads) -> np.ndarray:
        """E[n_kw], float32 (B, Kp), in the place of the sums, which are gone then: of many topics
        they are large, and new memory is slow to come."""
        assert self.word_topic is not None
        sums, scale = self.word_topic, np.float32(self.scale)
        means = sums.view(np.float32)

        def divide(first: int, last: int, i: int) -> None:
            _divide_sums(sums[first:last].reshape(-1), scale, means[first:last].reshape(-1))

        threads.run_over(divide, len(means), _ROWS)
        return means


def topic_rows(
    theta: np.ndarray, topic_sums: np.ndarray, words: np.ndarray, threads: Threads | None = None
) -> np.ndarray:
    """φ_kw = θ_wk / Σ_w θ_wk of the given words, times `UNIT`: float32 (B, Kp), zero in the padding
    columns."""
    n_topics = theta.shape[1]
    rows = aligned_empty((len(words), padded_size(n_topics)), np.float32)
    inverse = (UNIT / topic_sums).astype(np.float32)

    def divide(first: int, last: int, i: int) -> None:
        _divide_rows(theta, inverse, words[first:last], rows[first:last])

    (threads or Threads()).run_over(divide, len(words), _ROWS)
    return rows


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

    phi_rows float32 (B, Kp) from `topic_rows`; alpha float32 (Kp,), zero in the padding. Tokens
    start from independent draws of p(z = k) ∝ α_k φ_kw; or, where ``z`` (uint16 (T,), written back)
    is not UNASSIGNED, from there. Integer sums make the result the same for any number of threads.

    The randomness of a token is keyed by (place in its document, sweep, document id, update). A
    token whose weights sum to zero or overflow keeps its topic (at the start: one drawn from α).
    Raises ValueError for arguments that do not fit together.
    """
    z = check(batch, phi_rows, alpha, sweeps, burn_in, z)
    n_padded = phi_rows.shape[1]
    lengths = np.diff(batch.offsets)
    # As many documents in turn as keep their rows of φ in a core's own cache.
    group = 4 if n_padded <= 512 else 1
    n_pieces = pieces_of(batch.n_tokens * sweeps, -(-batch.n_docs // group), threads)
    n_slots = min(threads.n_threads, n_pieces)
    scratch = [_scratch(group, n_padded, lengths) for _ in range(n_slots)]
    n_counted = len(phi_rows) if want_word_topic else 0
    sums = [aligned_zeros((n_counted, n_padded), np.int32) for _ in range(n_slots)]
    doc_topic = np.zeros((batch.n_docs if want_doc_topic else 0, n_padded), np.int32)
    order = np.argsort(-lengths, kind="stable")
    phi = np.ascontiguousarray(phi_rows, np.float32).reshape(-1)
    prior = (_wide(alpha), _wide(np.ones(n_padded)), _wide(np.ones(n_padded)))

    def piece(i: int, slot: int) -> None:
        _sample(
            order[i * group :], n_pieces * group, group, batch.doc_ids, batch.offsets[:-1], lengths,
            batch.tokens, z, phi, prior, _NONE, False, sweeps, burn_in, np.uint64(key), update,
            scratch[slot], sums[slot].reshape(-1), doc_topic.reshape(-1),
        )  # fmt: skip

    threads.run_in_slots(piece, n_pieces)
    word_topic = add_up(sums, threads) if want_word_topic else None
    scale = float(sweeps - burn_in)
    return Assignments(word_topic, doc_topic if want_doc_topic else None, scale)


def add_up(sums: list[np.ndarray], threads: Threads) -> np.ndarray:
    """The total of what threads have counted, arrays of one shape: the first of them, renewed."""

    def total(first: int, last: int, i: int) -> None:
        for other in sums[1:]:
            sums[0][first:last] += other[first:last]

    threads.run_over(total, len(sums[0]), _ROWS)
    return sums[0]


def check(
    batch: Minibatch,
    phi_rows: np.ndarray,
    alpha: np.ndarray,
    sweeps: int,
    burn_in: int,
    z: np.ndarray | None,
) -> np.ndarray:
    """z, or as many UNASSIGNED; raises ValueError for arguments that do not fit together."""
    n_padded = phi_rows.shape[1]
    if not 0 <= burn_in < sweeps:
        raise ValueError(f"burn_in must lie in 0 … sweeps − 1, not {burn_in} of {sweeps}")
    if n_padded % LANES or alpha.shape != (n_padded,):
        raise ValueError(f"alpha {alpha.shape} and phi_rows {phi_rows.shape} do not fit together")
    if np.any(alpha[UNASSIGNED:] != 0):
        raise ValueError(f"there can be no more than {UNASSIGNED} topics")
    if len(batch.tokens) and batch.tokens.max() >= len(phi_rows):
        raise ValueError("a token lies outside phi_rows")
    if z is None:
        return np.full(len(batch.tokens), UNASSIGNED)
    if z.shape != batch.tokens.shape or z.dtype != np.uint16:
        raise ValueError("z must be uint16, one for every token")
    if np.any((z >= n_padded) & (z != UNASSIGNED)):
        raise ValueError("z names a topic outside phi_rows")
    return z


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
    """Sweeps over kept assignments, z unsigned (T,), in place, given θ as it stands.

    Document d owns tokens[offsets[d] : offsets[d + 1]], word ids of any unsigned type. word_topic
    float32 (W, Kp) is θ, topic_totals (Kp,) are its sums, alpha is float32 (Kp,), all padded as in
    `sample_assignments`, and ``beta`` is added to θ: φ_kw = (θ_wk + b_kw) / (topic_totals_k + B_k).

    If ``counted``, θ counts the assignments that these documents have now, and each token is drawn
    without its own count, as in collapsed Gibbs sampling: φ is (n_kw − 1 + b_kw) /
    (n_k − 1 + B_k) for the topic that it has. That holds for one sweep. Documents whose z is the
    greatest value of its type have no topics yet: they start from independent draws of p(z = k)
    ∝ α_k φ_kw, before the sweeps, if any.
    """
    n_padded = word_topic.shape[1]
    starts, lengths = offsets[docs], offsets[docs + 1] - offsets[docs]
    order = np.argsort(-lengths, kind="stable")
    prior = (_wide(alpha), *map(_wide, inverse_sums(topic_totals, beta)))
    group = 4 if n_padded <= 512 else 2
    nothing = np.zeros(0, np.int32)
    n_pieces = pieces_of(int(lengths.sum()), -(-len(docs) // group), threads)
    doc_ids = docs + first_id
    table = word_topic.reshape(-1)
    n_slots = min(threads.n_threads, n_pieces)
    scratch = [_scratch(group, n_padded, lengths) for _ in range(n_slots)]

    def piece(i: int, slot: int) -> None:
        _sample(
            order[i * group :], n_pieces * group, group, doc_ids, starts, lengths, tokens, z, table,
            prior, beta.entries, counted, sweeps, sweeps, np.uint64(key), update, scratch[slot],
            nothing, nothing,
        )  # fmt: skip

    threads.run_in_slots(piece, n_pieces)


def inverse_sums(topic_totals: np.ndarray, beta: Beta) -> tuple[np.ndarray, np.ndarray]:
    """1 / (n_k + B_k), and the same when a token is left out of n_k: float32 (Kp,)."""
    sums = np.maximum(topic_totals + beta.totals, 1e-30)
    return (1 / sums).astype(np.float32), (1 / np.maximum(sums - 1, 1e-30)).astype(np.float32)


def pieces_of(n_tokens: int, most: int, threads: Threads) -> int:
    """How many pieces to cut work into: a few for each thread, so that none waits for long; but a
    small piece is not worth handing to another thread."""
    return (
        max(1, min(8 * threads.n_threads, most, n_tokens // _PIECE)) if threads.n_threads > 1 else 1
    )


def _wide(values: np.ndarray) -> np.ndarray:
    """With a block that belongs to no topic: float32 (Kp + 16,)."""
    wide = np.zeros(len(values) + LANES, np.float32)
    wide[: len(values)] = values
    return wide


def _scratch(group: int, n_padded: int, lengths: np.ndarray) -> tuple[np.ndarray, ...]:
    """Counts and weights of each document of a group (and α last), tables, uniforms; numbers of
    each document."""
    stride = n_padded + LANES
    return (
        aligned_zeros(group * stride, np.float32),
        aligned_zeros((group + 3) * stride, np.float32),
        tables(group, n_padded).reshape(-1),
        aligned_zeros(group * (-(-int(lengths.max(initial=1)) // 64) * 64), np.float32),
        np.zeros((3, group), np.int64),
    )


@njit(nogil=True, cache=True)
def _divide_sums(sums, scale, means):
    divisor = splat(scale)
    for i in range(0, len(sums), LANES):
        store(means, i, div(to_floats(load(sums, i)), divisor))


@njit(nogil=True, cache=True, error_model="numpy")
def _divide_rows(theta, inverse, words, rows):
    for i in range(len(words)):
        for k in range(len(inverse)):
            rows[i, k] = theta[words[i], k] * inverse[k]
        for k in range(len(inverse), rows.shape[1]):
            rows[i, k] = 0


@njit(inline="always")
def _change(counts, weights, base, alpha_at, scale_at, k, by):
    """Adds to a count and renews its weight, by whole vectors, which later loads can forward."""
    block = k & -LANES
    changed = add(load(counts, base + block), one_hot(k & (LANES - 1), by))
    store(counts, base + block, changed)
    weight = mul(add(changed, load(weights, alpha_at + block)), load(weights, scale_at + block))
    store(weights, base + block, weight)
    return weight


@njit(nogil=True, cache=True, error_model="numpy")
def _sample(
    order, step, group, doc_ids, starts, lengths, tokens, z, phi, prior, entries, counted,
    sweeps, burn_in, key, update, scratch, word_topic, doc_topic,
):  # fmt: skip
    """All sweeps over documents order[0 : group], order[step : step + group], …

    Index n_padded is a topic that is never read: "no topic", so that nothing needs to branch.
    """
    counts, weights, table, uniforms, numbers = scratch
    first, length, pending = numbers[0], numbers[1], numbers[2]
    alpha, scale, without_one = prior
    stride = len(alpha)
    n_padded = stride - LANES
    table_stride = len(table) // group
    uniform_stride = len(uniforms) // group
    alpha_at, scale_at, first_at = group * stride, (group + 1) * stride, (group + 2) * stride
    unassigned = np.intp(z.dtype.type(-1))
    for k in range(stride):
        weights[alpha_at + k] = alpha[k]
        weights[scale_at + k] = scale[k]
        weights[first_at + k] = alpha[k] * scale[k]
    for start in range(0, len(order), step):
        members = min(group, len(order) - start)
        n_new = 0
        for j in range(members):
            d = order[start + j]
            base = j * stride
            first[j] = starts[d]
            length[j] = lengths[d]
            pending[j] = n_padded
            for k in range(base, base + stride):
                counts[k] = 0
            for token in range(first[j], first[j] + length[j]):
                if np.intp(z[token]) == unassigned:
                    n_new += 1
                else:
                    counts[base + np.intp(z[token])] += _ONE
            for k in range(0, stride, LANES):
                weight = mul(add(load(counts, base + k), load(alpha, k)), load(scale, k))
                store(weights, base + k, weight)
        for sweep in range(0 if n_new > 0 else 1, sweeps + 1):
            kept = sweep > burn_in
            for j in range(members):
                doc = doc_ids[order[start + j]]
                for i in range(0, length[j], 64):
                    at = j * uniform_stride + i
                    philox_lanes(key, i >> 2, sweep, doc, update, uniforms, at)
            for i in range(length[0]):
                for j in range(members):
                    if i >= length[j]:
                        break  # the longest document is first
                    base = j * stride
                    token = first[j] + i
                    word = np.intp(tokens[token])
                    row, smooth = word * n_padded, row_of(entries, word)
                    old = np.intp(z[token])
                    if sweep == 0 and old != unassigned:
                        continue
                    # The topic drawn last enters the counts only now. Were it written at once, the
                    # processor, not knowing where, would hold back what the next document reads.
                    _change(counts, weights, base, alpha_at, scale_at, pending[j], _ONE)
                    if sweep == 0:
                        base = first_at
                    else:
                        intact = _change(counts, weights, base, alpha_at, scale_at, old, -_ONE)
                        if counted:
                            n_kw, b_kw = np.float32(phi[row + old]), entry(smooth, old)
                            remains = (n_kw - _ONE + b_kw) / (n_kw + b_kw)
                            remains = min(max(remains * (_ONE + without_one[old]), _NONE), _ONE)
                            lower = weights[base + old] * remains
                            here = replace(intact, old & (LANES - 1), lower)
                            store(weights, base + (old & -LANES), here)
                    ahead = np.intp(tokens[min(token + 1, len(tokens) - 1)]) * n_padded
                    for k in range(0, n_padded, LANES):
                        prefetch(phi, ahead + k)
                    cumulative = splat(np.float32(0))
                    begin = j * table_stride
                    for k in range(0, n_padded, LANES):
                        level = add(to_floats(load(phi, row + k)), entry_lanes(smooth, k))
                        weight = mul(load(weights, base + k), level)
                        cumulative = add(cumulative, weight)
                        store(table, begin + TABLE_HEAD + k, cumulative)
                    total = close(table, begin, cumulative)
                    if counted and sweep > 0:
                        store(weights, base + (old & -LANES), intact)
                    uniform = peek(uniforms, j * uniform_stride + i)
                    new = pick(table, begin, n_padded, uniform * total)
                    if new < 0:
                        new = draw_prior(alpha, uniform) if sweep == 0 else old
                    z[token] = new
                    pending[j] = new
                    if kept and len(word_topic):
                        word_topic[row + new] += 1
            if kept and len(doc_topic):
                for j in range(members):
                    _change(counts, weights, j * stride, alpha_at, scale_at, pending[j], _ONE)
                    pending[j] = n_padded
                    out = order[start + j] * n_padded
                    for k in range(0, n_padded, LANES):
                        tally = to_ints(load(counts, j * stride + k))
                        store(doc_topic, out + k, add(load(doc_topic, out + k), tally))


@njit
def draw_prior(alpha, uniform):
    """A topic drawn from α by plain inversion, where φ says nothing."""
    rest = np.float32(0)
    for weight in alpha:
        rest += weight
    rest *= uniform
    choice = 0
    for k in range(len(alpha)):
        if alpha[k] > 0:
            choice = k
            if rest < alpha[k]:
                break
            rest -= alpha[k]
    return choice
