"""R̂, effective sample size and trend of a number that chains have recorded, by ArviZ and SciPy.

R̂ is split-R̂ (Gelman et al. 2013, "Bayesian data analysis", 11.4), in which each half of a chain
counts as a chain, so that a lone chain has one too. From few draws R̂ is far from 1 by chance alone;
it is judged against `limit`, which follows from the number of draws, and not against a constant.

Two estimates of the effective sample size are made, and the smaller one is stated. ArviZ's (Gelman
et al. 2013, 11.5) counts the difference between chains, so that where they disagree it is near
their number; but it overstates short chains, a slow one by up to ten times. The other is that of an
autoregression of first order, which is steadier, and knows of no difference between chains. Chains
are not halved for it: halves of so few draws tell less.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

FLOOR = 1.05
"""R̂ up to here is never held against chains."""
FEWEST = 4
"""Draws of a chain from which R̂ is made; a lone chain needs twice as many. Also the effective
draws of a lone chain below which their number cannot be told: its halves hold fewer than two."""
ENOUGH = 16
"""Draws of a chain from which an effective sample size is stated."""
CHANCE = 0.01
"""How often independent draws of one law are taken to differ, or to show a trend."""


def aligned(chains: Sequence[np.ndarray]) -> np.ndarray:
    """The newest draws of each chain, as many as the shortest has: float64 (C, n)."""
    n = min(len(chain) for chain in chains)
    return np.array([np.asarray(chain, np.float64)[len(chain) - n :] for chain in chains])


def rhat(draws: np.ndarray) -> np.ndarray:
    """Split-R̂ of draws (…, C, n): float64 (…); NaN where there are too few, all are equal, or some
    are no finite numbers, and infinite where chains differ that do not move."""
    from arviz_stats.base import array_stats

    method = "split"
    if draws.shape[-2] == 1:
        method, half = "identity", draws.shape[-1] // 2
        newest = draws[..., 0, draws.shape[-1] - 2 * half :]
        draws = newest.reshape(*newest.shape[:-1], 2, half)
    if draws.shape[-1] < FEWEST:
        return np.full(draws.shape[:-2], np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # equal draws: 0 / 0; and numbers that are not finite
        return np.asarray(array_stats.rhat(draws, chain_axis=-2, draw_axis=-1, method=method))


def ess(draws: np.ndarray) -> np.ndarray:
    """Effective sample size of draws (…, C, n), all chains together: float64 (…), at most C n.

    NaN, which is to say that it cannot be told: where chains have fewer than `ENOUGH` draws, all
    draws are equal, some are no finite numbers, or a lone chain has fewer than `FEWEST` effective
    ones. Of several chains it is rather too small than too large: of autoregressions with
    correlations up to 0.97 the median is 0.6 to 1 times the truth.
    """
    from arviz_stats.base import array_stats

    n_chains, n = draws.shape[-2:]
    if n < ENOUGH:
        return np.full(draws.shape[:-2], np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numbers that are not finite
        between = array_stats.ess(draws, chain_axis=-2, draw_axis=-1, method="identity")
        # Each chain is one draw at least, however slowly it moves.
        within = np.maximum(n_chains * independent(_correlation(draws).mean(axis=-1), n), n_chains)
        told = np.ptp(draws, axis=(-2, -1)) > 0
    found = np.minimum(np.minimum(between, within), n_chains * n)
    if n_chains == 1:
        told &= found >= FEWEST
    return np.where(told, found, np.nan)


def worth(draws: np.ndarray) -> np.ndarray:
    """Independent draws that tell as much of the mean as those of one chain (n, …): float64 (…), 1
    to n, by the correlation of neighbours. Fewer than five say nothing of it, and count as n.

    Along the third axis and later ones lie quantities that move alike, say words of a topic: the
    correlations of those that move are averaged, and those axes have length 1 in what is returned.
    """
    n = len(draws)
    alike = tuple(range(1, draws.ndim - 1))
    if n <= FEWEST:
        return np.full([1 if i in alike else m for i, m in enumerate(draws.shape[1:])], float(n))
    move = np.ptp(draws, axis=0) > 0
    move |= ~move.any(axis=alike, keepdims=True)  # where none does, their correlation is 1
    correlation = _correlation(np.moveaxis(draws, 0, -1))
    correlation = correlation.mean(axis=alike, keepdims=True, where=move)
    return np.clip(independent(correlation, n), 1, n)


def independent(correlation: np.ndarray, n: int) -> np.ndarray:
    """n (1 − ρ)/(1 + ρ), the effective number of n draws of an autoregression whose estimated
    correlation is r, with the bias of r of −(1 + 3ρ)/n taken off (Marriott and Pope 1954)."""
    rho = np.clip((n * correlation + 1) / (n - 3), 0, 1)
    return n * (1 - rho) / (1 + rho)


def _correlation(draws: np.ndarray) -> np.ndarray:
    """The correlation of neighbours along the last axis: float64 (…); 1 where all are equal."""
    away = draws - draws.mean(axis=-1, keepdims=True)
    squares = (away**2).sum(axis=-1)
    products = (away[..., 1:] * away[..., :-1]).sum(axis=-1)
    return np.divide(products, squares, out=np.ones_like(squares), where=squares != 0)


def limit(n_chains: int, n_draws: int, effective: float | None = None) -> float:
    """R̂ above which chains of so many draws are taken to differ.

    With M half-chains of m draws R̂² = (m − 1 + F) / m, and F follows Fisher's law with M − 1 and
    M (m − 1) degrees of freedom when the draws are independent and normal. The limit is exceeded
    with probability `CHANCE` then, and is at least `FLOOR`. Of draws that resemble their neighbours
    each chain has ``effective`` independent ones, more than two: F comes with as many as each half
    has of them in place of m, and counts m over that number times as much.
    """
    from scipy.stats import f

    halves, m = 2 * n_chains, n_draws // 2
    telling = m if effective is None else effective / 2
    ratio = f.isf(CHANCE, halves - 1, halves * (telling - 1))
    return max(FLOOR, float(np.sqrt((m - 1) / m + ratio / telling)))


def trend(draws: np.ndarray) -> tuple[float, float]:
    """How far a trace (n,) has moved from its beginning to its end by the median of all slopes
    (Theil and Sen), and the p-value of Kendall's test that it has not; NaN for fewer than four."""
    from scipy.stats import kendalltau, theilslopes

    n = len(draws)
    if n < FEWEST:
        return np.nan, np.nan
    return float(theilslopes(draws)[0] * (n - 1)), float(kendalltau(np.arange(n), draws)[1])
