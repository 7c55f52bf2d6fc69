"""One plain sentence on whether chains have converged, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topicmc.engine.progress import resume_command, unfinished
from topicmc.posterior.convergence import (
    CHANCE,
    ENOUGH,
    FEWEST,
    limit,
    rhat,
    trend,
    worth,
)
from topicmc.storage.runs import RunDirectory
from topicmc.topics.uncertainty import Posterior

FIT = "held-out log-likelihood"
MATERIAL = 0.005
"""A change of the mean log-likelihood of a token, and so of the perplexity, worth training for."""


@dataclass(frozen=True)
class Evidence:
    """What the verdict rests on: ``draws`` (C, n) and their ``rhat`` by the name of a summary, and
    whether there are traces among them."""

    runs: Sequence[RunDirectory]
    posterior: Posterior
    draws: Mapping[str, np.ndarray]
    rhat: Mapping[str, float]
    traced: bool

    @property
    def principal(self) -> str:
        """The summary that no verdict is given without."""
        return next(iter(self.draws))


def judge(evidence: Evidence) -> tuple[bool | None, str]:
    """Whether the chains have converged, None when it cannot be told, and the sentence."""
    for look in (_starting, _moving, _apart, _too_few):
        found = look(evidence)
        if found is not None:
            return found
    return True, _agreed(evidence)


def is_final(draws: Mapping[str, np.ndarray]) -> bool:
    """Whether draws (C, n) by name, the principal ones first, tell that the chains have converged,
    or that each is at rest in a mode of its own."""
    if not draws or np.isnan(rhat(next(iter(draws.values())))):
        return False
    above = [summary for summary in draws.values() if _exceeds(summary)]
    return not above or (any(map(_differ, above)) and _each_at_rest(draws))


def _starting(evidence: Evidence) -> tuple[bool, str] | None:
    for chain in evidence.posterior.chains:
        if chain.entries[-1].get("burn_in"):
            path = chain.run.path
            return False, f"Not converged: {path} has not left its start; {_train_on([chain.run])}."
    return None


def _moving(evidence: Evidence) -> tuple[bool, str] | None:
    if FIT not in evidence.draws:
        return None
    # A chain that has just left its group may have been evaluated before it has a sample.
    for chain, draws in zip(evidence.posterior.chains, evidence.draws[FIT], strict=False):
        gain, p = trend(draws)
        if p < CHANCE and abs(gain) > MATERIAL:
            how = "still falls" if gain > 0 else "rises"
            change = abs(np.expm1(-gain))
            return False, (
                f"Not converged: the perplexity of {chain.run.path} {how}, by {change:.1%} over the"
                f" second half of the run; {_train_on([chain.run])}."
            )
    return None


def _apart(evidence: Evidence) -> tuple[bool, str] | None:
    above = [name for name, draws in evidence.draws.items() if _exceeds(draws)]
    if not above:
        return None
    worst = max(above, key=lambda name: evidence.rhat[name])
    value = evidence.rhat[worst]
    told = f"R̂ of the {worst} is {'infinite' if np.isinf(value) else format(value, '.2f')}"
    differ = any(_differ(evidence.draws[name]) for name in above)
    if not (differ and _each_at_rest(evidence.draws)):
        if evidence.posterior.n_chains > 1:
            told = f"{told}, and the chains agree in {_stable(evidence)}"
        return False, f"Not converged: {told}; {_train_on(evidence.runs)}."
    return False, (
        f"Not converged: each chain is at rest, but in a mode of its own ({told}"
        f"{_difference(evidence)}), and they agree in {_stable(evidence)}; believe the stable"
        " topics only, or train with fewer --topics."
    )


def _too_few(evidence: Evidence) -> tuple[None, str] | None:
    name = evidence.principal
    draws = evidence.draws[name]
    if not np.isnan(evidence.rhat[name]):
        return None
    n = draws.shape[1]
    needed = 2 * FEWEST if evidence.posterior.n_chains == 1 else FEWEST
    if n >= needed:
        return None, (
            f"Cannot tell whether it has converged: since burn-in the {name} is the same throughout"
            f" or no number; {_train_on(evidence.runs)}."
        )
    if evidence.traced:
        what, advice = "recorded states", _train_on(evidence.runs)
    elif name == FIT:
        often = [_evaluate_often(run) for run in evidence.runs]
        what, advice = "evaluations", _train_on(evidence.runs, often)
    else:
        what, advice = "kept samples", "train anew with more --samples"
    return None, (
        f"Cannot tell whether it has converged: it takes {needed} {what} of a chain since burn-in,"
        f" and there {'is' if n == 1 else 'are'} {n}; {advice}."
    )


def _exceeds(draws: np.ndarray) -> bool:
    """Whether R̂ of draws (C, n) is above what chance explains if they are independent: chains
    differ, or have not moved about enough yet to show that they do not. NaN is not."""
    found = float(rhat(draws))
    return not np.isnan(found) and found > limit(*draws.shape)


def _differ(draws: np.ndarray) -> bool:
    """Whether R̂ of draws (C, n) is above what chance explains, given how much draws resemble their
    neighbours. Few draws are taken to be independent, for they cannot tell."""
    if draws.shape[1] < ENOUGH:
        return _exceeds(draws)
    effective = float(np.mean([worth(chain) for chain in draws]))
    return effective > FEWEST and float(rhat(draws)) > limit(
        draws.shape[0], draws.shape[1], effective
    )


def _each_at_rest(draws: Mapping[str, np.ndarray]) -> bool:
    """Whether there are several chains, each seen to be at rest as far as it alone can tell, by
    draws (C, n), the principal ones first."""
    principal = next(iter(draws.values()))
    alone = [chain[None] for summary in draws.values() for chain in summary]
    known = not np.isnan([rhat(chain[None]) for chain in principal]).any()
    moving = any(_differ(chain) or _too_slow(chain) for chain in alone)
    return len(principal) > 1 and known and not moving


def _too_slow(draws: np.ndarray) -> bool:
    """Whether draws (1, n) resemble their neighbours so much that they cannot tell of rest."""
    return draws.shape[1] >= ENOUGH and float(worth(draws[0])) <= FEWEST


def _difference(evidence: Evidence) -> str:
    if FIT not in evidence.draws:
        return ""
    means = evidence.draws[FIT].mean(axis=1)
    return f"; perplexities differ by {np.expm1(np.ptp(means)):.1%}"


def _stable(evidence: Evidence) -> str:
    stable = evidence.posterior.stable
    return f"{stable.sum()} of {len(stable)} topics"


def _agreed(evidence: Evidence) -> str:
    worst = np.nanmax([evidence.rhat[name] for name in evidence.draws])
    if evidence.posterior.n_chains == 1:
        return (
            f"Converged as far as one chain can tell (R̂ of its halves is at most {worst:.2f});"
            " train another run with another --seed and name both, to learn which topics it finds."
        )
    if evidence.posterior.stable.all():
        return f"Converged: the chains agree in fit, topic sizes and all topics (R̂ ≤ {worst:.2f})."
    return (
        f"Converged in fit and topic sizes (R̂ ≤ {worst:.2f}), but the chains agree in"
        f" {_stable(evidence)}; believe the stable topics only, or train with fewer --topics."
    )


def _train_on(runs: Sequence[RunDirectory], options: Sequence[str] = ()) -> str:
    """The advice to do what was asked for, or where all is done, twice as much: of each run, with
    an option of its own."""
    options = options or [""] * len(runs)
    open_ended = [unfinished(run) is not None for run in runs]
    told = [
        f"{resume_command(run)}{'' if is_open else _twice(run)}{option}"
        for run, is_open, option in zip(runs, open_ended, options, strict=True)
        if is_open or not any(open_ended)
    ]
    what = "finish" if any(open_ended) else "train on"
    if len(told) == 1:
        return f"{'finish it' if any(open_ended) else what} ({told[0]})"
    return f"{what} {'both' if len(told) == 2 else 'each'} ({'; '.join(told)})"


def _twice(run: RunDirectory) -> str:
    """The options for twice as much training as was asked for."""
    config = run.facts()["config"]
    asked = {
        "--time-budget": (config["time_budget"], "s"),
        "--epochs": (config["epochs"], ""),
        "--updates": (None if config["epochs"] else config["updates"], ""),
    }
    return "".join(
        f" {option} {2 * value:.10g}{unit}" for option, (value, unit) in asked.items() if value
    )


def _evaluate_often(run: RunDirectory) -> str:
    """The option that evaluates ten times in as many updates as were made."""
    made = max((record["update"] for record in run.metrics()), default=10)
    return f" --evaluate-every {max(1, made // 10)}"
