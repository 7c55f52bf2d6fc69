"""Scoring finished runs, or topics from another system, on held-out documents."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.errors import DataError, UsageError
from topicmc.kernels.threads import Threads
from topicmc.models.lda.completion import (
    check_topics,
    perplexity,
    split_documents,
    token_probabilities,
)
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import alpha_of, newest_of, samples_of
from topicmc.storage.files import read_array

SPLIT_SEED = 0  # one split for all runs, so that their figures compare


@dataclass(frozen=True)
class Score:
    """Held-out perplexity: of the newest sample of each chain alone, in the mean of log p over
    chains, and with p averaged over all ``samples``. Of a run that has none, both are of states of
    its start, and ``samples`` is 0."""

    perplexity: float
    perplexity_averaged: float
    samples: int
    documents: int
    tokens_scored: int
    unknown_words: int
    split: str

    def as_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)


def score_run(run: TopicRun, corpus: Corpus, model_words: list[str], threads: Threads) -> Score:
    """The kept samples of all chains of a run, on the held-out documents of ``corpus``.

    ``model_words`` is the vocabulary of the run; the corpus may have another one: words are matched
    by spelling, and those that the model does not know are counted.
    """
    entries = samples_of(run)
    rows = _rows_of(corpus.vocabulary, model_words)
    known = rows >= 0
    split = _split(corpus, known)
    total = np.zeros(split.n_scored)
    newest, of_newest = newest_of(entries), []
    for entry in entries:
        theta = run.read_sample(entry)
        sums = theta.sum(axis=0, dtype=np.float64)
        if len(rows) != len(theta) or (rows != np.arange(len(rows))).any():
            theta = np.where(known[:, None], theta[np.maximum(rows, 0)], np.float32(0))
        alpha = alpha_of(run, entry)
        found = token_probabilities(split, theta, sums, alpha, seed=SPLIT_SEED, threads=threads)
        total += found
        if entry in newest:
            of_newest.append(found)
    return _score(
        split,
        perplexity(np.array(of_newest)),
        perplexity(total / len(entries)),
        sum(not entry["burn_in"] for entry in entries),
    )


def score_topics(path: Path, corpus: Corpus, alpha: float | np.ndarray, threads: Threads) -> Score:
    """A K × W matrix in a .npy file, columns in the order of the corpus's vocabulary.

    ``alpha`` is one number, or one for each topic, (K,); UsageError when there are other topics.
    """
    phi = check_topics(read_array(path), corpus.n_words, str(path))
    if np.size(alpha) not in (1, len(phi)):
        raise UsageError(
            f"{path}: has {len(phi)} topics, and RUN has learned priors of {np.size(alpha)}; give"
            " --alpha F"
        )
    known = (phi > 0).any(axis=0)
    split = _split(corpus, known)
    probabilities = token_probabilities(
        split,
        np.ascontiguousarray(phi.T, dtype=np.float32),
        np.ones(len(phi)),
        np.broadcast_to(np.asarray(alpha, np.float64), len(phi)).copy(),
        seed=SPLIT_SEED,
        threads=threads,
    )
    return _score(split, perplexity(probabilities), perplexity(probabilities), 1)


def _split(corpus, known):
    if corpus.heldout.n_docs == 0:
        raise DataError(f"{corpus.path}: has no held-out documents; prepare it with --heldout N")
    corpus.check([])
    split = split_documents(corpus.heldout, seed=SPLIT_SEED, known=known)
    if split.n_scored == 0:
        raise DataError(f"{corpus.path}: none of the held-out words is known to the model")
    return split


def _score(split, newest: float, averaged: float, samples: int) -> Score:
    return Score(
        perplexity=newest,
        perplexity_averaged=averaged,
        samples=samples,
        documents=split.n_docs,
        tokens_scored=split.n_scored,
        unknown_words=split.unknown_words,
        split=split.fingerprint,
    )


def _rows_of(words: list[str], model_words: list[str]) -> np.ndarray:
    """int64 (W,): the row of each word in the model, −1 where it has none."""
    row = {word: i for i, word in enumerate(model_words)}
    return np.array([row.get(word, -1) for word in words], np.int64)
