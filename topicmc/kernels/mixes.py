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

from topicmc.kernels.lanes import LANES, add, aligned_zeros, last, load, mul, prefix, splat, store

MAX_SWEEPS = 50
"""Sweeps over a document at most."""
TOLERANCE = 0.02
"""A document is done when a sweep has moved less than this share of its tokens."""

_ONE = np.float32(1)


def scratch(longest: int, n_padded: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What `expected_counts` works in, for documents of up to ``longest`` distinct words."""
    shares = aligned_zeros(longest * n_padded, np.float32)
    return shares, aligned_zeros(n_padded, np.float32), aligned_zeros(n_padded, np.float32)


@njit(nogil=True, cache=True, error_model="numpy")
def expected_counts(
    indptr, word_ids, counts, phi, alpha, first, step, max_sweeps, tolerance, work, out
):
    """Writes α_k + n_k of documents first, first + step, … to out, float32 (n, Kp).

    indptr, word_ids, counts: documents in CSR form; phi float32 (W · Kp,), word by word, and alpha
    float32 (Kp,), zero in the padding; work: of `scratch`. Words that no topic knows are left out.
    The result of a document depends on that document alone.
    """
    shares, weights, before = work
    n_padded = alpha.size
    for d in range(first, len(indptr) - 1, step):
        sums = out[d]
        sums[:] = alpha
        start, n_words = indptr[d], indptr[d + 1] - indptr[d]
        shares[: n_words * n_padded] = 0
        n_tokens = np.float32(0)
        for entry in range(start, start + n_words):
            n_tokens += np.float32(counts[entry])
        for _ in range(max_sweeps):
            before[:] = sums
            for i in range(n_words):
                row = np.intp(word_ids[start + i]) * n_padded
                _renew(sums, shares, i * n_padded, phi, row, counts[start + i], weights)
            moved = np.float32(0)
            for k in range(n_padded):
                moved += abs(sums[k] - before[k])
                sums[k] = max(sums[k], alpha[k])  # less only by rounding
            if moved <= 2 * tolerance * n_tokens:
                break


@njit(inline="always")
def _renew(sums, shares, at, phi, row, count, weights):
    """Shares out one word of a document anew, given how its other tokens are shared out."""
    minus, total = splat(-_ONE), splat(np.float32(0))
    for k in range(0, sums.size, LANES):
        others = add(load(sums, k), mul(load(shares, at + k), minus))
        weight = mul(others, load(phi, row + k))
        total = add(total, weight)
        store(weights, k, weight)
    inverse = _ONE / last(prefix(total))
    if 0 < inverse < np.inf:
        times = splat(np.float32(count))
        for k in range(0, sums.size, LANES):
            share = mul(load(weights, k), splat(inverse))
            change = add(share, mul(load(shares, at + k), minus))
            store(sums, k, add(load(sums, k), mul(change, times)))
            store(shares, at + k, share)
