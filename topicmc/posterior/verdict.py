"""Whether chains of any model have converged, by what was traced of them: the sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from topicmc.posterior.agreement import exceeds, is_final
from topicmc.posterior.convergence import ENOUGH, aligned, ess, rhat
from topicmc.posterior.traces import traces
from topicmc.storage.runs import RunDirectory


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
    n_chains, n = next(iter(draws.values())).shape
    several = f"{n_chains} chains have" if n_chains > 1 else "chain has"
    if not any(exceeds(values) for values in draws.values()):
        if n < ENOUGH:
            few = f"{n} draws of each are few" if n_chains > 1 else f"{n} draws are few"
            return None, f"It cannot be told whether the {several} converged: {few}; {advice}."
        return True, f"The {several} converged, as far as R̂ can tell ({rhats[worst]:.2f})."
    if is_final(draws):
        return False, "Each chain rests in a mode of its own: averages over them are still good."
    return False, f"The {several} not converged: R̂ of {worst} is {rhats[worst]:.2f}; {advice}."


def _told(values: dict[str, float]) -> dict[str, Any]:
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
