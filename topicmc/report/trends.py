"""How much of each period of time a topic holds, and how sure that is.

Each draw of the topics gives every period shares of its tokens (`topicmc.topics.prevalence`). Their
mean over the draws of the chains that found a topic is its trend, and credible intervals follow
from them as those of its share (`topicmc.topics.uncertainty`). Where documents are so many that
only some are read, intervals also tell what these leave open of the others of a period
(`topicmc.topics.effects`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.periods import Periods
from topicmc.host.machine import available_cores
from topicmc.kernels.threads import Threads
from topicmc.report.numbers import digits
from topicmc.topics.effects import Sums, shares_of
from topicmc.topics.prevalence import LEAST_DOCUMENTS, prevalence, randomly_chosen
from topicmc.topics.uncertainty import Posterior


def trends_of(
    posterior: Posterior,
    shown: np.ndarray,
    corpus: Corpus,
    found: Periods,
    threads: Threads | None = None,
) -> tuple[dict[str, Any] | None, list[list[list[float | None]]]]:
    """The periods of the documents of a corpus, and for each shown topic its share of the tokens of
    each period and the ends of its interval, from the first period to the last that has enough
    documents, None where one has not or an end cannot be told; nothing where none has enough."""
    period, n = found.of, len(found.names)
    dated = np.flatnonzero(period >= 0)
    numbers = randomly_chosen(dated)
    documents, read = (np.bincount(period[of], minlength=n) for of in (dated, numbers))
    span = span_of(read)
    if span is None:
        return None, []
    threads = threads or Threads(available_cores())
    some = len(numbers) < len(dated)
    of_periods = prevalence(posterior, corpus, numbers, period[numbers], n, threads, some)
    enough = np.flatnonzero(read >= LEAST_DOCUMENTS)
    ends: tuple[np.ndarray, ...]
    if some:
        sums = Sums.of(of_periods, read).only(enough)
        ends = shares_of(posterior, sums, 1 - read[enough] / documents[enough])
    else:
        shares = [chain[:, :, enough] / of_periods.sizes[enough] for chain in of_periods.tokens]
        ends = posterior.pooled(shares)
    rows = np.full((3, n, len(posterior.phi)), np.nan)
    for row, value in zip(rows, ends, strict=True):
        row[enough] = value.T
    return told(found, span, shown, rows[:, span], len(numbers))


def span_of(read: np.ndarray) -> slice | None:
    """The periods from the first to the last of enough documents, of which so many are read, int64
    (T,); None where there is none."""
    enough = np.flatnonzero(read >= LEAST_DOCUMENTS)
    return slice(enough[0], enough[-1] + 1) if len(enough) else None


def told(
    found: Periods, span: slice, shown: np.ndarray, rows: np.ndarray, n_read: int
) -> tuple[dict[str, Any], list[list[list[float | None]]]]:
    """What `trends_of` returns, of mean, low and high end of the periods of a span, float64
    (3, T, K), of so many of the documents that have a time."""
    documents = np.bincount(found.of[found.of >= 0], minlength=len(found.names))
    facts = {
        "unit": found.unit,
        "names": found.names[span],
        "documents": documents[span].tolist(),
        "least": LEAST_DOCUMENTS,
        "read": n_read,
        "dated": int(documents.sum()),
    }
    return facts, [[digits(row) for row in rows[:, :, k].T] for k in shown]
