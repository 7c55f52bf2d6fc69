"""The pace of this machine, measured on the first documents of a corpus.

Whether sweeps fit into a time budget, and how long a start may be, depends on the machine. So where
there is a budget the first blocks are drawn once before training, on scratch, and timed, by all
processes at the same time, as they will work.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from topicmc.corpora import Corpus
from topicmc.engine.transport.base import Transport
from topicmc.kernels.padding import padded_size
from topicmc.kernels.threads import Threads
from topicmc.models.lda.collapsed.worker import CollapsedWorker
from topicmc.models.lda.partition import DocumentRange, share_out
from topicmc.models.lda.planning.pace import MOVE, Pace
from topicmc.models.lda.settings import Resolved
from topicmc.models.lda.workers import expand
from topicmc.samplers.row_prior import RowPrior

_TOKENS = 400_000  # that are drawn to take the time
_ENTRIES = 1 << 22  # of counts that are exchanged to take the time
# How often time is taken, at least; of draws, for so long, as a share of the budget and in seconds
# at most: other programs on the machine slow it down for tenths of a second.
_TIMES = 5
_SHARE, _SECONDS = 0.02, 0.6


def measured(corpus: Corpus, config: Resolved, threads: int, transport: Transport) -> Pace:
    """The pace on this machine, the slowest of all processes'; collective. It compiles the kernels
    of a draw if they are not in the cache, and leaves nothing behind.

    ``config`` has its topics, workers and blocks decided.
    """
    draw = _draw(corpus, config, Threads(threads), transport.workers[0])
    entries = corpus.n_words * padded_size(config.topics)
    exchange = _exchange(min(entries, _ENTRIES), transport) * max(1.0, entries / _ENTRIES)
    # Processes may have other numbers of threads, and must come to the same plan.
    everyone = transport.exchange([draw, exchange, MOVE / threads / 1e9])
    draw, exchange, move = (max(values) for values in zip(*everyone, strict=True))
    return Pace(draw, exchange, move, len(transport.workers))


def _draw(corpus: Corpus, config: Resolved, threads: Threads, worker: int) -> float:
    """Seconds to draw a token of a worker's first documents, counts and all, in blocks of the size
    that they are drawn in: what is done once a block tells where these are small."""
    ranges, wanted = [], max(1, round(_TOKENS / (corpus.n_tokens / corpus.n_docs)))
    for shard, first, last in share_out(corpus, config.workers)[worker]:
        ranges.append(DocumentRange(shard, first, min(last, first + wanted)))
        wanted -= ranges[-1].last - first
        if wanted == 0:
            break
    corpus.check([r.shard for r in ranges])
    offsets, tokens, number = expand(corpus, ranges)
    key, alpha = np.uint64(0), np.full(config.topics, 0.1)
    sampler = CollapsedWorker(offsets, tokens, number, corpus.n_words, config.topics, key)
    one_by_one = config.batch_size == 1
    n_docs, size = len(offsets) - 1, config.trajectory if one_by_one else config.batch_size
    blocks = [np.arange(d, min(d + size, n_docs)) for d in range(0, n_docs, size)]

    def sweep(number: int) -> None:
        for docs in blocks:
            sampler.draw(
                docs, alpha, RowPrior(0.1), sweep=number, one_by_one=one_by_one, threads=threads
            )

    sweep(0)
    sweep(1)
    seconds = min(_SECONDS, _SHARE * (config.time_budget or 0))
    return _median(lambda: sweep(2), seconds) / max(1, len(tokens))


def _exchange(entries: int, transport: Transport) -> float:
    """Seconds to add up so many counts over all workers."""
    if transport.n_processes == 1:
        return 0.0
    counts = np.zeros(entries, np.int32)
    transport.sum(counts)
    return _median(lambda: transport.sum(counts))


def _median(work: Callable[[], object], within: float = 0.0) -> float:
    """The median of the times that work takes, a few at least and as many as there are ``within``
    so many seconds: who slows it down will go on so."""
    seconds: list[float] = []
    total = 0.0
    while len(seconds) < _TIMES or total < within:
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
        total += seconds[-1]
    return statistics.median(seconds)
