"""The log joint probability of words and assignments, topics and mixes integrated out:

    log p(w | z) = Σ_k { log Γ(B_k) − log Γ(n_k + B_k) + Σ_w [log Γ(n_kw + b_kw) − log Γ(b_kw)] }
    log p(z)     = Σ_d { log Γ(Σα) − log Γ(n_d + Σα) + Σ_k [log Γ(n_dk + α_k) − log Γ(α_k)] }

(Griffiths & Steyvers 2004, eqns 2 and 3, where b_kw is one β for all), with B_k = Σ_w b_kw. It does
not depend on how topics are numbered.
"""

import math

import numpy as np
from numba import njit

from topicmc.kernels.prior import Beta, Rows, entry, row_of
from topicmc.kernels.threads import Threads

_WORDS = 1_024  # of a piece, whose sums do not depend on threads
_TABLE = 4_096  # counts below are looked up
_LEAST, _MOST = 1e-300, 1e300  # of a product whose logarithm is to be taken


def log_words(
    word_topic: np.ndarray, topic_totals: np.ndarray, beta: Beta, threads: Threads
) -> float:
    """log p(w | z): int32 (W, K or more, zero beyond) and int64 (K,); the entries of ``beta`` are
    float64."""
    entries = beta.entries
    base = float(entries.values[0, 0] if isinstance(entries, Rows) else entries)
    table = _rising(base)
    pieces = np.zeros(-(-len(word_topic) // _WORDS))

    def add(i: int) -> None:
        last = min(len(word_topic), (i + 1) * _WORDS)
        pieces[i] = _log_words(word_topic, i * _WORDS, last, entries, base, table)

    threads.run(add, len(pieces))
    sizes = zip(topic_totals, beta.totals, strict=False)
    return float(pieces.sum()) + float(
        sum(math.lgamma(mass) - math.lgamma(n + mass) for n, mass in sizes)
    )


def log_mixes(offsets: np.ndarray, z: np.ndarray, docs: np.ndarray, alpha: np.ndarray) -> float:
    """log p(z) of some documents: int64 (D + 1,), unsigned (T,), int64 (n,), float64 (K,)."""
    return _log_mixes(offsets, z, docs, alpha, float(alpha.sum()), alpha.copy())


def _rising(shape: float) -> np.ndarray:
    """log Γ(n + shape) − log Γ(shape) for n below `_TABLE`: sums of logarithms."""
    steps = np.log(shape + np.arange(_TABLE - 1))
    return np.concatenate([[0.0], np.cumsum(steps)])


@njit(nogil=True, cache=True)
def _log_words(word_topic, first, last, entries, base, table):
    total = 0.0
    for w in range(first, last):
        row = row_of(entries, w)
        for k in range(word_topic.shape[1]):
            n, prior = word_topic[w, k], entry(row, k)
            if n >= len(table) or (n > 0 and prior != base):
                total += math.lgamma(n + prior) - math.lgamma(prior)
            elif n > 0:
                total += table[n]
    return total


@njit(nogil=True, cache=True)
def _log_mixes(offsets, z, docs, alpha, alpha_sum, weights):
    """``weights`` begin as α, and are n_dk + α_k while a document is read."""
    total = 0.0
    whole = math.lgamma(alpha_sum)
    for d in docs:
        n = offsets[d + 1] - offsets[d]
        total += whole - math.lgamma(n + alpha_sum)
        # log Γ grows by log(n + α) with each token, in whatever order they come: of many tokens
        # together, for a logarithm takes longer than all else.
        product = 1.0
        for token in range(offsets[d], offsets[d + 1]):
            weight = weights[z[token]]
            weights[z[token]] = weight + 1
            if not _LEAST < weight * product < _MOST:
                total += math.log(product)
                product = 1.0
            product *= weight
        total += math.log(product)
        for token in range(offsets[d], offsets[d + 1]):
            weights[z[token]] = alpha[z[token]]
    return total
