"""The topics of a report: their words with intervals, where those are used, and a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.report.group_posterior import GroupPosterior
from topicmc.report.numbers import digits
from topicmc.topics.layout import plane
from topicmc.topics.ranking import relevance, top
from topicmc.topics.reading import describe, nearest
from topicmc.topics.uncertainty import Posterior

STEP = 0.05
"""Step of the relevance slider."""
CHART_WORDS = 30
"""Words in the chart of a topic."""
PLACES = 8
"""Topics told for a word at most,"""
LEAST = 0.01
"""each with at least this part of the word's uses."""
BLOCK = 4_096
"""Words whose uses are worked out together: those of all would be as large as φ."""
PagePosterior = Posterior | GroupPosterior
"""What a page shows."""


def words_of(posterior: PagePosterior, shown: np.ndarray) -> tuple[dict[str, Any], list[list[Any]]]:
    """The words that the page has to know.

    Returns:
        columns: ``words``, their ``overall`` probability, and their ``spread``: for each word
            [topic, p(topic | word)], most first; what a view has dropped is of all, and not told.
        for each shown topic its rows, likeliest words first: [place among the words, mean, low,
            high, probability to be in the top ten].
    """
    phi, share = posterior.phi, posterior.share
    ids = reachable(phi, posterior.p_w, shown)
    known, rows = np.unique(np.concatenate(ids), return_inverse=True)
    numbers = [posterior.labels.numbers[k] for k in shown]
    spread: list[list[list[float]]] = []
    for words in np.split(known, range(BLOCK, len(known), BLOCK)):
        uses = phi[np.ix_(shown, words)].T * share[shown] / posterior.p_w[words, None]
        spread += _spread(uses, numbers)
    columns = {
        "words": [posterior.vocabulary[w] for w in known],
        "overall": digits(posterior.p_w[known]),
        "spread": spread,
    }
    asked = np.zeros((len(shown), max(map(len, ids))), np.int64)
    for row, mine in zip(asked, ids, strict=True):
        row[: len(mine)] = mine
    found = np.stack(posterior.intervals(asked, shown), axis=-1)
    places = np.split(rows, np.cumsum([len(mine) for mine in ids])[:-1])
    tables = [
        [[int(place), *digits(row)] for place, row in zip(mine, of_topic, strict=False)]
        for mine, of_topic in zip(places, found, strict=True)
    ]
    return columns, tables


def reachable(phi: np.ndarray, p_w: np.ndarray, shown: np.ndarray) -> list[np.ndarray]:
    """For each shown topic the words that are among its `CHART_WORDS` most relevant at some
    position of the slider: int64 arrays, likeliest words first."""
    weights = np.linspace(0, 1, round(1 / STEP) + 1)[:, None]
    found = []
    for k in shown:
        words = _competing(phi[[k]], p_w)
        best = top(relevance(phi[k, words][None], p_w[words], weights), CHART_WORDS)
        found.append(words[np.unique(best)])
    return [w[np.argsort(-phi[k, w], kind="stable")] for k, w in zip(shown, found, strict=True)]


def _competing(phi: np.ndarray, p_w: np.ndarray) -> np.ndarray:
    """The words of a topic (1, W) that can be among its most relevant ones: int64 (n,), ascending.
    Relevance runs from lift to probability on a line, so a word that has less of both than each of
    the likeliest has less at every position."""
    (lift,), (log_phi,) = (relevance(phi, p_w, weight) for weight in (0.0, 1.0))
    (likeliest,) = top(phi, CHART_WORDS)
    return np.flatnonzero((lift >= lift[likeliest].min()) | (log_phi >= log_phi[likeliest].min()))


def _spread(uses: np.ndarray, numbers: Sequence[int]) -> list[list[list[float]]]:
    """For each word, from p(topic | word) (words, K), the topics of most of its uses."""
    return [
        [
            [numbers[k], round(float(row[k]), 3)]
            for rank, k in enumerate(tops)
            if rank == 0 or row[k] >= LEAST
        ]
        for row, tops in zip(uses, top(uses, PLACES), strict=True)
    ]


def topics_of(
    posterior: PagePosterior, shown: np.ndarray, corpus: Corpus | None, apart: np.ndarray
) -> list[dict[str, Any]]:
    """The facts of the shown topics, and their places on the map, by their distances to all topics
    (n shown, K)."""
    phi = posterior.phi
    knows_stable = posterior.n_chains > 1 and posterior.n_samples > 0
    labels = posterior.labels
    groups = posterior.groups
    here = {labels.numbers[k] for k in shown}
    described = {
        topic.column: topic
        for topic in describe(
            phi,
            posterior.share,
            posterior.vocabulary,
            corpus=corpus,
            coherence=() if corpus is None else ("npmi",),
            sort="exclusivity",  # which is measured then
            labels=labels,
            columns=shown,
        )
    }
    among = apart[:, shown]
    np.fill_diagonal(among, 0)
    places, near = plane(among).tolist(), nearest(apart, shown).tolist()
    facts = []
    for k, (x, y), others in zip(shown.tolist(), places, near, strict=True):
        share = (posterior.share[k], posterior.share_low[k], posterior.share_high[k])
        alpha, npmi, exclusive, distance = digits(
            (
                posterior.alpha[k],
                described[k].npmi,
                described[k].exclusivity,
                posterior.distance[k],
            )
        )
        facts.append(
            {
                "number": labels.numbers[k],
                "label": labels.name(k),
                "group": next((name for name, g in groups.items() if labels.numbers[k] in g), None),
                "share": digits(share),
                "alpha": alpha,
                "npmi": npmi,
                "exclusivity": exclusive,
                "stable": bool(posterior.stable[k]) if knows_stable else None,
                "found": int(posterior.found[:, k].sum()),
                "distance": distance,
                "x": round(x, 4),
                "y": round(y, 4),
                "near": [labels.numbers[j] for j in others if labels.numbers[j] in here],
            }
        )
    return facts
