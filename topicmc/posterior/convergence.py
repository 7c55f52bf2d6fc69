"""R̂, effective sample size and trend of a number that chains have recorded, by ArviZ and SciPy.

R̂ is split-R̂ (Gelman et al. 2013, "Bayesian data analysis", 11.4), in which each half of a chain
counts as a chain, so that a lone chain has one too. From few draws R̂ is far from 1 by chance alone;
it is judged against `limit`, which follows from the number of draws, and not against a constant.
Ranks in place of values (Vehtari et al. 2021) would tell less with as few draws as are kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

FLOOR = 1.05
"""R̂ up to here is never held against chains."""
FEWEST = 4
"""Draws of a chain from which ArviZ makes R̂; a lone chain needs twice as many."""
CHANCE = 0.01
"""How often independent draws of one law are taken to differ, or to show a trend."""


def aligned(chains: Sequence[np.ndarray]) -> np.ndarray:
    """The newest draws of each chain, as many as the shortest has: float64 (C, n)."""
    n = min(len(chain) for chain in chains)
    return np.array([np.asarray(chain, np.float64)[len(chain) - n :] for chain in chains])


def rhat(draws: np.ndarray) -> np.ndarray:
    """Split-R̂ of draws (…, C, n): float64 (…); NaN where there are too few, or all are equal."""
    from arviz_stats.base import array_stats

    method = "split"
    if draws.shape[-2] == 1:
        method, half = "identity", draws.shape[-1] // 2
        newest = draws[..., 0, draws.shape[-1] - 2 * half :]
        draws = newest.reshape(*newest.shape[:-1], 2, half)
    if draws.shape[-1] < FEWEST:
        return np.full(draws.shape[:-2], np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # equal draws: 0 / 0
        return np.asarray(array_stats.rhat(draws, chain_axis=-2, draw_axis=-1, method=method))


def ess(draws: np.ndarray) -> np.ndarray:
    """Bulk effective sample size of draws (…, C, n), all chains together: float64 (…)."""
    from arviz_stats.base import array_stats

    if draws.shape[-1] < FEWEST:
        return np.full(draws.shape[:-2], np.nan)
    return np.asarray(array_stats.ess(draws, chain_axis=-2, draw_axis=-1, method="bulk"))


def limit(n_chains: int, n_draws: int) -> float:
    """R̂ above which chains of so many draws are taken to differ.

    With M half-chains of m draws R̂² = (m − 1 + F) / m, and F follows Fisher's law with M − 1 and
    M (m − 1) degrees of freedom when the draws are independent and normal. The limit is exceeded
    with probability `CHANCE` then, and is at least `FLOOR`.
    """
    from scipy.stats import f

    halves, m = 2 * n_chains, n_draws // 2
    ratio = f.isf(CHANCE, halves - 1, halves * (m - 1))
    return max(FLOOR, float(np.sqrt((m - 1 + ratio) / m)))


def trend(draws: np.ndarray) -> tuple[float, float]:
    """How far a trace (n,) has moved from its beginning to its end by the median of all slopes
    (Theil and Sen), and the p-value of Kendall's test that it has not; NaN for fewer than four."""
    from scipy.stats import kendalltau, theilslopes

    n = len(draws)
    if n < FEWEST:
        return np.nan, np.nan
    return float(theilslopes(draws)[0] * (n - 1)), float(kendalltau(np.arange(n), draws)[1])
