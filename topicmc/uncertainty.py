"""How sure a run is of its topics: intervals from the kept samples of all chains, and whether
independent chains find the same topics.

Chains are matched to the first chain of the first run by their mean topics (`topicmc.matching`);
within a chain topics keep their numbers. Samples are read one after another, so memory holds a few
K × W arrays, never all samples.

A topic is *stable* when in every other chain the topic matched to it is also the one nearest to it,
it is nearest to that one in turn, and their Hellinger distance is at most `SAME`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from topicmc.config import COLLAPSED
from topicmc.errors import UsageError
from topicmc.intervals import credible_interval
from topicmc.matching import assign, distances, match_topics
from topicmc.posterior import alpha_of, phi_of, samples_of, share_of
from topicmc.runs import RunDirectory

__all__ = ["Coverage", "Posterior", "WordPosterior", "match_topics", "posterior_of"]

SAME = 0.5
"""Hellinger distance up to which two topics of different chains count as the same."""
TOP = 10
"""Words that are a topic's top words."""


class WordPosterior(NamedTuple):
    """A word of a topic: its id ``w``, the mean of its probability over all samples, the ends of
    its credible interval, and the probability to be among the topic's ten likeliest words."""

    word: str
    w: int
    mean: float
    low: float
    high: float
    in_top: float


class WordIntervals(NamedTuple):
    """The same for some words of each topic: float64 (K, M) each."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    in_top: np.ndarray


class Coverage(NamedTuple):
    """How often intervals of one chain hold what another chain finds, in the mean over ordered
    pairs of chains and over the top words of topics; NaN with one chain or no stable topic.

    Samples of another chain should be held at the rate ``level``, and its means, which vary less,
    at that rate or a higher one. Lower rates say that chains have settled in different modes or
    have not run for long enough.
    """

    level: float
    stable_means: float
    stable_samples: float
    all_means: float
    all_samples: float


class MatchedChain(NamedTuple):
    """The kept samples of one chain, its topics in the order of the first chain's.

    ``order`` (K,) holds the chain's own numbers of the topics; ``share`` and ``alpha`` (n, K) each
    topic's share of the tokens and prior in each sample, and ``mass`` (n, K) Σ_w θ_wk, which is its
    number of tokens and W β from its prior.
    """

    run: RunDirectory
    entries: list[dict[str, Any]]
    order: np.ndarray
    share: np.ndarray
    alpha: np.ndarray
    mass: np.ndarray


@dataclass
class Posterior:
    """What the kept samples of all chains say. Topics have the numbers of the first chain.

    Attributes:
        level: of the credible intervals.
        vocabulary: the words.
        phi: float64 (K, W), the mean over all samples, rows sum to one.
        share, share_low, share_high: float64 (K,), each topic's share of the tokens.
        alpha: float64 (K,), the prior of the topic mixes.
        stable: bool (K,), whether all chains find the topic; with one chain, which cannot know, no.
        distance: float64 (K,), mean distance to the matched topics; NaN with one chain.
        chains: the chains, matched.
    """

    level: float
    vocabulary: list[str]
    phi: np.ndarray
    share: np.ndarray
    share_low: np.ndarray
    share_high: np.ndarray
    alpha: np.ndarray
    stable: np.ndarray
    distance: np.ndarray
    chains: list[MatchedChain] = field(repr=False)

    @property
    def n_chains(self) -> int:
        """Independent chains."""
        return len(self.chains)

    @property
    def n_samples(self) -> int:
        """Kept samples of all chains."""
        return sum(len(chain.entries) for chain in self.chains)

    def words(self, k: int, n: int = TOP) -> list[WordPosterior]:
        """The ``n`` likeliest words of topic k, likeliest first."""
        if len(self._top[0][k]) < min(n, self.phi.shape[1]):
            self.__dict__["_top"] = self._of_top(n)
        words, found = self._top
        return [
            WordPosterior(self.vocabulary[w], int(w), *(float(array[k, i]) for array in found))
            for i, w in enumerate(words[k, :n])
        ]

    def intervals(self, words: np.ndarray) -> WordIntervals:
        """The same for any words of each topic: int (K, M); reads every sample once."""
        drawn = [self._draws(chain, words) for chain in self.chains]
        low, high = credible_interval([weights for weights, _ in drawn], self.level)
        in_top = np.concatenate([top for _, top in drawn]).mean(axis=0)
        mean = np.take_along_axis(self.phi, words, axis=1)
        return WordIntervals(mean, low, high, in_top)

    def coverage(self) -> Coverage:
        """How often intervals of one chain hold the means and samples of another."""
        words = np.argsort(-self.phi, axis=1, kind="stable")[:, :TOP]
        drawn = [self._draws(chain, words)[0] for chain in self.chains]
        means, samples = [], []
        for mine, others in permutations(drawn, 2):
            low, high = credible_interval([mine], self.level)
            for values, held in ((others, samples), (others.mean(axis=0, keepdims=True), means)):
                held.append(((low <= values) & (values <= high)).mean(axis=(0, 2)))
        if not means:
            return Coverage(self.level, *[np.nan] * 4)
        every, stable = np.ones(len(words), bool), self.stable
        return Coverage(
            self.level,
            *(
                float(np.mean(held, axis=0)[chosen].mean()) if chosen.any() else np.nan
                for chosen in (stable, every)
                for held in (means, samples)
            ),
        )

    @cached_property
    def _top(self) -> tuple[np.ndarray, WordIntervals]:
        return self._of_top(3 * TOP)

    def _of_top(self, n: int) -> tuple[np.ndarray, WordIntervals]:
        words = np.argsort(-self.phi, axis=1, kind="stable")[:, :n]
        return words, self.intervals(words)

    def _draws(self, chain: MatchedChain, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each sample of a chain, in the numbers of the first one, φ of words (K, M), and
        whether they are among the topic's top words: float64 and bool (n, K, M)."""
        weights = np.empty((len(chain.entries), *words.shape))
        in_top = np.empty(weights.shape, bool)
        columns = chain.order[:, None]
        for i, entry in enumerate(chain.entries):
            theta = draw(chain.run, entry)
            rank = max(len(theta) - TOP, 0)
            least = np.partition(theta, rank, axis=0)[rank]
            picked = theta[words, columns]
            weights[i] = picked / theta.sum(axis=0, dtype=np.float64)[columns]
            in_top[i] = picked >= least[columns]
        return weights, in_top


def draw(run: RunDirectory, entry: dict[str, Any]) -> np.ndarray:
    """θ of a sample as a draw from the posterior: float32 (W, K).

    Collapsed samplers keep n_kw + β, the mean of φ_k given the topics of all tokens, so a draw from
    its Dirichlet law is made, the same whenever it is asked for.
    """
    theta = run.read_sample(entry)
    if run.facts()["config"]["sampler"] not in COLLAPSED:
        return theta
    generator = np.random.default_rng([entry["chain"], entry["round"]])
    return generator.standard_gamma(theta, dtype=np.float32)


def posterior_of(runs: Sequence[RunDirectory], level: float = 0.9) -> Posterior:
    """The posterior by the kept samples of all chains of some runs.

    Raises UsageError when ``level`` is no probability or the runs differ in vocabulary or number of
    topics; DataError when one has no samples yet, or a file of theirs is damaged.
    """
    if not 0 < level < 1:
        raise UsageError(f"a level of {level:g} for the intervals is not between 0 and 1")
    _check_alike(runs)
    chains: list[MatchedChain] = []
    apart, found = [], []
    reference = phi = np.zeros(())
    for run, entries in _chains_of(runs):
        total, *traces = _read(run, entries)
        mean = total / len(entries)
        if not chains:
            reference = mean
            order = np.arange(len(mean))
        else:
            distance = distances(reference, mean)
            order = assign(distance)
            apart.append(distance[np.arange(len(order)), order])
            found.append((apart[-1] <= SAME) & _mutual(distance, order))
        phi = phi + total[order]
        chains.append(MatchedChain(run, entries, order, *(trace[:, order] for trace in traces)))
    share_low, share_high = credible_interval([chain.share for chain in chains], level)
    alone = len(chains) == 1
    return Posterior(
        level=level,
        vocabulary=runs[0].vocabulary(),
        phi=phi / phi.sum(axis=1, keepdims=True),
        share=np.concatenate([chain.share for chain in chains]).mean(axis=0),
        share_low=share_low,
        share_high=share_high,
        alpha=np.concatenate([chain.alpha for chain in chains]).mean(axis=0),
        stable=np.zeros(len(phi), bool) if alone else np.all(found, axis=0),
        distance=np.full(len(phi), np.nan) if alone else np.mean(apart, axis=0),
        chains=chains,
    )


def _mutual(distance: np.ndarray, order: np.ndarray) -> np.ndarray:
    """bool (K,): whether a topic and the one matched to it are nearest to each other."""
    mine = np.arange(len(order))
    return (distance.argmin(axis=1) == order) & (distance.argmin(axis=0)[order] == mine)


def _check_alike(runs: Sequence[RunDirectory]) -> None:
    first = runs[0].facts()
    for run in runs[1:]:
        facts = run.facts()
        if facts["vocabulary"] != first["vocabulary"]:
            raise UsageError(
                f"{run.path}: has another vocabulary than {runs[0].path}; give runs on one corpus"
            )
        n, m = facts["config"]["topics"], first["config"]["topics"]
        if n != m:
            raise UsageError(
                f"{run.path}: has {n} topics and {runs[0].path} has {m}; give runs with as many"
            )


def _chains_of(
    runs: Sequence[RunDirectory],
) -> Iterator[tuple[RunDirectory, list[dict[str, Any]]]]:
    """Every chain of every run with its index entries."""
    for run in runs:
        entries = samples_of(run)
        for number in sorted({entry["chain"] for entry in entries}):
            yield run, [entry for entry in entries if entry["chain"] == number]


def _read(run: RunDirectory, entries: list[dict[str, Any]]) -> tuple[np.ndarray, ...]:
    """Of one chain: the sum of φ (K, W), and its share, alpha and mass of each sample (n, K)."""
    phi = np.zeros(())
    share, mass = [], []
    for entry in entries:
        theta = run.read_sample(entry)
        phi = phi + phi_of(theta)
        share.append(share_of(entry, theta))
        mass.append(theta.sum(axis=0, dtype=np.float64))
    alpha = [alpha_of(run, entry) for entry in entries]
    return phi, np.array(share), np.array(alpha), np.array(mass)
