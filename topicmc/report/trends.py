"""How much of each period of time a topic holds, and how sure that is.

Each draw of the topics gives every period shares of its tokens (`topicmc.topics.prevalence`). Their
mean over the draws of the chains that found a topic is its trend, and credible intervals follow
from them as those of its share (`topicmc.topics.uncertainty`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.periods import Periods, periods_of
from topicmc.host.machine import available_cores
from topicmc.kernels.threads import Threads
from topicmc.report.numbers import digits
from topicmc.topics.prevalence import LEAST_DOCUMENTS, prevalence, randomly_chosen
from topicmc.topics.uncertainty import Posterior


def trends_of(
    posterior: Posterior,
    shown: np.ndarray,
    corpus: Corpus,
    threads: Threads | None = None,
    by: str | None = None,
) -> tuple[dict[str, Any] | None, list[list[list[float | None]]]]:
    """The periods of a corpus that has times, and for each shown topic its share of the tokens of
    each period and the ends of its interval, from the first period to the last that has enough
    documents, None where one has not or an end cannot be told.

    Raises UsageError when ``by`` cannot cut the times of the corpus.
    """
    found = periods_of(corpus, by)
    if found is None:
        return None, [[] for _ in shown]
    period, n = found.of, len(found.names)
    numbers = randomly_chosen(np.flatnonzero(period >= 0))
    read = np.bincount(period[numbers], minlength=n)
    span = span_of(read)
    if span is None:
        return None, [[] for _ in shown]
    threads = threads or Threads(available_cores())
    of_periods = prevalence(posterior, corpus, numbers, period[numbers], n, threads)
    enough = np.flatnonzero(read >= LEAST_DOCUMENTS)
    shares = [chain[:, :, enough] / of_periods.sizes[enough] for chain in of_periods.tokens]
    rows = np.full((3, n, len(posterior.phi)), np.nan)
    for row, value in zip(rows, posterior.pooled(shares), strict=True):
        row[enough] = value.T
    return told(found, span, shown, *rows[:, span])


def span_of(read: np.ndarray) -> slice | None:
    """The periods from the first to the last of enough documents, of which so many are read, int64
    (T,); None where there is none."""
    enough = np.flatnonzero(read >= LEAST_DOCUMENTS)
    return slice(enough[0], enough[-1] + 1) if len(enough) else None


def told(
    found: Periods,
    span: slice,
    shown: np.ndarray,
    mean: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> tuple[dict[str, Any], list[list[list[float | None]]]]:
    """What `trends_of` returns, of means and ends of the periods of a span, float64 (T, K)."""
    documents = np.bincount(found.of[found.of >= 0], minlength=len(found.names))
    facts = {
        "unit": found.unit,
        "names": found.names[span],
        "documents": documents[span].tolist(),
        "least": LEAST_DOCUMENTS,
    }
    rows = np.stack([mean, low, high], axis=2)
    return facts, [[digits(row) for row in rows[:, k]] for k in shown]
