"""gensim: online variational Bayes.

LdaMulticore with one worker less than there are cores, as its documentation says, online, with
chunks of 2,000 documents, its default. It cannot learn α; LdaModel can, on one core, from its
default of 1/K. Neither estimates perplexity in between, which would cost time.

The clock counts ``update``, starting its worker included; the moments in which φ is copied are left
out. The state changes with each M step and is looked at there.
"""

from __future__ import annotations

import gc
import time
from contextlib import suppress
from multiprocessing.queues import Queue

import numpy as np
from marks import Marks, Settings, bags


class _Over(Exception):
    """The last mark is behind."""


def train(corpus, settings: Settings, marks: Marks, learn: bool) -> None:
    """Passes until the last mark."""
    from gensim.models import LdaModel, LdaMulticore

    base = LdaModel if learn else LdaMulticore
    own = (
        {"alpha": "auto"}
        if learn
        else {"alpha": [settings.alpha] * settings.topics, "workers": max(1, settings.threads - 1)}
    )
    start = 0.0

    class Watched(base):
        def do_mstep(self, *arguments, **keywords):
            nonlocal start
            super().do_mstep(*arguments, **keywords)
            now = time.perf_counter()
            if marks.due(now - start):
                alpha = np.array(self.alpha, float) if learn else None
                marks.take(now - start, self.get_topics(), alpha)
            if not marks.open:
                _abandon_queues()
                raise _Over
            start += time.perf_counter() - now

    model = Watched(
        num_topics=settings.topics,
        id2word=dict(enumerate(corpus.vocabulary)),
        eta=settings.beta,
        chunksize=2000,
        passes=10**6,
        eval_every=None,
        random_state=settings.seed + 1,
        **own,
    )
    documents = [
        list(zip(ids.tolist(), counts.tolist(), strict=True)) for ids, counts in bags(corpus)
    ]
    start = time.perf_counter()
    with suppress(_Over):
        model.update(documents)


def _abandon_queues() -> None:
    """A pass that was broken off leaves jobs that nobody takes, and this process would wait for
    somebody to do so when it ends."""
    for thing in gc.get_objects():
        if type(thing) is Queue:
            thing.cancel_join_thread()
