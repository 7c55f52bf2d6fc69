"""What a report shows of mixtures, in the place of topics: their groups.

`GroupPosterior` has what `topicmc.report.topics` reads, from groups found again in kept samples. A
group's share is that of the documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.documents import take
from topicmc.corpora.periods import periods_of
from topicmc.engine.progress import advice_to_train
from topicmc.errors import UsageError
from topicmc.inference.groups import log_memberships, memberships
from topicmc.models.mixture.matching import group_samples
from topicmc.models.mixture.model import training_documents
from topicmc.models.mixture.reading import numbers_of_groups
from topicmc.models.mixture.run import MixtureRun
from topicmc.posterior.intervals import credible_interval
from topicmc.posterior.verdict import convergence
from topicmc.report.citation import mixture_citation
from topicmc.report.documents import tell
from topicmc.report.gather import Trends, about, largest, notes, page_of, verdict_of
from topicmc.report.numbers import digits
from topicmc.report.runs import corpus_name, mixture_run_of, names_of
from topicmc.report.trends import span_of, told
from topicmc.topics.labels import Labels
from topicmc.topics.prevalence import LEAST_DOCUMENTS
from topicmc.topics.uncertainty import TOP, WordIntervals

_BLOCK = 4_096  # documents at a time
_MOST_TOKENS = 50_000_000  # of the documents that are looked at
TERMS = {
    "one": "group",
    "many": "groups",
    "of": "documents",
    "score": "nats a held-out document",
    "newest": "nats_per_document",
    "averaged": "nats_per_document_averaged",
    "overall": "in all groups",
}


class GroupPosterior:
    """The groups of some runs, K of them, and what their samples say of each; arrays as of
    `Posterior`.

    Args:
        runs: of one corpus.
        level: of the intervals.

    Raises as `group_samples`, and UsageError when ``level`` is no probability.
    """

    def __init__(self, runs: Sequence[MixtureRun], level: float) -> None:
        if not 0 < level < 1:
            raise UsageError(f"--level {level:g}: the probability of intervals is between 0 and 1")
        if len(runs) > 1 and runs[0].labels:
            raise UsageError(
                f"{runs[0].place}: has names for the groups of one run, and those of several are"
                " numbered anew; leave the other runs out, or give the run in place of its view"
            )
        self.level, self.samples = level, group_samples(runs)
        self.in_their_start = [run for run in runs if run.is_starting()]
        self.vocabulary = runs[0].vocabulary()
        found = self.samples.stick >= 0
        self.held = found.mean(axis=0)
        self.phi = self.samples.mean_phi()
        self.share = self._mean(self.samples.share)
        self.p_w = self.share @ self.phi
        ends = [self.interval(k, self.samples.share[:, k]) for k in range(len(self.phi))]
        self.share_low, self.share_high = np.array(ends).T
        self.alpha = np.full(len(self.phi), np.nan)
        self.groups: dict[str, Any] = {}
        self.labels = Labels.of_groups(runs[0], len(self.phi))
        chains = [found[self.samples.chain == chain] for chain in range(self.n_chains)]
        self.found = np.array([chain.mean(axis=0) >= 0.5 for chain in chains])
        self.stable: np.ndarray = np.all(self.found, axis=0)
        self.distance = 1 - self.samples.jaccard.mean(axis=0)

    @property
    def n_chains(self) -> int:
        return self.samples.n_chains

    @property
    def n_samples(self) -> int:
        return self.samples.kept

    def _mean(self, values: np.ndarray) -> np.ndarray:
        """Of values (n, K), over the samples that have found a group."""
        return np.where(self.samples.stick >= 0, values, 0).sum(axis=0) / np.maximum(
            (self.samples.stick >= 0).sum(axis=0), 1
        )

    def interval(self, k: int, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of shares or probabilities (n, …), by the posterior samples that have found group k."""
        nothing = np.full(values.shape[1:], np.nan)
        if self.samples.kept < len(self.samples.entries):  # states of the start are no samples
            return nothing, nothing
        chains = self.samples.of_group(k, values[:, None])  # of one group, as those of K topics are
        (low,), (high,) = credible_interval(chains, self.level)
        return low, np.minimum(high, 1)

    def intervals(self, words: np.ndarray) -> WordIntervals:
        """Of any words of each group, int (K, M); reads every sample once."""
        n, shape = len(self.samples.entries), words.shape
        drawn, among = np.empty((n, *shape)), np.empty((n, *shape))
        for i, phi in enumerate(self.samples.phi()):
            rank = max(phi.shape[1] - TOP, 0)
            least = np.partition(phi, rank, axis=1)[:, rank, None]
            drawn[i] = np.take_along_axis(phi, words, axis=1)
            among[i] = drawn[i] >= least
        ends = [self.interval(k, drawn[:, k]) for k in range(len(words))]
        low, high = (np.array(side) for side in zip(*ends, strict=True))
        has = (self.samples.stick >= 0)[:, :, None]
        in_top = np.where(has, among, 0).sum(axis=0) / has.sum(axis=0)
        return WordIntervals(np.take_along_axis(self.phi, words, axis=1), low, high, in_top)

    def remark(self) -> str:
        """What is to be believed, in a sentence or two."""
        if self.in_their_start:
            names = " and ".join(str(run.place) for run in self.in_their_start)
            return f"No posterior sample yet of {names}; train for longer (--resume)."
        n, half = len(self.phi), int((self.held >= 0.5).sum())
        told = (
            f"{half} of {n} groups are found again in half of the {self.n_samples} samples or more,"
            " with at least half of their documents in common (Jaccard index)."
        )
        if self.n_chains == 1:
            return f"{told} One chain cannot know what others find: train with --chains."
        everyone = "Both" if self.n_chains == 2 else f"All {self.n_chains}"
        return f"{told} {everyone} chains find {int(self.stable.sum())}."


def gather_groups(
    runs: Sequence[MixtureRun],
    corpus: Corpus | None,
    *,
    title: str | None = None,
    n_documents: int = 5,
    level: float = 0.9,
    by: str | None = None,
) -> dict[str, Any]:
    """What the page shows of mixtures; arguments as of `topicmc.report.gather.gather`.

    Raises UsageError when the runs are not of one corpus, the level is no probability, or the
    corpus cannot be cut ``by`` periods; DataError when a run has no samples yet, or a file is
    damaged.
    """
    posterior = GroupPosterior(runs, level)
    shown = largest(posterior)
    documents: list[list[Any]] | None = None
    trends: Trends = None, []
    if corpus is not None:
        documents = _documents(posterior, shown, corpus, n_documents)
        trends = _trends(posterior, shown, corpus, by)
    page = page_of(posterior, shown, corpus, documents, trends)
    for topic, k in zip(page["topics"], shown, strict=True):
        topic["held"] = digits([posterior.held[k]], 3)[0]
        topic["stable"] = bool(posterior.stable[k])  # told by its samples of one chain, too
    name = corpus_name(runs[0])
    named = zip(runs, names_of([run.place for run in runs]), strict=True)
    advice = advice_to_train(runs, [run.reached() for run in runs])
    return {
        **page,
        **about(runs[0], title or f"Groups of {name}"),
        "terms": TERMS,
        "view": None,
        "how_many": [[number.groups, number.probability] for number in numbers_of_groups(*runs)],
        "verdict": verdict_of(runs, convergence(*runs, advice=advice), posterior.remark()),
        "notes": notes(posterior, corpus),
        "runs": [mixture_run_of(*one) for one in named],
        "citation": mixture_citation([run.facts() for run in runs], name),
    }


def _documents(
    posterior: GroupPosterior, shown: np.ndarray, corpus: Corpus, n: int
) -> list[list[dict[str, Any]]]:
    """For each shown group the ``n`` training documents whose log odds to be of it are highest; of
    a corpus of more than 50 million tokens every m-th document is looked at, with the least m that
    leaves so many."""
    if n == 0:
        return [[] for _ in shown]
    groups = replace(posterior.samples.groups, phi=posterior.phi)
    everyone = training_documents(corpus)
    looked_at = np.arange(0, corpus.n_docs, max(1, -(-corpus.n_tokens // _MOST_TOKENS)))
    best, numbers = np.empty((len(shown), 0)), np.empty((len(shown), 0), np.int64)
    for first in range(0, len(looked_at), _BLOCK):
        here = looked_at[first : first + _BLOCK]
        score = log_memberships(groups, take(everyone, here))[:, shown]
        with np.errstate(divide="ignore"):
            odds = score - np.log(-np.expm1(np.minimum(score, -1e-300)))
        best, numbers = _best(n, best, numbers, odds, here)
    return tell(posterior, shown, corpus, numbers, lambda few: memberships(groups, few))


def _best(
    n: int, best: np.ndarray, numbers: np.ndarray, odds: np.ndarray, here: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The ``n`` highest odds of each group, (K, n), and the numbers of their documents, the highest
    first and the earliest of equals: of those so far, and the ``odds``, (D, K), of more that are
    ``here``, int64 (D,)."""
    n_groups, so_far = best.shape
    is_full = so_far == n
    docs, of = np.nonzero(odds > best[:, -1] if is_full else np.ones(odds.shape, bool))
    values = np.concatenate([best.ravel(), odds[docs, of]])
    found = np.concatenate([numbers.ravel(), here[docs]])
    of = np.concatenate([np.repeat(np.arange(n_groups), so_far), of])
    order = np.lexsort((-values, of))
    firsts = np.searchsorted(of[order], np.arange(n_groups))
    order = order[firsts[:, None] + np.arange(min(n, so_far + len(here)))]
    return values[order], found[order]


def _trends(posterior: GroupPosterior, shown: np.ndarray, corpus: Corpus, by: str | None) -> Trends:
    """As `topicmc.report.trends.trends_of`: what a group has of the documents of each period."""
    found, samples = periods_of(corpus, by), posterior.samples
    if found is None:
        return None, []
    dated = found.of >= 0
    sizes = np.bincount(found.of[dated], minlength=len(found.names))
    span = span_of(sizes)
    if span is None:
        return None, []
    n_groups, n = len(posterior.phi), len(samples.entries)
    shares = np.empty((n, len(found.names), n_groups))
    for i, (run, entry) in enumerate(samples.entries):
        partition = run.read_sample(entry).groups
        number = np.full(int(partition.max()) + 1, n_groups)
        known = np.flatnonzero(samples.stick[i] >= 0)
        number[samples.stick[i, known]] = known
        cells = found.of[dated] * (n_groups + 1) + number[partition[dated]]
        counts = np.bincount(cells, minlength=len(sizes) * (n_groups + 1))
        shares[i] = counts.reshape(len(sizes), -1)[:, :-1] / np.maximum(sizes, 1)[:, None]
    enough = np.flatnonzero(sizes >= LEAST_DOCUMENTS)
    rows = np.full((3, len(sizes), n_groups), np.nan)
    for k in range(n_groups):
        values = shares[:, enough, k]
        mean = np.concatenate(samples.of_group(k, values)).mean(axis=0)
        rows[:, enough, k] = mean, *posterior.interval(k, values)
    return told(found, span, shown, rows[:, span], int(sizes.sum()))
