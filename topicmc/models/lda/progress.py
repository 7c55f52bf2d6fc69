"""How far a run has come of what was asked for, and what a reader of it should know of that."""

from __future__ import annotations

from typing import Any

from topicmc.engine import progress
from topicmc.engine.progress import Reached, last_evaluation
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.plan import burn_in_updates, draws_per_epoch, work_of_start
from topicmc.models.lda.run import TopicRun
from topicmc.models.lda.settings import TrainConfig
from topicmc.settings.values import AUTO
from topicmc.storage.run_fields import settings_in


def reached(run: TopicRun) -> Reached | None:
    """How far a run has come; None of one that never said."""
    last = last_evaluation(run)
    if last is None:
        return None
    facts = run.facts()
    config = settings_in(run.path / "run.json", facts, TrainConfig)
    epoch = facts["corpus"]["documents"] * draws_per_epoch(config)
    update, epochs = last["update"], last["documents"] / epoch
    sweeps = last.get("subset_sweeps", config.start_sweeps)  # a late start leaves some out
    of_start = _of_start(config, facts["corpus"], sweeps, update=update, epochs=epochs)
    if any(not entry["burn_in"] for entry in run.sample_index()):  # one that was late is shorter
        of_start = max(1.0, of_start)
    has_converged = progress.ended_converged(run, config)
    if facts.get("saved"):  # from Python: it has no checkpoint, and was trained to its end
        has_converged = config.until == "converged"
    at = progress.reached(run, last, config, epoch)
    return at._replace(of_start=of_start, has_converged=has_converged)


def _of_start(
    config: TrainConfig, corpus: dict[str, Any], sweeps: int, *, update: int, epochs: float
) -> float:
    """The share of its start that a run has made in so many updates, or epochs of its chains; 1
    where an early version did not say how long it is."""
    length = config.start_sweeps if config.keeps_assignments else config.anneal_updates
    if length == AUTO:
        return 1.0
    if config.keeps_assignments:
        size = Extent(corpus["documents"], corpus["tokens"], corpus["words"])
        return epochs / max(1.0, work_of_start(config, size).draws)
    return update / max(1, (sweeps if config.start == "subset" else 0) + burn_in_updates(config))


def remarks(run: TopicRun) -> list[str]:
    """As `topicmc.engine.progress.remarks`; and that a run has moved on since its view was made."""
    told = progress.remarks(run, reached(run))
    if run.has_moved_on():
        told.insert(
            0,
            f"{run.path} has been trained on since {run.place} was made of it; see whether its"
            " names and merges still fit",
        )
    return told
