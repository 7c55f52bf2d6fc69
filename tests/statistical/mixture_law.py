"""The exact posterior of a Dirichlet-process mixture of six documents: all 203 partitions.

p(partition | x) ∝ g(K) Π_k Γ(m_k) Γ(Wβ)/Γ(Wβ + n_k) Π_w Γ(β + c_kw)/Γ(β), where g(K) is α^K, or
for a concentration that is learned ∫ α^K Γ(α)/Γ(α + D) p(α) dα; a β that is learned is integrated
out likewise. Chains begin in the exact law, which every update must keep.
"""

from __future__ import annotations

from functools import cache
from math import lgamma

import numpy as np
from scipy import stats
from scipy.special import gammaln

from topicmc.corpora import Documents
from topicmc.kernels.threads import Threads
from topicmc.models.mixture.settings import MixtureConfig, least_beta, resolve
from topicmc.models.mixture.slices import SliceSampler
from topicmc.models.mixture.state import Mixture

X = np.array([[2, 0, 1], [2, 1, 0], [0, 2, 1], [0, 2, 2], [1, 0, 2], [2, 0, 0]])
D, W = X.shape
BETA, FIXED = 0.5, 0.8
_GRID = np.linspace(1e-4, 40, 200_001)
_LEAST = least_beta(W)
_BETAS = np.exp(np.linspace(np.log(_LEAST), np.log(60), 1_500))  # Gamma(1, 1) has no more beyond


def documents() -> Documents:
    """The six as `SliceSampler` takes them."""
    rows, words = np.nonzero(X)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows))]).astype(np.int64)
    return Documents(indptr, words.astype(np.uint16), X[rows, words].astype(np.uint16))


def canonical(groups: np.ndarray) -> tuple[int, ...]:
    """A partition by the order in which its groups appear."""
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(int(g), len(seen)) for g in groups)


def partitions(n: int = D) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for _ in range(n):
        found = [(*p, g) for p in found for g in range(max(p, default=-1) + 2)]
    return found


@cache
def log_likelihood(partition: tuple[int, ...], beta: float = BETA) -> float:
    """log p(x | partition), multinomial coefficients left out."""
    found = 0.0
    for group in set(partition):
        counts = X[np.array(partition) == group].sum(axis=0)
        found += lgamma(W * beta) - lgamma(W * beta + counts.sum())
        found += sum(lgamma(beta + c) - lgamma(beta) for c in counts)
    return found


def likelihoods(partition: tuple[int, ...]) -> np.ndarray:
    """log p(x | partition, β) for each β of the grid."""
    found = np.zeros(len(_BETAS))
    for group in set(partition):
        counts = X[np.array(partition) == group].sum(axis=0)
        found += gammaln(W * _BETAS) - gammaln(W * _BETAS + counts.sum())
        found += sum(gammaln(_BETAS + c) - gammaln(_BETAS) for c in counts)
    return found


def learned_likelihood(partition: tuple[int, ...]) -> float:
    """log ∫ p(x | partition, β) e^−β dβ."""
    return float(np.log(np.trapezoid(np.exp(likelihoods(partition) - _BETAS), _BETAS)))


@cache
def law(learned: bool, learned_beta: bool = False) -> dict[tuple[int, ...], float]:
    """The probability of each partition."""
    alpha, logs = _GRID, {}
    base = np.array([lgamma(a) - lgamma(a + D) - a for a in alpha[::20]])
    for p in partitions():
        sizes, k = np.bincount(p), max(p) + 1
        if learned:
            values = np.exp(k * np.log(alpha[::20]) + base)
            prior = np.log(np.trapezoid(values, alpha[::20]))
        else:
            prior = k * np.log(FIXED)
        likelihood = learned_likelihood(p) if learned_beta else log_likelihood(p)
        logs[p] = prior + sum(lgamma(m) for m in sizes) + likelihood
    whole = np.logaddexp.reduce(list(logs.values()))
    return {p: float(np.exp(value - whole)) for p, value in logs.items()}


def starts(
    n: int, learned: bool, rng: np.random.Generator, learned_beta: bool = False
) -> list[Mixture]:
    """Chains in the exact law: the model run forward, accepted by p(x | partition), and then the
    totals of sticks and the words of groups from their Gamma laws."""
    if learned_beta:  # a little above the highest, which may lie between two of the grid
        highest = max(likelihoods(p).max() for p in partitions()) + 1e-3
    else:
        highest = max(log_likelihood(p) for p in partitions())
    chains: list[Mixture] = []
    while len(chains) < n:
        alpha = float(rng.exponential()) if learned else FIXED
        beta = _LEAST + float(rng.exponential()) if learned_beta else BETA
        groups, sticks = _forward(alpha, rng)
        log_p = log_likelihood.__wrapped__(canonical(groups), beta)
        assert log_p <= highest
        if rng.random() >= np.exp(log_p - highest):
            continue
        sizes = np.bincount(groups)
        after = D - np.cumsum(sizes)
        total = rng.gamma(1 + alpha + sizes + after)
        v = np.array(sticks[: len(sizes)])
        words = np.array([X[groups == j].sum(axis=0) for j in range(len(sizes))])
        weights = np.maximum(rng.gamma(beta + words), 1e-300)
        x, y = np.maximum(total * v, 1e-300), np.maximum(total * (1 - v), 1e-300)
        chain = Mixture(len(chains), groups.astype(np.int32), alpha, beta, x, y, weights)
        chain.count(documents())
        chains.append(chain)
    return chains


def _forward(alpha: float, rng: np.random.Generator) -> tuple[np.ndarray, list[float]]:
    """Groups of the documents, by stick-breaking, and the sticks."""
    sticks: list[float] = []
    groups = np.zeros(D, np.int64)
    for i, u in enumerate(rng.random(D)):
        left, j = 1.0, 0
        while True:
            if j == len(sticks):
                sticks.append(rng.beta(1, alpha))
            if u * 1.0 >= 1 - left and u < 1 - left * (1 - sticks[j]):
                break
            left *= 1 - sticks[j]
            j += 1
        groups[i] = j
    return groups, sticks


def sampler(learned: bool, **settings) -> SliceSampler:
    """One of the documents."""
    config = MixtureConfig(alpha="auto" if learned else FIXED, beta=BETA, **settings)
    return SliceSampler(documents(), W, resolve(config, D, 1), Threads(1))


def p_value(chains: list[Mixture], learned: bool, learned_beta: bool = False) -> float:
    """Of the χ² of the partitions of independent chains against their law; cells that expect fewer
    than five are one."""
    exact = law(learned, learned_beta)
    counts = dict.fromkeys(exact, 0)
    for chain in chains:
        counts[canonical(chain.groups)] += 1
    expected = len(chains) * np.array(list(exact.values()))
    observed = np.array(list(counts.values()))
    rare = expected < 5
    expected = np.append(expected[~rare], expected[rare].sum())
    observed = np.append(observed[~rare], observed[rare].sum())
    keep = expected > 0
    return float(stats.chisquare(observed[keep], expected[keep]).pvalue)
