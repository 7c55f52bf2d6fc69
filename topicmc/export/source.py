"""What is exported: the topics of a chain, and where they come from."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from topicmc.corpora import Corpus
from topicmc.kernels.assignments import sample_assignments
from topicmc.kernels.batch import Minibatch, gather
from topicmc.kernels.gibbs import UNASSIGNED, topic_rows
from topicmc.kernels.padding import padded_topics
from topicmc.kernels.threads import Threads
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import posterior_mean
from topicmc.models.views import View
from topicmc.samplers.row_prior import RowPrior
from topicmc.topics.labels import Labels

NAMES = "topics.csv"
"""Which topic has which index and name, beside formats that know indices only."""
TOP = 20
"""Words of each topic in tables, unless a number is given."""
SWEEPS = 50
CHUNK = 100_000  # entries (distinct words of documents) that are sampled at a time


@dataclass(frozen=True)
class Topics:
    """The topics of a chain (`posterior_mean`).

    Attributes:
        phi: float64 (K, W), rows sum to one.
        share: float64 (K,), each topic's share of the tokens, sums to one, less what a view has
            dropped.
        alpha: float64 (K,), the prior of the topic mixes.
        prior: that of the topics.
        n_tokens: how many tokens they were trained on.
        n_docs: how many documents.
        vocabulary: the W words.
        labels: numbers and names of the topics.
    """

    phi: np.ndarray
    share: np.ndarray
    alpha: np.ndarray
    prior: RowPrior
    n_tokens: int
    n_docs: int
    vocabulary: list[str]
    labels: Labels

    def facts(self, k: int) -> dict[str, Any]:
        """What rows of tables say of a topic, besides its words."""
        return {
            "topic": self.labels.numbers[k],
            "share": float(self.share[k]),
            "alpha": float(self.alpha[k]),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """By the name of a file."""
        return {"phi": self.phi, "alpha": self.alpha}

    def assignments(
        self, corpus: Corpus, key: np.uint64, threads: Threads
    ) -> Iterator[tuple[Minibatch, np.ndarray]]:
        """A draw of the topic of every training token given φ and α: for each of the `batches` its
        documents and the topics of their tokens, uint16 (T,)."""
        theta = np.ascontiguousarray(self.phi.T, dtype=np.float32)
        sums = np.ones(len(self.phi))
        alpha = padded_topics(self.alpha)
        for batch in batches(corpus, threads):
            z = np.full(batch.n_tokens, UNASSIGNED)
            sample_assignments(
                batch,
                topic_rows(theta, sums, batch.words, threads),
                alpha,
                sweeps=SWEEPS,
                burn_in=SWEEPS - 1,
                key=key,
                update=0,
                threads=threads,
                want_word_topic=False,
                z=z,
            )
            yield batch, z

    @property
    def pseudo_counts(self) -> np.ndarray:
        """Parameters of Dirichlet laws with the means φ_k, which weigh as much as the prior and a
        topic's tokens do: float64 (K, W), φ_kw (N_k + B_k)."""
        n_topics, n_words = self.phi.shape
        sizes = self.share * self.n_tokens + self.prior.totals(n_words, n_topics)
        return self.phi * sizes[:, None]


def batches(corpus: Corpus, threads: Threads) -> Iterator[Minibatch]:
    """The training documents, under their numbers in the corpus, so many at a time that they have
    some `CHUNK` entries."""
    first = 0
    for number in range(corpus.n_shards):
        shard = corpus.shard(number)
        arrays = shard.indptr, shard.word_ids, shard.counts
        cuts = np.searchsorted(shard.indptr, np.arange(CHUNK, shard.n_entries, CHUNK))
        for docs in np.split(np.arange(shard.n_docs), cuts):
            batch = gather(*arrays, docs, corpus.n_words, threads)
            yield batch._replace(doc_ids=batch.doc_ids + first)
        first += shard.n_docs


def topics_of(run: TopicRun, chain: int = 0) -> Topics:
    """The topics of a chain of a run.

    Raises UsageError when there is no such chain, DataError when it has no samples yet or a file is
    damaged.
    """
    facts = run.facts()
    return Topics(
        *posterior_mean(run, chain),
        n_tokens=facts["corpus"]["tokens"],
        n_docs=facts["corpus"].get("documents", 1),
        vocabulary=run.vocabulary(),
        labels=Labels.of(run),
    )


@dataclass
class Source:
    """What is to be exported. None stands for an option that was not given.

    Attributes:
        runs: the runs, in most formats one.
        chain: whose topics [0].
        words: how many of each topic's words, or "all" [20; to arviz 10].
        corpus: the place of the training corpus [where it was].
        threads: how many may work [all cores].
        remarks: what writing has found worth telling a person.
    """

    runs: Sequence[Any]  # of `TopicRun`, or of mixtures
    chain: int | None = None
    words: int | Literal["all"] | None = None
    corpus: Path | None = None
    threads: int | None = None
    remarks: list[str] = field(default_factory=list)

    def check(self, format: str) -> None:
        """UsageError for a format that has no place for what is exported."""

    def draws(self) -> dict[str, np.ndarray]:
        """Scalars of all chains that stand by themselves, by name; none of topics, whose samples
        are exported."""
        return {}

    def given(self) -> set[str]:
        """Names of the options that were given; "runs" when there are several."""
        names = ("chain", "words", "corpus", "threads")
        several = {"runs"} if len(self.runs) > 1 else set()
        return several | {name for name in names if getattr(self, name) is not None}

    @cached_property
    def topics(self) -> Topics:
        """Those of the chain asked for."""
        return topics_of(self.runs[0], self.chain or 0)

    def assignments(
        self, corpus: Corpus, key: np.uint64, threads: Threads
    ) -> Iterator[tuple[Minibatch, np.ndarray]]:
        """As `Topics.assignments`, by the indices of the topics; where a view merges or drops some
        drawn under those of its run, int64 (T,), −1 for tokens of what is dropped."""
        view = self._view
        if view is None or not view.changes_topics:
            yield from self.topics.assignments(corpus, key, threads)
            return
        chain = self.chain or 0
        whole = topics_of(self.runs[0].whole, chain)
        members = view.summed(np.eye(view.n_topics), chain)  # (topics of the run, of the view)
        index = np.where(members.any(axis=1), members.argmax(axis=1), -1)
        for batch, z in whole.assignments(corpus, key, threads):
            yield batch, index[z]

    def note_dropped(self, figures: str) -> None:
        """A remark on figures that sum to one although a view has dropped topics."""
        if self._view is not None and self._view.dropped:
            part = self.topics.share.sum()
            self.remarks.append(
                f"{figures} are of the topics that are left, which have {part:.1%} of the tokens"
            )

    @property
    def _view(self) -> View | None:
        """That of topics; views of mixtures only name groups."""
        run = self.runs[0]
        return run.view if isinstance(run, TopicRun) else None

    def name_indices(self, folder: Path | None = None) -> None:
        """For formats that count topics from 0: where that does not tell all, which topic has which
        index and name, in ``topics.csv`` of a folder, or else in a remark."""
        labels = self.topics.labels
        if labels.are_plain:
            return
        rows = [
            (index, number, labels.names.get(number, ""))
            for index, number in enumerate(labels.numbers)
        ]
        if folder is not None:
            with (folder / NAMES).open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerows([("index", "topic", "label"), *rows])
            self.remarks.append(f"{NAMES} says which topics the indices from 0 on stand for")
        else:
            told = ", ".join(labels.tag(index) for index, _, _ in rows)
            self.remarks.append(f"the indices from 0 on stand for the topics {told}")

    def n_words(self, default: int = TOP) -> int:
        """How many words of each topic are asked for, at most those that there are."""
        n = len(self.runs[0].vocabulary())
        return n if self.words == "all" else min(n, self.words or default)

    def open_corpus(self) -> Corpus:
        """The training corpus, its shards found sound; DataError when it is not the same."""
        from topicmc.corpora.of_runs import open_corpus

        corpus = open_corpus(self.runs[0], self.corpus)
        corpus.check(range(corpus.n_shards))
        return corpus
