"""The settings of a run that goes on with another number of workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from topicmc.corpora import Corpus
from topicmc.engine.schedule import split_groups
from topicmc.errors import UsageError
from topicmc.models.lda.collapsed.growing import Schedule
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import TrainConfig
from topicmc.settings.values import AUTO


def in_epochs(config: TrainConfig, corpus: Corpus, n_workers: int) -> TrainConfig:
    """The settings for another number of workers. A run that was to make so many blocks of each
    worker's documents has as many epochs as these come to."""
    if n_workers == config.workers or not config.keeps_assignments:
        return config
    if config.updates is None or config.epochs is None:  # some of earlier versions have no epochs
        return config
    whole = resolve(config, Extent.of(corpus))
    return replace(config, epochs=Schedule(whole, corpus).passes(config.updates))


def with_asked_batches(
    config: TrainConfig, asked: Mapping[str, Any], told: Mapping[str, Any], n_workers: int
) -> TrainConfig:
    """The settings for another number of workers, with batches as they were ``asked`` for, which
    more workers had cut down; what does not fit now is cut again. Who tells the size that they have
    now keeps it."""
    is_kept = told.get("batch_size", AUTO) not in (AUTO, asked.get("batch_size"))
    if n_workers == config.workers or is_kept:
        return config
    return replace(config, batch_size=asked.get("batch_size", config.batch_size))


def with_usual_blocks(
    config: TrainConfig, corpus: Corpus, n_workers: int, told: Mapping[str, Any]
) -> TrainConfig:
    """The settings for another number of workers. Where blocks, or how many are drawn before
    workers synchronise, are the usual ones and not ``told``, they are left open, to become those of
    a new run."""
    is_same = n_workers == config.workers
    of_blocks = config.updates is not None and config.epochs is None  # so long the run is
    if is_same or not config.keeps_assignments or of_blocks:
        return config
    size = Extent.of(corpus)
    usual = [
        name
        for name in ("batch_size", "trajectory")
        if told.get(name, AUTO) == AUTO
        and getattr(resolve(replace(config, **{name: AUTO}), size), name) == getattr(config, name)
    ]
    return replace(config, **dict.fromkeys(usual, AUTO))


def on_workers(config: TrainConfig, n_workers: int) -> TrainConfig:
    """The settings with another number of workers: each still holds at most one chain of
    minibatches, so such chains beyond their number are given up."""
    if n_workers == config.workers:
        return config
    if config.keeps_assignments:
        # Updates are blocks of each worker's documents; epochs mean the same on any number.
        updates = config.updates if config.epochs is None else None
        return replace(config, workers=n_workers, updates=updates)
    chains = min(config.chains, n_workers)
    groups = _groups_of(config, chains)
    if groups is None:
        several = (n for n in range(1, config.chains) if _groups_of(config, n) is not None)
        fit = ", ".join(map(str, several))
        raise UsageError(
            f"{n_workers} workers hold {chains} of the {config.chains} chains, whose groups"
            f" (--groups {config.groups}) would be mixed; go on with {fit} or {config.chains}"
        )
    return replace(config, workers=n_workers, chains=chains, groups=groups)


def remarks_on_start(run: TopicRun, config: TrainConfig, before: Mapping[str, Any]) -> list[str]:
    """That fewer chains than ``before`` go on with a start that was meant for the averages of all:
    the more of them there are, the fewer updates it has."""
    fewer = config.chains < before["chains"] and before["groups"] < before["chains"]
    if not fewer or not all(entry["burn_in"] for entry in run.sample_index()):
        return []
    return [
        f"the start of this run, {config.anneal_updates:,} updates, was meant for"
        f" {before['chains']} chains that are averaged; with --workers {config.workers} a new run"
        " has a longer one, and may find better topics"
    ]


def _groups_of(config: TrainConfig, chains: int) -> int | None:
    """How many groups the first chains form, if each is in the one that it was in; None where no
    number of groups says so."""
    groups: Any = config.groups
    kept = [[c for c in g if c < chains] for g in split_groups(config.chains, groups)]
    kept = [group for group in kept if group]
    return len(kept) if split_groups(chains, len(kept)) == kept else None
