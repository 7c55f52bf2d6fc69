"""What is read off a run of a mixture: its groups, how many there are, and its score.

Groups have no names that last: their numbers differ from sample to sample. So groups are shown as
one kept sample has them, the one that is nearest to all in the mean by the variation of information
(Wade and Ghahramani 2018), and numbered by size there. What does not depend on numbers, as how many
there are, is from all samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from topicmc.corpora import Corpus, Documents
from topicmc.corpora.documents import remap, select
from topicmc.corpora.text.vocabulary import ids_in
from topicmc.errors import DataError
from topicmc.kernels.threads import Threads
from topicmc.models.mixture.evaluation import averaged, of_sample
from topicmc.models.mixture.run import MixtureRun, Sample
from topicmc.posterior.passes import one_by_one
from topicmc.posterior.thinning import evenly
from topicmc.posterior.traces import traces

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_LOOKED_AT = 100_000  # documents by which partitions are compared, at most
_COMPARED = 128  # partitions that each is compared with, at most


@dataclass(frozen=True)
class Groups:
    """The groups of one kept sample that have documents, the largest first.

    sizes    int64 (K,), their documents
    weights  float64 (K,), ω
    phi      float64 (K, W)
    left     the weight of all others: groups without documents, and groups yet unseen
    beta     of the prior of words
    alpha    concentration
    groups   int32 (D,), the group of each training document
    """

    sizes: np.ndarray
    weights: np.ndarray
    phi: np.ndarray
    left: float
    beta: float
    alpha: float
    groups: np.ndarray

    @classmethod
    def of(cls, sample: Sample) -> Groups:
        """Those of a sample."""
        sizes = sample.sizes
        order = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]
        number = np.full(len(sizes), -1, np.int32)
        number[order] = np.arange(len(order))
        weights = sample.weights[order]
        return cls(
            sizes[order],
            weights,
            sample.phi[order].astype(np.float64),
            max(0.0, 1.0 - float(weights.sum())),
            sample.beta,
            sample.alpha,
            number[sample.groups],
        )

    @cached_property
    def log_weights(self) -> np.ndarray:
        """log ω, float64 (K,)."""
        with np.errstate(divide="ignore"):
            return np.log(self.weights)

    @cached_property
    def log_shares(self) -> np.ndarray:
        """log φ, float64 (W, K): a row a word, as documents are multiplied by it."""
        with np.errstate(divide="ignore"):
            return np.ascontiguousarray(np.log(self.phi).T)


@dataclass(frozen=True)
class Number:
    """A number of groups, and its posterior probability."""

    groups: int
    probability: float


@dataclass(frozen=True)
class Score:
    """The score on some documents, in nats; None where there are none.

    nats_per_document           of the newest sample, in the mean over chains
    nats_per_document_averaged  of the predictions averaged over all samples of all chains
    nats_per_token              the same, by their tokens; these two are None without a sample
    samples                     posterior samples behind it
    documents, tokens           how many are scored
    unknown_documents           documents of which the run knows no word, which are left out
    unknown_words               tokens that the run has no word for, which are left out
    """

    nats_per_document: float | None
    nats_per_document_averaged: float | None
    nats_per_token: float | None
    samples: int
    documents: int
    tokens: int
    unknown_documents: int
    unknown_words: int


def looked_at(partition: np.ndarray) -> np.ndarray:
    """What `most_central` looks at of a partition, int32 (D,): of more than 100,000 documents every
    m-th, with the least m that leaves so many."""
    return np.ascontiguousarray(partition[:: -(-len(partition) // _LOOKED_AT)])


def most_central(partitions: Sequence[np.ndarray]) -> int:
    """The place of the partition whose variation of information from the others is least in the
    mean, or of more than 128 from so many of them, evenly chosen; each int32, as `looked_at`."""
    n, entropies = len(partitions), [_entropy(partition) for partition in partitions]
    others = evenly(n, _COMPARED)
    place = {other: column for column, other in enumerate(others)}
    apart = np.zeros((n, len(others)))
    for column, j in enumerate(others):
        for i in range(n):
            if i in place and i <= j:  # the same one, or a pair that has been compared
                continue
            joint = _joint_entropy(partitions[i], partitions[j])
            apart[i, column] = 2 * joint - entropies[i] - entropies[j]
            if i in place:
                apart[j, place[i]] = apart[i, column]
    compared = np.full(n, len(others))
    compared[others] -= 1
    return int((apart.sum(axis=1) / np.maximum(compared, 1)).argmin())


def variation_of_information(one: np.ndarray, other: np.ndarray) -> float:
    """H(one | other) + H(other | one) of two partitions, int32 (D,), in nats (Meilă 2007)."""
    return 2 * _joint_entropy(one, other) - _entropy(one) - _entropy(other)


def _joint_entropy(one: np.ndarray, other: np.ndarray) -> float:
    return _entropy(one.astype(np.int64) * (int(other.max()) + 1) + other)


def _entropy(labels: np.ndarray) -> float:
    if labels.max() < 4 * len(labels):  # else there would be more counts than labels
        counts = np.bincount(labels)
        shares = counts[counts > 0] / len(labels)
    else:
        shares = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-(shares * np.log(shares)).sum())


def log_memberships_of(
    bags: csr_array, weights: np.ndarray, shares: np.ndarray, left: float, beta: float
) -> np.ndarray:
    """log P(z = k | x) of documents, sparse (n, W), under the logarithms of the weights (K,) and of
    the words of groups (W, K), and last that they belong to none of these: such a one, of the
    weight that is ``left``, counts with its prior predictive. Float64 (n, K + 1)."""
    from scipy.special import gammaln

    whole = len(shares) * beta
    gains = bags.copy()
    gains.data = gammaln(beta + bags.data) - gammaln(beta)
    prior = gains.sum(axis=1) + gammaln(whole) - gammaln(whole + bags.sum(axis=1))
    score = np.empty((bags.shape[0], len(weights) + 1))
    score[:, :-1] = weights + bags @ shares
    # At least so much, for a document with a word that no group has.
    score[:, -1] = np.log(max(left, 1e-300)) + prior
    return score - np.logaddexp.reduce(score, axis=1, keepdims=True)


def numbers_of_groups(*runs: MixtureRun) -> list[Number]:
    """The posterior of the number of groups that have documents, from the traces of all chains, or
    of a run that has none from its kept samples; empty where there is no sample yet. DataError
    where documents cannot have so many."""
    values = []
    for run in runs:
        drawn = traces(run).get("groups", {})
        traced = [int(n) for draws in drawn.values() for n in draws[np.isfinite(draws)]]
        n_docs = run.facts()["corpus"]["documents"]
        if not all(1 <= n <= n_docs for n in traced):
            raise DataError(
                f"{run.path / 'trace.jsonl'}: has numbers of groups that {n_docs:,} documents"
                " cannot have; restore or delete it"
            )
        sampled = (entry for entry in run.states_to_read() if not entry["burn_in"])
        values += traced or [entry["groups"] for entry in sampled]
    if not values:
        return []
    found, counts = np.unique(values, return_counts=True)
    known = dict(zip(found.tolist(), (counts / counts.sum()).tolist(), strict=True))
    least, most = int(found[0]), int(found[-1])
    return [Number(n, known.get(n, 0.0)) for n in range(least, most + 1)]


def score(run: MixtureRun, corpus: Corpus, threads: Threads) -> Score:
    """The score of a run on the held-out documents of its corpus; of another corpus on those held
    out there, or on all its documents where none are. DataError when a file of the corpus is
    damaged, or the run knows none of the words."""
    documents, lost, unknown = _scored(run, corpus)
    entries = run.states_to_read()
    kept = sum(not entry["burn_in"] for entry in entries)
    n, tokens = documents.n_docs, documents.n_tokens
    if n == 0:
        return Score(None, None, None, kept, 0, 0, lost, unknown)
    scores = [
        of_sample(run.read_sample(entry), documents, threads) for entry in one_by_one(entries)
    ]
    newest = {entry["chain"]: found for entry, found in zip(entries, scores, strict=True)}
    together = abs(float(np.minimum(averaged(scores), 0).sum()))
    return Score(
        abs(float(np.mean([found.mean() for found in newest.values()]))),
        together / n if kept else None,
        together / max(tokens, 1) if kept else None,
        kept,
        n,
        tokens,
        lost,
        unknown,
    )


def _scored(run: MixtureRun, corpus: Corpus) -> tuple[Documents, int, int]:
    """Documents in the words of a run; how many are left out because it knows none of their words,
    and how many tokens it has no word for."""
    from topicmc.models.mixture.model import training_documents

    corpus.check([])
    if corpus.fingerprint == run.facts()["corpus"]["fingerprint"]:
        return corpus.heldout, 0, 0
    which, documents = "held-out words", corpus.heldout
    if documents.n_docs == 0:
        which, documents = "words", training_documents(corpus)
    known = remap(documents, ids_in(run.vocabulary(), corpus.vocabulary))
    has_words = known.lengths > 0
    if documents.n_docs and not has_words.any():
        raise DataError(f"{corpus.path}: none of the {which} is known to the model")
    lost = int(np.count_nonzero(~has_words))
    return select(known, has_words), lost, documents.n_tokens - known.n_tokens
