"""Whether chains of any model have converged, by draws of a few summaries: what makes a verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from topicmc.posterior.convergence import ENOUGH, FEWEST, aligned, ess, limit, rhat, worth
from topicmc.posterior.traces import traces
from topicmc.storage.runs import RunDirectory

DOUBTFUL = 1.5
"""R̂ above which chains are never said to agree, though chance may explain more from few draws."""


def is_final(draws: Mapping[str, np.ndarray]) -> bool:
    """Whether draws (C, n) by name, the principal ones first, tell that the chains have converged,
    or that each is at rest in a mode of its own."""
    if _principal(draws) is None:
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
    draws (C, n), the principal ones first."""
    principal = _principal(draws)
    if principal is None:
        return False
    alone = [chain[None] for summary in draws.values() for chain in summary]
    known = not np.isnan([rhat(chain[None]) for chain in principal]).any()
    moving = any(differ(chain) or _too_slow(chain) for chain in alone)
    return len(principal) > 1 and known and not moving


def _principal(draws: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """The first draws (C, n) whose R̂ is known; that of constant ones, as of a number of groups that
    never changes, is not. None where there are none."""
    return next((found for found in draws.values() if not np.isnan(rhat(found))), None)


def _too_slow(draws: np.ndarray) -> bool:
    """Whether draws (1, n) resemble their neighbours so much that they cannot tell of rest."""
    return draws.shape[1] >= ENOUGH and float(worth(draws[0])) <= FEWEST


@dataclass(frozen=True)
class Convergence:
    """R̂ and effective sample size by the name of what was traced, and what follows."""

    rhat: dict[str, float | None]
    ess: dict[str, float | None]
    converged: bool | None
    verdict: str


def convergence(*runs: RunDirectory, advice: str = "train for longer") -> Convergence:
    """Whether the chains of some runs have converged, by what was traced of all of them, and the
    ``advice`` where they have not, or it cannot be told."""
    traced = [traces(run) for run in runs]
    draws = {
        name: aligned([draws for run in traced for draws in run[name].values()])
        for name in traced[0]
        if all(name in run for run in traced)
    }
    rhats = {name: float(rhat(values)) for name, values in draws.items()}
    sizes = {name: float(ess(values)) for name, values in draws.items()}
    converged, verdict = _judged(draws, rhats, advice)
    return Convergence(_told(rhats), _told(sizes), converged, verdict)


def _judged(
    draws: dict[str, np.ndarray], rhats: dict[str, float], advice: str
) -> tuple[bool | None, str]:
    if not draws or all(math.isnan(value) for value in rhats.values()):
        return None, f"It cannot be told whether the chains have converged: {advice}."
    worst = max(rhats, key=lambda name: (not math.isnan(rhats[name]), rhats[name]))
    several = f"{len(next(iter(draws.values())))} chains have" if _several(draws) else "chain has"
    n = next(iter(draws.values())).shape[1]
    if not any(exceeds(values) for values in draws.values()):
        if n < ENOUGH:
            few = f"{n} draws of each are few" if _several(draws) else f"{n} draws are few"
            return None, f"It cannot be told whether the {several} converged: {few}; {advice}."
        return True, f"The {several} converged, as far as R̂ can tell ({rhats[worst]:.2f})."
    if is_final(draws):
        return False, "Each chain rests in a mode of its own: averages over them are still good."
    return False, f"The {several} not converged: R̂ of {worst} is {rhats[worst]:.2f}; {advice}."


def _several(draws: dict[str, np.ndarray]) -> bool:
    return len(next(iter(draws.values()))) > 1


def _told(values: dict[str, float]) -> dict[str, Any]:
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
