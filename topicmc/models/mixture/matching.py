"""Groups of one partition found again in others.

Two partitions of the same documents are compared by the Jaccard index of their groups, documents
in both over documents in either, and as wholes by the adjusted Rand index (Hubert and Arabie 1985)
and the variation of information. A group is *found again* where the group that is matched to it has
a Jaccard index of at least `FOUND`; below that a group counts as dissolved (Hennig 2007,
"Cluster-wise assessment of cluster stability").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topicmc.errors import UsageError
from topicmc.models.corpus_run import check_distinct
from topicmc.models.mixture.reading import Groups, looked_at, most_central
from topicmc.models.mixture.run import MixtureRun
from topicmc.posterior.passes import one_by_one

FOUND = 0.5


def table_of(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """How many documents two partitions, int32 (D,), put into each pair of groups: int64 (K, L)."""
    shape = int(one.max()) + 1, int(other.max()) + 1
    flat = one.astype(np.int64) * shape[1] + other
    return np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape)


def adjusted_rand(one: np.ndarray, other: np.ndarray) -> float:
    """The adjusted Rand index of two partitions, int32 (D,): 1 where they are the same, 0 in the
    mean where they have nothing to do with each other (Hubert and Arabie 1985, eqn 5)."""
    table = table_of(one, other).astype(np.float64)
    cells, rows, columns = (
        (n * (n - 1) / 2).sum() for n in (table, table.sum(axis=1), table.sum(axis=0))
    )
    n_pairs = len(one) * (len(one) - 1) / 2
    expected = rows * columns / max(n_pairs, 1.0)
    most = (rows + columns) / 2
    return 1.0 if most == expected else float((cells - expected) / (most - expected))


@dataclass(frozen=True)
class Paired:
    """The groups of one partition with those of another.

    to       int64 (K,), the group of the other; −1 where none is left
    jaccard  float64 (K,), documents in both over documents in either; 0 where none is left
    """

    to: np.ndarray
    jaccard: np.ndarray


def pairs(one: np.ndarray, other: np.ndarray) -> Paired:
    """The groups of one partition, int32 (D,), paired one to one with those of another such that
    the sum of Jaccard indices is greatest."""
    from scipy.optimize import linear_sum_assignment

    table = table_of(one, other)
    either = table.sum(axis=1)[:, None] + table.sum(axis=0)[None] - table
    index = table / np.maximum(either, 1)
    rows, columns = linear_sum_assignment(index, maximize=True)
    to, found = np.full(len(table), -1), np.zeros(len(table))
    to[rows], found[rows] = columns, index[rows, columns]
    to[found == 0] = -1
    return Paired(to, found)


@dataclass(frozen=True)
class GroupSamples:
    """The groups of the kept sample that is nearest to all, found again in every kept sample of
    some runs of one corpus. A run in its start says nothing where another has samples.

    groups   those of that sample, numbered by size
    entries  of the index of each run, n in all, with their run
    chain    int64 (n,), of which chain of which run, counted from 0
    kept     how many of the n are posterior samples: all, or none where all runs are in their start
    stick    int64 (n, K), the stick of the sample that a group is matched with; −1 where it is not
             found again
    jaccard  float64 (n, K), with the matched group
    share    float64 (n, K), its part of the documents
    """

    groups: Groups
    entries: list[tuple[MixtureRun, dict[str, Any]]]
    chain: np.ndarray
    kept: int
    stick: np.ndarray
    jaccard: np.ndarray
    share: np.ndarray

    @property
    def n_chains(self) -> int:
        """Chains of all runs."""
        return int(self.chain.max()) + 1

    def phi(self) -> Iterator[np.ndarray]:
        """For each sample φ of the matched groups, float64 (K, W); NaN where one is not found."""
        for (run, entry), stick in zip(one_by_one(self.entries), self.stick, strict=True):
            phi = run.read_sample(entry).phi.astype(np.float64)[stick]
            phi[stick < 0] = np.nan
            yield phi

    def mean_phi(self) -> np.ndarray:
        """The mean of φ over the samples that have found a group, float64 (K, W), rows sum to
        one: one sample's own φ is a draw, and says little of rare words."""
        total = np.zeros(self.groups.phi.shape)
        for phi in self.phi():
            total += np.nan_to_num(phi)
        return total / total.sum(axis=1, keepdims=True)

    def of_group(self, k: int, values: np.ndarray) -> list[np.ndarray]:
        """Of values, (n, …), of the samples those of each chain that has found group k."""
        found = self.stick[:, k] >= 0
        parts = (values[found & (self.chain == chain)] for chain in range(self.n_chains))
        return [part for part in parts if len(part)]


def group_samples(runs: Sequence[MixtureRun]) -> GroupSamples:
    """`GroupSamples` of some runs.

    Raises UsageError when they were trained on other documents or words, or two have the same
    samples; DataError when one has no samples yet, or a file is damaged.
    """
    check_alike(runs)
    entries, partitions, samples = [], [], []
    chain: list[int] = []
    for run in [run for run in runs if not run.is_starting()] or runs:
        first = max(chain, default=-1) + 1
        of_run = run.states_to_read()
        number = {c: first + i for i, c in enumerate(sorted({e["chain"] for e in of_run}))}
        for entry in one_by_one(of_run):
            sample = run.read_sample(entry)
            entries.append((run, entry))
            chain.append(number[entry["chain"]])
            partitions.append(looked_at(sample.groups))
            samples.append(sample.sizes / len(sample.groups))
    centre = most_central(partitions)
    run, entry = entries[centre]
    groups = Groups.of(run.read_sample(entry))
    paired = [
        pairs(groups.groups, run.read_sample(entry).groups) for run, entry in one_by_one(entries)
    ]
    jaccard = np.array([pair.jaccard for pair in paired])
    stick = np.where(jaccard >= FOUND, [pair.to for pair in paired], -1)
    share = np.array([sizes[to] for sizes, to in zip(samples, stick, strict=True)])
    kept = sum(not entry["burn_in"] for _, entry in entries)
    return GroupSamples(groups, entries, np.array(chain), kept, stick, jaccard, share)


def central(run: MixtureRun) -> Groups:
    """The groups of the kept sample that is nearest to all of a run, with `mean_phi`."""
    found = group_samples([run])
    return replace(found.groups, phi=found.mean_phi())


def check_alike(runs: Sequence[MixtureRun]) -> None:
    """UsageError unless runs were trained on the same documents, and none comes twice, nor is made
    again by the same seed."""
    check_distinct(runs)
    first = runs[0].facts()["corpus"]
    for run in runs[1:]:
        if run.facts()["corpus"]["fingerprint"] != first["fingerprint"]:
            raise UsageError(
                f"{run.path}: was trained on other documents than {runs[0].path}, so that their"
                " groups cannot be matched; name runs of one corpus"
            )
