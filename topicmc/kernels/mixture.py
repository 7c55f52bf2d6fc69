"""Dirichlet-process mixtures of counts: CIR and Langevin moves of positive arrays, sticks, and the
groups of documents by slice sampling (Walker 2007; Baker 2018, 5.5.2 and B.4).

Group j has the weight ω_j = v_j Π_{l<j} (1 − v_l), v_j = X_j / (X_j + Y_j), and gives word w the
probability θ_jw = T_jw / Σ_w T_jw. All arrays are double precision, positive numbers at least
FLOOR, weights in logarithms. Draws are scalar functions of a key and the counter (column, row,
round, update), so any thread may make them.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from topicmc.kernels.draws import FIRST_ROUND, SECOND_ROUND, gamma, normal_pair
from topicmc.kernels.random import philox

FLOOR = 1e-300
_BITS = np.uint32(6)
_X, _Y, _ALPHA, _TOTAL, _NEW_X, _NEW_Y = (np.uint32(row) for row in range(6))
_SLICE, _GROUP = np.uint32(0), np.uint32(1)


class Bags(NamedTuple):
    """Documents in compressed sparse rows, as `topicmc.corpora.Documents` has them."""

    indptr: np.ndarray
    words: np.ndarray
    counts: np.ndarray


@njit(forceinline=True)
def unit(high, low):
    """A double strictly between 0 and 1, a multiple of 2⁻⁵³, from two 32-bit words."""
    whole = np.float64(high >> _BITS) * 2.0**26 + np.float64(low >> _BITS)
    return (whole + 0.5) * 2.0**-52


@njit(nogil=True, cache=True, error_model="numpy")
def gamma_of(shape, key, column, row, update):
    """Gamma(shape, 1), shape > 0; below 1 as Gamma(1 + shape) U^(1/shape)."""
    if shape >= 1.0:
        return gamma(shape, key, column, row, update)
    a, b, _, _ = philox(key, column, row, SECOND_ROUND, update)
    drawn = gamma(shape + 1.0, key, column, row, update) * math.exp(math.log(unit(a, b)) / shape)
    return max(drawn, FLOOR)


@njit(nogil=True, cache=True, error_model="numpy")
def cir(x, shape, h, key, column, row, update):
    """The exact CIR transition over a time h, (1 − e^−h) Gamma(shape + P), with P Poisson of mean
    x / (e^h − 1) (Baker 2018, 5.3.2), without a Poisson number: see `topicmc.kernels.cir`."""
    mean, span = x / math.expm1(h), -math.expm1(-h)
    a, b, _, _ = philox(key, column, row, FIRST_ROUND, update)
    excess = mean + math.log(unit(a, b))
    if excess < 0.0:
        return max(span * gamma_of(shape, key, column, row, update), FLOOR)
    _, _, c, d = philox(key, column, row, SECOND_ROUND, update)
    z, _ = normal_pair(c, d)
    drawn = gamma_of(shape + 0.5, key, column, row, update)
    return span * (drawn + 0.5 * (np.float64(z) + math.sqrt(2.0 * excess)) ** 2)


@njit(nogil=True, cache=True, error_model="numpy")
def langevin(x, drift, step, key, column, row, update):
    """|x + ε/2 drift + N(0, ε x)| (Patterson and Teh 2013), ε = step."""
    a, b, _, _ = philox(key, column, row, FIRST_ROUND, update)
    z, _ = normal_pair(a, b)
    return max(abs(x + 0.5 * step * drift + math.sqrt(step * x) * np.float64(z)), FLOOR)


@njit(nogil=True, cache=True, error_model="numpy")
def move_sticks(x, y, sizes, alpha, step, exact, key, update):
    """One move of all sticks in place, given the (estimated) sizes of groups, float64 (J,): by CIR
    where ``exact``, else by Langevin."""
    after = sizes.sum()
    for j in range(x.size):
        after = max(after - sizes[j], 0.0)
        column = np.uint32(j)
        if exact:
            x[j] = cir(x[j], 1.0 + sizes[j], step, key, column, _X, update)
            y[j] = cir(y[j], alpha + after, step, key, column, _Y, update)
        else:
            total = sizes[j] + after
            v = x[j] / (x[j] + y[j])
            drift_x = 1.0 - x[j] + sizes[j] - v * total
            drift_y = alpha - y[j] + after - (1.0 - v) * total
            x[j] = langevin(x[j], drift_x, step, key, column, _X, update)
            y[j] = langevin(y[j], drift_y, step, key, column, _Y, update)


@njit(nogil=True, cache=True, error_model="numpy")
def draw_concentration(x, y, shape, rate, key, update):
    """α given the sticks, by a Gamma(shape, rate) prior: Gamma(shape + J, rate − Σ log(1 − v))."""
    lost = 0.0
    for j in range(x.size):
        lost -= math.log(y[j] / (x[j] + y[j]))
    drawn = gamma_of(shape + x.size, key, np.uint32(0), _ALPHA, update)
    return max(drawn / (rate + lost), FLOOR)


@njit(nogil=True, cache=True, error_model="numpy")
def draw_totals(x, y, sizes, alpha, key, update):
    """X + Y anew for each stick in place, v as it is: the total depends on α and sizes alone."""
    after = sizes.sum()
    for j in range(x.size):
        total = gamma_of(1.0 + alpha + after, key, np.uint32(j), _TOTAL, update)
        after = max(after - sizes[j], 0.0)
        v, rest = x[j] / (x[j] + y[j]), y[j] / (x[j] + y[j])
        x[j], y[j] = max(total * v, FLOOR), max(total * rest, FLOOR)


@njit(nogil=True, cache=True, error_model="numpy")
def log_weights(x, y, out):
    """log ω of each stick; returns the logarithm of what is left."""
    left = 0.0
    for j in range(x.size):
        total = math.log(x[j] + y[j])
        out[j] = left + math.log(x[j]) - total
        left += math.log(y[j]) - total
    return left


@njit(nogil=True, cache=True, error_model="numpy")
def new_sticks(left, least, alpha, first, most, key, update):
    """Sticks from the prior, numbered from ``first``, until what is left of the stick, in
    logarithms, is at most ``least``; X and Y, float64 (n,), n ≤ ``most``."""
    x, y = np.empty(16), np.empty(16)
    n = 0
    while left > least and n < most:
        if n == x.size:
            x, y = np.concatenate((x, np.empty(n))), np.concatenate((y, np.empty(n)))
        column = np.uint32(first + n)
        x[n] = gamma_of(1.0, key, column, _NEW_X, update)
        y[n] = gamma_of(alpha, key, column, _NEW_Y, update)
        left += math.log(y[n] / (x[n] + y[n]))
        n += 1
    return x[:n], y[:n]


@njit(nogil=True, cache=True, error_model="numpy")
def move_words(weights, counts, scale, beta, step, exact, key, update, first, last):
    """One move of rows first … last − 1 of T, (J, W), in place, given counts that are multiplied by
    ``scale``."""
    n_words = weights.shape[1]
    for j in range(first, last):
        row = np.uint32(j)
        total = 0.0 if exact else weights[j].sum()
        size = 0.0 if exact else scale * counts[j].sum()
        for w in range(n_words):
            old, count, column = weights[j, w], scale * counts[j, w], np.uint32(w)
            if exact:
                weights[j, w] = cir(old, beta + count, step, key, column, row, update)
            else:
                drift = beta - old + count - size * old / total
                weights[j, w] = langevin(old, drift, step, key, column, row, update)


@njit(nogil=True, cache=True, error_model="numpy")
def draw_word_totals(weights, counts, beta, key, update, first, last):
    """Σ_w T_jw anew for rows first … last − 1 of T, (J, W), in place, θ as it is: given the counts
    it is Gamma(Wβ + n_j)."""
    for j in range(first, last):
        shape = weights.shape[1] * beta + counts[j].sum()
        total = gamma_of(shape, key, np.uint32(j), np.uint32(0), update)
        rate = total / weights[j].sum()
        for w in range(weights.shape[1]):
            weights[j, w] = max(weights[j, w] * rate, FLOOR)


@njit(nogil=True, cache=True, error_model="numpy")
def draw_words(weights, counts, beta, key, update, first, last):
    """Rows first … last − 1 of T, (J, W), from Gamma(β + counts); the counts have a row for each of
    the first groups, and groups beyond them have none."""
    for j in range(first, last):
        known = j < counts.shape[0]
        for w in range(weights.shape[1]):
            count = counts[j, w] if known else 0
            weights[j, w] = gamma_of(beta + count, key, np.uint32(w), np.uint32(j), update)


@njit(nogil=True, cache=True, error_model="numpy")
def log_shares(weights, out, first, last):
    """log θ of rows first … last − 1 of T, (J, W), into columns of ``out``, (W, J)."""
    for j in range(first, last):
        total = math.log(weights[j].sum())
        for w in range(weights.shape[1]):
            out[w, j] = math.log(weights[j, w]) - total


@njit(nogil=True, cache=True, error_model="numpy")
def draw_slices(docs, groups, weights, key, update, out):
    """log u of each document, u ~ U(0, ω of its group); the least of them."""
    least = 0.0
    for i in range(docs.size):
        a, b, _, _ = philox(key, np.uint32(docs[i]), _SLICE, FIRST_ROUND, update)
        out[i] = math.log(unit(a, b)) + weights[groups[docs[i]]]
        least = min(least, out[i])
    return least


@njit(nogil=True, cache=True, error_model="numpy")
def draw_groups(
    bags, docs, slices, weights, shares, key, update, first, last, out
):  # fmt: skip
    """The groups of docs first … last − 1: P(z = j) ∝ 1(ω_j > u) Π_w θ_jw^x_w.

    Args:
        bags: all documents.
        docs: int64 (n,), whose groups are drawn.
        slices: log u, float64 (n,).
        weights: log ω, float64 (J,).
        shares: log θ, float64 (W, J).
        out: int32 (n,).
    """
    indptr, words, counts = bags
    chosen, score = np.empty(weights.size, np.int64), np.empty(weights.size)
    for i in range(first, last):
        n = 0
        for j in range(weights.size):
            if weights[j] > slices[i]:
                chosen[n], score[n] = j, 0.0
                n += 1
        doc = docs[i]
        for e in range(indptr[doc], indptr[doc + 1]):
            row, count = shares[words[e]], np.float64(counts[e])
            for c in range(n):
                score[c] += count * row[chosen[c]]
        a, b, _, _ = philox(key, np.uint32(doc), _GROUP, FIRST_ROUND, update)
        out[i] = chosen[pick(score[:n], unit(a, b))]


@njit(nogil=True, cache=True, error_model="numpy")
def pick(score, u):
    """A position drawn by the exponentials of scores, by a uniform number."""
    highest, total = score.max(), 0.0
    for c in range(score.size):
        score[c] = math.exp(score[c] - highest)
        total += score[c]
    sought = u * total
    for c in range(score.size):
        sought -= score[c]
        if sought < 0.0:
            return c
    return int(np.argmax(score))


@njit(nogil=True, cache=True)
def add_docs(bags, docs, groups, sign, group_words, sizes):
    """Adds documents (or, with sign −1, takes them away) to the counts of their groups: ``groups``
    int32 (n,), ``group_words`` int32 (J, W), ``sizes`` int64 (J,)."""
    indptr, words, counts = bags
    for i in range(docs.size):
        doc, group = docs[i], groups[i]
        sizes[group] += sign
        for e in range(indptr[doc], indptr[doc + 1]):
            group_words[group, words[e]] += sign * np.int32(counts[e])


@njit(nogil=True, cache=True, error_model="numpy")
def log_predictive(bags, weights, shares, left, beta, first, last, out):
    """log [Σ_j ω_j p(x | θ_j) + (1 − Σ ω) p₀(x)] of documents first … last − 1, float64 (n,).

    p₀ is the Dirichlet-multinomial law under the prior, for groups yet unseen; ``left`` is the
    logarithm of their weight. Multinomial coefficients are left out throughout.
    """
    indptr, words, counts = bags
    score = np.empty(weights.size + 1)
    n_words = shares.shape[0]
    for i in range(first, last):
        for j in range(weights.size):
            score[j] = weights[j]
        prior, length = left, 0.0
        for e in range(indptr[i], indptr[i + 1]):
            count = np.float64(counts[e])
            length += count
            prior += math.lgamma(beta + count) - math.lgamma(beta)
            row = shares[words[e]]
            for j in range(weights.size):
                score[j] += count * row[j]
        score[-1] = prior + math.lgamma(n_words * beta) - math.lgamma(n_words * beta + length)
        highest, total = score.max(), 0.0
        for j in range(score.size):
            total += math.exp(score[j] - highest)
        out[i] = min(highest + math.log(total), 0.0)  # a probability, but for rounding
