"""Reading topics: their words, sizes, coherence, neighbours and documents."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.corpora.naming import Named
from topicmc.errors import UsageError
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import planned_mean, posterior_mean
from topicmc.storage.files import write_json
from topicmc.topics import coherence as coherences
from topicmc.topics.labels import Labels
from topicmc.topics.matching import distances
from topicmc.topics.ranking import WEIGHT, exclusivity, rank, top

SORTS = ("size", "coherence", "exclusivity")
TOP = 10
"""Words by which coherence and exclusivity are measured, however many are shown."""
SIMILAR = 3
"""Similar topics that are named."""
DETAILS = ("exclusivity", "similar", "relevant", "frex")
"""Fields of topics that take longer to fill."""
_FIELDS = {"u_mass": "coherence"}  # measures whose field has another name


@dataclass(frozen=True)
class Topic:
    """One topic, by its number in the run: its share of the tokens, its top words and their
    probabilities, and what else was asked for.

    Attributes:
        coherence, npmi, c_v: u_mass and the other measures of `topicmc.topics.coherence`.
        exclusivity: mean over its top words of φ_kw / Σ_j φ_jw.
        relevant, frex: its first words by relevance and by FREX.
        similar: the topics nearest to it and their Hellinger distances.
        documents: the training documents with most of it.
        label: its name, if it has one.
        column: its place in the arrays; its number, unless a view has merged or dropped topics.
    """

    number: int
    share: float
    words: tuple[str, ...]
    probabilities: tuple[float, ...]
    coherence: float | None = None
    npmi: float | None = None
    c_v: float | None = None
    exclusivity: float | None = None
    relevant: tuple[str, ...] | None = None
    frex: tuple[str, ...] | None = None
    similar: tuple[tuple[int, float], ...] | None = None
    documents: tuple[Named, ...] | None = None
    label: str | None = None
    column: int = field(default=-1, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The topic as JSON values, without what was not asked for."""
        told: dict[str, Any] = {
            "topic": self.number,
            "share": self.share,
            "coherence": self.coherence,
            "words": [
                {"word": word, "probability": probability}
                for word, probability in zip(self.words, self.probabilities, strict=True)
            ],
        }
        if self.label is not None:
            told["name"] = self.label
        for name in ("npmi", "c_v", "exclusivity", "relevant", "frex"):
            if getattr(self, name) is not None:
                told[name] = getattr(self, name)
        if self.similar is not None:
            told["similar"] = [{"topic": k, "distance": d} for k, d in self.similar]
        if self.documents is not None:
            told["documents"] = [document.as_dict() for document in self.documents]
        return told


def word_shares(run: TopicRun, phi: np.ndarray, share: np.ndarray) -> np.ndarray:
    """p_w, each word's share of all tokens, float64 (W,), by topics φ (K, W) and their shares (K,):
    Σ_k share_k φ_kw; and those that a view has dropped, as the posterior mean of its run has them,
    for their tokens are among all."""
    if run.view is None or not run.view.dropped:
        return share @ phi
    whole, gone = posterior_mean(run.path), sorted(run.view.dropped)
    return share @ phi + whole.share[gone] @ whole.phi[gone]


def describe(
    phi: np.ndarray,
    share: np.ndarray,
    vocabulary: Sequence[str],
    n_words: int = TOP,
    *,
    sort: str = "size",
    corpus: Corpus | None = None,
    coherence: Sequence[str] = (),
    details: bool | Collection[str] = False,
    weight: float = WEIGHT,
    p_w: np.ndarray | None = None,
    documents: np.ndarray | None = None,
    labels: Labels | None = None,
    columns: Sequence[int] | np.ndarray | None = None,
) -> list[Topic]:
    """The topics of a K × W matrix φ with their ``n_words`` likeliest words.

    Args:
        phi: float (K, W), rows sum to one.
        share: float (K,), each topic's share of the tokens.
        vocabulary: the words.
        n_words: words a topic.
        sort: one of `SORTS`, the most first; ``"coherence"`` is the first measure of ``coherence``,
            or u_mass.
        corpus: the training corpus, for coherence and what is known of documents.
        coherence: measures to add, of `topicmc.topics.coherence.MEASURES`; the corpus is read once
            for u_mass and NPMI.
        details: adds exclusivity, similar topics, and words by relevance and FREX; or those of
            `DETAILS` that it names.
        weight: λ of the relevance.
        p_w: float (W,), each word's share of all tokens, for the relevance; None: by the topics.
        documents: int (K, n), numbers of training documents to show with each topic.
        labels: numbers and names of the topics; None: numbers from 0 on.
        columns: the topics to describe, by their places; None: all.

    Raises:
        UsageError: there is no such order, measure or weight, or what is asked needs a corpus.
    """
    if sort not in SORTS:
        raise UsageError(f"--sort {sort!r} is not one of {', '.join(SORTS)}")
    labels = labels or Labels.plain(len(phi))
    if sort == "coherence" and not coherence:
        coherence = ("u_mass",)
    places = np.arange(len(phi)) if columns is None else np.asarray(columns)
    mine = phi if columns is None else phi[places]
    words = top(mine, max(n_words, TOP))
    first, words = words[:, :TOP], words[:, :n_words]
    found: dict[str, Sequence[Any]] = {}
    if coherence:
        measured = coherences.measure(first, _given(corpus, "coherence"), coherence)
        for name, scores in measured.items():
            found[_FIELDS.get(name, name)] = [None if x != x else x for x in scores.tolist()]
    wanted = DETAILS if details is True else details or ()
    total = phi.sum(axis=0) if wanted or sort == "exclusivity" else np.empty(0)
    if "exclusivity" in wanted or sort == "exclusivity":
        exclusive = exclusivity(np.take_along_axis(mine, first, axis=1), total[first])
        found["exclusivity"] = exclusive.mean(axis=1).tolist()
    if "similar" in wanted:
        found["similar"] = _similar(distances(mine, phi), places, labels.numbers)
    for name, ranking in (("relevant", "relevance"), ("frex", "frex")):
        if name in wanted:
            overall = share @ phi if p_w is None else p_w
            ranked = rank(ranking, mine, overall, n_words, weight, total)
            found[name] = _spelt(ranked, vocabulary)
    if documents is not None:
        about = _given(corpus, "documents").about
        found["documents"] = [tuple(about(int(d)) for d in row) for row in documents[places]]
    topics = [
        Topic(
            number=labels.numbers[k],
            label=labels.name(k),
            column=k,
            share=float(share[k]),
            words=spelt,
            probabilities=tuple(mine[i, words[i]].tolist()),
            **{name: values[i] for name, values in found.items()},
        )
        for i, (k, spelt) in enumerate(zip(places.tolist(), _spelt(words, vocabulary), strict=True))
    ]
    field = {"size": "share", "coherence": "".join(coherence[:1])}.get(sort, sort)
    field = _FIELDS.get(field, field)
    return sorted(topics, key=lambda topic: -_or_least(getattr(topic, field)))


def _given(corpus: Corpus | None, asked: str) -> Corpus:
    if corpus is None:
        raise UsageError(f"{asked}: give the training corpus as corpus, too")
    return corpus


def _or_least(value: float | None) -> float:
    return -np.inf if value is None else value


def diversity(words: np.ndarray) -> float:
    """The share of different words among the top words (K, n) of all topics (Dieng et al. 2020,
    "Topic modeling in embedding spaces", who take 25 words)."""
    return len(np.unique(words)) / words.size


def nearest(apart: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The `SIMILAR` nearest others of topics, nearest first: int64 (n, at most `SIMILAR`), from the
    distances (n, K) to all topics, of which they are those at ``places``, int64 (n,)."""
    near = -apart
    near[np.arange(len(near)), places] = -np.inf
    return top(near, min(SIMILAR, apart.shape[1] - 1))


def _similar(
    apart: np.ndarray, places: np.ndarray, numbers: Sequence[int]
) -> list[tuple[tuple[int, float], ...]]:
    """The same by number, each with its distance."""
    near = nearest(apart, places).tolist()
    return [
        tuple((numbers[j], float(distance[j])) for j in row)
        for distance, row in zip(apart, near, strict=True)
    ]


def _spelt(words: np.ndarray, vocabulary: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(vocabulary[w] for w in row) for row in words]


def write_topics(run: TopicRun, update: int) -> list[Topic]:
    """Writes the ``topics.json`` of a run that has ended; returns its topics, largest first."""
    mean = planned_mean(run)
    topics = describe(mean.phi, mean.share, run.vocabulary(), labels=Labels.of(run))
    described = [topic.as_dict() for topic in topics]
    write_json(run.path / "topics.json", {"format": 1, "update": update, "topics": described})
    return topics
