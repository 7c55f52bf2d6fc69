"""How far a run has come of what was asked for, and what a reader of it should know of that."""

from __future__ import annotations

import shlex
from typing import Any

from topicmc.engine.ending import fraction
from topicmc.models.lda.defaults import passes
from topicmc.models.lda.run import TopicRun
from topicmc.settings.config import TrainConfig
from topicmc.storage.files import read_json

_ROUNDED = 0.999  # metrics round seconds


def resume_command(run: TopicRun) -> str:
    """The command that goes on with a run; where its corpus is gone, CORPUS stands for the new
    place of it."""
    gone = not (run.path / run.facts()["corpus"]["path"]).exists()
    return f"topicmc train {'CORPUS ' * gone}-o {shlex.quote(str(run.path))} --resume"


def unfinished(run: TopicRun) -> str | None:
    """How far a run came that did not end, in words; None of one that did, or that never said."""
    facts, metrics = run.facts(), run.metrics()
    last = metrics[-1] if metrics else {}
    if not {"update", "documents", "seconds"} <= last.keys():
        return None
    at: dict[str, Any] = {name: last[name] for name in ("update", "documents", "seconds")}
    config = TrainConfig.from_dict(facts["config"])
    n_docs = facts["corpus"]["documents"]
    epoch = n_docs * passes(config)
    done = fraction(
        config, epoch, update=at["update"], items=at["documents"], seconds=at["seconds"]
    )
    if done >= _ROUNDED or _has_converged(run, config, at["update"]):
        return None
    if config.updates is not None:
        return f"{at['update']:,} of {config.updates:,} updates"
    if config.epochs is not None:
        return f"{at['documents'] / epoch:.3g} of {config.epochs:g} epochs"
    return f"{at['seconds']:.0f} of {config.time_budget:g} seconds"


def _has_converged(run: TopicRun, config: TrainConfig, update: int) -> bool:
    """Whether a run that trains until then has ended, at that update."""
    place = run.path / "topics.json"
    if config.until != "converged" or not place.exists():
        return False
    return read_json(place, update=int)["update"] == update


def remarks(run: TopicRun) -> list[str]:
    """Sentences without an end: that a run has not ended, or has no posterior sample yet."""
    told = []
    done = unfinished(run)
    if done is not None:
        told.append(f"{run.path} has done {done}; go on with {resume_command(run)}")
    if run.is_starting():
        told.append(
            f"{run.path} has no posterior sample yet: a state of its start stands in for one, and"
            " no interval rests on it; train it for longer"
        )
    return told
