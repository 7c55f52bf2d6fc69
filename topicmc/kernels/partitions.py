"""Moves of a whole partition of documents, with weights and words of groups integrated out.

Split and merge proposals in turn (Dahl 2005, "Sequentially-allocated merge-split sampler"; Jain and
Neal 2004), sweeps over documents one by one, and labels and sticks drawn anew given the partition.
All of them leave p(partition | x) ∝ α^K Π_k Γ(m_k) Γ(Wβ)/Γ(Wβ + n_k) Π_w Γ(β + c_kw)/Γ(β) as it is.
"""

import math

import numpy as np
from numba import njit

from topicmc.kernels.mixture import FLOOR, gamma_of, pick, unit
from topicmc.kernels.random import philox

_PAIR, _ORDER, _SIDE, _ACCEPT = (np.uint32(row) for row in range(4))
_PLACE, _REST, _LEFT, _BREAK, _TOTAL = (np.uint32(row) for row in range(4, 9))
_JOIN, _BETA = np.uint32(9), np.uint32(10)
_BOUNDS = math.log(1e-4), math.log(1e4)  # of a β that is drawn


@njit(forceinline=True)
def _uniform(key, column, row, attempt, update):
    a, b, _, _ = philox(key, np.uint32(column), row, np.uint32(attempt), update)
    return unit(a, b)


@njit(nogil=True, cache=True, error_model="numpy")
def _log_marginal(group, n_tokens, beta):
    """log Γ(Wβ)/Γ(Wβ + n) Π_w Γ(β + c_w)/Γ(β) of the counts c of a group."""
    whole, one = group.size * beta, math.lgamma(beta)
    found = math.lgamma(whole) - math.lgamma(whole + n_tokens)
    for w in range(group.size):
        if group[w] > 0:
            found += math.lgamma(beta + group[w]) - one
    return found


@njit(nogil=True, cache=True, error_model="numpy")
def _log_joining(indptr, words, counts, doc, group, n_tokens, beta):
    """log p(x of a document | the counts of a group), θ integrated out."""
    found, length, whole = 0.0, 0.0, group.size * beta
    for e in range(indptr[doc], indptr[doc + 1]):
        base, count = beta + group[words[e]], counts[e]
        length += count
        if count == 1:
            found += math.log(base)
        else:
            found += math.lgamma(base + count) - math.lgamma(base)
    if length == 1.0:
        return found - math.log(whole + n_tokens)
    return found - math.lgamma(whole + n_tokens + length) + math.lgamma(whole + n_tokens)


@njit(nogil=True, cache=True, error_model="numpy")
def log_joint(sizes, group_words, beta, alpha):
    """log p(x, partition | α), weights and words integrated out: the law above with the factor
    Γ(α) / Γ(α + D), multinomial coefficients left out. Empty groups of int64 (J,) sizes and int32
    (J, W) words add nothing."""
    found, n_docs = math.lgamma(alpha), 0
    for k in range(sizes.size):
        if sizes[k] > 0:
            n_docs += sizes[k]
            found += math.log(alpha) + math.lgamma(sizes[k])
            found += _log_marginal(group_words[k], np.float64(group_words[k].sum()), beta)
    return found - math.lgamma(alpha + n_docs)


@njit(nogil=True, cache=True, error_model="numpy")
def _log_beta(at, levels, times, tokens, n_words):
    """log of the density of log β = ``at`` given a partition, words integrated out, β ~ Gamma(1, 1)
    within bounds."""
    if not _BOUNDS[0] <= at <= _BOUNDS[1]:
        return -math.inf
    beta = math.exp(at)
    found, one, whole = at - beta, math.lgamma(beta), n_words * beta
    for i in range(levels.size):
        found += times[i] * (math.lgamma(beta + levels[i]) - one)
    all_words = math.lgamma(whole)
    for k in range(tokens.size):
        found += all_words - math.lgamma(whole + tokens[k])
    return found


@njit(nogil=True, cache=True, error_model="numpy")
def draw_beta(levels, times, tokens, n_words, beta, key, update):
    """β given a partition, words integrated out, under the prior Gamma(1, 1): a slice of log β, by
    stepping out and shrinkage (Neal 2003, Figures 3 and 5) from width 1.

    Args:
        levels, times: int64 (L,), the counts above 0 of words in groups, and how many are so large.
        tokens: int64 (K,), of each group.
        n_words: W.
        beta: as it is.
    """
    at = math.log(beta)
    least = _log_beta(at, levels, times, tokens, n_words)
    least += math.log(_uniform(key, 0, _BETA, 0, update))
    low = at - _uniform(key, 1, _BETA, 0, update)
    high = low + 1.0
    while _log_beta(low, levels, times, tokens, n_words) > least:
        low -= 1.0
    while _log_beta(high, levels, times, tokens, n_words) > least:
        high += 1.0
    attempt = 1
    while True:
        new = low + _uniform(key, 0, _BETA, attempt, update) * (high - low)
        if _log_beta(new, levels, times, tokens, n_words) > least:
            return math.exp(new)
        if new < at:
            low = new
        else:
            high = new
        attempt += 1


@njit(nogil=True, cache=True)
def _put(indptr, words, counts, doc, group):
    """Adds the counts of a document to those of a group; how many there are."""
    n = 0
    for e in range(indptr[doc], indptr[doc + 1]):
        group[words[e]] += counts[e]
        n += counts[e]
    return n


@njit(nogil=True, cache=True, error_model="numpy")
def split_or_merge(
    bags, groups, sizes, group_words, beta, alpha, key, attempt, update
):  # fmt: skip
    """Proposes to split the group of two documents in two, or to merge their two groups in one, in
    place; the two groups concerned, or (−1, −1) where nothing was accepted.

    A split makes the group `sizes.argmin()` of an empty one, which there must be.

    Args:
        bags: all documents.
        groups: int32 (D,), of each document.
        sizes, group_words: int64 (J,) and int32 (J, W), the counts of groups.
        alpha: the concentration.
        attempt: number of the proposal in this update.
    """
    indptr, words, counts = bags
    n_docs = groups.size
    first = int(_uniform(key, 0, _PAIR, attempt, update) * n_docs)
    second = int(_uniform(key, 1, _PAIR, attempt, update) * (n_docs - 1))
    second += second >= first
    one, other = groups[first], groups[second]
    is_split = one == other
    members = np.empty(sizes[one] + (0 if is_split else sizes[other]), np.int64)
    n = 0
    for doc in range(n_docs):
        if (groups[doc] == one or groups[doc] == other) and doc != first and doc != second:
            members[n] = doc
            n += 1
    for i in range(n - 1, 0, -1):
        place = int(_uniform(key, i, _ORDER, attempt, update) * (i + 1))
        members[i], members[place] = members[place], members[i]

    # Each in turn joins the first document or the second; of a merger it is known which.
    parts = np.zeros((2, group_words.shape[1]), np.int64)
    tokens, number = np.zeros(2), np.ones(2, np.int64)
    tokens[0] = _put(indptr, words, counts, first, parts[0])
    tokens[1] = _put(indptr, words, counts, second, parts[1])
    joins_second = np.zeros(n, np.bool_)
    log_q = 0.0
    for i in range(n):
        doc = members[i]
        a = math.log(number[0]) + _log_joining(
            indptr, words, counts, doc, parts[0], tokens[0], beta
        )
        b = math.log(number[1]) + _log_joining(
            indptr, words, counts, doc, parts[1], tokens[1], beta
        )
        odds = b - a
        if is_split:
            u = _uniform(key, i, _SIDE, attempt, update)
            joins_second[i] = math.log(u) - math.log1p(-u) < odds
        else:
            joins_second[i] = groups[doc] == other
        side = int(joins_second[i])
        away = -odds if side == 1 else odds
        log_q -= max(away, 0.0) + math.log1p(math.exp(-abs(away)))
        tokens[side] += _put(indptr, words, counts, doc, parts[side])
        number[side] += 1

    both = parts[0] + parts[1]
    gain = math.log(alpha) + math.lgamma(number[0]) + math.lgamma(number[1])
    gain += _log_marginal(parts[0], tokens[0], beta) + _log_marginal(parts[1], tokens[1], beta)
    gain -= math.lgamma(n + 2) + _log_marginal(both, tokens[0] + tokens[1], beta)
    gain = gain - log_q if is_split else log_q - gain
    if not math.log(_uniform(key, 0, _ACCEPT, attempt, update)) < gain:
        return -1, -1

    if is_split:
        other = np.argmin(sizes)
        groups[second] = other
        for i in range(n):
            if joins_second[i]:
                groups[members[i]] = other
        sizes[one], sizes[other] = number[0], number[1]
        for w in range(both.size):
            group_words[one, w], group_words[other, w] = parts[0, w], parts[1, w]
    else:
        groups[second] = one
        for i in range(n):
            groups[members[i]] = one
        sizes[one], sizes[other] = n + 2, 0
        for w in range(both.size):
            group_words[one, w], group_words[other, w] = both[w], 0
    return one, other


@njit(nogil=True, cache=True, error_model="numpy")
def new_order(sizes, alpha, most, key, update):
    """Labels and sticks given a partition: groups of these sizes, int64 (K,) above 0, in a
    size-biased order among atoms that nobody has.

    Given the partition the weights are Dirichlet(m_1, …, m_K, α), the last of which a Dirichlet
    process shares out; stick-breaking weights are the atoms in size-biased order (Pitman 1996).

    Returns the group at each place, −1 for an atom that nobody has, and X and Y of the sticks;
    fewer than K groups are among them when there would be more than ``most``.
    """
    n_groups, update = sizes.size, np.uint32(update)
    mass = np.empty(n_groups)
    for k in range(n_groups):
        mass[k] = gamma_of(np.float64(sizes[k]), key, np.uint32(k), _PLACE, update)
    rest = gamma_of(alpha, key, np.uint32(0), _REST, update)
    order, v = np.empty(most, np.int64), np.empty((2, most))
    n, placed = 0, 0
    while placed < n_groups and n < most:
        total = mass.sum() + rest
        sought = _uniform(key, n, _LEFT, 0, update) * total
        found = -1
        for k in range(n_groups):
            if mass[k] > 0.0:
                sought -= mass[k]
                if sought < 0.0:
                    found = k
                    break
        if found >= 0:
            taken, mass[found] = mass[found], 0.0
            placed += 1
        else:
            # The share Beta(1, α) of what is left.
            kept = math.exp(math.log(_uniform(key, n, _BREAK, 0, update)) / alpha)
            taken = rest * (1.0 - kept)
            rest = max(rest * kept, FLOOR)
        order[n] = found
        v[0, n], v[1, n] = taken / total, (mass.sum() + rest) / total
        n += 1
    x, y = np.empty(n), np.empty(n)
    after = sizes.sum()
    for j in range(n):
        total = gamma_of(1.0 + alpha + after, key, np.uint32(j), _TOTAL, update)
        if order[j] >= 0:
            after -= sizes[order[j]]
        x[j], y[j] = max(total * v[0, j], FLOOR), max(total * v[1, j], FLOOR)
    return order[:n], x, y


@njit(nogil=True, cache=True, error_model="numpy")
def collapsed_sweep(bags, groups, sizes, group_words, order, beta, alpha, key, sweep):
    """Draws the group of each document given all others, in place, weights and words integrated out
    (Neal 2000, Algorithm 3). A document can begin a group while one of the J is empty.

    Args:
        bags: all documents.
        groups: int32 (D,), of each document.
        sizes, group_words: int64 (J,) and int32 (J, W), the counts of groups.
        order: int64 (D,), in which documents are drawn.
        beta, alpha: of the prior.
    """
    indptr, words, counts = bags
    score, choice = np.empty(sizes.size), np.empty(sizes.size, np.int64)
    tokens = np.zeros(sizes.size)
    for k in range(sizes.size):
        tokens[k] = group_words[k].sum()
    for i in range(order.size):
        doc = order[i]
        old = groups[doc]
        sizes[old] -= 1
        for e in range(indptr[doc], indptr[doc + 1]):
            group_words[old, words[e]] -= np.int32(counts[e])
            tokens[old] -= counts[e]
        n, has_empty = 0, False
        for k in range(sizes.size):
            if sizes[k] == 0 and has_empty:
                continue
            has_empty = has_empty or sizes[k] == 0
            weight = math.log(np.float64(sizes[k]) if sizes[k] > 0 else alpha)
            score[n] = weight + _log_joining(
                indptr, words, counts, doc, group_words[k], tokens[k], beta
            )
            choice[n] = k
            n += 1
        new = choice[pick(score[:n], _uniform(key, doc, _JOIN, 0, sweep))]
        groups[doc] = new
        sizes[new] += 1
        tokens[new] += _put(indptr, words, counts, doc, group_words[new])
