"""Training in a temporary folder, for who wants the result in memory: the one loop of
`topicmc.training`, on documents that become a corpus for as long as it takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from topicmc import jobs
from topicmc.config import TrainConfig
from topicmc.corpora import Corpus, Documents
from topicmc.corpora.documents import select
from topicmc.corpora.emission import write_parts
from topicmc.corpora.store import count_dtype, id_dtype, write_index, write_vocabulary
from topicmc.distributed.transport import LocalTransport
from topicmc.inference.deviations import Sample
from topicmc.interrupts import Interrupt
from topicmc.posterior.draws import keeps_counts
from topicmc.posterior.samples import alpha_of, beta_of, samples_of
from topicmc.runs import RunDirectory
from topicmc.training import Listener, Training


@dataclass(frozen=True)
class Trained:
    """What a run leaves behind in memory."""

    samples: list[Sample]
    counted: bool
    """Whether θ are means given the topics of all tokens, and not draws."""
    beta: float
    update: int
    documents: int
    """Documents visited, over all passes."""
    finished: bool
    """Whether the samples are of the posterior; if not, the start was not over."""


def train(corpus: Corpus, config: TrainConfig, listener: Listener) -> Trained:
    """A whole run. Ctrl-C raises KeyboardInterrupt; what the loop raises passes through."""
    transport = LocalTransport(1)
    with TemporaryDirectory(prefix="topicmc-") as folder:
        try:
            config, corpus, run = jobs.start(config, corpus.path, Path(folder) / "run", transport)
            outcome = Training(config, corpus, run, transport, listener).train(Interrupt())
        finally:
            listener.close()
        entries = samples_of(run)
        return Trained(
            [_sample(run, entry) for entry in entries],
            keeps_counts(run),
            float(np.mean([beta_of(run, entry) for entry in entries])),
            outcome.update,
            outcome.documents,
            not any(entry.get("burn_in") for entry in entries),
        )


def _sample(run: RunDirectory, entry: dict) -> Sample:
    theta = run.read_sample(entry)
    return Sample(theta, theta.sum(axis=0, dtype=np.float64), alpha_of(run, entry))


def train_on(
    documents: Documents, n_words: int, config: TrainConfig, listener: Listener
) -> Trained:
    """The same for documents in memory, those without words left out."""
    filled = select(documents, documents.lengths > 0)
    dtypes = id_dtype(n_words), count_dtype(int(filled.counts.max(initial=1)))
    with TemporaryDirectory(prefix="topicmc-") as folder:
        tables = write_parts(
            iter([filled]),
            Path(folder),
            dtypes=dtypes,
            chosen=np.empty(0, np.int64),
            bounds=[0, filled.n_docs],
        )
        # The words stay with who knows them; here they only need to be as many.
        write_vocabulary(Path(folder) / "vocabulary.txt", [str(w) for w in range(n_words)])
        write_index(Path(folder), n_words=n_words, provenance={}, **tables)
        return train(Corpus.open(folder), config, listener)
