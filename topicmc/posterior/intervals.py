"""Credible intervals from a few samples of a few chains.

Quantiles of so few samples say little, so intervals are those of Student's t on the scale of cube
roots: there a gamma variable, which a word's weight in a topic nearly is, is close to normal
whatever its shape (Wilson & Hilferty 1931). The variance is that of one more draw, of a chain that
is not among them. With C chains of n samples, s² = Σ (x − x̄)² / n within chains in the mean, and B
the variance of the chains' means,

    V = s² + (1 + 1/C) B   for C ≥ 2,      V = s² (n' + 1) / (n' − 1)   for one chain.

Neighbouring samples resemble each other: n' ≤ n is what they are worth as independent ones
(`topicmc.posterior.convergence.worth`). It drops out of V where chains are several, because B holds
what s² lacks; for n' = n these are the V of Rubin (1987, "Multiple imputation for nonresponse in
surveys", eqn 3.1.5) and of a normal sample.

The two parts of V are known from Σ (n' − 1) and C − 1 degrees of freedom, and the factor is

    t = (s² t_Σ(n'−1) + (1 + 1/C) B t_C−1) / V

(Cochran & Cox 1957, "Experimental designs", 4.14). Rubin's single number of degrees of freedom
makes narrower intervals, which where two chains differ hold 84 % in place of 90 %: B is then often
small by chance. From two chains that differ an interval is wide, as it must be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topicmc.posterior.convergence import worth


def percent(level: float) -> str:
    """The level of intervals as it was given, not rounded: ``"97.5%"``."""
    return f"{100 * level:g}%"


def credible_interval(chains: Sequence[np.ndarray], level: float) -> tuple[np.ndarray, np.ndarray]:
    """The interval that holds a positive quantity with probability ``level``.

    Args:
        chains: for each chain its samples, oldest first: float (n, …), n ≥ 1 along the first axis;
            along the third and later ones quantities of a kind (see `worth`).
        level: between 0 and 1.

    Returns:
        Lower and upper ends, float64 (…); NaN where it cannot be told: one sample is all there is,
        or all are equal.
    """
    centre, half = _middle_and_half([np.cbrt(x, dtype=np.float64) for x in chains], level)
    return np.maximum(centre - half, 0) ** 3, (centre + half) ** 3


def half_width(chains: Sequence[np.ndarray], level: float) -> np.ndarray:
    """Half the width of the interval of a quantity of either sign, of samples as
    `credible_interval` takes them, and on their own scale: float64 (…), 0 where all are equal, NaN
    where one is all there is."""
    half = _middle_and_half([np.asarray(x, np.float64) for x in chains], level)[1]
    return np.nan_to_num(half) if sum(map(len, chains)) > 1 else half


def _middle_and_half(chains: Sequence[np.ndarray], level: float) -> tuple[np.ndarray, np.ndarray]:
    """Of Student's t: the mean of the chains' means, and t √V."""
    from scipy.stats import t

    means = np.array([samples.mean(axis=0) for samples in chains])
    within = np.mean([samples.var(axis=0) for samples in chains], axis=0)
    worths = [_at_least_two(samples) for samples in chains]
    freedom = np.sum([n - 1 for n in worths], axis=0)
    quantile = (1 + level) / 2
    factor = t.ppf(quantile, np.where(freedom > 0, freedom, np.nan))
    with np.errstate(divide="ignore", invalid="ignore"):  # equal samples: 0 / 0
        if len(chains) == 1:
            variance = within * (worths[0] + 1) / (worths[0] - 1)
            half = np.where(variance > 0, factor * np.sqrt(variance), np.nan)
        else:
            between = (1 + 1 / len(chains)) * means.var(axis=0, ddof=1)
            parts = np.where(freedom > 0, factor, 0) * within
            parts = parts + t.ppf(quantile, len(chains) - 1) * between
            half = parts / np.sqrt(within + between)
    return means.mean(axis=0), half


def _at_least_two(samples: np.ndarray) -> np.ndarray:
    """What the samples (n, …) of a chain are worth: float64 (…), 2 at least, or 1 of one sample.
    With less a lone chain would have no interval; there its samples span too little for any."""
    return np.maximum(worth(samples), min(2, len(samples)))
