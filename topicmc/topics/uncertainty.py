"""How sure a run is of its topics: intervals from the kept samples of all chains, and whether
independent chains find the same topics.

What is said of a topic rests on the chains that have found it (`topicmc.topics.chains`): the mean
of two different topics would be neither. A topic that every chain has found is *stable*. A chain
in its start says nothing where another has samples. Samples are read one after another; memory
holds a few K × W arrays, never all samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from topicmc.errors import UsageError
from topicmc.host.machine import available_cores, check_room
from topicmc.kernels.greatest import nth_greatest
from topicmc.kernels.threads import Threads
from topicmc.models.lda.draws import draw_of
from topicmc.models.lda.run import TopicRun
from topicmc.posterior.coverage import Coverage, coverage
from topicmc.posterior.intervals import credible_interval, half_width
from topicmc.posterior.passes import one_by_one
from topicmc.topics.chains import MatchedChain, are_of_one_start, matched_chains
from topicmc.topics.labels import Labels
from topicmc.topics.ranking import top
from topicmc.topics.reading import word_shares

TOP = 10
"""Words that are a topic's top words."""
_BLOCK = 64  # topics whose intervals are made together


class WordPosterior(NamedTuple):
    """A word of a topic: its id ``w``, the mean of its probability, the ends of its credible
    interval, and the probability that it is among the topic's ten likeliest words."""

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


class _Top(NamedTuple):
    """The likeliest words of each topic, likeliest first: int64 (K, M), their intervals, and the
    coverage of the first `TOP`."""

    words: np.ndarray
    intervals: WordIntervals
    coverage: Coverage


@dataclass
class Posterior:
    """What the kept samples of all chains say. Topics have the numbers of the first chain.

    Attributes:
        level: of the credible intervals.
        vocabulary: the words.
        phi: float64 (K, W), mean over the samples of the chains that found the topic, or of the
            first chain's start where none with samples did; rows sum to one.
        share, share_low, share_high: float64 (K,), each topic's share of the tokens, likewise.
        alpha: float64 (K,), the prior of the topic mixes, likewise.
        chains: all chains, matched.
    """

    level: float
    vocabulary: list[str]
    phi: np.ndarray
    share: np.ndarray
    share_low: np.ndarray
    share_high: np.ndarray
    alpha: np.ndarray
    chains: list[MatchedChain] = field(repr=False)
    _known: _Top | None = field(default=None, init=False, repr=False, compare=False)

    @cached_property
    def labels(self) -> Labels:
        """Numbers and names of the topics: those of the first run or view."""
        return Labels.of(self.chains[0].run)

    @property
    def groups(self) -> Mapping[str, tuple[int, ...]]:
        """Numbers of topics by the name of their group: those of the first run or view."""
        return self.chains[0].run.groups

    @cached_property
    def p_w(self) -> np.ndarray:
        """float64 (W,): each word's share of all tokens (`topicmc.topics.reading.word_shares`)."""
        return word_shares(self.chains[0].run, self.phi, self.share)

    @property
    def n_chains(self) -> int:
        """How many chains count: those in `believed`."""
        return len(self.believed)

    @property
    def n_samples(self) -> int:
        """Kept samples of all chains; states of the start are none."""
        return sum(len(chain.entries) for chain in self.chains if not chain.provisional)

    @property
    def in_their_start(self) -> list[TopicRun]:
        """The runs that have no posterior sample yet."""
        return list({c.run.path: c.run for c in self.chains if c.provisional}.values())

    @cached_property
    def believed(self) -> list[MatchedChain]:
        """The chains of all runs that have samples; all, where none has and states of the start
        stand in for them."""
        return [chain for chain in self.chains if not chain.provisional] or list(self.chains)

    @cached_property
    def have_one_start(self) -> bool:
        """Whether several chains were one at first (`topicmc.topics.chains.are_of_one_start`)."""
        return self.n_chains > 1 and are_of_one_start(self.believed)

    @property
    def another_run(self) -> str:
        """What to train for a chain with a start of its own: runs that go on from one with `--from`
        have its topics to begin with, whatever their seed."""
        warm = any(chain.run.facts().get("origin") for chain in self.believed)
        return "another run with another --seed" + ", without --from," * warm

    @cached_property
    def found(self) -> np.ndarray:
        """bool (C, K): which of the believed chains have found which topics; the first chain of all
        has found its own."""
        return np.array([chain.found for chain in self.believed])

    @property
    def knows_stable(self) -> bool:
        """Whether two chains or more have samples; before, nobody knows which topics are stable."""
        return self.n_chains > 1 and self.n_samples > 0

    @cached_property
    def stable(self) -> np.ndarray:
        """bool (K,): whether the samples of all chains have the topic; none where nobody knows."""
        return np.logical_and(self._sampled.all(axis=0), self.knows_stable)

    @cached_property
    def distance(self) -> np.ndarray:
        """float64 (K,): mean distance of the matched topics to the first chain's; NaN when that is
        the only chain."""
        if self.n_chains == 1:
            return np.full(len(self.phi), np.nan)
        others = [chain for chain in self.believed if chain is not self.chains[0]]
        return np.mean([chain.distance for chain in others], axis=0)

    def words(self, k: int, n: int = TOP) -> list[WordPosterior]:
        """The ``n`` likeliest words of topic k, likeliest first."""
        words, intervals, _ = self._top(n)
        return [
            WordPosterior(self.vocabulary[w], int(w), *(float(array[k, i]) for array in intervals))
            for i, w in enumerate(words[k, :n])
        ]

    def intervals(self, words: np.ndarray, topics: np.ndarray | None = None) -> WordIntervals:
        """Intervals of any words, int (n, M), of some topics, int (n,), or of all; reads every
        sample once. UsageError where memory is too small for what they say of these words."""
        topics = np.arange(len(self.phi)) if topics is None else topics
        return self._intervals(words, topics, self._drawn(words, topics))

    def _drawn(self, words: np.ndarray, topics: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The `word_draws` of each believed chain."""
        n = sum(len(chain.entries) for chain in self.believed)
        check_room(
            9.0 * n * words.size,  # a float64 and a bool each
            f"{words.shape[1]:,} words of {len(words):,} topics in {n:,} samples",
            "read them on a larger machine",
        )
        return [word_draws(chain, words, topics) for chain in self.believed]

    def _intervals(
        self,
        words: np.ndarray,
        topics: np.ndarray,
        drawn: Sequence[tuple[np.ndarray, np.ndarray]],
    ) -> WordIntervals:
        found = self._sampled[:, topics]
        low, high = _pooled(found, [weights for weights, _ in drawn], self.level)
        in_top = _mean(found, [among for _, among in drawn])
        return WordIntervals(self.phi[topics[:, None], words], low, high, in_top)

    def pooled(self, values: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean and ends of the credible interval, float64 (K, …), of shares or probabilities over
        the chains that found a topic, given the samples of each believed chain, (n, K, …); NaN
        where none did."""
        return self.mean(values), *_pooled(self._sampled, values, self.level)

    def mean(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """The mean, float64 (K, …), of anything over the chains that found a topic, given likewise;
        NaN where none did."""
        return _mean(self.found, values)

    def half_width(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """Half the width of the interval of a quantity of either sign, given likewise."""
        level = self.level
        return _by_finders(self._sampled, values, lambda mine: half_width(mine, level)[None])[0]

    @cached_property
    def _sampled(self) -> np.ndarray:
        """bool (C, K): which of the believed chains have samples of which topics."""
        return _with_samples(self.believed)

    def of_group(self, columns: Sequence[int]) -> dict[str, float | None]:
        """What some topics hold of the tokens together, summed sample by sample, and the ends of
        its interval, by the chains that have found all of them: JSON values."""
        shares = [chain.share[:, columns].sum(axis=1, keepdims=True) for chain in self.believed]
        found, sampled = (
            np.asarray(held[:, columns].all(axis=1))[:, None]
            for held in (self.found, self._sampled)
        )
        low, high = _pooled(sampled, shares, self.level)
        return {
            "share": _or_none(_mean(found, shares)[0]),
            "share_low": _or_none(low[0]),
            "share_high": _or_none(high[0]),
        }

    def coverage(self) -> Coverage:
        """How often intervals of one chain hold what another finds, of topics' top words."""
        return self._top(TOP).coverage

    def remark(self) -> str:
        """What is to be believed, in a sentence or two."""
        if self.in_their_start:
            names = " and ".join(str(run.path) for run in self.in_their_start)
            return f"No posterior sample yet of {names}; train for longer (--resume)."
        if self.n_chains == 1:
            return (
                f"Intervals rest on {self.n_samples} samples of one chain, which cannot know what"
                f" others find; train {self.another_run} and name it, too."
            )
        everyone = "both" if self.n_chains == 2 else f"all {self.n_chains}"
        told = f"{self.stable.sum()} of {len(self.phi)} topics are found by {everyone} chains."
        told = f"{told} {self.coverage().sentence()}"
        if not self.have_one_start:
            return told
        return (
            f"{told} The chains have one start: their agreement does not tell what another would"
            f" find; train {self.another_run} and name it, too."
        )

    def as_dict(self, k: int, n: int = TOP) -> dict[str, Any]:
        """What is known of topic k and its ``n`` likeliest words, as JSON values; None in place of
        NaN."""
        return {
            "share_low": _or_none(self.share_low[k]),
            "share_high": _or_none(self.share_high[k]),
            "stable": bool(self.stable[k]) if self.knows_stable else None,
            "found": int(self.found[:, k].sum()),
            "distance": _or_none(self.distance[k]),
            "words": [
                {
                    "word": word.word,
                    "probability": word.mean,
                    "low": _or_none(word.low),
                    "high": _or_none(word.high),
                    "in_top": _or_none(word.in_top),
                }
                for word in self.words(k, n)
            ],
        }

    def _top(self, n: int) -> _Top:
        """What is known of ``n`` words of each topic, or more; reads every sample once."""
        known = self._known
        if known is None or known.words.shape[1] < min(n, self.phi.shape[1]):
            words = top(self.phi, max(n, 3 * TOP))
            topics = np.arange(len(words))
            drawn = self._drawn(words, topics)
            of_top = [weights[:, :, :TOP] for weights, _ in drawn]
            covered = coverage(of_top, self.stable, self.level)
            known = self._known = _Top(words, self._intervals(words, topics, drawn), covered)
        return known


def posterior_of(runs: Sequence[TopicRun], level: float = 0.9) -> Posterior:
    """The posterior by the kept samples of all chains of some runs.

    Raises UsageError when ``level`` is no probability, the runs differ in vocabulary, corpus,
    number of topics or given priors, two have the same samples, or memory is too small to read
    them; DataError when one has no samples yet, or a file of theirs is damaged.
    """
    if not 0 < level < 1:
        raise UsageError(f"--level {level:g}: the probability of intervals is between 0 and 1")
    chains: list[MatchedChain] = []
    sums: dict[bool, np.ndarray] = {}  # of φ of samples, and of states of the start
    for chain, mean in matched_chains(runs):
        if chain.provisional not in sums:
            sums[chain.provisional] = np.zeros(mean.shape)
        for k in np.flatnonzero(chain.found):
            sums[chain.provisional][k] += len(chain.entries) * mean[chain.order[k]]
        chains.append(chain)
        del mean  # before the next is read
    believed = _with_samples(chains)
    unsampled = np.equal(believed.sum(axis=0), 0)
    phi = sums[min(sums)]  # of samples, if there is one
    if unsampled.any():
        phi[unsampled] = sums[True][unsampled]
    phi /= phi.sum(axis=1, keepdims=True)
    shares = [chain.share for chain in chains]
    low, high = _pooled(believed, shares, level)
    for chain, told in zip(chains, believed, strict=True):
        told |= chain.found & unsampled
    return Posterior(
        level=level,
        vocabulary=runs[0].vocabulary(),
        phi=phi,
        share=_mean(believed, shares),
        share_low=low,
        share_high=high,
        alpha=_mean(believed, [chain.alpha for chain in chains]),
        chains=chains,
    )


def word_draws(
    chain: MatchedChain, words: np.ndarray, topics: np.ndarray | slice = np.s_[:]
) -> tuple[np.ndarray, np.ndarray]:
    """For each sample of a chain φ of words (k, M) of some topics, by the order of the first
    chain's, and whether they are among the topic's top words: float64 and bool (n, k, M)."""
    weights = np.empty((len(chain.entries), *words.shape))
    among = np.empty(weights.shape, bool)
    columns = chain.order[topics][:, None]
    threads = Threads(available_cores())
    for i, entry in enumerate(one_by_one(chain.entries)):
        theta = draw_of(chain.run, entry, threads)
        least = nth_greatest(theta, TOP, threads)
        picked = theta[words, columns]
        weights[i] = picked / theta.sum(axis=0, dtype=np.float64)[columns]
        among[i] = picked >= least[columns]
    return weights, among


def _with_samples(chains: Sequence[MatchedChain]) -> np.ndarray:
    """bool (C, K): which chains have posterior samples of which topics."""
    return np.array([chain.found & (not chain.provisional) for chain in chains])


def _mean(found: np.ndarray, chains: Sequence[np.ndarray]) -> np.ndarray:
    """The mean over all samples of the chains that found a topic: (n, K, …) each, to (K, …); NaN
    where none did."""
    trailing = (1,) * (chains[0].ndim - 2)
    total, n = np.zeros(()), np.zeros(())
    for chain, mine in zip(chains, found, strict=True):
        weight = mine.reshape(-1, *trailing)
        total = total + weight * chain.sum(axis=0)
        n = n + weight * len(chain)
    with np.errstate(invalid="ignore"):
        return total / n


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _pooled(
    found: np.ndarray, chains: Sequence[np.ndarray], level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Credible intervals (K, …) of shares or probabilities by the chains (n, K, …) that found a
    topic; NaN where none did."""
    low, high = _by_finders(found, chains, lambda mine: np.stack(credible_interval(mine, level)), 2)
    return low, np.minimum(high, 1)


def _by_finders(
    found: np.ndarray,
    chains: Sequence[np.ndarray],
    of: Callable[[list[np.ndarray]], np.ndarray],
    n: int = 1,
) -> np.ndarray:
    """What ``of`` makes, (n, k, …), of the samples of the chains that found k topics: float64
    (n, K, …); NaN where none did."""
    made = np.full((n, *chains[0].shape[1:]), np.nan)
    for pattern in np.unique(found[:, found.any(axis=0)], axis=1).T:
        every = np.flatnonzero((found == pattern[:, None]).all(axis=0))
        for topics in np.array_split(every, -(-len(every) // _BLOCK)):
            mine = [chain[:, topics] for chain, holds in zip(chains, pattern, strict=True) if holds]
            made[:, topics] = of(mine)
    return made
