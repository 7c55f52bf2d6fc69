"""Scoring finished runs, or topics from another system, on held-out documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.text.vocabulary import ids_in
from topicmc.engine.method import Entry
from topicmc.errors import DataError, UsageError
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import Split, split_documents
from topicmc.models.lda.completion import check_topics, perplexity, token_probabilities
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import alpha_of, newest_of, samples_of
from topicmc.posterior.passes import one_by_one
from topicmc.posterior.running import running_errors
from topicmc.posterior.traces import trace_errors
from topicmc.posterior.truncation import at_rest
from topicmc.storage.arrays import read_array
from topicmc.storage.runs import of_each_chain

SPLIT_SEED = 0  # one split for all runs, so that their figures compare


@dataclass(frozen=True)
class Score:
    """Held-out perplexity: of the newest sample of each chain alone, in the mean of log p over
    chains, with p averaged over the samples past the point at which their chain came to rest
    (`topicmc.posterior.truncation`), ``averaged_over`` of the ``samples`` of the run, and under the
    running means of chains that keep them (`topicmc.samplers.running_mean`), in the mean of log p
    again, with the standard error that follows from the trace, if that is of the same topics and
    documents: those of the run and of its corpus. Of a run that has no sample the first two are of
    states of its start, and ``samples`` and ``averaged_over`` are 0; a matrix of topics counts as
    one."""

    perplexity: float
    perplexity_averaged: float
    perplexity_mean: float | None
    perplexity_mean_error: float | None
    samples: int
    averaged_over: int
    documents: int
    tokens_scored: int
    unknown_words: int
    split: str

    def as_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)


def score_run(
    run: TopicRun,
    corpus: Corpus,
    model_words: list[str],
    threads: Threads,
    most: int | None = None,
) -> Score:
    """The kept samples of all chains of a run, on the held-out documents of ``corpus``.

    ``model_words`` is the vocabulary of the run; the corpus may have another one: words are matched
    by spelling, and those that the model does not know are counted. ``most`` is how many samples of
    a chain are scored at most, evenly spread, and the newest [all].
    """
    every = samples_of(run)
    entries = at_rest(run, every)
    if most is not None:
        entries = of_each_chain(entries, lambda own: _spread(own, most))
    rows = ids_in(model_words, corpus.vocabulary)
    known = rows >= 0
    split = heldout_split(corpus, known)
    total = np.zeros(split.n_scored)
    newest, of_newest = newest_of(entries), []
    of_means: dict[int, np.ndarray] = {}

    def probabilities(theta: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        sums = theta.sum(axis=0, dtype=np.float64)
        if len(rows) != len(theta) or (rows != np.arange(len(rows))).any():
            theta = np.where(known[:, None], theta[np.maximum(rows, 0)], np.float32(0))
        return token_probabilities(split, theta, sums, alpha, seed=SPLIT_SEED, threads=threads)

    for entry in one_by_one(entries):
        alpha = alpha_of(run, entry)
        found = probabilities(run.read_sample(entry), alpha)
        total += found
        if "mean" in entry:
            of_means[entry["chain"]] = probabilities(run.read_mean(entry), alpha)
        if entry in newest:
            of_newest.append(found)
    return _score(
        split,
        perplexity(np.array(of_newest)),
        perplexity(total / len(entries)),
        *_of_means(run, corpus, of_means),
        *(sum(not entry["burn_in"] for entry in some) for some in (every, entries)),
    )


def score_topics(
    path: Path | str, corpus: Corpus, alpha: float | np.ndarray, threads: Threads
) -> Score:
    """A K × W matrix in the .npy file ``path`` (str or Path), columns in the order of the corpus's
    vocabulary.

    ``alpha`` is one number, or one for each topic, (K,); UsageError when there are other topics.
    """
    phi = check_topics(read_array(Path(path)), corpus.n_words, str(path))
    if np.size(alpha) not in (1, len(phi)):
        raise UsageError(
            f"{path}: has {len(phi)} topics, and RUN has learned priors of {np.size(alpha)}; give"
            " --alpha F"
        )
    rows = np.ascontiguousarray(phi.T, dtype=np.float32)  # where the least numbers are 0
    split = heldout_split(corpus, np.any(rows > 0, axis=1))
    probabilities = token_probabilities(
        split,
        rows,
        np.ones(len(phi)),
        np.broadcast_to(np.asarray(alpha, np.float64), len(phi)).copy(),
        seed=SPLIT_SEED,
        threads=threads,
    )
    return _score(split, perplexity(probabilities), perplexity(probabilities), None, None, 1, 1)


def _spread(entries: Sequence[Entry], most: int) -> list[Entry]:
    """At most so many entries of a chain, and the newest."""
    number = min(most, len(entries))
    return [entries[-1 - i * len(entries) // number] for i in range(number)]


def heldout_split(corpus: Corpus, known: np.ndarray, whom: str = "the model") -> Split:
    """The held-out documents of a corpus, cut in two, in the words that are ``known``, bool (W,),
    to whoever is to be scored. DataError when no documents are held out, or no words known."""
    if corpus.heldout.n_docs == 0:
        raise DataError(f"{corpus.path}: has no held-out documents; prepare it with --heldout N")
    corpus.check([])
    split = split_documents(corpus.heldout, seed=SPLIT_SEED, known=known)
    if split.n_scored == 0:
        raise DataError(f"{corpus.path}: none of the held-out words is known to {whom}")
    return split


def _of_means(
    run: TopicRun, corpus: Corpus, found: Mapping[int, np.ndarray]
) -> tuple[float | None, float | None]:
    """Perplexity under the running means of the chains in the mean of log p, and its standard
    error if chains are independent of each other. The trace knows that for the run's own topics and
    documents alone."""
    if not found:
        return None, None
    mean = perplexity(np.array(list(found.values())))
    changed = run.view is not None and run.view.changes_topics
    if changed or corpus.fingerprint != run.facts()["corpus"]["fingerprint"]:
        return mean, None
    with trace_errors(run):
        known = running_errors(run.trace())
    errors = [known.get(chain, np.nan) for chain in found]  # others may have been given up
    if not np.isfinite(errors).all():
        return mean, None
    return mean, mean * float(np.linalg.norm(errors)) / len(errors)


def _score(
    split,
    newest: float,
    averaged: float,
    mean: float | None,
    error: float | None,
    samples: int,
    averaged_over: int,
) -> Score:
    return Score(
        perplexity=newest,
        perplexity_averaged=averaged,
        perplexity_mean=mean,
        perplexity_mean_error=error,
        samples=samples,
        averaged_over=averaged_over,
        documents=split.n_docs,
        tokens_scored=split.n_scored,
        unknown_words=split.unknown_words,
        split=split.fingerprint,
    )
