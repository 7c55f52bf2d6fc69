"""What runs of format 1 hold, in the terms of today.

Format 1 counted the start of samplers that keep assignments in updates of so many workers, averaged
coupled chains to the end of a run unless told otherwise, and kept the averages as samples. Its
checkpoints held α, the topics' shares and β of a minibatch chain as one array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from topicmc.engine.state import Table
from topicmc.kernels.threads import Threads
from topicmc.models.lda.planning.plan import rounds_per_sweep
from topicmc.models.lda.settings import TrainConfig, keeps_assignments
from topicmc.samplers.state import Chain, sum_topics
from topicmc.storage.checkpoints import Checkpoint


def config_of_format_1(config: TrainConfig, n_docs: int, rounds: int) -> TrainConfig:
    """The settings of a run on ``n_docs`` documents that has made so many rounds, as of today."""
    if config.keeps_assignments:
        per_sweep = config.trajectory * rounds_per_sweep(config, n_docs)
        epochs = config.updates / per_sweep if config.updates is not None else config.epochs
        start = max(1, round(config.anneal_updates / per_sweep))
        return replace(config, epochs=epochs, start_sweeps=start)
    if config.average_until is None and config.groups < config.chains:
        return replace(config, average_until=rounds * config.trajectory)
    return config


def without_averages(
    entries: list[dict[str, Any]], config: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The index entries of a run of format 1, those of averages marked as no samples."""
    is_averaged = config.get("groups", 1) < config.get("chains", 1)
    if keeps_assignments(config["sampler"], config.get("remember")) or not is_averaged:
        return entries
    until, trajectory = config.get("average_until"), config.get("trajectory", 1)
    return [
        {**entry, "burn_in": True}
        if until is None or entry["round"] * trajectory <= until
        else entry
        for entry in entries
    ]


def is_of_older_layout(facts: Mapping[str, Any]) -> bool:
    """Whether a checkpoint, by its facts of one chain, is laid out as `older_state` reads it."""
    return "arrays" not in facts


def older_state(
    index: int,
    facts: Mapping[str, Any],
    checkpoint: Checkpoint,
    table: Table[Chain],
    threads: Threads,
) -> Chain:
    """The state of a minibatch chain as checkpoints held it before they were laid out by its table;
    ValueError unless all fits."""
    theta = table.fitting(checkpoint, f"theta-{index:03d}", "theta")
    chain = Chain(index, theta, np.zeros(0), facts["update"], facts["clock"])
    if facts["waiting"]:
        chain.moved_at = table.fitting(checkpoint, f"moved-{index:03d}", "moved_at")
        chain.topic_sums = table.fitting(checkpoint, f"sums-{index:03d}", "topic_sums")
    else:
        chain.topic_sums = sum_topics(theta, threads)
    n_topics, beside = theta.shape[1], checkpoint.array(f"beside-{index:03d}")
    if beside.shape != (2 * n_topics + 1,) or beside.dtype != np.float64:
        raise ValueError(f"beside-{index:03d} is {beside.dtype} {beside.shape}")
    chain.alpha, chain.share = beside[:n_topics], beside[n_topics:-1]
    chain.beta = float(beside[-1])
    return chain
