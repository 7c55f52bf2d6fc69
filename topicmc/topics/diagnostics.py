"""Whether chains have converged, and what is odd about their topics.

What is compared does not depend on how chains number their topics: the traces of a run past burn-in
(`topicmc.posterior.traces`), and the held-out log-likelihood at evaluations. Runs of earlier
versions have no traces; in their place are the shares of the tokens that the largest, the median
and the smallest topic have in the kept samples. The sizes of matched topics
(`topicmc.topics.uncertainty`) come on top, for chains can fit equally well by different topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np

from topicmc.models.lda.draws import keeps_counts
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import posterior_mean
from topicmc.posterior.convergence import ENOUGH, aligned, ess, rhat
from topicmc.posterior.traces import LOG_LIKELIHOOD, chains_now, traces
from topicmc.storage.run_fields import scored
from topicmc.topics.chains import MatchedChain
from topicmc.topics.judgement import FIT, Evidence, judge
from topicmc.topics.matching import SAME, distances
from topicmc.topics.uncertainty import Posterior, posterior_of

MATCHED = "matched topics"
TINY = 0.05
"""A topic of less than this part of the mean size counts as collapsed."""
FEW = 20
"""Effective draws of topic sizes below which intervals are called crude."""
MOST = 12
"""Topics that a flag names."""

Trace = list[tuple[float, float]]


@dataclass(frozen=True)
class Diagnostics:
    """What speaks for and against convergence.

    Attributes:
        verdict: one sentence: converged or not, and what to do.
        converged: None when it cannot be told.
        rhat: split-R̂ by the name of a summary, NaN where it cannot be told; of matched topics it is
            the median over topics.
        ess: effective sample size of all chains together, likewise. That of matched topics is of
            the kept samples.
        flags: sentences on what else is odd.
        traces: (training seconds, value) of evaluations by name, over the whole run.
    """

    verdict: str
    converged: bool | None
    rhat: dict[str, float]
    ess: dict[str, float]
    flags: list[str]
    traces: dict[str, Trace]

    def as_dict(self) -> dict[str, Any]:
        """The fields as JSON values; None in place of NaN."""
        told = asdict(self)
        for name in ("rhat", "ess"):
            told[name] = {k: v if np.isfinite(v) else None for k, v in told[name].items()}
        return told


def diagnose(runs: Sequence[TopicRun], posterior: Posterior | None = None) -> Diagnostics:
    """Looks at the metrics and kept samples of all chains of some runs. ``posterior`` is what
    `posterior_of` says of them, at whatever level, where that is known.

    Raises UsageError when the runs differ in vocabulary, corpus, number of topics or given priors,
    or two have the same samples; DataError when one has no samples yet or a file is damaged.
    """
    posterior = posterior_of(runs) if posterior is None else posterior
    chains = compared(posterior)
    fits = [(run, chain) for run in runs for chain in log_likelihoods(run)]
    recorded = traced(chains)
    fit = {FIT: aligned([chain for _, chain in fits])} if fits else {}  # unless none is held out
    if _fit_otherwise(runs):
        recorded.pop(LOG_LIKELIHOOD, None)
        fit = {}
    draws = {**recorded, **fit} if recorded else {**fit, **_sizes(chains)}
    matched = np.moveaxis(_shares(chains), -1, 0)
    rhats = {name: float(rhat(values)) for name, values in draws.items()}
    sizes = {name: float(ess(values)) for name, values in draws.items()}
    rhats[MATCHED], sizes[MATCHED] = _median(rhat(matched)), _median(ess(matched))
    evidence = Evidence(runs, posterior, chains, fits, draws, rhats, bool(recorded), matched)
    converged, verdict = judge(evidence)
    flags = [
        *_collapsed(posterior),
        *_duplicates(posterior),
        *_unstable(posterior),
        *_crude(posterior, chains, sizes[MATCHED]),
    ]
    return Diagnostics(verdict, converged, rhats, sizes, flags, evaluations(runs))


def _median(values: np.ndarray) -> float:
    """Over topics; NaN where half of them cannot be told."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if 2 * len(known) > len(values) else np.nan


def evaluations(runs: Sequence[TopicRun]) -> dict[str, Trace]:
    """What is of interest in the metrics, by name; several runs by their path."""
    found: dict[str, Trace] = {}
    for run in runs:
        where = f" of {run.path}" if len(runs) > 1 else ""
        for record in run.metrics():
            for name, value in _values(record):
                found.setdefault(name + where, []).append((record["seconds"], value))
    return found


def _values(record: dict[str, Any]) -> list[tuple[str, float]]:
    scores = record.get("log_likelihood") or []
    several = len(scores) > 1
    named = [
        *((name, scored(record, name)) for name in ("perplexity", "perplexity_averaged")),
        *((f"{FIT}, chain {i}" if several else FIT, score) for i, score in enumerate(scores)),
        *((name, value) for name, value in record.items() if name.startswith("step_size")),
    ]
    return [(name, value) for name, value in named if isinstance(value, int | float)]


# ---- label-free summaries


def compared(posterior: Posterior) -> list[MatchedChain]:
    """The chains that are compared with each other: those that their runs go on with. Others, which
    a run on fewer workers has given up, have no draws of the same moments."""
    runs = {chain.run.path: chain.run for chain in posterior.chains}
    now = {path: chains_now(run) for path, run in runs.items()}
    left = [
        chain
        for chain in posterior.chains
        if (numbers := now[chain.run.path]) is None or chain.entries[0]["chain"] in numbers
    ]
    return left or posterior.chains


def traced(chains: Sequence[MatchedChain]) -> dict[str, np.ndarray]:
    """The traces past burn-in of chains, by the names that these have in common: float64 (C, n)
    each. Of chains with more draws than others the newest are taken."""
    of_runs = {chain.run.path: traces(chain.run) for chain in chains}
    of_chains = [
        {
            name: draws[number]
            for name, draws in of_runs[chain.run.path].items()
            if (number := chain.entries[0]["chain"]) in draws
        }
        for chain in chains
    ]
    return {
        name: aligned([draws[name] for draws in of_chains])
        for name in of_chains[0]
        if all(name in draws for draws in of_chains)
    }


def _fit_otherwise(runs: Sequence[TopicRun]) -> bool:
    """Whether the fit of some runs is another quantity than that of others. Where counts are kept
    it is that of the mean of φ given the topics of all tokens, which is better than that of a draw
    of φ, as others have it, from the same posterior."""
    return len({keeps_counts(run.facts()["config"]) for run in runs}) > 1


def log_likelihoods(run: TopicRun) -> list[np.ndarray]:
    """The mean log-likelihood of a held-out token under each chain of one run, at the evaluations
    in the second half of its rounds: float64 (n,) each; none where no documents are held out."""
    records = run.metrics()
    if not records:
        return [np.empty(0)]
    now, n_chains = records[-1]["round"], len(records[-1].get("log_likelihood") or [])
    scores = [
        record.get("log_likelihood")
        for record in records
        if record["round"] > now / 2 and not record.get("burn_in")
    ]
    if n_chains == 0:
        return []
    scores = [score for score in scores if len(score or []) == n_chains]
    return list(np.array(scores, np.float64).reshape(-1, n_chains).T)


def _sizes(chains: Sequence[MatchedChain]) -> dict[str, np.ndarray]:
    """Shares of the tokens by rank, chains × kept samples."""
    ranked = np.sort(_shares(chains), axis=-1)
    ranks = {"largest": -1, "median": ranked.shape[-1] // 2, "smallest": 0}
    return {f"{name} share": ranked[..., rank] for name, rank in ranks.items()}


def _shares(chains: Sequence[MatchedChain]) -> np.ndarray:
    """Shares of matched topics, chains × kept samples × topics."""
    return aligned([chain.share for chain in chains])


# ---- flags


def _collapsed(posterior: Posterior) -> list[str]:
    """Topics that hardly have tokens, or fewer than their prior counts for."""
    chain = posterior.chains[0]
    share, prior = chain.share.mean(axis=0), chain.prior_mass.mean(axis=0)
    facts = chain.run.facts()
    number, tokens = facts["config"]["topics"], facts["corpus"]["tokens"]  # a view may show fewer
    topics = np.flatnonzero((share * number < TINY) | (share * tokens < prior))
    if len(topics) == 0:
        return []
    return [
        f"{_count(topics)} collapsed ({_numbers(posterior, topics)}): below {TINY:.0%} of the mean"
        " size, or with fewer tokens than the prior counts for; train with fewer --topics"
    ]


def _duplicates(posterior: Posterior) -> list[str]:
    """Pairs of topics of the first chain that would count as the same one in two chains."""
    chain = posterior.chains[0]
    phi = posterior_mean(chain.run, chain.entries[0]["chain"]).phi.astype(np.float32)
    near = np.triu(distances(phi, phi) <= SAME, 1)
    # Of thousands of topics that are not apart yet, pairs are many millions.
    pairs = ((a, b) for a, row in enumerate(near) for b in np.flatnonzero(row).tolist())
    tag = posterior.labels.tag
    found = [f"{tag(a)} and {tag(b)}" for a, b in islice(pairs, MOST + 1)]
    if not found:
        return []
    told = ", ".join(found[:MOST]) + ", …" * (len(found) > MOST)
    return [f"near duplicates: topics {told}; train with fewer --topics"]


def _unstable(posterior: Posterior) -> list[str]:
    """Topics that not all chains have found."""
    topics = np.flatnonzero(~posterior.stable)
    if not posterior.knows_stable or len(topics) == 0:
        return []
    return [f"{_count(topics)} not found by all chains ({_numbers(posterior, topics)})"]


def _crude(posterior: Posterior, chains: Sequence[MatchedChain], effective: float) -> list[str]:
    """What intervals rest on, where that is little or cannot be told."""
    if effective >= FEW:
        return []
    n = posterior.n_samples
    told = f"intervals rest on {n} kept sample{'s' * (n != 1)}"
    few = [chain for chain in chains if len(chain.entries) < ENOUGH]
    if few:
        asked = min(chain.run.facts()["config"]["samples"] for chain in few)
        more = "train for longer" if asked >= 2 * ENOUGH else "train anew with --samples 32"
        return [f"{told}, too few to tell what they are worth; {more}"]
    if np.isnan(effective):
        return [f"{told}, too much alike to tell what they are worth; train for longer"]
    worth = f"about {effective:.0f} independent one{'s' * (round(effective) != 1)}"
    return [f"{told}, worth {worth}, and are crude; train for longer"]


def _count(topics: np.ndarray) -> str:
    return "1 topic is" if len(topics) == 1 else f"{len(topics)} topics are"


def _numbers(posterior: Posterior, topics: np.ndarray) -> str:
    labels = posterior.labels
    return ", ".join(labels.tag(k) for k in topics[:MOST]) + ", …" * (len(topics) > MOST)
