"""Credible intervals from a few samples of a few chains.

With four to eight samples a chain, quantiles of the samples say little, so intervals are those of
Student's t on the scale of cube roots: there a gamma variable, which a word's weight in a topic
nearly is, is close to normal whatever its shape (Wilson & Hilferty 1931). The variance is that of
one more draw. With C chains of n samples, S² the variance within chains and B that of their means,

    V = (1 − 1/n) S² + (1 + 1/C) B   for C ≥ 2,      V = (1 + 1/n) S²   for one chain

(Rubin 1987, "Multiple imputation for nonresponse in surveys", eqn 3.1.5), and t has as many degrees
of freedom as there are samples but one. So the interval holds another draw at the stated rate, also
where few samples are kept, if samples are independent and chains agree. Where chains disagree it is
widened to hold what they found, which is not to say what a further chain would find.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def credible_interval(chains: Sequence[np.ndarray], level: float) -> tuple[np.ndarray, np.ndarray]:
    """The interval that holds a positive quantity with probability ``level``.

    Args:
        chains: for each chain its samples, float (n, …), n ≥ 1 along the first axis.
        level: between 0 and 1.

    Returns:
        Lower and upper ends, float64 (…); NaN when one sample is all there is.
    """
    from scipy.stats import t

    roots = [np.cbrt(samples, dtype=np.float64) for samples in chains]
    means = np.array([samples.mean(axis=0) for samples in roots])
    sizes = np.array([len(samples) for samples in roots])
    n_chains, n_samples = len(sizes), int(sizes.sum())
    if n_samples == 1:
        return np.full_like(means[0], np.nan), np.full_like(means[0], np.nan)
    squares = [((r - mean) ** 2).sum(axis=0) for r, mean in zip(roots, means, strict=True)]
    within = np.sum(squares, axis=0) / max(n_samples - n_chains, 1)
    n = n_chains / (1 / sizes).sum()  # the harmonic mean, where chains kept unlike numbers
    if n_chains == 1:
        variance = (1 + 1 / n) * within
    else:
        variance = (1 - 1 / n) * within + (1 + 1 / n_chains) * means.var(axis=0, ddof=1)
    half = t.ppf((1 + level) / 2, n_samples - 1) * np.sqrt(variance)
    centre = means.mean(axis=0)
    return np.maximum(centre - half, 0) ** 3, (centre + half) ** 3
