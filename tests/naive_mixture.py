"""Slow twins of the kernels of mixtures: the formulas, with SciPy."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, logsumexp


def log_marginal(counts: np.ndarray, beta: float) -> float:
    """log of the Dirichlet-multinomial law of counts (W,), coefficients left out."""
    whole = beta * len(counts)
    found = gammaln(whole) - gammaln(whole + counts.sum())
    return float(found + (gammaln(beta + counts) - gammaln(beta)).sum())


def log_predictive(x: np.ndarray, weights: np.ndarray, phi: np.ndarray, beta: float) -> np.ndarray:
    """log [Σ_j ω_j p(x | θ_j) + (1 − Σ ω) p₀(x)] of each row of x, (n, W)."""
    found = []
    for row in x:
        terms = np.log(weights) + (row * np.log(phi)).sum(axis=1)
        new = np.log(1 - weights.sum()) + log_marginal(row, beta)
        found.append(logsumexp([*terms, new]))
    return np.array(found)


def memberships(x: np.ndarray, weights: np.ndarray, phi: np.ndarray, beta: float) -> np.ndarray:
    """P(z | x) of each row, and last that of a group yet unseen: (n, J + 1)."""
    found = []
    for row in x:
        terms = np.log(weights) + (row * np.log(phi)).sum(axis=1)
        new = np.log(1 - weights.sum()) + log_marginal(row, beta)
        found.append(np.exp(np.array([*terms, new]) - logsumexp([*terms, new])))
    return np.array(found)


def variation_of_information(one: np.ndarray, other: np.ndarray) -> float:
    """By the table of both."""
    table = np.array([[np.mean((one == a) & (other == b)) for b in set(other)] for a in set(one)])
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    found = 0.0
    for i, j in zip(*np.nonzero(table), strict=True):
        p = table[i, j]
        found -= p * (np.log(p / rows[i]) + np.log(p / columns[j]))
    return found
