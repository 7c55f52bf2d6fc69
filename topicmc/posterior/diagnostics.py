"""Whether chains have converged, and what is odd about their topics.

What is compared does not depend on how chains number their topics: the held-out log-likelihood, as
it was recorded after burn-in, and the shares of the tokens that the largest, the median and the
smallest topic have in the kept samples. The sizes of matched topics
(`topicmc.posterior.uncertainty`) come on top, for chains can fit equally well by different topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from topicmc.posterior.convergence import aligned, ess, rhat
from topicmc.posterior.matching import SAME, distances
from topicmc.posterior.samples import posterior_mean
from topicmc.posterior.uncertainty import Posterior, posterior_of
from topicmc.posterior.verdict import FIT, Evidence, judge
from topicmc.runs import RunDirectory

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
        rhat: split-R̂ by the name of a summary, NaN where draws are too few; of matched topics it is
            the median over topics.
        ess: effective sample size of all chains together, likewise.
        flags: sentences on what else is odd.
        traces: (training seconds, value) by name, over the whole run.
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


def diagnose(runs: Sequence[RunDirectory]) -> Diagnostics:
    """Looks at the metrics and kept samples of all chains of some runs.

    Raises UsageError when the runs differ in vocabulary or number of topics, DataError when one has
    no samples yet or a file is damaged.
    """
    posterior = posterior_of(runs)
    draws = {**_fit(runs), **_sizes(posterior)}
    matched = np.moveaxis(_shares(posterior), -1, 0)
    rhats = {name: float(rhat(chains)) for name, chains in draws.items()}
    sizes = {name: float(ess(chains)) for name, chains in draws.items()}
    rhats[MATCHED] = float(np.median(rhat(matched)))
    sizes[MATCHED] = float(np.median(ess(matched)))
    converged, verdict = judge(Evidence(runs, posterior, draws, rhats))
    flags = [
        *_collapsed(posterior),
        *_duplicates(posterior),
        *_unstable(posterior),
        *_crude(posterior, sizes[MATCHED]),
    ]
    return Diagnostics(verdict, converged, rhats, sizes, flags, traces(runs))


def traces(runs: Sequence[RunDirectory]) -> dict[str, Trace]:
    """Everything of interest that was recorded in training, by name; several runs by their path."""
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
        *((name, record.get(name)) for name in ("perplexity", "perplexity_averaged")),
        *((f"{FIT}, chain {i}" if several else FIT, score) for i, score in enumerate(scores)),
        *((name, value) for name, value in record.items() if name.startswith("step_size")),
    ]
    return [(name, value) for name, value in named if isinstance(value, int | float)]


# ---- label-free summaries


def _fit(runs: Sequence[RunDirectory]) -> dict[str, np.ndarray]:
    """The mean log-likelihood of a held-out token, chains × evaluations since burn-in; nothing when
    no documents are held out."""
    chains = [chain for run in runs for chain in log_likelihoods(run)]
    return {FIT: aligned(chains)} if chains else {}


def log_likelihoods(run: RunDirectory) -> list[np.ndarray]:
    """The mean log-likelihood of a held-out token under each chain of one run, at the evaluations
    in the second half of its rounds: float64 (n,) each."""
    records = run.metrics()
    if not records:
        return [np.empty(0)]
    now, n_chains = records[-1]["round"], len(records[-1]["log_likelihood"] or [])
    scores = [
        record["log_likelihood"]
        for record in records
        if record["round"] > now / 2 and not record.get("burn_in")
    ]
    if n_chains == 0:
        return []
    scores = [score for score in scores if len(score or []) == n_chains]
    return list(np.array(scores, np.float64).reshape(-1, n_chains).T)


def _sizes(posterior: Posterior) -> dict[str, np.ndarray]:
    """Shares of the tokens by rank, chains × kept samples."""
    ranked = np.sort(_shares(posterior), axis=-1)
    ranks = {"largest": -1, "median": ranked.shape[-1] // 2, "smallest": 0}
    return {f"{name} topic's size": ranked[..., rank] for name, rank in ranks.items()}


def _shares(posterior: Posterior) -> np.ndarray:
    """Shares of matched topics, chains × kept samples × topics."""
    return aligned([chain.share for chain in posterior.chains])


# ---- flags


def _collapsed(posterior: Posterior) -> list[str]:
    """Topics that hardly have tokens, or fewer than their prior counts for."""
    chain = posterior.chains[0]
    prior = _beta(chain.run) * posterior.phi.shape[1]
    share, mass = chain.share.mean(axis=0), chain.mass.mean(axis=0)
    topics = np.flatnonzero((share * len(share) < TINY) | (mass < 2 * prior))
    if len(topics) == 0:
        return []
    return [
        f"{_count(topics)} collapsed ({_numbers(topics)}): below {TINY:.0%} of the mean size, or"
        " with fewer tokens than the prior counts for; train with fewer --topics"
    ]


def _beta(run: RunDirectory) -> float:
    """β as it was learned last, or else as it was set."""
    learned = [record["beta"] for record in run.metrics() if "beta" in record]
    return learned[-1] if learned else run.facts()["config"]["beta"]


def _duplicates(posterior: Posterior) -> list[str]:
    """Pairs of topics of the first chain that would count as the same one in two chains."""
    chain = posterior.chains[0]
    phi = posterior_mean(chain.run, chain.entries[0]["chain"]).phi
    near = np.triu(distances(phi, phi) <= SAME, 1)
    pairs = [f"{a} and {b}" for a, b in np.argwhere(near)]
    if not pairs:
        return []
    told = ", ".join(pairs[:MOST]) + ", …" * (len(pairs) > MOST)
    return [f"near duplicates: topics {told}; train with fewer --topics"]


def _unstable(posterior: Posterior) -> list[str]:
    """Topics that not all chains have found."""
    topics = np.flatnonzero(~posterior.stable)
    if posterior.n_chains == 1 or len(topics) == 0:
        return []
    return [f"{_count(topics)} not found by all chains ({_numbers(topics)})"]


def _crude(posterior: Posterior, effective: float) -> list[str]:
    """A word on samples that are worth little."""
    if effective >= FEW:
        return []
    n = posterior.n_samples
    worth = f", worth about {effective:.0f} independent ones" if effective < n / 2 else ""
    return [
        f"intervals rest on {n} kept sample{'s' * (n != 1)}{worth}, and are crude; train for"
        " longer, with more --samples"
    ]


def _count(topics: np.ndarray) -> str:
    return "1 topic is" if len(topics) == 1 else f"{len(topics)} topics are"


def _numbers(topics: np.ndarray) -> str:
    return ", ".join(str(k) for k in topics[:MOST]) + ", …" * (len(topics) > MOST)
