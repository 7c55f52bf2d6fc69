"""Comparing topics: runs with each other, and with the topics of other systems.

Everything is measured over the words that all models and the corpus have in common: topics are
rescaled to them, and what is left out is stated. So figures are of one and the same thing, also
where vocabularies differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.text.vocabulary import ids_in
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import Split
from topicmc.models.lda.completion import perplexity
from topicmc.models.lda.scoring import heldout_split
from topicmc.storage.files import real_path
from topicmc.topics.coherence import document_counts, npmi, u_mass
from topicmc.topics.compare.drift import Drift, drift
from topicmc.topics.compare.grouping import Grouping, grouping
from topicmc.topics.compare.models import MixtureModel, Model, restricted
from topicmc.topics.compare.pairing import Matching, matching
from topicmc.topics.matching import SAME
from topicmc.topics.ranking import top
from topicmc.topics.reading import TOP, diversity


@dataclass(frozen=True)
class Measures:
    """The figures of one model; None where one does not apply.

    NPMI and u_mass are means over topics, of their ten likeliest words. ``left_out`` is the share
    of the model's tokens on words that others lack.
    """

    name: str
    topics: int
    samples: int
    perplexity: float
    perplexity_averaged: float
    npmi: float
    u_mass: float
    diversity: float
    left_out: float
    sampler: str | None = None
    chains: int | None = None
    updates: int | None = None
    seconds: float | None = None
    tokens_per_second: int | None = None
    threads: int | None = None


@dataclass(frozen=True)
class Comparison:
    """Models beside each other, the others' topics matched to the first one's, how the words of
    matched topics have changed, where that was asked for, and how far groups of mixtures agree."""

    corpus: str
    documents: int
    tokens_scored: int
    unknown_words: int
    split: str
    words: int
    models: tuple[Measures, ...]
    matchings: tuple[Matching, ...]
    remarks: tuple[str, ...]
    drifts: tuple[Drift, ...] = ()
    groupings: tuple[Grouping, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)


def compare(
    models: Sequence[Model],
    corpus: Corpus,
    threads: Threads,
    *,
    limit: float = SAME,
    drifts: bool | None = None,
) -> Comparison:
    """Measures models on one corpus, and matches the topics of each to those of the first.

    Args:
        models: two or more.
        corpus: whose held-out documents are scored and on whose training documents coherence is
            measured.
        threads: to work with; the result does not depend on them.
        limit: the Hellinger distance up to which matched topics count as similar.
        drifts: whether to tell how words have changed; None: of runs that go on from the first.

    Raises:
        DataError: the corpus has no held-out documents, or no words that all models know.
    """
    test_set, columns = _common_test_set(models, corpus)
    words = [corpus.vocabulary[w] for w in test_set.ids]
    measures, matchings, groupings, changes = [], [], [], []
    first = restricted(models[0].phi, columns[0])
    for model, mine in zip(models, columns, strict=True):
        phi = restricted(model.phi, mine)
        measures.append(_measures(model, mine, phi, test_set, threads))
        if model is models[0]:
            continue
        mixtures = [one for one in (models[0], model) if isinstance(one, MixtureModel)]
        if len(mixtures) == 2 and models[0].corpus == model.corpus:
            groupings.append(grouping(mixtures[0], mixtures[1]))
        if not mixtures:
            both = models[0].labels, model.labels
            matchings.append(matching(model.name, first, phi, words, limit, both))
            if drifts or (drifts is None and _goes_on(models[0], model)):
                changes.append(drift(models[0], model, (columns[0], mine), matchings[-1]))
    split = test_set.split
    return Comparison(
        corpus=str(corpus.path),
        documents=split.n_docs,
        tokens_scored=split.n_scored,
        unknown_words=split.unknown_words,
        split=split.fingerprint,
        words=len(words),
        models=tuple(measures),
        matchings=tuple(matchings),
        remarks=tuple(_remarks(models, measures, test_set)),
        drifts=tuple(changes),
        groupings=tuple(groupings),
    )


def _goes_on(first: Model, model: Model) -> bool:
    """Whether a run goes on from the first one."""
    return model.origin is not None and real_path(model.origin) == real_path(Path(first.name))


class CommonTestSet(NamedTuple):
    """What all models are measured on: a corpus, the ids of the words that all know, ascending, and
    the held-out documents without other words."""

    corpus: Corpus
    ids: np.ndarray
    split: Split


def _common_test_set(
    models: Sequence[Model], corpus: Corpus
) -> tuple[CommonTestSet, list[np.ndarray]]:
    """The common test set, and where each model has its words."""
    places = np.array([ids_in(model.words, corpus.vocabulary) for model in models])
    known = np.all(places >= 0, axis=0)
    split = heldout_split(corpus, known, "all the topics")
    return CommonTestSet(corpus, np.flatnonzero(known), split), list(places[:, known])


def _measures(
    model: Model, columns: np.ndarray, phi: np.ndarray, test_set: CommonTestSet, threads: Threads
) -> Measures:
    scores = model.scores(test_set.split, columns, test_set.ids, test_set.corpus.n_words, threads)
    counts = document_counts(test_set.ids[top(phi, TOP)], test_set.corpus)
    return Measures(
        name=model.name,
        topics=len(phi),
        samples=0 if model.unfinished else len(scores),
        perplexity=perplexity(np.array([scores[i] for i in model.newest])),
        perplexity_averaged=perplexity(np.mean(scores, axis=0)),
        npmi=float(npmi(counts).mean()),
        u_mass=float(u_mass(counts).mean()),
        diversity=diversity(top(phi, 25)),
        left_out=_left_out(model, columns),
        **model.facts,
    )


def _left_out(model: Model, columns: np.ndarray) -> float:
    others = np.delete(model.phi, columns, axis=1)
    return float(model.share @ others.sum(axis=1))


def _remarks(
    models: Sequence[Model], measures: Sequence[Measures], test_set: CommonTestSet
) -> Iterator[str]:
    """What makes figures less comparable than they look."""
    corpus, unknown = test_set.corpus, test_set.split.unknown_words
    for model in models:
        if model.corpus not in (None, corpus.fingerprint):
            yield (
                f"{model.name} was trained on another corpus, or on another split of the same: it"
                f" may have seen documents that are held out in {corpus.path}"
            )
        if model.unfinished:
            yield (
                f"{model.name} has states of its start in place of samples so far; train it longer"
            )
    if any(m.left_out for m in measures) or unknown:
        parts = ", ".join(f"{m.left_out:.1%} of {m.name}" for m in measures)
        yield (
            f"the vocabularies differ: only words that all know count, which leaves out {parts},"
            f" and {unknown:,} tokens of the held-out documents"
        )
    samples = [m.samples for m in measures if m.samples]
    as_many = len(set(samples)) < 2
    means, draws = ([m.name for m in models if m.of_means is kind] for kind in (True, False))
    alike = not (means and draws)
    if not alike:
        yield (
            "perplexities of the newest samples do not compare: those of"
            f" {' and '.join(means)} are of means given the topics of all tokens, and those of"
            f" {' and '.join(draws)} of draws, which predict less well"
            f"{'; compare the averaged ones' * as_many}"
        )
    if not as_many:
        *others, last = samples
        yield (
            f"averaged perplexities do not compare: they are over {', '.join(map(str, others))} and"
            f" {last} samples, and more samples lower them"
            f"{'; compare those of the newest sample' * alike}"
        )
    mixtures = [model for model in models if isinstance(model, MixtureModel)]
    if mixtures and len(mixtures) < len(models):
        yield (
            "groups are not matched with topics, for a document has one group and mixes topics; the"
            " perplexities compare: all complete the same documents"
        )
    for model in mixtures[1:]:
        if model.corpus != mixtures[0].corpus:
            yield (
                f"{model.name} and {mixtures[0].name} group different documents, so how far their"
                " groups agree cannot be told"
            )
    threads = {m.threads for m in measures if m.threads is not None}
    if len(threads) > 1:
        yield "seconds do not compare: the runs had different numbers of threads"
