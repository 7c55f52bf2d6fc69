"""Slow twins of the kernels of mixtures: the formulas, with SciPy."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln, logsumexp

from topicmc.corpora import Documents


def documents(x: np.ndarray) -> Documents:
    """Documents of counts (D, W)."""
    sparse = csr_array(x)
    return Documents(
        sparse.indptr.astype(np.int64),
        sparse.indices.astype(np.uint16),
        sparse.data.astype(np.uint16),
    )


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


def adjusted_rand(one: np.ndarray, other: np.ndarray) -> float:
    """By all pairs of documents: whether each partition has them together."""
    n = len(one)
    first, second = np.triu_indices(n, 1)
    a, b = one[first] == one[second], other[first] == other[second]
    expected = a.mean() * b.mean()
    return float(((a & b).mean() - expected) / ((a.mean() + b.mean()) / 2 - expected))


def completion(x: np.ndarray, w: int, weights: np.ndarray, phi: np.ndarray, beta: float) -> float:
    """p(w | x) of one more token of a document x, (W,), by the rule of Bayes."""
    more = x + np.eye(len(x), dtype=int)[w]
    both = [log_predictive(row[None], weights, phi, beta)[0] for row in (more, x)]
    return float(np.exp(both[0] - both[1]))


def log_joint(x: np.ndarray, groups: np.ndarray, alpha: float, beta: float) -> float:
    """log p(x, partition | α): a restaurant's seats one after another, and words by group."""
    found, sizes = 0.0, dict.fromkeys(set(groups.tolist()), 0)
    for i, group in enumerate(groups.tolist()):
        found += np.log((sizes[group] or alpha) / (i + alpha))
        sizes[group] += 1
    return found + sum(log_marginal(x[groups == group].sum(axis=0), beta) for group in sizes)
