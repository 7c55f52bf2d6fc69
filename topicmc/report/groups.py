"""What a report shows of mixtures, in the place of topics: their groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.documents import take
from topicmc.corpora.periods import Periods, periods_of
from topicmc.engine.progress import advice_to_train
from topicmc.inference.groups import log_memberships, memberships
from topicmc.models.mixture.model import training_documents
from topicmc.models.mixture.reading import numbers_of_groups
from topicmc.models.mixture.run import MixtureRun
from topicmc.posterior.passes import one_by_one
from topicmc.posterior.verdict import convergence
from topicmc.report.citation import mixture_citation
from topicmc.report.documents import tell
from topicmc.report.gather import Trends, about, largest, notes, page_of, verdict_of
from topicmc.report.group_posterior import GroupPosterior
from topicmc.report.numbers import digits
from topicmc.report.runs import corpus_name, mixture_run_of, names_of
from topicmc.report.trends import span_of, told
from topicmc.topics.prevalence import LEAST_DOCUMENTS

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
    periods = None if corpus is None else periods_of(corpus, by)  # before all samples are read
    posterior = GroupPosterior(runs, level)
    shown = largest(posterior)
    documents: list[list[Any]] | None = None
    trends: Trends = None, []
    if corpus is not None:
        documents = _documents(posterior, shown, corpus, n_documents)
    if periods is not None:
        trends = _trends(posterior, shown, periods)
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
        "view": False,
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


def _trends(posterior: GroupPosterior, shown: np.ndarray, found: Periods) -> Trends:
    """As `topicmc.report.trends.trends_of`: what a group has of the documents of each period."""
    samples = posterior.samples
    dated = found.of >= 0
    sizes = np.bincount(found.of[dated], minlength=len(found.names))
    span = span_of(sizes)
    if span is None:
        return None, []
    n_groups, n = len(posterior.phi), len(samples.entries)
    shares = np.empty((n, len(found.names), n_groups))
    for i, (run, entry) in enumerate(one_by_one(samples.entries)):
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
