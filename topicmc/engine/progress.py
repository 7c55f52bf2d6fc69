"""How far a run has come of what was asked for, and the commands that go on with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import ceil, inf
from typing import Any, NamedTuple

from topicmc.engine.ending import fraction
from topicmc.errors import DataError
from topicmc.settings.groups import RunSettings
from topicmc.storage.lease import holder_of
from topicmc.storage.runs import RunDirectory

_ROUNDED = 0.999  # metrics round seconds


class Reached(NamedTuple):
    """Where a run was when it was last evaluated.

    done           the share of what was asked for, over 1 where less was asked for later
    seconds        of training
    told           how much of what, in words
    has_converged  whether it ended because of that
    of_start       the share of its start, over 1 once that is over
    """

    done: float
    seconds: float
    told: str
    has_converged: bool = False
    of_start: float = inf

    @property
    def is_unfinished(self) -> bool:
        return self.done < _ROUNDED and not self.has_converged


def last_evaluation(run: RunDirectory) -> dict[str, Any] | None:
    """The newest metrics of a run; None where they do not say how far it had come."""
    metrics = run.metrics()
    last = metrics[-1] if metrics else {}
    return last if {"update", run.counted[0], "seconds"} <= last.keys() else None


def reached(
    run: RunDirectory, last: Mapping[str, Any], config: RunSettings[Any], epoch: int
) -> Reached:
    """How far a run had come at its `last_evaluation`, as that says; an epoch draws so many
    items."""
    update, items, seconds = last["update"], last[run.counted[0]], last["seconds"]
    done = fraction(config, epoch, update=update, items=items, seconds=seconds)
    if config.updates is not None:
        told = f"{update:,} of {config.updates:,} updates"
    elif config.epochs is not None:
        passes = items / epoch
        told = f"{passes:,.{'0f' if passes >= 100 else '3g'}} of {config.epochs:,.10g} epochs"
    else:
        told = f"{seconds:.0f} of {config.time_budget or seconds:g} seconds"
    return Reached(done, seconds, told)


def ended_converged(run: RunDirectory, config: RunSettings[Any]) -> bool:
    """Whether a run that trains until then has ended, as its checkpoint says."""
    return config.until == "converged" and _is_at_rest(run)


def _is_at_rest(run: RunDirectory) -> bool:
    """Whether the checkpoint of a run says that it has converged."""
    with suppress(DataError):  # in a checkpoint, which only training needs
        checkpoint = run.checkpoint()
        return checkpoint is not None and checkpoint.manifest.get("converged", False)
    return False


def unfinished(run: RunDirectory, at: Reached | None) -> list[str]:
    """A sentence without full stop where a run has not ended, with what goes on with it, unless
    that is being trained; else none."""
    if at is None or not at.is_unfinished:
        return []
    done = f"had done {at.told} when it was last evaluated"
    holder = holder_of(run.path)
    if holder is not None:
        return [f"{run.path} is being trained ({holder}) and {done}"]
    return [f"{run.path} {done}; go on with it ({run.resume_command})"]


def remarks(run: RunDirectory, at: Reached | None) -> list[str]:
    """Sentences without full stop: that a run has not ended, or has no posterior sample yet."""
    told = unfinished(run, at)
    if run.is_starting():
        told.append(
            f"{run.path} has no posterior sample yet: a state of its start stands in for one; train"
            " it for longer"
        )
    return told


def advice_to_train(
    runs: Sequence[RunDirectory], each: Sequence[Reached | None], options: Sequence[str] = ()
) -> str:
    """The advice to do what was asked for, or where all is done, twice as much, of a run that has
    converged twice what it has made, and at least twice the start; and how long that takes. Of
    runs that are being trained, to wait for the end.

    Args:
        runs: at least one.
        each: how far each has come.
        options: of each, more of them.
    """
    told = [*zip(runs, each, options or [""] * len(runs), strict=True)]
    left = [of for of in told if of[1] is not None and of[1].is_unfinished]
    idle = [of for of in left if holder_of(of[0].path) is None]
    whole, seconds = zip(*(_command(*of, not left) for of in idle or left or told), strict=True)
    if left and not idle:
        return f"wait until training ends{_duration(max(seconds))}"
    what = "finish" if left else "continue training"
    whom = {1: " it" if left else "", 2: " both"}.get(len(whole), " each")
    return f"{what}{whom} ({'; '.join(whole)}){_duration(sum(seconds))}"


def _command(run: RunDirectory, at: Reached | None, option: str, twice: bool) -> tuple[str, float]:
    """What goes on with a run, and the seconds that it takes by the pace so far."""
    times = 2.0 if twice else 1.0
    if twice and at and at.has_converged:  # past the start, and short of the length asked for
        times *= at.done
    elif twice and at and at.of_start:
        times *= max(1.0, round(at.done, 1), ceil(at.done / at.of_start))
    length = _length(run, times) if twice else ""
    if run.facts().get("saved"):  # from Python, which knows no options
        length = option = ""
    seconds = (times / at.done - 1) * at.seconds if at and at.done else 0.0
    return f"{run.resume_command}{length}{option}", seconds


def _length(run: RunDirectory, times: float) -> str:
    """The options for so many times the training that was asked for; a run that has converged would
    end at once if it were to train until then."""
    config = run.facts()["config"]
    told = ""
    if config["time_budget"]:
        told += f" --time-budget {times * config['time_budget']:.10g}s"
    if config["epochs"]:
        told += f" --epochs {times * config['epochs']:.6g}"
    elif config["updates"]:
        told += f" --updates {round(times * config['updates'])}"
    until = config.get("until") == "converged" and not _is_at_rest(run)
    return told + " --until converged" * until


def _duration(seconds: float) -> str:
    """How much more time it takes, where that is worth a word."""
    if seconds < 1:
        return ""
    for limit, unit, name in ((90, 1, "s"), (5400, 60, "min"), (inf, 3600, "h")):
        if seconds < limit:
            return f", some {seconds / unit:.0f} {name} more"
    return ""
