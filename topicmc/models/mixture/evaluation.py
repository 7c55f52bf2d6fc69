"""The score on documents that were held out: −log p(x) in the mean over documents, in nats.

p(x) = Σ_j ω_j p(x | θ_j) + (1 − Σ ω) p₀(x) scores whole documents: groups yet unseen count with
their prior predictive p₀, and multinomial coefficients are left out. Over kept samples p(x) is
averaged inside the logarithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from topicmc.corpora import Documents
from topicmc.engine.method import Entry
from topicmc.engine.transport.base import Transport
from topicmc.kernels import mixture as kernels
from topicmc.kernels.threads import Threads
from topicmc.models.mixture.run import MixtureRun, Sample
from topicmc.models.mixture.state import Mixture, bags_of

_LEAST = 256  # documents that are worth a thread
LEAST_SHARE = float(np.finfo(np.float32).smallest_subnormal)
"""Of a word in a group: what is too small to be kept is not 0."""


def log_predictive(
    documents: Documents,
    weights: np.ndarray,
    left: float,
    shares: np.ndarray,
    beta: float,
    threads: Threads,
) -> np.ndarray:
    """log p(x) of each document, float64 (n,).

    Args:
        documents: in the words of the model.
        weights: log ω, float64 (J,).
        left: the logarithm of the weight of groups yet unseen.
        shares: log θ, float64 (W, J).
        beta: of the prior of words.
        threads: who works.
    """
    out = np.empty(documents.n_docs)
    bags = bags_of(documents)

    def work(first: int, last: int, _: int) -> None:
        kernels.log_predictive(bags, weights, shares, left, beta, first, last, out)

    threads.run_over(work, documents.n_docs, _LEAST)
    return out


def of_chain(chain: Mixture, documents: Documents, threads: Threads) -> np.ndarray:
    """`log_predictive` under a chain as it is."""
    weights, left = chain.log_weights()
    shares = np.empty((chain.weights.shape[1], len(weights)))
    kernels.log_shares(chain.weights, shares, 0, len(weights))
    return log_predictive(documents, weights, left, shares, chain.beta, threads)


def of_sample(sample: Sample, documents: Documents, threads: Threads) -> np.ndarray:
    """`log_predictive` under a kept sample."""
    with np.errstate(divide="ignore"):
        weights = np.log(sample.weights)
    # At least so much, for a word that no group has.
    left = float(np.log(max(sample.left, 1e-300)))
    shares = np.log(np.maximum(sample.phi.T.astype(np.float64, order="C"), LEAST_SHARE))
    return log_predictive(documents, weights, left, shares, sample.beta, threads)


class HeldOutDocuments:
    """The `topicmc.engine.method.Evaluator`.

    Args:
        run: where samples are.
        documents: that were held out.
        n_chains: how many there are.
        transport: who else scores.
        threads: who works.
    """

    figure = MixtureRun.figure
    most_averaged: int | None = None

    def __init__(
        self,
        run: MixtureRun,
        documents: Documents,
        n_chains: int,
        transport: Transport,
        threads: Threads,
    ) -> None:
        self._run, self._threads, self._transport = run, threads, transport
        self._all, self._n_chains = documents, n_chains
        rank, n = transport.rank, transport.n_processes
        self._mine = documents.part(
            rank * documents.n_docs // n, (rank + 1) * documents.n_docs // n
        )
        self._of_samples: dict[str, np.ndarray] = {}

    def of_chains(
        self, chains: Mapping[int, Mixture], distinct: Sequence[int]
    ) -> tuple[float, dict[str, Any]] | None:
        """The mean over chains, and that of each as ``nats_of_chains``; None when no documents are
        held out."""
        if self._all.n_docs == 0:
            return None
        found = np.zeros(self._n_chains)
        for number in chains:
            scores = of_chain(chains[number], self._all, self._threads)
            found[number] = abs(scores.mean())  # no minus before 0
        found = self._transport.sum(found)
        return float(found.mean()), {"nats_of_chains": found.tolist()}

    def of_samples(self, entries: Sequence[Entry]) -> tuple[float, float] | None:
        """The score of the newest sample, in the mean over chains, and that of the predictions
        averaged over all samples; None when there are none, or no documents are held out. Each
        process scores its share of the documents."""
        if self._all.n_docs == 0 or not entries:
            return None
        known = self._of_samples
        self._of_samples = {
            entry["file"]: known[entry["file"]] if entry["file"] in known else self._score(entry)
            for entry in entries
        }
        newest = {entry["chain"]: self._of_samples[entry["file"]] for entry in entries}
        means = [self._mean(scores) for scores in newest.values()]
        return float(np.mean(means)), self._mean(averaged(list(self._of_samples.values())))

    def _score(self, entry: Entry) -> np.ndarray:
        return of_sample(self._run.read_sample(entry), self._mine, self._threads)

    def _mean(self, scores: np.ndarray) -> float:
        total = self._transport.sum(np.array([scores.sum()]))
        return abs(float(total[0])) / self._all.n_docs


def averaged(scores: Sequence[np.ndarray]) -> np.ndarray:
    """log of the mean of exp of some arrays, element by element."""
    return np.logaddexp.reduce(np.array(scores), axis=0) - np.log(len(scores))
