"""Topics of two models side by side, each with the one that it was matched to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topicmc.topics.labels import Labels
from topicmc.topics.matching import match_topics
from topicmc.topics.ranking import top

WORDS = 8  # shown of each topic


@dataclass(frozen=True)
class Pair:
    """A topic of the first model, the topic of another that it was matched to, and their Hellinger
    distance; with the likeliest words of both, and their names, if they have any."""

    first: int
    other: int
    distance: float
    first_words: tuple[str, ...]
    other_words: tuple[str, ...]
    first_label: str | None = None
    other_label: str | None = None


@dataclass(frozen=True)
class Matching:
    """The topics of the first model matched to those of another, nearest pairs first.

    Of ``pairs``, as many as the model of fewer topics has, ``similar`` are within ``limit``.
    """

    name: str
    mean_distance: float
    limit: float
    similar: int
    pairs: tuple[Pair, ...]


def matching(
    name: str,
    first: np.ndarray,
    other: np.ndarray,
    words: Sequence[str],
    limit: float,
    labels: tuple[Labels, Labels] | None = None,
) -> Matching:
    """The topics of two matrices, K × W and K' × W over ``words``, matched one to one. ``labels``:
    numbers and names of both [numbers from 0 on]."""
    named, others = labels or (Labels.plain(len(first)), Labels.plain(len(other)))
    order, distance = match_topics(first, other)
    matched = np.flatnonzero(order >= 0)
    nearest = matched[np.argsort(distance[matched], kind="stable")]
    mine, theirs = top(first, WORDS), top(other, WORDS)
    pairs = tuple(
        Pair(
            first=named.numbers[k],
            other=others.numbers[order[k]],
            distance=float(distance[k]),
            first_words=tuple(words[w] for w in mine[k]),
            other_words=tuple(words[w] for w in theirs[order[k]]),
            first_label=named.name(k),
            other_label=others.name(order[k]),
        )
        for k in nearest
    )
    similar = int((distance[matched] <= limit).sum())
    return Matching(name, float(distance[matched].mean()), limit, similar, pairs)
