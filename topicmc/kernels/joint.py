"""The log joint probability of words and assignments, topics and mixes integrated out:

    log p(w | z) = Σ_k { log Γ(Wβ) − log Γ(n_k + Wβ) + Σ_w [log Γ(n_kw + β) − log Γ(β)] }
    log p(z)     = Σ_d { log Γ(Σα) − log Γ(n_d + Σα) + Σ_k [log Γ(n_dk + α_k) − log Γ(α_k)] }

(Griffiths & Steyvers 2004, eqns 2 and 3). It does not depend on how topics are numbered.
"""

import math

import numpy as np
from numba import njit

_TABLE = 4_096  # counts below are looked up


def log_words(word_topic: np.ndarray, topic_totals: np.ndarray, beta: float) -> float:
    """log p(w | z): int32 (W, K or more, zero beyond) and int64 (K,)."""
    table = _rising(beta)
    words = _log_words(word_topic, float(beta), table)
    mass = beta * len(word_topic)
    return words + float(sum(math.lgamma(mass) - math.lgamma(n + mass) for n in topic_totals))


def log_mixes(offsets: np.ndarray, z: np.ndarray, docs: np.ndarray, alpha: np.ndarray) -> float:
    """log p(z) of some documents: int64 (D + 1,), unsigned (T,), int64 (n,), float64 (K,)."""
    counts = np.zeros(len(alpha), np.int64)
    return _log_mixes(offsets, z, docs, alpha, float(alpha.sum()), counts)


def _rising(shape: float) -> np.ndarray:
    """log Γ(n + shape) − log Γ(shape) for n below `_TABLE`: sums of logarithms."""
    steps = np.log(shape + np.arange(_TABLE - 1))
    return np.concatenate([[0.0], np.cumsum(steps)])


@njit(nogil=True, cache=True)
def _log_words(word_topic, beta, table):
    total = 0.0
    none = math.lgamma(beta)
    for w in range(word_topic.shape[0]):
        for k in range(word_topic.shape[1]):
            n = word_topic[w, k]
            if n >= len(table):
                total += math.lgamma(n + beta) - none
            elif n > 0:
                total += table[n]
    return total


@njit(nogil=True, cache=True)
def _log_mixes(offsets, z, docs, alpha, alpha_sum, counts):
    total = 0.0
    whole = math.lgamma(alpha_sum)
    for d in docs:
        n = offsets[d + 1] - offsets[d]
        total += whole - math.lgamma(n + alpha_sum)
        for token in range(offsets[d], offsets[d + 1]):
            # log Γ grows by log(n + α) with each token, in whatever order they come.
            k = z[token]
            total += math.log(counts[k] + alpha[k])
            counts[k] += 1
        for token in range(offsets[d], offsets[d + 1]):
            counts[z[token]] = 0
    return total
