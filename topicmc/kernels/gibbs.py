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
    LANES,
    TABLE_HEAD,
    add,
    aligned_zeros,
    close,
    load,
    mul,
    one_hot,
    peek,
    philox_lanes,
    pick,
    splat,
    store,
    tables,
    to_ints,
)
from topicmc.kernels.padding import padded_size
from topicmc.kernels.threads import Threads

UNASSIGNED = np.uint16(0xFFFF)
_ONE = np.float32(1)


class Assignments(NamedTuple):
    """Sums over the kept sweeps; divide by ``scale`` for the means E[n_kw] and E[n_dk]."""

    word_topic: np.ndarray  # int32 (B, Kp)
    doc_topic: np.ndarray | None  # int32 (n, Kp)
    scale: float


def topic_rows(theta: np.ndarray, topic_sums: np.ndarray, words: np.ndarray) -> np.ndarray:
    """φ_kw = θ_wk / Σ_w θ_wk of the given words: float32 (B, Kp), zero in the padding columns."""
    n_topics = theta.shape[1]
    rows = aligned_zeros((len(words), padded_size(n_topics)), np.float32)
    _divide_rows(theta, (1.0 / topic_sums).astype(np.float32), words, rows)
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
    want_doc_topic: bool = False,
    z: np.ndarray | None = None,
    rao_blackwell: bool = False,
) -> Assignments:
    """Sums of assignments over the last ``sweeps − burn_in`` of ``sweeps`` Gibbs sweeps.

    phi_rows float32 (B, Kp) from `topic_rows`; alpha float32 (Kp,), zero in the padding. Tokens
    start from independent draws of p(z = k) ∝ α_k φ_kw; or, where ``z`` (uint16 (T,), written back)
    is not UNASSIGNED, from there. With ``rao_blackwell`` each token adds its conditional
    probabilities to word_topic instead of its one draw: the same mean with less variance, in fixed
    point (rounded to 1/2²⁰, or coarser where int32 would overflow). Integer sums make the result
    the same for any number of threads.

    The randomness of a token is keyed by (place in its document, sweep, document id, update). A
    token whose weights sum to zero or overflow keeps its topic (at the start: one drawn from α).
    Raises ValueError for arguments that do not fit together.
    """
    n_padded = phi_rows.shape[1]
    if not 0 <= burn_in < sweeps:
        raise ValueError(f"burn_in must lie in 0 … sweeps − 1, not {burn_in} of {sweeps}")
    if n_padded % LANES or n_padded > UNASSIGNED or alpha.shape != (n_padded,):
        raise ValueError(f"alpha {alpha.shape} and phi_rows {phi_rows.shape} do not fit together")
    if len(batch.tokens) and batch.tokens.max() >= len(phi_rows):
        raise ValueError("a token lies outside phi_rows")
    if z is None:
        z = np.full(len(batch.tokens), UNASSIGNED)
    elif z.shape != batch.tokens.shape or z.dtype != np.uint16:
        raise ValueError("z must be uint16, one for every token")
    elif np.any((z >= n_padded) & (z != UNASSIGNED)):
        raise ValueError("z names a topic outside phi_rows")

    lengths = np.diff(batch.offsets)
    unit = _unit(batch, lengths, sweeps - burn_in) if rao_blackwell else 1
    # As many documents in turn as keep their rows of φ in a core's own cache.
    group = 4 if n_padded <= 512 else 1
    n_pieces = max(1, min(threads.n_threads, -(-batch.n_docs // group)))
    sums = [aligned_zeros(phi_rows.shape, np.int32) for _ in range(n_pieces)]
    doc_topic = np.zeros((batch.n_docs if want_doc_topic else 0, n_padded), np.int32)
    order = np.argsort(-lengths, kind="stable")
    phi = np.ascontiguousarray(phi_rows, np.float32).reshape(-1)
    wide_alpha = np.zeros(n_padded + LANES, np.float32)
    wide_alpha[:n_padded] = alpha

    def piece(i: int) -> None:
        _sample(
            order[i * group :], n_pieces * group, group, *batch[:3], z, phi, wide_alpha,
            sweeps, burn_in, np.uint64(key), update, unit, rao_blackwell,
            _scratch(group, n_padded, lengths), sums[i].reshape(-1), doc_topic.reshape(-1),
        )  # fmt: skip

    threads.run(piece, n_pieces)
    for other in sums[1:]:
        sums[0] += other
    scale = float(unit * (sweeps - burn_in))
    return Assignments(sums[0], doc_topic if want_doc_topic else None, scale)


def _unit(batch: Minibatch, lengths: np.ndarray, kept: int) -> int:
    """The fixed-point one: a power of two, at most 2²⁰, such that no sum leaves int32."""
    most = max(np.bincount(batch.tokens).max(initial=1), lengths.max(initial=1)) * kept
    return 1 << max(0, min(20, ((2**31 - 1) // (2 * int(most))).bit_length() - 1))


def _scratch(group: int, n_padded: int, lengths: np.ndarray) -> tuple[np.ndarray, ...]:
    """Counts and weights of each document of a group (and α last), tables, uniforms."""
    stride = n_padded + LANES
    return (
        aligned_zeros(group * stride, np.float32),
        aligned_zeros((group + 1) * stride, np.float32),
        tables(group, n_padded).reshape(-1),
        aligned_zeros(group * (-(-int(lengths.max(initial=1)) // 64) * 64), np.float32),
    )


@njit(nogil=True, cache=True, error_model="numpy")
def _divide_rows(theta, inverse, words, rows):
    for i in range(len(words)):
        for k in range(len(inverse)):
            rows[i, k] = theta[words[i], k] * inverse[k]


@njit(inline="always")
def _change(counts, weights, base, alpha_at, k, by):
    """Adds to a count and renews its weight, by whole vectors, which later loads can forward."""
    block = k & -LANES
    changed = add(load(counts, base + block), one_hot(k & (LANES - 1), by))
    store(counts, base + block, changed)
    store(weights, base + block, add(changed, load(weights, alpha_at + block)))


@njit(nogil=True, cache=True, error_model="numpy")
def _sample(
    order, step, group, doc_ids, offsets, tokens, z, phi, alpha, sweeps, burn_in, key, update,
    unit, rao_blackwell, scratch, word_topic, doc_topic,
):  # fmt: skip
    """All sweeps over documents order[0 : group], order[step : step + group], …

    Index n_padded is a topic that nobody reads: "no topic", so that nothing needs to branch.
    """
    counts, weights, table, uniforms = scratch
    stride = len(alpha)
    n_padded = stride - LANES
    table_stride = len(table) // group
    uniform_stride = len(uniforms) // group
    alpha_at = group * stride
    weights[alpha_at : alpha_at + stride] = alpha
    first = np.zeros(group, np.int64)
    length = np.zeros(group, np.int64)
    pending = np.zeros(group, np.int64)
    for start in range(0, len(order), step):
        members = min(group, len(order) - start)
        for j in range(members):
            d = order[start + j]
            first[j] = offsets[d]
            length[j] = offsets[d + 1] - offsets[d]
            pending[j] = n_padded
            counts[j * stride : (j + 1) * stride] = 0
            weights[j * stride : (j + 1) * stride] = alpha
        for sweep in range(sweeps + 1):
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
                    row = np.intp(tokens[token]) * n_padded
                    old = np.intp(z[token])
                    # The topic drawn last enters the counts only now. Were it written at once, the
                    # processor, not knowing where, would hold back what the next document reads.
                    _change(counts, weights, base, alpha_at, pending[j], _ONE)
                    if sweep == 0:
                        if old != UNASSIGNED:
                            pending[j] = old
                            continue
                        base = alpha_at
                    else:
                        _change(counts, weights, base, alpha_at, old, -_ONE)
                    cumulative = splat(np.float32(0))
                    begin = j * table_stride
                    for k in range(0, n_padded, LANES):
                        weight = mul(load(weights, base + k), load(phi, row + k))
                        cumulative = add(cumulative, weight)
                        store(table, begin + TABLE_HEAD + k, cumulative)
                    total = close(table, begin, cumulative)
                    uniform = peek(uniforms, j * uniform_stride + i)
                    new = pick(table, begin, n_padded, uniform * total)
                    if new < 0:
                        new = _draw_prior(alpha, uniform) if sweep == 0 else old
                    z[token] = new
                    pending[j] = new
                    if kept:
                        if rao_blackwell:
                            _add_shares(
                                word_topic, row, weights, base, phi, n_padded, unit, total, new
                            )
                        else:
                            word_topic[row + new] += 1
            if kept and len(doc_topic):
                for j in range(members):
                    _change(counts, weights, j * stride, alpha_at, pending[j], _ONE)
                    pending[j] = n_padded
                    out = order[start + j] * n_padded
                    for k in range(0, n_padded, LANES):
                        tally = mul(load(counts, j * stride + k), splat(np.float32(unit)))
                        store(doc_topic, out + k, add(load(doc_topic, out + k), to_ints(tally)))


@njit
def _draw_prior(alpha, uniform):
    """A topic drawn from α by plain inversion, where φ says nothing."""
    rest = uniform * np.sum(alpha)
    choice = 0
    for k in range(len(alpha)):
        if alpha[k] > 0:
            choice = k
            if rest < alpha[k]:
                break
            rest -= alpha[k]
    return choice


@njit(inline="always")
def _add_shares(word_topic, row, weights, base, phi, n_padded, unit, total, new):
    """Adds the conditional probabilities of one token, in fixed point."""
    share = np.float32(unit) / total
    if 0 < share < np.inf:
        shares = splat(share)
        for k in range(0, n_padded, LANES):
            probability = mul(mul(load(weights, base + k), load(phi, row + k)), shares)
            store(word_topic, row + k, add(load(word_topic, row + k), to_ints(probability)))
    else:
        word_topic[row + new] += unit
