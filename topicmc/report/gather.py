"""Everything that the page shows, as one JSON value.

Rows of numbers rather than objects, and four digits rather than sixteen, because a report of 100
topics holds ten thousand words.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.periods import periods_of
from topicmc.host.version import VERSION
from topicmc.kernels.threads import Threads
from topicmc.models.corpus_run import CorpusRun
from topicmc.models.lda.run import TopicRun
from topicmc.posterior.verdict import Convergence
from topicmc.report.citation import citation
from topicmc.report.documents import documents_of
from topicmc.report.numbers import digits
from topicmc.report.runs import by_folders, corpus_name, names_of, run_of
from topicmc.report.topics import CHART_WORDS, STEP, PagePosterior, topics_of, words_of
from topicmc.report.trends import trends_of
from topicmc.storage.runs import RunDirectory
from topicmc.topics.diagnostics import Diagnostics, diagnose
from topicmc.topics.matching import distances
from topicmc.topics.of_views import sentences
from topicmc.topics.tree import tree_by
from topicmc.topics.uncertainty import posterior_of

Trends = tuple[dict[str, Any] | None, list[list[Any]]]
TERMS = {
    "one": "topic",
    "many": "topics",
    "of": "tokens",
    "score": "held-out perplexity",
    "newest": "perplexity",
    "averaged": "perplexity_averaged",
    "overall": "in the whole corpus",
}
"""What the page calls its parts, and which of the metrics is the score."""
MOST_TOPICS = 1000
"""Topics on the page: of more, the largest."""


def gather(
    runs: Sequence[TopicRun],
    corpus: Corpus | None,
    *,
    title: str | None = None,
    n_documents: int = 5,
    level: float = 0.9,
    by: str | None = None,
    threads: Threads | None = None,
) -> dict[str, Any]:
    """What the page shows of some runs on one corpus, with as many topics.

    Args:
        runs: the runs; their topics are matched to those of the first one.
        corpus: their corpus, if it is at hand: for coherence, documents and trends.
        title: of the page.
        n_documents: documents a topic; none when 0.
        level: of the credible intervals.
        by: the unit of the trends, of `topicmc.corpora.periods.UNITS`; None for one that suits.
        threads: who reads the documents (default: all cores).

    Raises:
        UsageError: the runs cannot be matched, the level is no probability, or the corpus cannot
            be cut ``by`` periods.
        DataError: a run has no samples yet, or a file is damaged.
    """
    periods = None if corpus is None else periods_of(corpus, by)  # before all samples are read
    posterior = posterior_of(runs, level)
    shown = largest(posterior)
    documents: list[list[Any]] | None = None
    trends: Trends = None, []
    if corpus is not None:
        documents = documents_of(posterior, shown, corpus, n_documents, threads)
        if periods is not None:
            trends = trends_of(posterior, shown, corpus, periods, threads)
    name, names = corpus_name(runs[0]), names_of([run.place for run in runs])
    return {
        **page_of(posterior, shown, corpus, documents, trends),
        **about(runs[0], title or f"Topics of {name}"),
        "terms": TERMS,
        "view": runs[0].view is not None,
        "verdict": verdict_of(runs, diagnose(runs, posterior), posterior.remark()),
        "notes": [*sentences(runs[0], posterior), *notes(posterior, corpus)],
        "runs": [run_of(*named) for named in zip(runs, names, strict=True)],
        "citation": citation([run.facts() for run in runs], name),
    }


def largest(posterior: PagePosterior) -> np.ndarray:
    """The topics on the page, int64, at most `MOST_TOPICS`."""
    return np.argsort(-posterior.share, kind="stable")[:MOST_TOPICS]


def about(run: RunDirectory, title: str) -> dict[str, Any]:
    """What the head of the page says."""
    facts = run.facts()["corpus"]
    return {
        "version": VERSION,
        "created": f"{datetime.now(UTC):%d %B %Y}".lstrip("0"),
        "title": title,
        "corpus": {size: facts[size] for size in ("documents", "tokens", "words")},
    }


def page_of(
    posterior: PagePosterior,
    shown: np.ndarray,
    corpus: Corpus | None,
    documents: list[list[Any]] | None,
    trends: Trends,
) -> dict[str, Any]:
    """The shown topics, their words and places; for each of them documents, if there are any, and
    as `trends_of` has it a trend."""
    apart = distances(posterior.phi[shown], posterior.phi)
    topics = topics_of(posterior, shown, corpus, apart)
    columns, tables = words_of(posterior, shown)
    nothing: list[list[Any]] = [[] for _ in topics]
    periods, rows = trends
    for topic, *parts in zip(topics, tables, documents or nothing, rows or nothing, strict=True):
        topic |= dict(zip(("words", "documents", "trend"), parts, strict=True))
    return {
        "n_topics": len(posterior.phi),
        "chains": posterior.n_chains,
        "samples": posterior.n_samples,
        "level": posterior.level,
        "lambda_step": STEP,
        "words_shown": CHART_WORDS,
        **columns,
        "numbers": list(posterior.labels.numbers),
        "topics": topics,
        "tree": _tree(apart[:, shown]),
        "periods": periods,
    }


def verdict_of(
    runs: Sequence[CorpusRun], found: Convergence | Diagnostics, remark: str
) -> dict[str, Any]:
    """Whether the chains of runs have converged, and what is to be believed of their topics."""
    flags = found.flags if isinstance(found, Diagnostics) else []
    return {
        "converged": found.converged,
        "sentence": by_folders(found.verdict, runs),
        "flags": [by_folders(flag, runs) for flag in flags],
        "summaries": [[name, *digits((found.rhat[name], found.ess[name]))] for name in found.rhat],
        "remark": by_folders(remark, runs),
    }


def _tree(apart: np.ndarray) -> list[list[float]]:
    """The joins of the shown topics by their places on the page, as `tree_by` has them."""
    if len(apart) < 2:
        return []
    return [
        [int(one), int(other), round(float(distance), 4)]
        for one, other, distance, _ in tree_by(apart)
    ]


def notes(posterior: PagePosterior, corpus: Corpus | None) -> list[str]:
    """What the page lacks."""
    n_topics, found = len(posterior.phi), []
    if corpus is None:
        found.append("the corpus was not at hand: no coherence, documents or trends here")
    if n_topics > MOST_TOPICS:
        found.append(f"only the {MOST_TOPICS:,} largest of {n_topics:,} are here")
    return found
