"""How far a run has come of what was asked for, and what a reader of it should know of that."""

from __future__ import annotations

import shlex
from typing import Any

from topicmc.settings.config import TrainConfig
from topicmc.storage.files import read_json
from topicmc.storage.runs import RunDirectory

_ROUNDED = 0.999  # metrics round seconds


def fraction(
    config: TrainConfig, n_docs: int, *, update: int, documents: int, seconds: float
) -> float:
    """The share that is done, 1 or more at the end: of the updates, or else of the epochs over
    ``n_docs`` documents, or of the time budget, whichever is used up first."""
    done = 0.0
    if config.updates is not None:
        done = update / config.updates
    elif config.epochs is not None:
        # Each chain that keeps assignments draws all documents; others share them.
        passes = config.chains if config.keeps_assignments else 1
        done = documents / (config.epochs * n_docs * passes)
    if config.time_budget is not None:
        done = max(done, seconds / config.time_budget)
    return done


def resume_command(run: RunDirectory) -> str:
    """The command that goes on with a run; where its corpus is gone, CORPUS stands for the new
    place of it."""
    gone = not (run.path / run.facts()["corpus"]["path"]).exists()
    return f"topicmc train {'CORPUS ' * gone}-o {shlex.quote(str(run.path))} --resume"


def unfinished(run: RunDirectory) -> str | None:
    """How far a run came that did not end, in words; None of one that did, or that never said."""
    facts, metrics = run.facts(), run.metrics()
    last = metrics[-1] if metrics else {}
    if not {"update", "documents", "seconds"} <= last.keys():
        return None
    at: dict[str, Any] = {name: last[name] for name in ("update", "documents", "seconds")}
    config = TrainConfig.from_dict(facts["config"])
    n_docs = facts["corpus"]["documents"]
    if fraction(config, n_docs, **at) >= _ROUNDED or _has_converged(run, config, at["update"]):
        return None
    if config.updates is not None:
        return f"{at['update']:,} of {config.updates:,} updates"
    if config.epochs is not None:
        passes = config.chains if config.keeps_assignments else 1
        return f"{at['documents'] / (n_docs * passes):.3g} of {config.epochs:g} epochs"
    return f"{at['seconds']:.0f} of {config.time_budget:g} seconds"


def _has_converged(run: RunDirectory, config: TrainConfig, update: int) -> bool:
    """Whether a run that trains until then has ended, at that update."""
    place = run.path / "topics.json"
    if config.until != "converged" or not place.exists():
        return False
    return read_json(place, update=int)["update"] == update


def remarks(run: RunDirectory) -> list[str]:
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
