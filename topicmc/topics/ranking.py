"""Which words speak for a topic: by relevance, by FREX, and how exclusive they are."""

from __future__ import annotations

import numpy as np

from topicmc.errors import UsageError

RANKINGS = ("probability", "relevance", "frex")
WEIGHT = 0.6
"""λ of the relevance that Sievert & Shirley's readers did best with."""


def relevance(phi: np.ndarray, p_w: np.ndarray, weight: float | np.ndarray = WEIGHT) -> np.ndarray:
    """λ log φ_kw + (1 − λ) log (φ_kw / p_w): float64 (K, W), −∞ where φ_kw is zero.

    λ = 1 ranks words by probability, λ = 0 by lift over their share p_w of all tokens (Sievert &
    Shirley 2014, "LDAvis", eqn 1, where p_w is counted in the corpus).

    Args:
        phi: float (K, W), rows sum to one.
        p_w: float (W,), each word's share of all tokens, as `topicmc.topics.reading.word_shares`.
        weight: λ, from 0 to 1; or (n, 1), for as many rows of one topic (1, W).

    Raises:
        UsageError: the weight is another.
    """
    if np.any(np.clip(weight, 0, 1) != weight):
        raise UsageError(f"--relevance {weight:g}: the weight is from 0 to 1")
    with np.errstate(divide="ignore"):
        scores = np.log(phi)
        overall = np.log(p_w)
    return scores - (1 - weight) * np.where(np.isfinite(overall), overall, 0)


def exclusivity(phi: np.ndarray, total: np.ndarray | None = None) -> np.ndarray:
    """φ_kw / Σ_j φ_jw: float64 (K, W), from 0 to 1; 0 for a word that no topic holds. ``total``,
    float64 (W,), is Σ_j φ_jw where ``phi`` has not all topics."""
    total = phi.sum(axis=0) if total is None else total
    return phi / np.where(total > 0, total, 1)


def frex(phi: np.ndarray, weight: float = 0.5, total: np.ndarray | None = None) -> np.ndarray:
    """FREX, the harmonic mean of a word's ranks by exclusivity and by frequency: float64 (K, W).

    Ranks are those within the topic, from 1 / W to 1; ``weight`` is that of the exclusivity
    (Bischof & Airoldi 2012, "Summarizing topical content with word frequency and exclusivity",
    eqn 4), and ``total`` as for `exclusivity`.
    """
    exclusive = exclusivity(phi, total)
    scores = np.empty(phi.shape)
    for k in range(len(phi)):
        scores[k] = 1 / (weight / _ranks(exclusive[k]) + (1 - weight) / _ranks(phi[k]))
    return scores


def _ranks(values: np.ndarray) -> np.ndarray:
    """The empirical distribution function of values (n,) at each of them."""
    order = np.argsort(values)
    ordered = values[order]  # which are looked up side by side
    ranks = np.empty(len(values))
    ranks[order] = np.searchsorted(ordered, ordered, side="right") / len(values)
    return ranks


def top(scores: np.ndarray, n: int) -> np.ndarray:
    """The n words of highest score of each topic (K, W), best first: int64 (K, min(n, W))."""
    n = min(n, scores.shape[1])
    if 8 * n > scores.shape[1]:
        return np.argsort(-scores, axis=1, kind="stable")[:, :n]
    chosen = np.empty((len(scores), n), np.int64)
    for k, row in enumerate(scores):
        words = np.flatnonzero(row >= np.partition(row, -n)[-n])
        chosen[k] = words[np.argsort(-row[words], kind="stable")][:n]
    return chosen


def rank(
    ranking: str,
    phi: np.ndarray,
    p_w: np.ndarray,
    n: int,
    weight: float = WEIGHT,
    total: np.ndarray | None = None,
) -> np.ndarray:
    """The n first words of each topic by one of `RANKINGS`: int64 (K, n); else UsageError.
    ``weight`` is that of the relevance, and ``total`` as for `exclusivity`."""
    if ranking == "probability":
        return top(phi, n)
    rows = [phi[k : k + 1] for k in range(len(phi))]  # scores of all would be as large as φ
    if ranking == "relevance":
        return np.concatenate([top(relevance(row, p_w, weight), n) for row in rows])
    if ranking == "frex":
        total = phi.sum(axis=0) if total is None else total
        return np.concatenate([top(frex(row, total=total), n) for row in rows])
    raise UsageError(f"ranking {ranking!r} is not one of {', '.join(RANKINGS)}")
