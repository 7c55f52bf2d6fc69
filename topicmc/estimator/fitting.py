"""Training in a temporary folder, for who wants the result in memory: the one loop of
`topicmc.engine.loop`, on documents that become a corpus for as long as it takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from topicmc.corpora import Corpus, Documents
from topicmc.corpora.documents import select
from topicmc.corpora.index import write_index
from topicmc.corpora.making.emission import write_parts
from topicmc.corpora.of_runs import IN_MEMORY
from topicmc.corpora.shards import count_dtype, id_dtype
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import UsageError
from topicmc.estimator.priors import IN_MEMORY as IN_MEMORY_PRIOR
from topicmc.estimator.stored import Record, read
from topicmc.estimator.watching import Watcher
from topicmc.host.interrupts import on_ctrl_c, unwound
from topicmc.host.machine import available_memory
from topicmc.models.lda import jobs
from topicmc.models.lda.model import training_of
from topicmc.models.lda.settings import Resolved, TrainConfig
from topicmc.storage.files import temporary_folder, write_words

_HELD_OUT = 200  # documents at most, spread over those trained on


@dataclass(frozen=True)
class Trained:
    """What a run leaves behind in memory."""

    record: Record
    interrupted: bool
    """By Ctrl-C."""


def train(
    corpus: Corpus, config: TrainConfig, watcher: Watcher, prior: np.ndarray | None = None
) -> Trained:
    """A whole run, with a ``prior`` of every topic and word (K, W) if there is one. The first
    Ctrl-C ends it, the next raises KeyboardInterrupt; what the loop raises passes through."""
    transport = LocalTransport(1)
    with unwound(), temporary_folder(Path(gettempdir()), "topicmc-") as folder:
        try:
            place = folder / "run"
            if prior is not None:
                np.save(folder / "prior.npy", prior)
                config = replace(config, topic_prior=str(folder / "prior.npy"))
            resolved, corpus, run = jobs.start(config, corpus.path, place, transport)
            _check_memory(resolved, corpus.n_words)
            training = training_of(resolved, corpus, run, transport, watcher)
            with on_ctrl_c(watcher.interrupt):
                outcome = training.train(watcher.interrupt)
            del training  # whose arrays make room for the samples
        finally:
            watcher.close()
        record = read(run)
        record.passes = outcome.items / corpus.n_docs
        if prior is not None:
            record.config["topic_prior"] = IN_MEMORY_PRIOR
        return Trained(record, outcome.interrupted and not watcher.stopped)


def _check_memory(config: Resolved, n_words: int) -> None:
    """UsageError where the samples, of which a run holds one at a time, do not fit all together."""
    held = config.samples + 2  # with one as it is read, or their mean in float64
    needed, free = 4.0 * held * config.topics * n_words, available_memory()
    if free is not None and needed > free:
        raise UsageError(
            f"--samples {config.samples} of --topics {config.topics} over {n_words:,} words need"
            f" about {needed / 1e9:.1f} GB of memory when training has ended, and"
            f" {free / 1e9:.1f} GB are free; keep fewer --samples"
        )


def train_on(
    documents: Documents,
    n_words: int,
    config: TrainConfig,
    watcher: Watcher,
    prior: np.ndarray | None = None,
) -> Trained:
    """The same for documents in memory, those without words left out. Copies of some are held out:
    by their likelihood it is told when the chain has come to rest, and how it goes."""
    filled = select(documents, documents.lengths > 0)
    dtypes = id_dtype(n_words), count_dtype(int(filled.counts.max(initial=1)))
    copies = _spread(filled, _HELD_OUT)
    with unwound(), temporary_folder(Path(gettempdir()), "topicmc-") as folder:
        tables = write_parts(
            iter([copies, filled]),
            folder,
            dtypes=dtypes,
            chosen=np.arange(copies.n_docs),
            bounds=[0, filled.n_docs],
        )
        # The words stay with who knows them; here they only need to be as many.
        write_words(folder / "vocabulary.txt", [str(w) for w in range(n_words)])
        write_index(folder, n_words=n_words, provenance={"tokenizer": None}, **tables)
        trained = train(Corpus.open(folder), config, watcher, prior)
    corpus = {**trained.record.corpus, "path": IN_MEMORY}
    return replace(trained, record=replace(trained.record, corpus=corpus))


def _spread(documents: Documents, n: int) -> Documents:
    chosen = np.zeros(documents.n_docs, bool)
    chosen[np.linspace(0, documents.n_docs - 1, min(n, documents.n_docs)).astype(int)] = True
    return select(documents, chosen)
