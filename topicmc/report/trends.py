"""How much of each period of time a topic holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.documents import Documents, offsets, select
from topicmc.inference.mixes import Mixer
from topicmc.kernels.threads import Threads
from topicmc.posterior.uncertainty import Posterior
from topicmc.report.numbers import digits

MOST_DOCUMENTS = 200_000
"""Documents that a trend rests on: of more, every n-th."""
LEAST_DOCUMENTS = 10
"""A period of fewer says nothing."""
MOST_PERIODS = 60
UNITS = {"day": "D", "month": "M", "year": "Y", "decade": "10Y"}


def trends_of(
    posterior: Posterior, shown: np.ndarray, corpus: Corpus, threads: Threads | None = None
) -> tuple[dict[str, Any] | None, list[list[float | None]]]:
    """The periods of a corpus that has times, and for each shown topic its share of the tokens of
    each period from the first to the last that has enough documents, None where one has not."""
    times = corpus.times
    if times is None or np.isnat(times).all():
        return None, [[] for _ in shown]
    unit, period, names = periods(times)
    mixer = Mixer(posterior.phi, posterior.alpha, threads)
    tokens, seen = np.zeros((len(names), mixer.n_topics)), []
    for documents, dates in _dated(corpus, period, mixer.block):
        rows = np.repeat(np.arange(documents.n_docs), documents.lengths)
        sizes = np.bincount(rows, documents.counts, documents.n_docs)
        np.add.at(tokens, dates, mixer.mixes(documents) * sizes[:, None])
        seen.append(dates)
    read = np.bincount(np.concatenate(seen), minlength=len(names))
    enough = np.flatnonzero(read >= LEAST_DOCUMENTS)
    if not len(enough):
        return None, [[] for _ in shown]
    span = slice(enough[0], enough[-1] + 1)
    tokens[read < LEAST_DOCUMENTS] = np.nan
    shares = tokens[span] / tokens[span].sum(axis=1, keepdims=True)
    facts = {"unit": unit, "names": names[span], "least": LEAST_DOCUMENTS}
    return facts, [digits(row) for row in shares.T[shown]]


def _dated(
    corpus: Corpus, period: np.ndarray, n_docs: int
) -> Iterator[tuple[Documents, np.ndarray]]:
    """The documents that have a period, or every so many of them, at most ``n_docs`` at a time, and
    their periods."""
    numbers = np.flatnonzero(period >= 0)
    numbers = numbers[:: -(-len(numbers) // MOST_DOCUMENTS)]
    begins = offsets(np.array(corpus.shard_sizes))
    for shard, begin in enumerate(begins[:-1].tolist()):
        documents = corpus.shard(shard)
        for start in range(0, documents.n_docs, n_docs):
            stop = min(start + n_docs, documents.n_docs)
            first, last = np.searchsorted(numbers, [begin + start, begin + stop])
            chosen = np.zeros(stop - start, bool)
            chosen[numbers[first:last] - begin - start] = True
            yield select(documents.part(start, stop), chosen), period[numbers[first:last]]


def periods(times: np.ndarray) -> tuple[str, np.ndarray, list[str]]:
    """The finest calendar unit that cuts ``times`` (datetime64) into at most `MOST_PERIODS`, or
    decades: its name, the period of each time (int64, −1 for NaT), and the names of the periods."""
    known = ~np.isnat(times)
    for unit, code in UNITS.items():  # noqa: B007
        rounded = times.astype(f"datetime64[{code}]")
        first, last = rounded[known].min(), rounded[known].max()
        count = int((last - first).astype(np.int64)) + 1
        if count <= MOST_PERIODS:
            break
    index = np.where(known, (rounded - first).astype(np.int64), -1)
    suffix = "s" if unit == "decade" else ""
    return unit, index, [f"{begin}{suffix}" for begin in first + np.arange(count)]
