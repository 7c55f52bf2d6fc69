"""Collapsed Gibbs sampling (Griffiths & Steyvers 2004): with φ and η integrated out,

    p(z_di = k | …) ∝ (n_dk + α_k) (n_kw + b_kw) / (n_k + B_k),   counts without token i itself.

Counts are int32 and exact, so that workers that sweep their own documents on their own copies
(AD-LDA; Newman et al. 2007) are reconciled by adding up what each has changed, in any order.

A token is not taken out of the counts to be drawn anew. The cumulative weights are those with the
token in; what it adds to its own topic is a known slice of their range, which the target steps
over. Only a token that changes topic then touches the counts, and while tokens keep their topics,
as most do after a few sweeps, the processor runs ahead from one to the next.
"""

# mypy: disable-error-code="call-arg,var-annotated"

import numpy as np
from numba import njit
from numpy.typing import DTypeLike

from topicmc.kernels.lanes import (
    add,
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
)
from topicmc.kernels.padding import LANES, aligned_zeros, padded_size
from topicmc.kernels.prior import Beta, entry, entry_lanes, row_of
from topicmc.kernels.scratch import kept
from topicmc.kernels.tables import LARGEST_SLICE, TABLE_EXTRA, TABLE_HEAD, close, pick, surround

_ONE = np.int32(1)
# Tokens from asking for a word's counts to reading them.
_AHEAD = 3
# Changed tokens from asking for their counts to changing them.
_SOON = 8


def assignment_dtype(n_topics: int) -> DTypeLike:
    """The smallest unsigned type that holds a topic, and one value more: its greatest says that a
    token has no topic yet."""
    return np.min_scalar_type(n_topics)


def empty_counts(n_words: int, n_topics: int) -> tuple[np.ndarray, np.ndarray]:
    """word_topic int32 (W, Kp), rows on cache lines, and topic_totals int64 (Kp,), all zero."""
    n_padded = padded_size(n_topics)
    return aligned_zeros((n_words, n_padded), np.int32), np.zeros(n_padded, np.int64)


def collapsed_sweep(
    offsets: np.ndarray,
    tokens: np.ndarray,
    z: np.ndarray,
    word_topic: np.ndarray,
    topic_totals: np.ndarray,
    alpha: np.ndarray,
    beta: Beta,
    *,
    key: np.uint64,
    sweep: int,
    docs: np.ndarray | None = None,
    first_id: int = 0,
) -> None:
    """One sweep over the given documents (all by default), in their order.

    offsets int64 (D + 1,): document d owns tokens[offsets[d] : offsets[d + 1]]; tokens: word ids,
    any unsigned type; z: topics, of `assignment_dtype`. word_topic int32 (W, Kp) and topic_totals
    int64 (Kp,) must count the assignments; they and z are renewed in place. alpha float32 (Kp,),
    zero in the padding. Randomness is keyed by (place in the document, sweep, first_id + d).
    A token whose weights sum to zero keeps its topic. Raises ValueError when the arguments do not
    fit together.
    """
    _sweep(*_arguments(offsets, tokens, z, word_topic, topic_totals, alpha, beta, docs), first_id,
           np.uint64(key), sweep)  # fmt: skip


def assign(
    offsets: np.ndarray,
    tokens: np.ndarray,
    z: np.ndarray,
    word_topic: np.ndarray,
    topic_totals: np.ndarray,
    alpha: np.ndarray,
    beta: Beta,
    *,
    key: np.uint64,
    docs: np.ndarray | None = None,
    first_id: int = 0,
    sequential: bool = False,
    sweep: int = 0,
) -> None:
    """First topics for the tokens of documents that are not in the counts yet, and counts them.

    Uniformly at random; or, if ``sequential``, from the collapsed conditional under the counts so
    far, the document's own tokens before it included. Arguments as for `collapsed_sweep`.
    """
    n_topics = int(np.flatnonzero(alpha)[-1]) + 1
    _assign(*_arguments(offsets, tokens, z, word_topic, topic_totals, alpha, beta, docs), first_id,
            np.uint64(key), n_topics, sequential, sweep)  # fmt: skip


def count_changes(
    offsets: np.ndarray,
    tokens: np.ndarray,
    before: np.ndarray,
    z: np.ndarray,
    word_topic: np.ndarray,
    words: tuple[int, int],
) -> np.ndarray:
    """Counts what the tokens of words first … last − 1 have changed from ``before`` to ``z`` (T,),
    so that threads may share out the ``words``.

    The greatest value of their type is no topic: such tokens are new. Returns the change of
    topic_totals, int64 (Kp,).
    """
    totals = np.zeros(word_topic.shape[1], np.int64)
    longest = int(np.diff(offsets).max(initial=0))
    _count_changes(
        offsets, tokens, before, z, word_topic.reshape(-1), totals, *words,
        np.iinfo(before.dtype).max, np.empty(longest, np.int64),
    )  # fmt: skip
    return totals


def _arguments(offsets, tokens, z, word_topic, topic_totals, alpha, beta, docs):
    """The checked arguments of the kernels, with scratch space."""
    n_padded = word_topic.shape[1]
    if n_padded % LANES or not len(alpha) == len(topic_totals) == n_padded:
        raise ValueError("word_topic, topic_totals and alpha must share a multiple of 16 columns")
    if len(beta.totals) != n_padded:
        raise ValueError("the prior must have as many columns as word_topic")
    if not (word_topic.flags.c_contiguous and word_topic.dtype == np.int32):
        raise ValueError("word_topic must be C-contiguous int32")
    if len(z) != len(tokens) or offsets[-1] > len(tokens):
        raise ValueError("z and tokens must have one entry for every token")
    docs = np.arange(len(offsets) - 1) if docs is None else np.ascontiguousarray(docs, np.int64)
    if len(docs) and not 0 <= docs.min() <= docs.max() < len(offsets) - 1:
        raise ValueError(f"documents must lie in 0 … {len(offsets) - 2}")
    return (
        docs, offsets, tokens, z, word_topic.reshape(-1), topic_totals,
        np.asarray(alpha, np.float32), beta.entries, beta.totals.astype(np.float32),
        (
            kept("mix", n_padded, np.float32),
            kept("counts of topics", n_padded, np.float32),
            kept("inverse", n_padded, np.float32),
            surround(kept("table", n_padded + TABLE_EXTRA, np.float32), n_padded),
            kept("64 uniforms", 64, np.float32),
        ),
    )  # fmt: skip


@njit(inline="always")
def _change(word_topic, row, totals, counts, inverse, mix, alpha, smooth, k, by):
    """Adds a token of word `row` to topic k or takes it away; keeps what depends on the counts.

    Vectors are rewritten whole: a single number stored into one would hold up its next load.
    """
    block, lane = k & -LANES, k & (LANES - 1)
    totals[k] += by
    inverse[k] = np.float32(1) / (np.float32(totals[k]) + smooth[k])
    store(word_topic, row + block, add(load(word_topic, row + block), one_hot(lane, by)))
    counts[k] += np.float32(by)
    _set(mix, k, (counts[k] + alpha[k]) * inverse[k])


@njit(inline="always")
def _set(mix, k, value):
    block = k & -LANES
    store(mix, block, replace(load(mix, block), k & (LANES - 1), value))


@njit(inline="always")
def _build(table, word_topic, row, mix, prior):
    """The cumulative table of a token of word `row`, with the priors of that word; returns its
    total."""
    cumulative = splat(np.float32(0))
    for k in range(0, len(mix), LANES):
        level = add(to_floats(load(word_topic, row + k)), entry_lanes(prior, k))
        weight = mul(level, load(mix, k))
        cumulative = add(cumulative, weight)
        store(table, TABLE_HEAD + k, cumulative)
    return close(table, 0, cumulative)


@njit(inline="always")
def _enter(mix, counts, inverse, alpha):
    """Prepares mix_k = (n_dk + α_k) / (n_k + B_k) for a document."""
    for k in range(len(mix)):
        mix[k] = (counts[k] + alpha[k]) * inverse[k]


@njit(nogil=True, cache=True, error_model="numpy")
def _sweep(
    docs, offsets, tokens, z, word_topic, totals, alpha, entries, smooth, scratch, first_id, key,
    sweep,
):  # fmt: skip
    mix, counts, inverse, table, uniforms = scratch
    one = np.float32(1)
    n_padded = len(mix)
    for k in range(n_padded):
        inverse[k] = one / (np.float32(totals[k]) + smooth[k])
    for d in docs:
        first = offsets[d]
        counts[:] = 0
        for i in range(first, offsets[d + 1]):
            counts[z[i]] += one
        _enter(mix, counts, inverse, alpha)
        for i in range(offsets[d + 1] - first):
            if i & 63 == 0:
                philox_lanes(key, i >> 2, sweep, first_id + d, 0, uniforms, 0)
            uniform = peek(uniforms, i & 63)
            word = np.intp(tokens[first + i])
            row, prior = word * n_padded, row_of(entries, word)
            old = np.intp(z[first + i])
            ahead = np.intp(tokens[min(first + i + _AHEAD, len(tokens) - 1)]) * n_padded
            for k in range(0, n_padded, LANES):
                prefetch(word_topic, ahead + k)
            total = _build(table, word_topic, row, mix, prior)
            # The slice (end − own, end) of the weights is the token's own.
            n_kw, b_kw = np.float32(word_topic[row + old]) - one, entry(prior, old)
            others = counts[old] - one + alpha[old]
            others /= np.float32(totals[old]) - one + smooth[old]
            own = (n_kw + one + b_kw) * mix[old] - (n_kw + b_kw) * others
            end = peek(table, TABLE_HEAD + old) + peek(table, LANES - 1 + (old & (LANES - 1)))
            if own > LARGEST_SLICE * total:
                kept = mix[old]
                _set(mix, old, (n_kw + b_kw) * others / (n_kw + one + b_kw))
                target = uniform * _build(table, word_topic, row, mix, prior)
                _set(mix, old, kept)
            else:
                target = uniform * (total - own)
                target += own * np.float32(target >= end - own)
            new = pick(table, 0, n_padded, target)
            if new != old and new >= 0:
                _change(word_topic, row, totals, counts, inverse, mix, alpha, smooth, old, -_ONE)
                _change(word_topic, row, totals, counts, inverse, mix, alpha, smooth, new, _ONE)
                z[first + i] = new


@njit(nogil=True, cache=True, error_model="numpy")
def _assign(
    docs, offsets, tokens, z, word_topic, totals, alpha, entries, smooth, scratch, first_id, key,
    n_topics, sequential, sweep,
):  # fmt: skip
    mix, counts, inverse, table, uniforms = scratch
    n_padded = len(mix)
    for k in range(n_padded):
        inverse[k] = np.float32(1) / (np.float32(totals[k]) + smooth[k])
    for d in docs:
        first = offsets[d]
        counts[:] = 0
        _enter(mix, counts, inverse, alpha)
        for i in range(offsets[d + 1] - first):
            if i & 63 == 0:
                philox_lanes(key, i >> 2, sweep, first_id + d, 1, uniforms, 0)
            word = np.intp(tokens[first + i])
            row = word * n_padded
            uniform = peek(uniforms, i & 63)
            new = np.intp(-1)
            if sequential:
                total = _build(table, word_topic, row, mix, row_of(entries, word))
                new = pick(table, 0, n_padded, uniform * total)
            if new < 0:
                new = np.intp(uniform * np.float32(n_topics))
            _change(word_topic, row, totals, counts, inverse, mix, alpha, smooth, new, _ONE)
            z[first + i] = new


@njit(nogil=True, cache=True)
def _count_changes(offsets, tokens, before, z, word_topic, totals, first, last, no_topic, changed):
    n_padded = len(totals)
    for d in range(len(offsets) - 1):
        n = 0
        # Whether a token has changed cannot be foreseen, so they are listed without a branch.
        for i in range(offsets[d], offsets[d + 1]):
            word = np.intp(tokens[i])
            changed[n] = i
            n += (before[i] != z[i]) & (first <= word) & (word < last)
        for j in range(n):
            i, later = changed[j], changed[min(j + _SOON, n - 1)]
            ahead = np.intp(tokens[later]) * n_padded
            prefetch(word_topic, ahead + np.intp(before[later]))
            prefetch(word_topic, ahead + np.intp(z[later]))
            row, old, new = np.intp(tokens[i]) * n_padded, np.intp(before[i]), np.intp(z[i])
            if old != no_topic:
                word_topic[row + old] -= _ONE
                totals[old] -= 1
            word_topic[row + new] += _ONE
            totals[new] += 1
