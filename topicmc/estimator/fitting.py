"""Training in a temporary folder, for who wants the result in memory: the one loop of
`topicmc.engine.loop`, on documents that become a corpus for as long as it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from topicmc.corpora import Corpus, Documents
from topicmc.corpora.documents import select
from topicmc.corpora.index import write_index
from topicmc.corpora.making.emission import write_parts
from topicmc.corpora.shards import count_dtype, id_dtype
from topicmc.engine.transport.local import LocalTransport
from topicmc.estimator.priors import NO_FILE
from topicmc.estimator.saved import of_samples, read
from topicmc.estimator.stored import Record, Visits
from topicmc.estimator.watching import Watcher
from topicmc.host.interrupts import on_ctrl_c, unwound
from topicmc.host.machine import check_room
from topicmc.models.lda import jobs
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.model import training_of
from topicmc.models.lda.planning.pace import Pace
from topicmc.models.lda.planning.plan import expected_samples
from topicmc.models.lda.settings import Resolved, TrainConfig
from topicmc.storage.files import temporary_folder, write_words
from topicmc.storage.scratch import aside, naming_tmpdir

_HELD_OUT = 200  # documents at most, spread over those trained on


def train(
    corpus: Corpus,
    config: TrainConfig,
    watch: Callable[[int], Watcher],
    prior: np.ndarray | None = None,
) -> tuple[Record, bool]:
    """What a whole run leaves behind, and whether Ctrl-C has ended it. There may be a ``prior`` of
    every topic and word (K, W). ``watch`` makes the one who is told how it goes, of so many
    documents, when all arguments are found sound. A second Ctrl-C raises KeyboardInterrupt; what
    the loop raises passes through."""
    transport = LocalTransport(1)
    with unwound(), naming_tmpdir(), temporary_folder(aside(), "topicmc-") as folder:
        if prior is not None:
            np.save(folder / "prior.npy", prior)
            config = replace(config, topic_prior=str(folder / "prior.npy"))
        resolved, corpus, run = jobs.start(config, corpus.path, folder / "run", transport)
        _check_memory(resolved, Extent.of(corpus))
        with closing(watch(corpus.n_docs)) as watcher:
            training = training_of(resolved, corpus, run, transport, watcher)
            with on_ctrl_c(watcher.interrupt):
                outcome = training.train(watcher.interrupt)
            del training  # whose arrays make room for the samples
        record = read(run)
        record.passes = outcome.items / corpus.n_docs
        record.visits = Visits(corpus.n_docs, record.passes)
        if prior is not None:
            record.config["topic_prior"] = NO_FILE
        return record, outcome.interrupted and not watcher.stopped


def _check_memory(config: Resolved, size: Extent) -> None:
    """UsageError where the samples, of which a run holds one at a time, do not fit all together."""
    kept = _most_kept(config, size)
    check_room(
        of_samples(kept, config.topics, size.n_words),
        f"{kept} samples of --topics {config.topics} over {size.n_words:,} words",
        "keep fewer --samples",
    )


def _most_kept(config: Resolved, size: Extent) -> int:
    """How many samples a run keeps at most, about: fewer than ``samples`` where it is short."""
    if config.epochs is None:  # it is long, or only time tells
        return config.samples
    longest = replace(config, time_budget=None)
    kept = expected_samples(longest, size, Pace.reckoned(config, size.n_words, config.threads))
    # A longer run has between half of them and all, wherever it ends.
    return config.samples if 2 * kept >= config.samples else max(1, kept)


@contextmanager
def written(documents: Documents, words: Sequence[str]) -> Iterator[Corpus]:
    """Documents that all have words, as a corpus that is there within the block; they themselves
    are given up. ``words``, each of which fits on a line, need not be theirs, but as many. Copies
    of some documents are held out: by their likelihood it is told when the chain has come to rest,
    and how it goes."""
    with unwound(), naming_tmpdir(), temporary_folder(aside(), "topicmc-") as folder:
        _write(documents, words, folder)
        del documents
        yield Corpus.open(folder)


def _write(documents: Documents, words: Sequence[str], folder: Path) -> None:
    copies, n_words = _spread(documents, _HELD_OUT), len(words)
    tables = write_parts(
        iter([copies, documents]),
        folder,
        dtypes=(id_dtype(n_words), count_dtype(int(documents.counts.max(initial=1)))),
        chosen=np.arange(copies.n_docs),
        bounds=[0, documents.n_docs],
    )
    write_words(folder / "vocabulary.txt", words)
    write_index(folder, n_words=n_words, provenance={"tokenizer": None}, **tables)


def _spread(documents: Documents, n: int) -> Documents:
    chosen = np.zeros(documents.n_docs, bool)
    chosen[np.linspace(0, documents.n_docs - 1, min(n, documents.n_docs)).astype(int)] = True
    return select(documents, chosen)
