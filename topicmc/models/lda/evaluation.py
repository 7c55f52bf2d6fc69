"""Held-out perplexity of a run in progress: of the chains as they are, and averaged over samples.

The held-out documents are shared out among the processes. Every state to be scored is shown to
all of them, each scores its share, and only two sums travel back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from topicmc.corpora import Corpus
from topicmc.engine.method import Entry
from topicmc.engine.transport.base import Transport
from topicmc.kernels.threads import Threads
from topicmc.models.heldout import part_of, split_documents
from topicmc.models.lda.completion import SWEEPS, token_probabilities
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import alpha_of, newest_of
from topicmc.models.lda.scoring import SPLIT_SEED
from topicmc.samplers.running_mean import running_mean
from topicmc.samplers.state import Chain

# Draws that the samples of a chain may take while it trains, and those in whose time a weight is
# read and made a table of: all 32 are scored on 1,000 abstracts with 100 topics, 8 with 1,000, and
# four to six on 1,000 long articles.
_DRAWS, _DRAWS_OF_WEIGHT, _LEAST_AVERAGED = 200_000_000, 0.5, 4


class HeldOut:
    """One process's share of the held-out documents: the `topicmc.engine.method.Evaluator` of LDA.

    Args:
        run: whose kept samples are scored.
        corpus: an open corpus.
        n_topics: K.
        alpha: float64 (K,), the prior of the topic mix, for chains that have learned none.
        transport: who else scores.
        threads: the threads of this process.
    """

    figure = TopicRun.figure

    def __init__(
        self,
        run: TopicRun,
        corpus: Corpus,
        n_topics: int,
        alpha: np.ndarray,
        transport: Transport,
        threads: Threads,
    ) -> None:
        self._run = run
        split = split_documents(corpus.heldout, seed=SPLIT_SEED)
        self.n_scored = split.n_scored
        self._shape = (corpus.n_words, n_topics)
        weights = corpus.n_words * n_topics
        draws = SWEEPS * len(split.observed.tokens) + _DRAWS_OF_WEIGHT * weights
        self.most_averaged: int | None = max(_LEAST_AVERAGED, int(_DRAWS / draws))
        self._split = part_of(split, transport.rank, transport.n_processes)
        self._alpha = alpha
        self._transport = transport
        self._threads = threads
        self._of_samples: dict[str, np.ndarray] = {}

    def of_chains(
        self, chains: Mapping[int, Chain], distinct: Sequence[int]
    ) -> tuple[float, dict[str, Any]] | None:
        """Perplexity under the chains as they are, in the mean of log p over them, and the mean
        log p of a scored token under each, as well as the perplexity under their running means,
        where they keep such; None when there is nothing to score.

        Args:
            chains: the chains that this process holds, by number.
            distinct: the chains to score, here or elsewhere; the same on every process.
        """
        if self.n_scored == 0:
            return None
        fits, of_means = [], []
        for number in distinct:
            chain = chains.get(number)
            fits.append(self._fit(chain) / self.n_scored)
            of_means.append(self._fit_of_mean(chain))
            del chain  # before the next is made
        details: dict[str, Any] = {"log_likelihood": fits}
        known = [score for score in of_means if score is not None]
        if known:
            details["perplexity_mean"] = math.exp(-np.mean(known))
        return math.exp(-np.mean(fits)), details

    def of_samples(self, entries: Sequence[Entry]) -> tuple[float, float] | None:
        """Perplexity of the newest kept sample, in the mean of log p over chains, and with p
        averaged over the kept samples of all chains; None when there are none, or nothing to
        score."""
        if self.n_scored == 0:
            return None
        scored: dict[str, np.ndarray] = {}
        for entry in entries:
            known = self._of_samples.get(entry["file"])
            if known is None:
                known = self._score(self._run.read_sample(entry), alpha_of(self._run, entry))
            scored[entry["file"]] = known
        self._of_samples = scored  # forget samples that are no longer kept
        if not scored:
            return None
        newest = [self._log_sum(scored[entry["file"]]) for entry in newest_of(entries)]
        mean = np.mean(list(scored.values()), axis=0)
        return self._perplexity(float(np.mean(newest))), self._perplexity(self._log_sum(mean))

    def _fit(self, chain: Chain | None) -> float:
        """Σ log p over the scored tokens under a chain that one process holds."""
        return self._log_sum(self._score(*self._show(chain)))

    def _fit_of_mean(self, chain: Chain | None) -> float | None:
        """Mean log p of a scored token under the running mean of such a chain, if it keeps one."""
        shown = None
        if chain is not None and chain.beta is not None:
            mean = running_mean(chain, self._run.prior(chain.beta))
            shown = None if mean is None else replace(chain, theta=mean)
        if not self._transport.sum(np.array([shown is not None], np.int64))[0]:
            return None
        return self._fit(shown) / self.n_scored

    def _show(self, chain: Chain | None) -> tuple[np.ndarray, np.ndarray]:
        """θ and α of a chain that one process holds, on every process."""
        if self._transport.n_processes == 1:
            assert chain is not None
            return chain.theta, self._alpha if chain.alpha is None else chain.alpha
        theta, alpha = np.zeros(self._shape, np.float32), np.zeros_like(self._alpha)
        if chain is not None:
            theta, alpha = chain.theta, self._alpha if chain.alpha is None else chain.alpha
        return self._transport.sum(theta), self._transport.sum(alpha)

    def _score(self, theta: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        sums = theta.sum(axis=0, dtype=np.float64)
        return token_probabilities(
            self._split, theta, sums, alpha, seed=SPLIT_SEED, threads=self._threads
        )

    def _log_sum(self, probabilities: np.ndarray) -> float:
        with np.errstate(divide="ignore"):
            return float(self._transport.sum(np.array([np.log(probabilities).sum()]))[0])

    def _perplexity(self, log_sum: float) -> float:
        return float(np.exp(-log_sum / self.n_scored))
