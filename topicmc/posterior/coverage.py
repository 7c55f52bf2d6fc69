"""Do credible intervals keep their promise from one chain to the next?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from topicmc.posterior.intervals import credible_interval, percent

TOLERATED = 0.05
"""How far a rate may stay below the stated one to pass for it."""


class Coverage(NamedTuple):
    """How often intervals of one chain hold the means and the samples of another, in the mean over
    ordered pairs of chains: of the top words of stable topics, and of all topics. NaN where there
    are none, and where no chain has an interval of its own, as of one sample.

    Intervals are of a draw, so samples of another chain should be held at the rate ``level``; its
    means, which vary less, at that rate or above.
    """

    level: float
    stable_means: float
    stable_samples: float
    all_means: float
    all_samples: float

    def as_dict(self) -> dict[str, Any]:
        """The rates as JSON values; None in place of NaN."""
        return {name: None if np.isnan(x) else x for name, x in self._asdict().items()}

    def sentence(self) -> str:
        """Whether intervals keep their promise, and if not, why."""
        if np.isnan(self.all_means):
            return "The chains have no intervals of their own, so nothing checks these."
        if np.isnan(self.stable_means):
            return "No topic was found by all chains, so none of the intervals speaks for others."
        rate = f"{self.stable_means:.0%} of the means and {self.stable_samples:.0%} of the samples"
        intervals = f"{percent(self.level)} intervals of one chain"
        told = f"of stable topics, {intervals} hold {rate} of another"
        if min(self.stable_means, self.stable_samples) >= self.level - TOLERATED:
            return f"O{told[1:]}, as they should."
        return (
            f"Intervals are too narrow: {told}. Chains have settled in different modes, or their"
            " samples are too close together to show how far a topic can move. The intervals shown"
            " of a topic pool the chains that have found it, and are wider where these are several."
        )


def coverage(drawn: Sequence[np.ndarray], stable: np.ndarray, level: float) -> Coverage:
    """The coverage between chains.

    Args:
        drawn: for each chain φ of some words of matched topics in its samples: float (n, K, M).
        stable: bool (K,), the stable topics.
        level: of the intervals.
    """
    means: list[np.ndarray] = []
    samples: list[np.ndarray] = []
    intervals = [credible_interval([mine], level) for mine in drawn]
    for mine, other in permutations(range(len(drawn)), 2):
        (low, high), others = intervals[mine], drawn[other]
        for values, held in ((others.mean(axis=0, keepdims=True), means), (others, samples)):
            rate = ((low <= values) & (values <= high)).mean(axis=0)
            held.append(np.where(np.isnan(low), np.nan, rate))
    rates = [
        _mean([held[chosen] for held in kind])
        for chosen in (stable, np.ones_like(stable))
        for kind in (means, samples)
    ]
    return Coverage(level, *rates)


def _mean(values: Sequence[np.ndarray]) -> float:
    """The mean of those that are known; NaN when none is."""
    whole = np.ravel(values)
    known = whole[~np.isnan(whole)]
    return float(known.mean()) if len(known) else np.nan
