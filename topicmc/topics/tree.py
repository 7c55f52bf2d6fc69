"""A tree of topics: which are near each other, by average linkage of their Hellinger distances.

The distance of two groups of topics is the mean distance of their members (Sokal and Michener 1958,
"A statistical method for evaluating systematic relationships"), as SciPy's ``linkage`` has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from topicmc.topics.labels import Labels
from topicmc.topics.matching import distances


def tree_of(phi: np.ndarray) -> np.ndarray:
    """The joins of topics (K, W), nearest first: float64 (K − 1, 4).

    Row i joins its first two entries, topics by their place or, from K on, earlier joins, at the
    distance of the third; the fourth says how many topics are in it then. Of the two the larger
    comes second.
    """
    return tree_by(distances(phi, phi))


def tree_by(apart: np.ndarray) -> np.ndarray:
    """The same by distances (K, K)."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    apart = (apart + apart.T) / 2
    np.fill_diagonal(apart, 0)
    return linkage(squareform(apart, checks=False), "average")


def joins_of(tree: np.ndarray, labels: Labels) -> list[dict[str, Any]]:
    """The joins as JSON values: of each its distance, how many topics it holds, and its two parts,
    which are topics by their numbers or earlier joins counted from 0."""
    n_topics = len(tree) + 1

    def part(node: float) -> dict[str, int]:
        place = int(node)
        if place >= n_topics:
            return {"join": place - n_topics}
        return {"topic": labels.numbers[place]}

    return [
        {"distance": float(distance), "topics": int(size), "parts": [part(one), part(other)]}
        for one, other, distance, size in tree
    ]


def lines_of(tree: np.ndarray) -> Iterator[tuple[str, int | None, float]]:
    """The tree line by line, from its root: branches drawn before the line, and the topic by its
    place, or None and the distance of a join."""
    n_topics = len(tree) + 1
    waiting = [(2 * n_topics - 2, "", "")]
    while waiting:
        node, before, below = waiting.pop()
        if node < n_topics:
            yield before, node, 0.0
            continue
        one, other, distance, _ = tree[node - n_topics]
        yield before, None, float(distance)
        waiting.append((int(other), f"{below}└ ", f"{below}  "))
        waiting.append((int(one), f"{below}├ ", f"{below}│ "))
