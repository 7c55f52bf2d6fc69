"""What runs of format 1 hold, in the terms of today.

Format 1 counted the start of samplers that keep assignments in updates of so many workers, averaged
coupled chains to the end of a run unless told otherwise, and kept the averages as samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from topicmc.models.lda.defaults import rounds_per_sweep
from topicmc.settings.config import TrainConfig


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
    if config["sampler"] not in ("scir", "sgrld") or config.get("remember"):
        return entries
    if config.get("groups", 1) >= config.get("chains", 1):
        return entries
    until, trajectory = config.get("average_until"), config.get("trajectory", 1)
    return [
        {**entry, "burn_in": True}
        if until is None or entry["round"] * trajectory <= until
        else entry
        for entry in entries
    ]
