"""Whether draws of several chains agree, each at rest: what a verdict on any model rests on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from topicmc.posterior.convergence import ENOUGH, FEWEST, limit, rhat, worth

DOUBTFUL = 1.5
"""R̂ above which chains are never said to agree, though chance may explain more from few draws."""


def is_final(draws: Mapping[str, np.ndarray]) -> bool:
    """Whether draws (C, n) by name, the principal ones first, tell that the chains have converged,
    or that each is at rest in a mode of its own. Fewer than `ENOUGH` of the principal ones cannot
    tell."""
    known = [summary for summary in draws.values() if not np.isnan(rhat(summary))]
    if not known or known[0].shape[1] < ENOUGH:
        return False
    above = [summary for summary in draws.values() if exceeds(summary)]
    if above:
        return any(map(differ, above)) and each_at_rest(draws)
    return not any(map(is_doubtful, draws.values()))


def exceeds(draws: np.ndarray) -> bool:
    """Whether R̂ of draws (C, n) is above what chance explains if they are independent: chains
    differ, or have not moved about enough yet to show that they do not. NaN is not."""
    found = float(rhat(draws))
    return not np.isnan(found) and found > limit(*draws.shape)


def is_doubtful(draws: np.ndarray) -> bool:
    """Whether R̂ of draws (C, n) is far from 1: chains that do not differ by more than chance may
    still not be seen to agree. NaN is not."""
    return float(rhat(draws)) > DOUBTFUL


def differ(draws: np.ndarray) -> bool:
    """Whether R̂ of draws (C, n) is above what chance explains, given how much draws resemble their
    neighbours. Few draws are taken to be independent, for they cannot tell."""
    if draws.shape[1] < ENOUGH:
        return exceeds(draws)
    effective = float(np.mean([worth(chain) for chain in draws]))
    return effective > FEWEST and float(rhat(draws)) > limit(
        draws.shape[0], draws.shape[1], effective
    )


def each_at_rest(draws: Mapping[str, np.ndarray]) -> bool:
    """Whether there are several chains, each seen to be at rest as far as it alone can tell, by
    draws (C, n), the principal ones first. What stands still, as a number of groups that never
    changes, tells nothing of rest."""
    told = [found for found in draws.values() if _moves(found).all() and not np.isnan(rhat(found))]
    if not told or len(told[0]) == 1:
        return False
    alone = [chain[None] for found in draws.values() for chain in found[_moves(found)]]
    known = not np.isnan([rhat(chain[None]) for chain in told[0]]).any()
    return known and not any(differ(chain) or _too_slow(chain) for chain in alone)


def _moves(draws: np.ndarray) -> np.ndarray:
    """Which chains of draws (C, n) do not stand still: bool (C,)."""
    return (draws[:, 1:] != draws[:, :1]).any(axis=1)


def _too_slow(draws: np.ndarray) -> bool:
    """Whether draws (1, n) resemble their neighbours so much that they cannot tell of rest."""
    return draws.shape[1] >= ENOUGH and float(worth(draws[0])) <= FEWEST
