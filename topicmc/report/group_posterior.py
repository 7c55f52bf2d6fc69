"""Groups of mixtures found again in kept samples, and what these say of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from topicmc.errors import UsageError
from topicmc.models.mixture.matching import group_samples
from topicmc.models.mixture.run import MixtureRun
from topicmc.posterior.intervals import credible_interval
from topicmc.topics.labels import Labels
from topicmc.topics.uncertainty import TOP, WordIntervals


class GroupPosterior:
    """The groups of some runs, K of them, and what their samples say of each; attributes as of
    `topicmc.topics.uncertainty.Posterior`. The share of a group is that of the documents.

    Args:
        runs: of one corpus.
        level: of the intervals.

    Raises as `group_samples`, and UsageError when ``level`` is no probability.
    """

    def __init__(self, runs: Sequence[MixtureRun], level: float) -> None:
        if not 0 < level < 1:
            raise UsageError(f"--level {level:g}: the probability of intervals is between 0 and 1")
        if len(runs) > 1 and runs[0].labels:
            raise UsageError(
                f"{runs[0].place}: has names for the groups of one run, and those of several are"
                " numbered anew; leave the other runs out, or give the run in place of its view"
            )
        self.level, self.samples = level, group_samples(runs)
        self.in_their_start = [run for run in runs if run.is_starting()]
        self.vocabulary = runs[0].vocabulary()
        found = self.samples.stick >= 0
        self.held = found.mean(axis=0)
        self.phi = self.samples.mean_phi()
        self.share = self._mean(self.samples.share)
        self.p_w = self.share @ self.phi
        ends = [self.interval(k, self.samples.share[:, k]) for k in range(len(self.phi))]
        self.share_low, self.share_high = np.array(ends).T
        self.alpha = np.full(len(self.phi), np.nan)
        self.groups: dict[str, Any] = {}
        self.labels = Labels.of_groups(runs[0], len(self.phi))
        chains = [found[self.samples.chain == chain] for chain in range(self.n_chains)]
        self.found = np.array([chain.mean(axis=0) >= 0.5 for chain in chains])
        self.stable: np.ndarray = np.all(self.found, axis=0)
        self.distance = 1 - self.samples.jaccard.mean(axis=0)

    @property
    def n_chains(self) -> int:
        return self.samples.n_chains

    @property
    def n_samples(self) -> int:
        return self.samples.kept

    def _mean(self, values: np.ndarray) -> np.ndarray:
        """Of values (n, K), over the samples that have found a group."""
        return np.where(self.samples.stick >= 0, values, 0).sum(axis=0) / np.maximum(
            (self.samples.stick >= 0).sum(axis=0), 1
        )

    def interval(self, k: int, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of shares or probabilities (n, …), by the posterior samples that have found group k."""
        nothing = np.full(values.shape[1:], np.nan)
        if self.samples.kept < len(self.samples.entries):  # states of the start are no samples
            return nothing, nothing
        chains = self.samples.of_group(k, values[:, None])  # of one group, as those of K topics are
        (low,), (high,) = credible_interval(chains, self.level)
        return low, np.minimum(high, 1)

    def intervals(self, words: np.ndarray, groups: np.ndarray | None = None) -> WordIntervals:
        """Of any words, int (n, M), of some groups, int (n,), or of all; reads every sample
        once."""
        groups = np.arange(len(self.phi)) if groups is None else groups
        n, shape = len(self.samples.entries), words.shape
        drawn, among = np.empty((n, *shape)), np.empty((n, *shape))
        for i, phi in enumerate(self.samples.phi()):
            mine, rank = phi[groups], max(phi.shape[1] - TOP, 0)
            least = np.partition(mine, rank, axis=1)[:, rank, None]
            drawn[i] = np.take_along_axis(mine, words, axis=1)
            among[i] = drawn[i] >= least
        ends = [self.interval(k, drawn[:, i]) for i, k in enumerate(groups.tolist())]
        low, high = (np.array(side) for side in zip(*ends, strict=True))
        has = (self.samples.stick[:, groups] >= 0)[:, :, None]
        in_top = np.where(has, among, 0).sum(axis=0) / has.sum(axis=0)
        return WordIntervals(self.phi[groups[:, None], words], low, high, in_top)

    def remark(self) -> str:
        """What is to be believed, in a sentence or two."""
        if self.in_their_start:
            names = " and ".join(str(run.place) for run in self.in_their_start)
            return f"No posterior sample yet of {names}; train for longer (--resume)."
        n, half = len(self.phi), int((self.held >= 0.5).sum())
        told = (
            f"{half} of {n} groups are found again in half of the {self.n_samples} samples or more,"
            " with at least half of their documents in common (Jaccard index)."
        )
        if self.n_chains == 1:
            return f"{told} One chain cannot know what others find: train with --chains."
        everyone = "Both" if self.n_chains == 2 else f"All {self.n_chains}"
        return f"{told} {everyone} chains find {int(self.stable.sum())}."
