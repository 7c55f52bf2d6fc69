"""Settings in groups: of any run, and of D-SGLD. A model adds a group of its own.

A group says what each setting is in both of its states. As it is asked for, a setting that is left
to the program holds AUTO (``Open`` is Any); once it is resolved it is a value (``Open`` is Never).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Generic, Never, Self, TypeVar

from topicmc.errors import UsageError
from topicmc.settings.values import AUTO, MAX_WORKERS, Interval, in_range, learns, one_of, option

Open = TypeVar("Open")
SCHEDULES = ("rotate", "permute")
UNTIL = ("end", "converged")
LENGTHS = ("updates", "epochs", "time_budget")
_LONGEST = 1e18  # what can be reckoned with, in all of these
RESUMABLE = (*LENGTHS, "until", "threads", "evaluate_every", "checkpoint_every", "workers")
"""What may be another when a run goes on, whatever the model."""
EVALUATIONS = 40  # of a run that is not told otherwise, at least: enough to see it come to rest


@dataclass(frozen=True, kw_only=True)
class RunSettings(Generic[Open]):
    """How long a run is, what it keeps, and what it runs on; times are in seconds."""

    updates: int | None = None
    epochs: float | None = None
    time_budget: float | None = None
    until: str = AUTO
    evaluate_every: str = AUTO
    checkpoint_every: str = AUTO
    samples: int = 32
    seed: int = 0
    threads: int | Open = AUTO
    workers: int = 1

    def as_dict(self) -> dict[str, Any]:
        """The fields as JSON-able values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Inverse of `as_dict`; UsageError names a field that does not exist."""
        known = {field.name for field in fields(cls)}
        for name in values:
            if name not in known:
                close = ", ".join(sorted(known))
                raise UsageError(f"unknown setting {name!r}; the settings are {close}")
        return cls(**values)

    @classmethod
    def of(cls, config: RunSettings[Any]) -> Self:
        """The same settings in another state; ValueError names one that is to be decided there and
        is not."""
        return cls.from_dict(config.as_dict())

    @property
    def has_length(self) -> bool:
        """Whether it is said how long the run is."""
        return any(getattr(self, name) is not None for name in LENGTHS)

    def on_these_cores(self, facts: Mapping[str, Any]) -> Self:
        """The settings of a run that goes on, by what its ``run.json`` says: on the cores there are
        now, where nobody has said how many threads."""
        return replace(self, threads=AUTO) if facts.get("threads") == AUTO else self

    def without_lengths(self, changes: Mapping[str, Any]) -> Self:
        """The settings of a run that goes on: its lengths are left out where changes give one."""
        if not any(name in changes for name in LENGTHS):
            return self
        return replace(self, updates=None, epochs=None, time_budget=None, until="end")

    def changes_of(
        self,
        told: Mapping[str, Any],
        run: Path,
        asked: Mapping[str, Any],
        resumable: tuple[str, ...] = RESUMABLE,
    ) -> dict[str, Any]:
        """What changes when the run in a directory goes on: of the settings that are ``told``, the
        resumable ones. A command that is repeated tells the others too, as the run has them, as
        they were ``asked`` for (`asked_otherwise`), or as AUTO. UsageError where one would make it
        another run."""
        for name, value in told.items():
            begun = getattr(self, name)
            if name in resumable or value in (AUTO, begun, asked.get(name, begun)):
                continue
            said = ("", "others") if isinstance(value, Mapping) else (f" {value}", begun)
            raise UsageError(
                f"{option(name)}{said[0]}: the run in {run} began with {said[1]}, which --resume"
                " cannot change; start a new run instead"
            )
        return {name: value for name, value in told.items() if name in resumable}

    def asked_otherwise(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """What ``run.json`` keeps under ``asked``: of the settings that are ``told``, those that
        are others here, as a batch of more documents than a worker has is."""
        return {
            name: value
            for name, value in told.items()
            if name not in RESUMABLE and value not in (None, AUTO, getattr(self, name))
        }

    def layout(self) -> dict[str, Any]:
        """What a checkpoint says of where chains are: the workers."""
        return {"workers": self.workers}

    def check_run(self) -> None:
        """UsageError on any value of this group that is outside its range."""
        one_of("--until", self.until, (AUTO, *UNTIL))
        for name in LENGTHS:
            value = getattr(self, name)
            if value is not None:
                in_range(option(name), value, 0, _LONGEST, exclusive=True)
        if self.evaluate_every != AUTO:
            Interval.parse(self.evaluate_every, "--evaluate-every")
        if self.checkpoint_every != AUTO:
            Interval.parse(self.checkpoint_every, "--checkpoint-every")
        in_range("--samples", self.samples, 1, 10_000)
        in_range("--seed", self.seed, 0, 2**63 - 1)
        in_range("--threads", self.threads, 1, 1024)
        in_range("--workers", self.workers, 1, MAX_WORKERS)

    def evaluation_interval(self, updates: float | None) -> Interval:
        """When to evaluate: as told, or else `EVALUATIONS` times in a run of so many updates, and
        once a minute."""
        if self.evaluate_every != AUTO:
            return Interval.parse(self.evaluate_every)
        seconds = min(60.0, (self.time_budget or math.inf) / EVALUATIONS)
        return Interval(seconds, math.ceil(updates / EVALUATIONS) if updates else None)

    def checkpoint_interval(self) -> Interval:
        """When to save a checkpoint: as told, or else twice a minute, if that costs little."""
        return Interval.parse("30s" if self.checkpoint_every == AUTO else self.checkpoint_every)


@dataclass(frozen=True, kw_only=True)
class DsgldSettings(RunSettings[Open]):
    """How chains move among workers."""

    chains: int | Open = AUTO
    groups: int | Open = AUTO
    trajectory: int | Open = AUTO
    schedule: str = "rotate"
    balance: bool = True
    average_until: int | None = None

    def layout(self) -> dict[str, Any]:
        """The same, and what a job on fewer workers may give up: chains, groups, and their
        averages."""
        return {
            **super().layout(),
            **{name: getattr(self, name) for name in ("chains", "groups", "average_until")},
        }

    def check_dsgld(self) -> None:
        """UsageError on any value of this group that is outside its range."""
        one_of("--schedule", self.schedule, SCHEDULES)
        in_range("--trajectory", self.trajectory, 1, 1_000_000)
        in_range("--chains", self.chains, 1, MAX_WORKERS)
        most_groups: Any = self.workers if self.chains == AUTO else self.chains
        in_range("--groups", self.groups, 1, most_groups, "a group has at least one chain")
        if self.average_until is not None:
            in_range("--average-until", self.average_until, 0, 1_000_000_000)

    def check_chains(self) -> None:
        """UsageError when there are more chains of minibatches than workers."""
        why = "a worker holds at most one chain: give more --workers"
        in_range("--chains", self.chains, 1, self.workers, why)


class LearnsPriors:
    """What ``learn`` says, of groups of settings that have it."""

    learn: str

    @property
    def learns_alpha(self) -> bool:
        """Whether α is learned, or the concentration of a mixture."""
        return learns("alpha", self.learn)

    @property
    def learns_beta(self) -> bool:
        """Whether β is learned."""
        return learns("beta", self.learn)


Run = RunSettings[Never]
"""Resolved settings of any run."""
DsgldRun = DsgldSettings[Never]
"""Resolved settings of a run by D-SGLD."""
