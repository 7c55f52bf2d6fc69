"""The pace of this machine, measured on the first documents of a corpus.

Whether sweeps fit into a time budget, and how long a start may be, depends on the machine. So where
there is a budget the first blocks are drawn once before training, on scratch, and timed, by all
processes at the same time, as they will work.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from topicmc.corpora import Corpus
from topicmc.engine.transport.base import Transport
from topicmc.kernels.padding import padded_size
from topicmc.kernels.threads import Threads
from topicmc.models.lda.collapsed.worker import CollapsedWorker
from topicmc.models.lda.pace import MOVE, Pace
from topicmc.models.lda.partition import share_out
from topicmc.models.lda.settings import Resolved
from topicmc.models.lda.workers import expand
from topicmc.samplers.row_prior import RowPrior

_TOKENS = 400_000  # that are drawn to take the time
_ENTRIES = 1 << 22  # of counts that are exchanged to take the time
_TIMES = 3


def measured(corpus: Corpus, config: Resolved, threads: int, transport: Transport) -> Pace:
    """The pace on this machine, the slowest of all processes'; collective. It compiles the kernels
    of a draw if they are not in the cache, and leaves nothing behind.

    ``config`` has its topics and workers decided.
    """
    draw = _draw(corpus, config.topics, Threads(threads), transport.workers[0], config.workers)
    entries = corpus.n_words * padded_size(config.topics)
    exchange = _exchange(min(entries, _ENTRIES), transport) * max(1.0, entries / _ENTRIES)
    everyone = transport.exchange([draw, exchange])
    draw, exchange = (max(values) for values in zip(*everyone, strict=True))
    return Pace(draw, exchange, MOVE / threads / 1e9, len(transport.workers))


def _draw(corpus: Corpus, n_topics: int, threads: Threads, worker: int, n_workers: int) -> float:
    """Seconds to draw a token of a worker's first documents, counts and all."""
    shard, first, last = share_out(corpus, n_workers)[worker][0]
    corpus.check([shard])
    share = _TOKENS / (corpus.n_tokens / corpus.n_docs)
    last = min(last, first + max(1, round(share)))
    offsets, tokens, number = expand(corpus, [(shard, first, last)])
    sampler = CollapsedWorker(offsets, tokens, number, corpus.n_words, n_topics, np.uint64(0))
    docs = np.arange(len(offsets) - 1)
    alpha = np.full(n_topics, 0.1)

    def sweep(number: int) -> None:
        sampler.draw(docs, alpha, RowPrior(0.1), sweep=number, one_by_one=False, threads=threads)

    sweep(0)
    sweep(1)
    return _least(lambda: sweep(2)) / max(1, len(tokens))


def _exchange(entries: int, transport: Transport) -> float:
    """Seconds to add up so many counts over all workers."""
    if transport.n_processes == 1:
        return 0.0
    counts = np.zeros(entries, np.int32)
    transport.sum(counts)
    return _least(lambda: transport.sum(counts))


def _least(work: Callable[[], object]) -> float:
    """The least of a few times that work takes: others on the machine only make it longer."""
    seconds = []
    for _ in range(_TIMES):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
