"""How much of each period of time a topic holds, and how sure that is.

Gibbs sampling of the topics of the tokens goes from one draw of φ from its posterior to the next,
as in `topicmc.inference.deviations`: each draw gives every token a topic, and so the tokens of a
period shares. Their mean over the draws of the chains that found a topic is its trend, and credible
intervals follow from them as those of its share (`topicmc.topics.uncertainty`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.documents import Documents, select
from topicmc.corpora.offsets import offsets
from topicmc.errors import UsageError
from topicmc.host.machine import available_cores
from topicmc.inference.deviations import Sample
from topicmc.kernels.assignments import sample_assignments
from topicmc.kernels.batch import gather
from topicmc.kernels.gibbs import UNASSIGNED, topic_rows
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.random import stream_key
from topicmc.kernels.threads import Threads
from topicmc.models.lda.draws import draw_of
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import alpha_of
from topicmc.posterior.thinning import evenly
from topicmc.report.numbers import digits
from topicmc.topics.chains import MatchedChain
from topicmc.topics.uncertainty import Posterior

MOST_DOCUMENTS = 200_000
"""Documents that a trend rests on: of more, every n-th."""
LEAST_DOCUMENTS = 10
"""A period of fewer says nothing."""
MOST_PERIODS = 60
"""Periods, where their length is not given;"""
MOST_ASKED = 1000
"""and where it is."""
UNITS = {"day": "D", "month": "M", "year": "Y", "decade": "10Y"}
_DRAWS = 16  # of φ, of each chain at most
_BLOCK = 1 << 20  # documents × topics looked at together
_BURN_IN, _SETTLE = 10, 2  # sweeps before the first draw, and after each change of φ


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
    period, names = found.of, found.names
    chains = [_drawn(chain) for chain in posterior.believed]
    draws = [draw for chain in chains for draw in chain]
    tokens = np.zeros((len(draws), len(names), len(posterior.phi)))
    sizes = np.zeros(len(names))
    seen = []
    block = max(1, _BLOCK // max(len(draw.sample.alpha) for draw in draws))
    threads = threads or Threads(available_cores())
    first = 0
    for documents, dates in _dated(corpus, period, block):
        for total, counts in zip(tokens, _counted(documents, draws, first, threads), strict=True):
            np.add.at(total, dates, counts)
        np.add.at(sizes, dates, documents.sizes)
        first += documents.n_docs
        seen.append(dates)
    read = np.bincount(np.concatenate(seen), minlength=len(names))
    span = span_of(read)
    if span is None:
        return None, [[] for _ in shown]
    enough = np.flatnonzero(read >= LEAST_DOCUMENTS)
    shares = (tokens[:, enough] / sizes[enough, None]).swapaxes(1, 2)  # (n, K, periods)
    ends = np.cumsum([len(chain) for chain in chains])[:-1]
    rows = np.full((3, len(names), len(posterior.phi)), np.nan)
    for row, value in zip(rows, posterior.pooled(np.split(shares, ends)), strict=True):
        row[enough] = value.T
    return told(found, span, shown, *rows[:, span])


class Periods(NamedTuple):
    """The unit of periods, the period of each document, int64 (D,), −1 of none, and the names of
    the periods."""

    unit: str
    of: np.ndarray
    names: list[str]


def periods_of(corpus: Corpus, by: str | None) -> Periods | None:
    """Those of a corpus; None when it knows no times. UsageError as `trends_of`."""
    times = corpus.times
    if times is None or np.isnat(times).all():
        if by is not None:
            raise UsageError(f"--by {by}: the corpus knows no times; prepare it with --time FIELD")
        return None
    return Periods(*periods(times, by))


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


class _Draw(NamedTuple):
    """A draw of all topics of a run, and how their tokens (n, K) become those of the topics that
    are shown, in the numbers of the first chain: a view shows sums of topics, and not all. The
    first of a chain begins with topics that no other has drawn."""

    sample: Sample
    is_first: bool
    shown: Callable[[np.ndarray], np.ndarray]


def _drawn(chain: MatchedChain) -> list[_Draw]:
    """Draws of φ at samples of a chain, evenly spread."""
    run, view = chain.run, chain.run.view
    whole = run if view is None else TopicRun.open(run.path)
    number = chain.entries[0]["chain"]
    order = chain.order if view is None else view.orders.get(number, np.arange(view.n_topics))

    def shown(counts: np.ndarray) -> np.ndarray:
        if view is None:
            return counts
        own = np.empty_like(counts)
        own[:, order] = counts
        return view.summed(own, number)[:, chain.order]

    drawn: list[_Draw] = []
    for place in evenly(len(chain.entries), _DRAWS):
        entry = chain.entries[place]
        theta = np.ascontiguousarray(draw_of(whole, entry)[:, order])
        sums = theta.sum(axis=0, dtype=np.float64)
        sample = Sample(theta, sums, alpha_of(whole, entry)[order])
        drawn.append(_Draw(sample, not drawn, shown))
    return drawn


def _counted(
    documents: Documents, draws: list[_Draw], first: int, threads: Threads
) -> Iterator[np.ndarray]:
    """The tokens of documents, numbered from ``first``, by topic that is shown under each draw:
    float64 (n, K)."""
    n_words = len(draws[0].sample.theta)
    arrays = documents.indptr, documents.word_ids, documents.counts
    batch = gather(*arrays, np.arange(documents.n_docs), n_words)
    batch = batch._replace(doc_ids=batch.doc_ids + first)
    z = np.full(batch.n_tokens, UNASSIGNED)
    for number, (sample, is_first, shown) in enumerate(draws):
        sweeps = (_BURN_IN if is_first else _SETTLE) + 1
        if is_first:
            z[:] = UNASSIGNED
        drawn = sample_assignments(
            batch, topic_rows(sample.theta, sample.sums, batch.words),
            padded_topics(sample.alpha), sweeps=sweeps, burn_in=sweeps - 1,
            key=stream_key(0, "trends"), update=number, threads=threads,
            want_word_topic=False, want_doc_topic=True, z=z,
        )  # fmt: skip
        assert drawn.doc_topic is not None
        yield shown(drawn.doc_topic[:, : len(sample.alpha)] / drawn.scale)


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


def periods(times: np.ndarray, by: str | None = None) -> tuple[str, np.ndarray, list[str]]:
    """The unit ``by``, or the finest calendar unit that cuts ``times`` (datetime64) into at most
    `MOST_PERIODS`, or decades: its name, the period of each time (int64, −1 for NaT), and the names
    of the periods. UsageError when there are more than `MOST_ASKED`."""
    known = ~np.isnat(times)
    for unit, code in UNITS.items() if by is None else [(by, UNITS[by])]:  # noqa: B007
        rounded = times.astype(f"datetime64[{code}]")
        first, last = rounded[known].min(), rounded[known].max()
        count = int((last - first).astype(np.int64)) + 1
        if count <= MOST_PERIODS:
            break
    if by is not None and count > MOST_ASKED:
        coarser = list(UNITS)[list(UNITS).index(by) + 1]
        raise UsageError(
            f"--by {by}: makes {count:,} periods, and {MOST_ASKED:,} are the most; use --by"
            f" {coarser}"
        )
    index = np.where(known, (rounded - first).astype(np.int64), -1)
    suffix = "s" if unit == "decade" else ""
    return unit, index, [f"{begin}{suffix}" for begin in first + np.arange(count)]
