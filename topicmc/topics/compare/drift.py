"""Word drift: which words of a topic have gained and lost from one model to another, and which came
in anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topicmc.posterior.intervals import credible_interval
from topicmc.topics.compare.models import Model, restricted
from topicmc.topics.compare.pairing import Matching
from topicmc.topics.ranking import top

WORDS = 5  # of each kind, shown of each topic
LEVEL = 0.9  # of the credible intervals


@dataclass(frozen=True)
class Change:
    """A word's probability in a topic of the first model and in that of the other, among the words
    that both know; with credible intervals (`LEVEL`) where the model has samples enough."""

    word: str
    before: float
    after: float
    before_interval: tuple[float, float] | None
    after_interval: tuple[float, float] | None


@dataclass(frozen=True)
class TopicDrift:
    """What changed from a topic of the first model to that of the other which it was matched to:
    the words that gained most probability and lost most, the most first, and the likeliest ones
    that only the other knows, with their probabilities there."""

    first: int
    other: int
    distance: float
    gained: tuple[Change, ...]
    lost: tuple[Change, ...]
    new: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Drift:
    """The drift of all matched topics of another model, those that changed least first."""

    name: str
    topics: tuple[TopicDrift, ...]


def drift(
    first: Model, other: Model, columns: tuple[np.ndarray, np.ndarray], matched: Matching
) -> Drift:
    """The drift from one model to another.

    Args:
        first, other: the models.
        columns: where each has the words that both know, int64 (M,) each.
        matched: the topics of the first, matched to those of the other.

    Raises:
        DataError: a sample is missing or damaged.
    """
    k = np.array([first.labels.numbers.index(pair.first) for pair in matched.pairs])
    j = np.array([other.labels.numbers.index(pair.other) for pair in matched.pairs])
    n = min(WORDS, len(columns[0]))
    words = np.empty((len(k), 2 * n), np.int64)  # of each pair
    before, after = np.empty(words.shape), np.empty(words.shape)
    for p, of_pair in enumerate(zip(k, j, strict=True)):
        was, now = (
            restricted(model.phi[[topic]], mine)
            for model, topic, mine in zip((first, other), of_pair, columns, strict=True)
        )
        words[p] = np.concatenate([top(now - was, n)[0], top(was - now, n)[0]])
        before[p], after[p] = was[0, words[p]], now[0, words[p]]
    intervals = [
        _intervals(model, topics, mine, words)
        for model, topics, mine in zip((first, other), (k, j), columns, strict=True)
    ]
    known = set(first.words)
    strange = np.array([w for w, word in enumerate(other.words) if word not in known], np.int64)
    topics = []
    for p, pair in enumerate(matched.pairs):
        changes = [
            Change(
                first.words[columns[0][w]],
                float(before[p, i]),
                float(after[p, i]),
                *(_pair(ends, p, i) for ends in intervals),
            )
            for i, w in enumerate(words[p].tolist())
        ]
        gained = tuple(c for c in changes[:n] if c.after > c.before)
        lost = tuple(c for c in changes[n:] if c.after < c.before)
        new = _likeliest(other, int(j[p]), strange)
        topics.append(TopicDrift(pair.first, pair.other, pair.distance, gained, lost, new))
    return Drift(matched.name, tuple(topics))


def _intervals(
    model: Model, topics: np.ndarray, columns: np.ndarray, words: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Ends (P, M) of the credible intervals of words (P, M), places in ``columns``, of topics."""
    drawn = []
    for theta in model.draws():
        common = theta[columns]
        sums = np.maximum(common.sum(axis=0, dtype=np.float64), np.finfo(np.float32).tiny)
        drawn.append(common[words, topics[:, None]] / sums[topics][:, None])
    if not drawn:
        return None
    low, high = credible_interval([np.array(drawn)], LEVEL)
    return low, np.minimum(high, 1)


def _pair(
    ends: tuple[np.ndarray, np.ndarray] | None, topic: int, word: int
) -> tuple[float, float] | None:
    if ends is None or np.isnan(ends[0][topic, word]):
        return None
    return float(ends[0][topic, word]), float(ends[1][topic, word])


def _likeliest(model: Model, topic: int, words: np.ndarray) -> tuple[tuple[str, float], ...]:
    probabilities = model.phi[topic, words]
    best: Sequence[int] = np.argsort(-probabilities, kind="stable")[:WORDS].tolist()
    return tuple((model.words[words[i]], float(probabilities[i])) for i in best)
