"""How far a run has come of what was asked for, and what a reader of it should know of that."""

from __future__ import annotations

import shlex
from typing import Any, NamedTuple

from topicmc.engine.ending import fraction
from topicmc.models.lda.plan import burn_in_updates, passes, work_of_start
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import TrainConfig
from topicmc.settings.values import AUTO
from topicmc.storage.files import read_json

_ROUNDED = 0.999  # metrics round seconds
_SIZES = {"docs": "documents", "tokens": "tokens", "words": "words"}


def resume_command(run: TopicRun) -> str:
    """The command that goes on with a run; where its corpus is gone, CORPUS stands for the new
    place of it. For one that was saved from Python, what goes on there."""
    if run.facts().get("saved"):
        return "LDA.from_run and partial_fit in Python"
    gone = not (run.path / run.facts()["corpus"]["path"]).exists()
    return f"topicmc train {'CORPUS ' * gone}-o {shlex.quote(str(run.path))} --resume"


class Reached(NamedTuple):
    """Where a run was when it was last evaluated.

    done           the share of what was asked for, over 1 where less was asked for later
    of_start       the share of its start, over 1 once that is over
    seconds        of training
    told           how much of what, in words
    has_converged  whether it ended because of that
    """

    done: float
    of_start: float
    seconds: float
    told: str
    has_converged: bool = False

    @property
    def is_unfinished(self) -> bool:
        return self.done < _ROUNDED and not self.has_converged


def reached(run: TopicRun) -> Reached | None:
    """How far a run has come; None of one that never said."""
    facts, metrics = run.facts(), run.metrics()
    last = metrics[-1] if metrics else {}
    if not {"update", "documents", "seconds"} <= last.keys():
        return None
    update, documents, seconds = last["update"], last["documents"], last["seconds"]
    config = TrainConfig.from_dict(facts["config"])
    epoch = facts["corpus"]["documents"] * passes(config)
    done = fraction(config, epoch, update=update, items=documents, seconds=seconds)
    if config.updates is not None:
        told = f"{update:,} of {config.updates:,} updates"
    elif config.epochs is not None:
        told = f"{documents / epoch:.3g} of {config.epochs:g} epochs"
    else:
        told = f"{seconds:.0f} of {config.time_budget or seconds:g} seconds"
    sweeps = last.get("subset_sweeps", config.start_sweeps)  # a late start leaves some out
    of_start = _of_start(config, facts["corpus"], sweeps, update=update, epochs=documents / epoch)
    if any(not entry["burn_in"] for entry in run.sample_index()):  # one that was late is shorter
        of_start = max(1.0, of_start)
    return Reached(done, of_start, seconds, told, _has_converged(run, config, update))


def _of_start(
    config: TrainConfig, corpus: dict[str, Any], sweeps: int, *, update: int, epochs: float
) -> float:
    """The share of its start that a run has made in so many updates, or epochs of its chains; 1
    where an early version did not say how long it is."""
    length = config.start_sweeps if config.keeps_assignments else config.anneal_updates
    if length == AUTO:
        return 1.0
    if config.keeps_assignments:
        size = {f"n_{name}": corpus[of] for name, of in _SIZES.items()}
        return epochs / max(1.0, work_of_start(config, **size).draws)
    return update / max(1, (sweeps if config.start == "subset" else 0) + burn_in_updates(config))


def _has_converged(run: TopicRun, config: TrainConfig, update: int) -> bool:
    """Whether a run that trains until then has ended, at that update."""
    place = run.path / "topics.json"
    if config.until != "converged" or not place.exists():
        return False
    return read_json(place, update=int)["update"] == update


def remarks(run: TopicRun) -> list[str]:
    """Sentences without full stop: that a run has not ended, or has no posterior sample yet."""
    told = []
    if run.has_moved_on():
        told.append(
            f"{run.path} has been trained on since {run.place} was made of it; see whether its"
            " names and merges still fit"
        )
    at = reached(run)
    if at is not None and at.is_unfinished:
        told.append(
            f"{run.path} had done {at.told} when it was last evaluated; go on with"
            f" {resume_command(run)}"
        )
    if run.is_starting():
        told.append(
            f"{run.path} has no posterior sample yet: a state of its start stands in for one, and"
            " no interval rests on it; train it for longer"
        )
    return told
