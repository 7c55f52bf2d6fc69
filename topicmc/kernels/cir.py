"""The exact CIR transition of θ, by blocks of words as in `simplex`, in two vector passes.

With λ = θ/(e^h − 1) the transition over a time h is (1 − e^−h) Gamma(â + P, 1), P ~ Poisson(λ). No
Poisson number is drawn. Let E ~ Exp(1) be the time of the first event of a Poisson process of rate
one, observed up to λ:

- E > λ: P = 0, and Gamma(â) = Gamma(1 + â) U^(1/â) or a plain gamma draw;
- E ≤ λ: P − 1 ~ Poisson(λ − E), so that 2 Gamma(â + P) is noncentral χ² with 2â + 2 degrees of
  freedom and noncentrality 2(λ − E), that is 2 Gamma(â + ½) + (N(0, 1) + √(2(λ − E)))².

The first pass treats whole rows as P = 0 with small â; the second treats the others, listed. The
law is exact up to single precision, for θ from FLOOR to 1e7, â from 1e-4 to 1e6, h from 1e-4 up.
"""

import math

import numpy as np
from numba import njit

from topicmc.kernels.draws import (
    FIRST_ROUND,
    SECOND_ROUND,
    exp32,
    exponential,
    exponentials,
    fill_words,
    gamma,
    log32,
    normal_pair,
    normals,
    refined_arrival,
    small_gamma,
    uniform,
)
from topicmc.kernels.padding import padded_size
from topicmc.kernels.prior import Beta
from topicmc.kernels.random import philox
from topicmc.kernels.simplex import BLOCK, add_rows, floored, shapes

_ONE, _HALF, _THIRD = np.float32(1), np.float32(0.5), np.float32(1 / 3)
_QUICK = np.float32(11.999)  # 12, less the rounding of a quick test

# Below this an arrival time drawn from 32 bits is refined by 32 more.
_COARSE = np.float32(2.0**-15)
_LARGE_SHAPE = np.float32(0.5)
_NONE, _ARRIVED, _REJECTED, _LARGE = np.uint32(0), np.uint32(1), np.uint32(2), np.uint32(4)
_SLACK = np.float32(1.00001)  # for the rounding of quick tests
_CLAMP = np.float32(-80)


@njit(nogil=True, cache=True, error_model="numpy")
def _first_pass(theta, shape, rate, span, key, word, update, bits, draws, moved, code):
    """One row of CIR, as if no event had arrived and every proposal were accepted.

    Writes the time of the first event (draws[0]), the moved θ, and in `code` what the entry may
    still need: quick tests decide, so a flag is raised a little too often, never too seldom.
    """
    fill_words(bits, key, word, FIRST_ROUND, update)
    exponentials(bits[0], draws[0])
    exponentials(bits[1], draws[1])
    exponentials(bits[3], draws[2])
    _propose(shape, span, draws[1], draws[2], moved)
    _flag(theta, shape, rate, draws[0], draws[1], bits[2], code)


@njit(nogil=True, cache=True, error_model="numpy")
def _propose(shape, span, t, power, moved):
    """span · Gamma(a), as (1 + a) t U^(1/a), t from Exp(1) and power = −log U; `_flag` judges t."""
    for k in range(moved.size):
        a = shape[k]
        boost = exp32(max(-power[k] / a, _CLAMP))
        moved[k] = span * (_ONE + a) * t[k] * boost


@njit(nogil=True, cache=True, error_model="numpy")
def _flag(theta, shape, rate, arrival, t, bits, code):
    for k in range(code.size):
        a = shape[k]
        refused = uniform(bits[k]) < a * (t[k] - _ONE - log32(t[k])) * _SLACK
        flags = np.uint32(arrival[k] <= max(theta[k] * rate * _SLACK, _COARSE)) * _ARRIVED
        flags |= np.uint32(refused) * _REJECTED
        flags |= np.uint32(a > _LARGE_SHAPE) * _LARGE
        code[k] = np.uint32(flags)


@njit(nogil=True, cache=True, error_model="numpy")
def _flagged(code, chosen):
    """Writes the positions of the entries whose code is not 0; returns how many there are."""
    n = 0
    for k in range(code.size):
        chosen[n] = k
        n += code[k] != _NONE
    return n


@njit(nogil=True, cache=True, error_model="numpy")
def _second_pass(topic, word, shape, excess, span, key, update, bits, draws, moved, accepted):
    """The listed entries: span · (Gamma(shape) + ½ (N(0, 1) + √(2 excess))²).

    The square is left out where excess < 0. `accepted` is false where the quick acceptance of
    Marsaglia and Tsang's proposal fails: with y = z/√(9d), the logarithm of its acceptance
    probability is −z²y² q(y)/12, and q(y) = 4 Σ_j (−y)^j/(j + 4) ≤ 1/(1 + min(y, 0)).
    """
    first, second, third, fourth = bits[0], bits[1], bits[2], bits[3]
    n = topic.size
    z, other, power = draws[0, :n], draws[1, :n], draws[2, :n]
    for i in range(n):
        first[i], second[i], third[i], fourth[i] = philox(
            key, topic[i], word[i], SECOND_ROUND, update
        )
    normals(first, second, z, other)
    exponentials(fourth, power)
    for i in range(n):
        small = shape[i] < _ONE
        boost = exp32(max(-power[i] / shape[i], _CLAMP)) if small else _ONE
        d = (shape[i] + _ONE if small else shape[i]) - _THIRD
        y = z[i] * (_THIRD / np.float32(math.sqrt(d)))
        v = _ONE + y
        drawn = np.float64(d * boost) * np.float64(v * v * v)
        shifted = np.float64(other[i]) + math.sqrt(max(2.0 * excess[i], 0.0))
        square = 0.5 * shifted * shifted if excess[i] >= 0.0 else 0.0
        moved[i] = np.float32(span[i] * (drawn + square))
        quick = uniform(third[i]) * _QUICK * min(v, _ONE)
        accepted[i] = np.uint32(quick > (z[i] * z[i]) * (y * y))


@njit(nogil=True, cache=True, error_model="numpy")
def _settled(topic, word, shape, excess, span, key, update):
    """An entry of the second pass whose proposal was not accepted by the quick test."""
    x0, x1, x2, x3 = philox(key, topic, word, SECOND_ROUND, update)
    z, z1 = normal_pair(x0, x1)
    whole = np.float64(shape) + (1.0 if shape < _ONE else 0.0)
    d = whole - 1.0 / 3.0
    v = 1.0 + np.float64(z) / math.sqrt(9.0 * d)
    drawn = -1.0
    if v > 0.0:
        v = v * v * v
        log_u = math.log1p(-(np.float64(x2) + 0.5) * 2.0**-32)
        if log_u < 0.5 * np.float64(z) ** 2 + d - d * v + d * math.log(v):
            drawn = d * v
    if drawn < 0.0:
        drawn = gamma(whole, key, topic, word, update)
    if shape < _ONE:
        drawn *= math.exp(-np.float64(exponential(x3)) / np.float64(shape))
    if excess >= 0.0:
        drawn += 0.5 * (np.float64(z1) + math.sqrt(2.0 * excess)) ** 2
    return np.float32(span * drawn)


def cir_blocks(
    theta: np.ndarray,
    words: np.ndarray,
    steps: np.ndarray,
    slots: np.ndarray,
    counts: np.ndarray,
    beta: Beta,
    scale: float,
    key: np.uint64,
    update: np.uint32,
    first: int,
    last: int,
    block_sums: np.ndarray,
) -> None:
    """Exact CIR transitions on blocks first … last − 1 of `words`, in place.

    Word words[i] moves by the time steps[i] > 0, so that one that waited moves by what has elapsed;
    words of the minibatch have â = b_kw + N̂ n_kw, the others â = b_kw.
    """
    _cir_blocks(
        theta, words, steps, slots, counts, beta, scale, key, update, first, last, block_sums,
        *_scratch(theta.shape[1]),
    )  # fmt: skip


def _scratch(n_topics: int) -> tuple[np.ndarray, ...]:
    """Arrays of a row (float32, uint32, and the entries chosen), and of the entries listed from a
    block (uint32, float32, float64)."""
    n_padded, size = padded_size(n_topics), BLOCK * n_topics
    return (
        np.ones((6, n_padded), np.float32), np.empty((5, n_padded), np.uint32),
        np.empty(n_padded + 1, np.int32),
        np.empty((7, size), np.uint32), np.empty((5, size), np.float32), np.empty((2, size)),
    )  # fmt: skip


@njit(nogil=True, cache=True, error_model="numpy")
def _cir_blocks(
    theta, words, steps, slots, counts, beta, scale, key, update, first, last, block_sums,
    row_floats, row_ints, chosen, list_ints, list_floats, list_doubles,
):  # fmt: skip
    n_topics = theta.shape[1]
    old, shape, moved, draws = row_floats[0], row_floats[1], row_floats[2], row_floats[3:]
    arrival, bits, code = draws[0], row_ints[:4], row_ints[4]
    list_topic, list_word, accepted = list_ints[0], list_ints[1], list_ints[2]
    list_shape, list_moved = list_floats[0], list_floats[1]
    list_excess, list_span = list_doubles[0], list_doubles[1]
    scale = np.float32(scale)
    for block in range(first, last):
        n = np.int64(0)
        members = words[block * BLOCK : (block + 1) * BLOCK]
        for i in range(members.size):
            w, h = members[i], steps[block * BLOCK + i]
            rate, span = 1.0 / math.expm1(h), -math.expm1(-h)
            rate32, span32 = np.float32(rate), np.float32(span)
            row, word = theta[w], np.uint32(w)
            for k in range(n_topics):
                old[k] = row[k]
            shapes(w, slots[block * BLOCK + i], counts, beta, scale, shape[:n_topics])
            _first_pass(old, shape, rate32, span32, key, word, update, bits, draws, moved, code)
            for k in range(n_topics):
                row[k] = floored(moved[k])
            for j in range(_flagged(code[:n_topics], chosen)):
                k = chosen[j]
                topic, a = np.uint32(k), shape[k]
                excess = -1.0
                if code[k] & _ARRIVED:
                    time = np.float64(arrival[k])
                    if arrival[k] <= _COARSE:
                        time = refined_arrival(key, topic, word, update)
                    excess = np.float64(old[k]) * rate - time
                if excess >= 0.0 or a > _LARGE_SHAPE:
                    list_topic[n], list_word[n] = topic, word
                    list_shape[n] = a + _HALF if excess >= 0.0 else a
                    list_excess[n], list_span[n] = excess, span
                    n += 1
                elif code[k] & _REJECTED:
                    drawn = small_gamma(a, key, topic, word, update)
                    row[k] = floored(np.float32(span * drawn))
        _second_pass(
            list_topic[:n], list_word, list_shape, list_excess, list_span, key, update,
            list_ints[3:], list_floats[2:], list_moved, accepted,
        )  # fmt: skip
        for i in range(n):
            topic, word, new = list_topic[i], list_word[i], list_moved[i]
            if not accepted[i]:
                new = _settled(
                    topic, word, list_shape[i], list_excess[i], list_span[i], key, update
                )
            theta[word, topic] = floored(new)
        add_rows(theta, members, block_sums[block])
