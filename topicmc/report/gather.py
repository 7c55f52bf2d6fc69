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
from topicmc.host.version import VERSION
from topicmc.kernels.threads import Threads
from topicmc.models.lda.run import TopicRun
from topicmc.report.citation import citation
from topicmc.report.documents import documents_of
from topicmc.report.numbers import digits
from topicmc.report.runs import corpus_name, names_of, run_of
from topicmc.report.topics import SHOWN, STEP, topics_of, words_of
from topicmc.report.trends import trends_of
from topicmc.topics.diagnostics import diagnose
from topicmc.topics.shown import facts_of, sentences
from topicmc.topics.tree import tree_of
from topicmc.topics.uncertainty import Posterior, posterior_of

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
        by: the unit of the trends, of `topicmc.report.trends.UNITS`; None for one that suits.
        threads: who reads the documents (default: all cores).

    Raises:
        UsageError: the runs cannot be matched, the level is no probability, or the corpus cannot
            be cut ``by`` periods.
        DataError: a run has no samples yet, or a file is damaged.
    """
    posterior = posterior_of(runs, level)
    shown = np.argsort(-posterior.share, kind="stable")[:MOST_TOPICS]
    topics = topics_of(posterior, shown, corpus)
    columns, tables = words_of(posterior, shown)
    nothing: list[list[Any]] = [[] for _ in topics]
    documents, periods, trends = nothing, None, nothing
    if corpus is not None:
        documents = documents_of(posterior, shown, corpus, n_documents, threads)
        periods, trends = trends_of(posterior, shown, corpus, threads, by)
    for topic, *parts in zip(topics, tables, documents, trends, strict=True):
        topic |= dict(zip(("words", "documents", "trend"), parts, strict=True))
    name = corpus_name(runs[0])
    facts = runs[0].facts()["corpus"]
    return {
        "version": VERSION,
        "created": f"{datetime.now(UTC):%d %B %Y}".lstrip("0"),
        "title": title or f"Topics of {name}",
        "corpus": {size: facts[size] for size in ("documents", "tokens", "words")},
        "n_topics": len(posterior.phi),
        "chains": posterior.n_chains,
        "samples": posterior.n_samples,
        "level": level,
        "lambda_step": STEP,
        "words_shown": SHOWN,
        **columns,
        "numbers": list(posterior.labels.numbers),
        "topics": topics,
        "tree": _tree(posterior, shown),
        "view": facts_of(runs[0], posterior) or None,
        "periods": periods,
        "verdict": _verdict(runs, posterior),
        "notes": [*sentences(runs[0], posterior), *_notes(posterior, corpus)],
        "runs": [run_of(*named) for named in zip(runs, names_of(runs), strict=True)],
        "citation": citation([run.facts()["config"] for run in runs], name),
    }


def _verdict(runs: Sequence[TopicRun], posterior: Posterior) -> dict[str, Any]:
    found = diagnose(runs)
    return {
        "converged": found.converged,
        "sentence": found.verdict,
        "flags": found.flags,
        "summaries": [[name, *digits((found.rhat[name], found.ess[name]))] for name in found.rhat],
        "remark": posterior.remark(),
    }


def _tree(posterior: Posterior, shown: np.ndarray) -> list[list[float]]:
    """The joins of the shown topics by their places on the page, as `tree_of` has them."""
    if len(shown) < 2:
        return []
    return [
        [int(one), int(other), round(float(distance), 4)]
        for one, other, distance, _ in tree_of(posterior.phi[shown])
    ]


def _notes(posterior: Posterior, corpus: Corpus | None) -> list[str]:
    """What the page lacks."""
    n_topics, notes = len(posterior.phi), []
    if corpus is None:
        notes.append("the corpus was not at hand: no coherence, documents or trends here")
    if n_topics > MOST_TOPICS:
        notes.append(f"only the {MOST_TOPICS:,} largest of {n_topics:,} topics are here")
    return notes
