# mypy: disable-error-code="call-arg,var-annotated"
"""Draws of a topic in proportion to α_k φ_kw, for many topics: a tree for each word.

Its leaves are the weights of single topics, made when they are read, from a row of φ itself; above
them are running sums over blocks of 16 topics, and over groups of 16 blocks (a flat F+tree; Yu et
al. 2015). That is one number for 15 topics, made in one pass, and a draw reads three cache lines.

The topics are a tuple (phi, prior, entries): the weight of topic k for word w is (phi[w Kp + k] +
b_kw) prior[k], phi flat, float32 or int32, and entries those of a `topicmc.kernels.prior.Beta`. A
forest is (sums, tree_size, n_groups).
"""

import numpy as np
from numba import njit

from topicmc.kernels.lanes import (
    add,
    count_at_most,
    last,
    load,
    mul,
    peek,
    prefix,
    replace,
    splat,
    store,
    to_floats,
)
from topicmc.kernels.padding import LANES, aligned_zeros
from topicmc.kernels.prior import Rows, entry, entry_lanes, row_of
from topicmc.kernels.threads import Threads

_BLOCKS = LANES * LANES  # topics in a group of blocks
_ONE, _NONE, _INFINITY = np.float32(1), np.float32(0), np.float32(np.inf)

Topics = tuple[np.ndarray, np.ndarray, np.floating | Rows]
Forest = tuple[np.ndarray, int, int]


def plant(topics: Topics, words: np.ndarray, n_words: int, threads: Threads) -> Forest:
    """The trees of some words, ascending, out of n_words: float32, a fifteenth of their rows."""
    n_groups = -(-len(topics[1]) // _BLOCKS)
    tree_size = LANES * (-(-n_groups // LANES) + n_groups)
    forest = aligned_zeros(n_words * tree_size, np.float32), tree_size, n_groups
    parts = np.linspace(0, len(words), 4 * threads.n_threads + 1).astype(np.int64)
    threads.run(lambda i: _build(forest, topics, words[parts[i] : parts[i + 1]]), len(parts) - 1)
    return forest


@njit(inline="always")
def _weights(topics, word, k):
    """Those of 16 topics from k on."""
    phi, prior, entries = topics
    counts = to_floats(load(phi, word * len(prior) + k))
    return mul(add(counts, entry_lanes(row_of(entries, word), k)), load(prior, k))


@njit(inline="always")
def _weight(topics, word, k):
    """That of one topic."""
    phi, prior, entries = topics
    return (np.float32(phi[word * len(prior) + k]) + entry(row_of(entries, word), k)) * prior[k]


@njit(nogil=True, cache=True, error_model="numpy")
def _build(forest, topics, words):
    """The running sums over groups, padded to whole lines; then for each group a line of those over
    its blocks. Infinite where there are none."""
    sums, tree_size, n_groups = forest
    n_padded = len(topics[1])
    for i in range(len(words)):
        word = np.intp(words[i])
        tree = word * tree_size
        for line in range(tree, tree + tree_size, LANES):
            store(sums, line, splat(_INFINITY))
        line = tree + tree_size - LANES * n_groups
        total = _NONE
        for group in range(n_groups):
            running = _NONE
            start = _BLOCKS * group
            for k in range(start, min(start + _BLOCKS, n_padded), LANES):
                running += last(prefix(_weights(topics, word, k)))
                sums[line + k // LANES] = running
            total += running
            sums[tree + group] = total


@njit(inline="always")
def mass(forest, word):
    """Σ_k of a word's weights."""
    sums, tree_size, n_groups = forest
    return peek(sums, word * tree_size + n_groups - 1)


@njit(inline="always")
def descend(forest, topics, word, rest):
    """The topic at which the running sum of a word's weights passes `rest`; −1 if rounding hides
    it.

    No branch depends on what is drawn, so that the processor can run ahead.
    """
    sums, tree_size, n_groups = forest
    prior = topics[1]
    tree = word * tree_size
    group = 0
    for line in range(tree, tree + n_groups, LANES):
        group += count_at_most(load(sums, line), rest)
    beyond = group == n_groups
    group = min(group, n_groups - 1)
    below = peek(sums, tree + max(group - 1, 0))
    rest -= below if group > 0 else _NONE
    line = tree + tree_size - LANES * (n_groups - group)
    block = count_at_most(load(sums, line), rest)
    below = peek(sums, line + max(block - 1, 0))
    rest -= below if block > 0 else _NONE
    k = min(_BLOCKS * group + LANES * block, len(prior) - LANES)
    lane = count_at_most(prefix(_weights(topics, word, k)), rest)
    beyond |= lane == LANES
    k += min(lane, LANES - 1)
    return -1 if beyond or not _weight(topics, word, k) > _NONE else k


@njit(inline="always")
def end_of(forest, topics, word, topic):
    """The running sum of a word's weights up to and with that of a topic."""
    sums, tree_size, n_groups = forest
    tree, group, block = word * tree_size, topic // _BLOCKS, topic // LANES % LANES
    line = tree + tree_size - LANES * (n_groups - group)
    end = peek(sums, tree + group - 1) if group > 0 else _NONE
    end += peek(sums, line + block - 1) if block > 0 else _NONE
    k = topic & -LANES
    for i in range(k, topic + 1):
        end += _weight(topics, word, i)
    return end


@njit(nogil=True, cache=True, error_model="numpy")
def scan(topics, word, topic, kept, rest):
    """The topic at which the running sum passes `rest`, or −1, and what the sum is before it, where
    one topic keeps only a part of its weight: without a tree, at a cost that follows K."""
    total = _NONE
    for k in range(0, len(topics[1]), LANES):
        weights = _weights(topics, word, k)
        if k == topic & -LANES:
            weights = mul(weights, replace(splat(_ONE), topic & (LANES - 1), kept))
        sums = prefix(weights)
        if total + last(sums) > rest:
            lane = count_at_most(sums, rest - total)
            return k + lane if lane < LANES else -1, total
        total += last(sums)
    return -1, total
