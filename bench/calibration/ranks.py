"""Ranks of the truth among draws, and what is expected of them.

Säilynoja, Bürkner & Vehtari (2022), "Graphical test for discrete uniformity and its applications in
goodness-of-fit evaluation and multiple sample comparison": the empirical distribution function of
ranks, with a band that holds all of it at once with a stated probability.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.stats import binom, chi2


def rank(truth: np.ndarray, draws: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """How many draws (L, Q) are below the truth (Q,), ties broken at random: int64 (Q,), 0 … L."""
    ties = (draws == truth).sum(axis=0)
    return (draws < truth).sum(axis=0) + generator.integers(0, ties + 1)


def p_value(ranks: np.ndarray, n_draws: int, n_bins: int = 10) -> float:
    """χ² of ranks in bins of equal size: small where they are not uniform on 0 … n_draws.

    ``n_draws`` + 1 must be a multiple of ``n_bins``. The approximation is on the safe side of 1e-6
    from 20 ranks a bin on.
    """
    counts = np.bincount(ranks * n_bins // (n_draws + 1), minlength=n_bins)
    expected = len(ranks) / n_bins
    return float(chi2.sf(((counts - expected) ** 2).sum() / expected, n_bins - 1))


def lag_one(draws: np.ndarray) -> np.ndarray:
    """The correlation of neighbouring draws (replications, L, Q), pooled: float64 (Q,)."""
    apart = draws - draws.mean(axis=1, keepdims=True)
    n = draws.shape[1]
    found = (apart[:, 1:] * apart[:, :-1]).sum(axis=(0, 1)) / (apart**2).sum(axis=(0, 1))
    return found + (1 + found) / n  # of independent draws the estimate has the mean −1/n


def ecdf_difference(ranks: np.ndarray, n_draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Points z = (r + 1) / (L + 1), and there the share of ranks ≤ r less z."""
    at = np.arange(1, n_draws + 2) / (n_draws + 1)
    counts = np.bincount(ranks, minlength=n_draws + 1)
    return at, np.cumsum(counts) / len(ranks) - at


@cache
def band(n: int, n_draws: int, level: float = 0.99) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper end of `ecdf_difference` of n uniform ranks, at each of its points: all
    points lie between them with probability ``level``.

    The pointwise level γ is found exactly, by the recursion of Säilynoja et al. (their section
    2.2): the probability that the counts stay inside is carried from point to point.
    """
    at = np.arange(1, n_draws + 2) / (n_draws + 1)
    low, high = 0.0, 1 - level
    for _ in range(30):
        gamma = (low + high) / 2
        inside = _inside(n, at, binom.ppf(gamma / 2, n, at), binom.ppf(1 - gamma / 2, n, at))
        low, high = (gamma, high) if inside >= level else (low, gamma)
    edges = binom.ppf(low / 2, n, at), binom.ppf(1 - low / 2, n, at)
    return edges[0] / n - at, edges[1] / n - at


def _inside(n: int, at: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """The probability that the number of n uniform ranks up to each point lies in low … high."""
    before, law, first = 0.0, np.ones(1), 0
    for z, least, most in zip(at, low.astype(int), high.astype(int), strict=True):
        share = (z - before) / (1 - before) if before < 1 else 1.0
        held = np.arange(first, first + len(law))
        counts = np.arange(least, most + 1)
        step = binom.pmf(counts[:, None] - held, n - held, min(share, 1.0))
        law, first, before = step @ law, least, z
    return float(law.sum())
