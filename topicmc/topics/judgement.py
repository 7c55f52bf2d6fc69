"""One plain sentence on whether chains have converged, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topicmc.engine.progress import advice_to_train
from topicmc.models.lda.progress import reached
from topicmc.models.lda.run import TopicRun
from topicmc.posterior.agreement import differ, each_at_rest, exceeds, is_doubtful
from topicmc.posterior.convergence import CHANCE, ENOUGH, FEWEST, limit, rhat, trend
from topicmc.posterior.traces import LOG_LIKELIHOOD
from topicmc.topics.chains import MatchedChain, are_of_one_start
from topicmc.topics.uncertainty import Posterior

FIT = "held-out log-likelihood"
MATERIAL = 0.005
"""A change of the mean log-likelihood of a token, and so of the perplexity, worth training for."""


@dataclass(frozen=True)
class Evidence:
    """What the verdict rests on.

    Attributes:
        runs: what is judged.
        posterior: what their kept samples say.
        chains: those that are compared.
        fits: of each chain of a run the mean log-likelihood of a held-out token at the evaluations
            in its second half, (n,).
        draws: of the chains that are compared, (C, n) by the name of a summary.
        rhat: of these, by the same name.
        traced: whether there are traces among them.
        shares: of matched topics in the kept samples, (K, C, n).
    """

    runs: Sequence[TopicRun]
    posterior: Posterior
    chains: Sequence[MatchedChain]
    fits: Sequence[tuple[TopicRun, np.ndarray]]
    draws: Mapping[str, np.ndarray]
    rhat: Mapping[str, float]
    traced: bool
    shares: np.ndarray

    @property
    def principal(self) -> str:
        """The summary that no verdict is given without."""
        return next(iter(self.draws))

    @property
    def of_one_chain(self) -> bool:
        """Whether nothing is compared, as where a run has given all others up."""
        return min(self.posterior.n_chains, len(self.chains)) == 1

    @property
    def scarcest(self) -> str:
        """Of the summaries whose R̂ is known that with the fewest draws. Evaluations are passed over
        where the log likelihood was traced: of the fit that tells as much, by more states."""
        known = [name for name in self.draws if not np.isnan(self.rhat[name])]
        if LOG_LIKELIHOOD in known:
            known = [name for name in known if name != FIT]
        return min(known, key=lambda name: self.draws[name].shape[1])

    def kind(self, name: str) -> str:
        """What the draws of a summary are."""
        if name == FIT:
            return "evaluations"
        return "recorded states" if self.traced else "kept samples"


def judge(evidence: Evidence) -> tuple[bool | None, str]:
    """Whether the chains have converged, None when it cannot be told, and the sentence."""
    for look in (_starting, _moving, _apart, _too_few, _in_doubt, _of_unlike_sizes):
        found = look(evidence)
        if found is not None:
            return found
    return True, _agreed(evidence)


def _starting(evidence: Evidence) -> tuple[bool, str] | None:
    for chain in evidence.chains:
        if chain.entries[-1]["burn_in"]:
            path = chain.run.path
            return False, f"Not converged: {path} has not left its start; {_advice([chain.run])}."
    return None


def moves(draws: np.ndarray) -> bool:
    """Whether the mean log-likelihood of a held-out token of one chain, (n,), has changed by more
    than `MATERIAL` from its beginning to its end, and not by chance."""
    gain, p = trend(draws)
    return p < CHANCE and abs(gain) > MATERIAL


def _moving(evidence: Evidence) -> tuple[bool, str] | None:
    for run, draws in evidence.fits:
        if moves(draws):
            gain, _ = trend(draws)
            how = "still falls" if gain > 0 else "rises"
            change = abs(np.expm1(-gain))
            return False, (
                f"Not converged: the perplexity of {run.path} {how}, by {change:.1%} over the"
                f" second half of the run; {_advice([run])}."
            )
    return None


def _apart(evidence: Evidence) -> tuple[bool, str] | None:
    above = [name for name, draws in evidence.draws.items() if exceeds(draws)]
    if not above:
        return None
    worst = max(above, key=lambda name: evidence.rhat[name])
    told = f"R̂ of the {worst} is {_rounded(evidence.rhat[worst])}"
    modes = any(differ(evidence.draws[name]) for name in above)
    if not (modes and each_at_rest(evidence.draws)):
        if evidence.posterior.n_chains > 1:
            told = f"{told}, and the chains agree on {_stable(evidence)}"
        return False, f"Not converged: {told}; {_advice(evidence.runs)}."
    return False, (
        f"Not converged: each chain is at rest, but in a mode of its own ({told}"
        f"{_difference(evidence)}), and they agree on {_stable(evidence)}; believe the stable"
        " topics only, or train with fewer --topics."
    )


def _too_few(evidence: Evidence) -> tuple[None, str] | None:
    name = evidence.principal
    draws = evidence.draws[name]
    if not np.isnan(evidence.rhat[name]):
        return None
    n = draws.shape[1]
    needed = 2 * FEWEST if evidence.of_one_chain else FEWEST
    if n >= needed:
        return None, (
            f"Cannot tell whether it has converged: since burn-in the {name} is the same throughout"
            f" or no number; {_advice(evidence.runs)}."
        )
    if evidence.traced:
        advice = _advice(evidence.runs)
    elif name == FIT:
        advice = _advice(evidence.runs, [_evaluate_often(run) for run in evidence.runs])
    else:
        advice = "train anew with more --samples"
    return None, (
        f"Cannot tell whether it has converged: too few {evidence.kind(name)} of a chain since"
        f" burn-in ({n}, and it takes {needed}); {advice}."
    )


def _in_doubt(evidence: Evidence) -> tuple[None, str] | None:
    doubtful = [name for name, draws in evidence.draws.items() if is_doubtful(draws)]
    if not doubtful:
        return None
    worst = max(doubtful, key=lambda name: evidence.rhat[name])
    return None, (
        f"Cannot tell whether it has converged: R̂ of the {worst} is {evidence.rhat[worst]:.2f},"
        f" which {evidence.draws[worst].shape[1]} draws of a chain do not tell from chance;"
        f" {_advice(evidence.runs)}."
    )


def _of_unlike_sizes(evidence: Evidence) -> tuple[bool, str] | None:
    """Chains can fit alike, and rank alike sizes, by topics that have them in another order."""
    stable = evidence.posterior.stable
    if evidence.of_one_chain or not stable.any():
        return None
    found = rhat(evidence.shares[stable])
    known = found[~np.isnan(found)]
    if len(known) == 0 or np.median(known) <= limit(*evidence.shares.shape[1:]):
        return None
    # Chains at rest would stay as they are, and a run that trains until it has converged has ended.
    at_rest = each_at_rest(evidence.draws)
    advice = "or train with fewer --topics" if at_rest else f"and {_advice(evidence.runs)}"
    return False, (
        "Not converged: the topics that all chains have found are not of one size in each (the"
        f" median R̂ of their sizes is {_rounded(float(np.median(known)))}); believe their words,"
        f" not their shares, {advice}."
    )


def _rounded(value: float) -> str:
    return "infinite" if np.isinf(value) else format(value, ".2f")


def _difference(evidence: Evidence) -> str:
    fits = evidence.draws.get(FIT)
    if fits is None or fits.size == 0:
        return ""
    return f"; perplexities differ by {np.expm1(np.ptp(fits.mean(axis=1))):.1%}"


def _stable(evidence: Evidence) -> str:
    stable = evidence.posterior.stable
    return f"{stable.sum()} of {len(stable)} topics"


def _agreed(evidence: Evidence) -> str:
    worst = np.nanmax([evidence.rhat[name] for name in evidence.draws])
    scarcest = evidence.scarcest
    n = evidence.draws[scarcest].shape[1]
    few = f"{n} {evidence.kind(scarcest)}" if n < ENOUGH else ""
    another = (
        f"train {evidence.posterior.another_run} and name it, too, to see whether it finds the same"
        " topics"
    )
    if evidence.of_one_chain:
        who = f"one chain of {few}" if few else "one chain"
        told = f"R̂ of its halves is at most {worst:.2f}"
        return f"Converged as far as {who} can tell ({told}); {another}."
    if are_of_one_start(evidence.chains):
        who = f"chains of one start with {few} each" if few else "chains of one start"
        return f"Converged as far as {who} can tell (R̂ ≤ {worst:.2f}); {another}."
    so_far = f" as far as {few} of a chain can tell" if few else ""
    of_fit = not all(name.endswith(" share") for name in evidence.draws)
    if evidence.posterior.stable.all():
        agree = f"the chains agree on {'fit, ' * of_fit}topic sizes and all topics"
        return f"Converged{so_far}: {agree} (R̂ ≤ {worst:.2f})."
    return (
        f"Converged in {'fit and ' * of_fit}topic sizes{so_far} (R̂ ≤ {worst:.2f}), but the chains"
        f" agree on {_stable(evidence)}; believe the stable topics only, or train with fewer"
        " --topics."
    )


def _advice(runs: Sequence[TopicRun], options: Sequence[str] = ()) -> str:
    """What `advice_to_train` advises."""
    return advice_to_train(runs, [*map(reached, runs)], options=options)


def _evaluate_often(run: TopicRun) -> str:
    """The option that evaluates ten times in as many updates as were made."""
    made = max((record["update"] for record in run.metrics()), default=10)
    return f" --evaluate-every {max(1, made // 10)}"
