# mypy: disable-error-code="call-arg,var-annotated"
"""Expected topic counts of documents given the topics φ, by CVB0 (Asuncion et al. 2009, "On
smoothing and inference for topic models", section 3.3) with φ fixed:

    γ_wk ∝ (α_k + n_k − γ_wk) φ_kw,    n_k = Σ_w c_w γ_wk,

for each distinct word w of a document, c_w times in it, until n settles. Where Gibbs sampling
needs hundreds of sweeps for the noise of its draws to average out, this needs about ten, and no
random numbers.
"""

import numpy as np
from numba import njit

from topicmc.kernels.lanes import add, fma, last, load, mul, prefetch, prefix, splat, store
from topicmc.kernels.padding import LANES, aligned_zeros
from topicmc.kernels.threads import Threads

MAX_SWEEPS = 50
"""Sweeps over a document at most."""
TOLERANCE = 0.02
"""A document is done when a sweep has moved less than this share of its tokens."""

_PIECES = 4  # for each thread, so that none waits long for the slowest
_AHEAD = 2  # words from asking for a row of φ to reading it
_ONE = np.float32(1)


def expected_counts(
    indptr: np.ndarray,
    word_ids: np.ndarray,
    counts: np.ndarray,
    phi_rows: np.ndarray,
    alpha: np.ndarray,
    threads: Threads,
    *,
    max_sweeps: int = MAX_SWEEPS,
    tolerance: float = TOLERANCE,
) -> np.ndarray:
    """α_k + n_k of each document, float32 (n, Kp).

    indptr, word_ids, counts: documents in CSR form, counts of any type; phi_rows float32 (W, Kp),
    C-contiguous, and alpha float32 (Kp,), zero in the padding. Words that no topic knows are left
    out. A document's result depends on that document alone. Raises IndexError when a word id is out
    of range.
    """
    n_docs, n_padded = len(indptr) - 1, len(alpha)
    if len(word_ids) and word_ids.max() >= len(phi_rows):
        raise IndexError(f"word id {word_ids.max()} is not below {len(phi_rows)}")
    out = np.empty((n_docs, n_padded), np.float32)
    longest = int(np.diff(indptr).max(initial=0))
    n_pieces = max(1, min(_PIECES * threads.n_threads, n_docs))
    phi = phi_rows.reshape(-1)

    def piece(i: int) -> None:
        shares = aligned_zeros(longest * n_padded, np.float32)
        sums, weights, before = aligned_zeros((3, n_padded), np.float32)
        _expected_counts(
            indptr, word_ids, counts, phi, alpha, i, n_pieces, max_sweeps, tolerance,
            shares, sums, weights, before, out,
        )  # fmt: skip

    threads.run(piece, n_pieces)
    return out


@njit(nogil=True, cache=True, error_model="numpy")
def _expected_counts(
    indptr, word_ids, counts, phi, alpha, first, step, max_sweeps, tolerance,
    shares, sums, weights, before, out,
):  # fmt: skip
    """Documents first, first + step, …"""
    n_padded = alpha.size
    for d in range(first, len(indptr) - 1, step):
        start, n_words = indptr[d], indptr[d + 1] - indptr[d]
        for k in range(n_padded):
            sums[k] = alpha[k]
        for j in range(n_words * n_padded):
            shares[j] = 0
        for sweep in range(max_sweeps):
            for k in range(n_padded):
                before[k] = sums[k]
            for i in range(n_words):
                if sweep == 0:  # later the rows are near
                    ahead = np.intp(word_ids[start + min(i + _AHEAD, n_words - 1)]) * n_padded
                    for k in range(0, n_padded, LANES):
                        prefetch(phi, ahead + k)
                row = np.intp(word_ids[start + i]) * n_padded
                _renew(sums, shares, i * n_padded, phi, row, counts[start + i], weights)
            moved = tokens = np.float32(0)
            for k in range(n_padded):
                moved += abs(sums[k] - before[k])
                sums[k] = max(sums[k], alpha[k])  # less only by rounding
                tokens += sums[k] - alpha[k]
            if moved <= 2 * tolerance * tokens:
                break
        for k in range(n_padded):  # once: its cache line is also another thread's
            out[d, k] = sums[k]


@njit(inline="always")
def _renew(sums, shares, at, phi, row, count, weights):
    """Shares out one word of a document anew, given how its other tokens are shared out."""
    minus, total = splat(-_ONE), splat(np.float32(0))
    for k in range(0, sums.size, LANES):
        others = fma(load(shares, at + k), minus, load(sums, k))
        weight = mul(others, load(phi, row + k))
        total = add(total, weight)
        store(weights, k, weight)
    inverse = _ONE / last(prefix(total))
    if 0 < inverse < np.inf:
        times = splat(np.float32(count))
        for k in range(0, sums.size, LANES):
            share = mul(load(weights, k), splat(inverse))
            change = fma(load(shares, at + k), minus, share)
            store(sums, k, add(load(sums, k), mul(change, times)))
            store(shares, at + k, share)
