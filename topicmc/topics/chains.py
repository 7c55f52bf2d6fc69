"""The kept samples of all chains of some runs, with topics matched across chains.

Chains are matched to the first chain of the first run by their mean topics
(`topicmc.topics.matching`); within a chain topics keep their numbers. A chain has *found* a
topic when the one matched to it is also the one nearest to it, it is nearest to that one in turn,
and their distance is at most `SAME`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from topicmc.corpora.of_runs import NO_CORPUS
from topicmc.engine.schedule import split_groups
from topicmc.errors import UsageError
from topicmc.host.machine import available_cores
from topicmc.kernels.threads import Threads
from topicmc.models.corpus_run import check_distinct
from topicmc.models.lda.draws import chain_of, keeps_counts
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.samples import (
    alpha_of,
    beta_of,
    check_memory,
    samples_of,
    sum_of_samples,
)
from topicmc.samplers.row_prior import RowPrior
from topicmc.settings.values import learns
from topicmc.topics.matching import SAME, assign, distances


@dataclass(frozen=True)
class MatchedChain:
    """One chain, its topics in the order of the first chain's.

    Attributes:
        run: where it was trained.
        entries: its n kept samples in the index of the run.
        provisional: whether these are no samples yet, but a state of the start in their place.
        order: int64 (K,), its own numbers of the topics.
        distance: float64 (K,), Hellinger distance to the first chain's topics.
        found: bool (K,), whether it has found the first chain's topics.
        share: float64 (n, K), each topic's share of the tokens.
        alpha: float64 (n, K), the prior of the topic mixes.
        prior_mass: float64 (n, K), B_k = Σ_w b_kw of the prior of the topics; of a merged topic the
            sum over its parts.
    """

    run: TopicRun
    entries: list[dict[str, Any]]
    provisional: bool
    order: np.ndarray
    distance: np.ndarray
    found: np.ndarray
    share: np.ndarray
    alpha: np.ndarray
    prior_mass: np.ndarray


def matched_chains(runs: Sequence[TopicRun]) -> Iterator[tuple[MatchedChain, np.ndarray]]:
    """Every chain of every run, each with the mean of φ over its samples: float64 (K, W), rows in
    its own order, of which ``phi[chain.order]`` makes that of the first chain's topics.

    Raises UsageError when the runs differ in vocabulary, corpus, number of topics or given priors,
    two have the same samples, or memory is too small to read them; DataError when one has no
    samples yet, or a file of theirs is damaged.
    """
    check_alike(runs)
    chains = [(run, entries) for run in runs for entries in _by_chain(samples_of(run))]
    _check_memory(runs, len(chains))
    reference, threads = None, Threads(available_cores())
    for run, entries in chains:
        phi, share = sum_of_samples(run, entries, threads)
        phi /= len(entries)
        alpha = np.array([alpha_of(run, entry) for entry in entries])
        prior = _prior_mass(run, entries, phi.shape[1])
        reference = phi if reference is None else reference
        order, distance, found = _match(reference, phi)
        of_topics = share[:, order], alpha[:, order], prior[:, order]
        early = any(entry["burn_in"] for entry in entries)
        yield MatchedChain(run, entries, early, order, distance, found, *of_topics), phi
        del phi  # before the next is read


def _by_chain(samples: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The samples of each chain."""
    numbers = sorted({entry["chain"] for entry in samples})
    return [[entry for entry in samples if entry["chain"] == number] for number in numbers]


def memory_of(n_words: int, n_topics: int, n_kept: int, n_chains: int) -> int:
    """Bytes that it takes at most to read the samples of chains and tell how sure their topics are:
    φ in float64 of the first chain, of all together and of the one that is read, and θ of a sample
    as it is kept or drawn, of ``n_kept`` topics, before a view makes ``n_topics`` of them."""
    return n_words * (n_topics * 8 * min(1 + n_chains, 3) + n_kept * 2 * 4)


def _check_memory(runs: Sequence[TopicRun], n_chains: int) -> None:
    first, n_topics = runs[0], runs[0].n_topics
    n_words = first.shape[0]
    if n_words is None:
        return
    n_kept = max(run.facts()["config"]["topics"] for run in runs)
    check_memory(first, memory_of(n_words, n_topics, n_kept, n_chains))


def _match(reference: np.ndarray, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order, distance and found of a chain by its mean topics; see `MatchedChain`."""
    mine = np.arange(len(phi))
    if phi is reference:
        return mine, np.zeros(len(phi)), np.ones(len(phi), bool)
    apart = distances(reference, phi)
    order = assign(apart)
    nearest = (apart.argmin(axis=1) == order) & (apart.argmin(axis=0)[order] == mine)
    distance = apart[mine, order]
    return order, distance, nearest & (distance <= SAME)


def check_alike(runs: Sequence[TopicRun]) -> None:
    """UsageError where chains of some runs cannot be of one posterior."""
    check_distinct(runs)
    first = runs[0]
    for run in runs[1:]:
        if run.facts()["vocabulary"] != first.facts()["vocabulary"]:
            raise UsageError(
                f"{run.place}: has another vocabulary than {first.place}; `topicmc compare` puts"
                " them side by side"
            )
        if _are_of_other_documents(first, run):
            raise UsageError(
                f"{run.place}: was trained on another corpus than {first.place}; `topicmc compare`"
                " puts them side by side"
            )
        n, m = run.n_topics, first.n_topics
        if n != m:
            raise UsageError(
                f"{run.place}: has {n} topics and {first.place} has {m}; {_beside(first, run)}"
            )
        if _are_given_other_priors(first, run):
            raise UsageError(
                f"{run.place}: was given another prior than {first.place}; `topicmc compare` puts"
                " them side by side"
            )


def _beside(*runs: TopicRun) -> str:
    """What to do with runs and views of unlike numbers of topics."""
    views = [run for run in runs if run.view and run.view.changes_topics]
    if not views:
        return "`topicmc compare` puts them side by side"
    return (
        f"a view that merges or drops topics goes alone: name its run ({views[0].path}) beside the"
        " other, or edit a run of several --chains"
    )


def _are_of_other_documents(*runs: TopicRun) -> bool:
    """As far as it is known. A corpus in other shards has another fingerprint, but is as large; of
    what was in memory the one is none that others could have, and counts may have been rounded."""
    corpora = [run.facts()["corpus"] for run in runs]
    known = [corpus for corpus in corpora if corpus["path"] != NO_CORPUS]
    sizes = {
        tuple(corpus.get(name) for name in ("documents", "tokens", "words")) for corpus in known
    }
    return len(sizes) > 1


def _are_given_other_priors(*runs: TopicRun) -> bool:
    """Whether both were given α or β, and not the same, or topics with priors of their own that
    differ. One that is learned goes with any, for chains learn values of their own in any case; and
    so does that of `LDA.partial_fit`, which `fit` may have learned before."""
    facts = [run.facts() for run in runs]
    configs = [told["config"] for told in facts if "stream" not in told]
    for name in ("alpha", "beta"):
        given = [c[name] for c in configs if not learns(name, c.get("learn", "none"))]
        if any(value != given[0] for value in given):
            return True
    return len({told.get("prior") for told in facts}) > 1


def are_of_one_start(chains: Sequence[MatchedChain]) -> bool:
    """Whether all chains were averaged into one before they went on apart, began on the same subset
    or with the same topics of another run, or have the same random numbers: that they agree says
    nothing of what another start would find."""
    return len(set(map(_start_of, chains))) == 1


def _start_of(chain: MatchedChain) -> tuple[Any, ...]:
    """What a chain began with of another run, by a checksum, or else what decides its start."""
    facts, number = chain.run.facts(), chain_of(chain.run, chain.entries[0])
    config, group = facts["config"], number
    # As the run began: chains that fewer workers have given up were of a group, too.
    begun = {**config, **facts.get("asked", {})}
    if "groups" in config and not keeps_counts(config):
        parts = split_groups(begun.get("chains", begun["groups"]), begun["groups"])
        group = sum(part[0] <= number for part in parts) - 1
    states = (facts.get("origin") or {}).get("states")
    if states:
        return (states[group % len(states)]["checksum"],)
    until = config.get("average_until"), begun.get("average_until")
    never_averaged = until == (0, 0) and "averaged" not in facts  # before it was told anew
    begin_apart = never_averaged and config.get("start") != "subset"
    randomness = config.get("seed"), config["sampler"], facts["corpus"]["fingerprint"]
    return *randomness, number if begin_apart else group


def _prior_mass(run: TopicRun, entries: list[dict[str, Any]], n_words: int) -> np.ndarray:
    """B_k of one chain in each sample, as the view shows topics if there is one: (n, K)."""
    additions, n_topics = run.additions(), run.facts()["config"]["topics"]
    priors = [RowPrior(beta_of(run, entry), additions) for entry in entries]
    totals = np.array([prior.totals(n_words, n_topics) for prior in priors])
    return totals if run.view is None else run.view.summed(totals, entries[0]["chain"])
