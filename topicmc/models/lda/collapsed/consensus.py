"""A consensus start: a chain begins with the topics that several short chains have in common.

Where a chain comes to rest depends on where it began, and on luck. So ten *members*, one after
another, each begin with topics at random and draw a share of the start; on large corpora their
documents grow from sweep to sweep (`topicmc.models.lda.planning.starts.Members`). Their topics are
pooled and put into K groups of like ones; the chain proper begins with the mean of each group. It
depends on the seed less than any member, as a mean does on a draw. Members are part of the start,
and none of their states is a posterior sample.

Groups are Ward's (1963), by Hellinger distance, improved by moving each topic to the nearest mean
until none moves, as k-means does. Roots of probabilities are integers here, such that sums of their
products are exact in any order: groups are the same on every machine.

References
----------
Belford, M., Mac Namee, B. and Greene, D. (2018). Stability of topic modeling via matrix
factorization. Expert Systems with Applications 91.
Ward, J. (1963). Hierarchical grouping to optimize an objective function. JASA 58.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topicmc.models.lda.planning.starts import MEMBERS

_ROOTS = 1 << 24  # to which roots of probabilities are cut; sums of products stay below 2^53
_MOVES = 20  # of topics between groups, at most
_COUNT, _PAIR = 25.0, 0.011  # nanoseconds for a count of a topic, and for one of two topics
_ENTRIES = 1 << 17  # of roots that are taken at once, which fit into a cache


def member_bytes(n_words: int, n_topics: int) -> float:
    """About what it takes to compare all members of a chain: their counts, roots, and the means of
    groups; `topicmc.models.lda.memory` has it term by term."""
    return 20.0 * MEMBERS * n_words * n_topics


def seconds_to_compare(n_words: int, n_topics: int) -> float:
    """About what it takes two cores of the usual speed to compare all members of a chain."""
    topics = MEMBERS * n_topics
    return n_words * topics * (_COUNT + _PAIR * topics) / 1e9


def consensus(members: Sequence[np.ndarray], beta: float) -> np.ndarray:
    """The topics that members have in common, from their counts, int32 (W, K) each.

    Returns float32 (W, K): the sum of the counts of each group of like topics over the number of
    members, plus β.
    """
    counts = np.concatenate([member.T for member in members])
    n_topics, n_words = members[0].shape[1], counts.shape[1]
    roots = _roots(counts, beta)
    group = _ward(roots, n_topics)
    sums = np.zeros((n_topics, n_words), np.int64)
    for topic, g in enumerate(group):
        sums[g] += counts[topic]
    near = roots @ _roots(sums, beta).T
    for _ in range(_MOVES):
        before, group = group, near.argmax(axis=1)
        moved = np.flatnonzero(group != before)
        for mover in moved:
            sums[before[mover]] -= counts[mover]
            sums[group[mover]] += counts[mover]
        changed = np.union1d(before[moved], group[moved])
        if len(changed) == 0:
            break
        near[:, changed] = roots @ _roots(sums[changed], beta).T
    return (sums.T / len(members) + beta).astype(np.float32, order="C")


def _roots(counts: np.ndarray, beta: float) -> np.ndarray:
    """√φ in units of 2⁻²⁴, integers in float64 (n, W)."""
    roots = np.empty(counts.shape)
    step = max(1, _ENTRIES // counts.shape[1])
    for first in range(0, len(counts), step):
        rows = slice(first, first + step)
        phi = np.add(counts[rows], beta, out=roots[rows])
        phi /= phi.sum(axis=1, keepdims=True)
        np.sqrt(phi, out=phi)
        phi *= _ROOTS
        np.rint(phi, out=phi)
    return roots


def warm_up() -> None:
    """Loads what `consensus` needs, before somebody takes the time."""
    _ward(np.zeros((2, 1)), 1)


def _ward(roots: np.ndarray, n_groups: int) -> np.ndarray:
    """The group of each topic: int (n,)."""
    from scipy.cluster.hierarchy import cut_tree, ward
    from scipy.spatial.distance import squareform

    apart = np.clip(1 - (roots @ roots.T) / _ROOTS**2, 0, None)
    np.fill_diagonal(apart, 0)
    return cut_tree(ward(np.sqrt(squareform(apart, checks=False))), n_groups)[:, 0]
