"""What a training run is asked to do: validated on construction, saved with the run.

Settings that are left to the program hold AUTO until `topicmc.models.lda.defaults.resolve` decides
them.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import asdict, dataclass, fields
from numbers import Integral, Real
from typing import Any

from topicmc.errors import UsageError

AUTO: Any = "auto"  # in place of a number that `resolve` will decide
SAMPLERS = ("scir", "sgrld", "adlda", "asynclda")
COLLAPSED = ("adlda", "asynclda")  # samplers that remember the topic of every token
SCHEDULES = ("rotate", "permute")
STARTS = ("plain", "anneal", "grow")
UNTIL = ("end", "converged")
LEARN = ("none", "alpha", "beta", "both")
EVALUATIONS = 40  # of a run, at least, that is not told otherwise: enough to see it come to rest
MAX_TOPICS = 65_535
MAX_WORKERS = 100_000


@dataclass(frozen=True)
class Interval:
    """How often something happens: every so many training seconds, or every so many updates, or
    both."""

    seconds: float | None = None
    updates: int | None = None

    @classmethod
    def parse(cls, text: str | int | float, option: str = "interval") -> Interval:
        """``"10s"``, ``"5m"``, ``"2h"``: training time; ``"500"``: updates; else UsageError."""
        text = str(text).strip()
        if re.fullmatch(r"[0-9]+", text) and int(text) > 0:
            return cls(updates=int(text))
        return cls(seconds=parse_duration(text, option))


def parse_duration(text: str | int | float, option: str = "duration") -> float:
    """Seconds from ``"90s"``, ``"10m"``, ``"2h"``.  Raises UsageError naming the option."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|m|h)\s*", str(text))
    if not match or float(match[1]) <= 0:
        raise UsageError(f"{option}: {text!r} is not a duration; write for example 90s, 10m or 2h")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


@dataclass(frozen=True)
class TrainConfig:
    """One training run; times are in seconds. Fields that hold AUTO are numbers after `resolve`,
    but for ``evaluate_every``, which follows a target that may change, and the one of
    ``anneal_updates`` and ``start_sweeps`` that the sampler has no use for.

    Raises UsageError on any value outside its range.
    """

    topics: int = AUTO
    sampler: str = "auto"
    alpha: float = AUTO
    beta: float = AUTO
    batch_size: int = AUTO
    sweeps: int = AUTO
    burn_in: int = AUTO
    step_size: float = AUTO
    step_offset: float = AUTO
    step_decay: float = AUTO
    start: str = "auto"
    anneal_updates: int = AUTO
    start_sweeps: int = AUTO
    remember: bool = False
    learn: str = "auto"
    learn_until: str = "burn-in"
    updates: int | None = None
    epochs: float | None = None
    time_budget: float | None = None
    until: str = "auto"
    evaluate_every: str = AUTO
    checkpoint_every: str = "30s"
    samples: int = 32
    seed: int = 0
    threads: int = AUTO
    workers: int = 1
    chains: int = AUTO
    groups: int = AUTO
    trajectory: int = AUTO
    schedule: str = "rotate"
    balance: bool = True
    average_until: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            _of_type(_option(field.name), getattr(self, field.name), str(field.type), field.default)
        _one_of("--sampler", self.sampler, ("auto", *SAMPLERS))
        _one_of("--schedule", self.schedule, SCHEDULES)
        _one_of("--start", self.start, ("auto", *STARTS))
        _one_of("--learn", self.learn, ("auto", *LEARN))
        _one_of("--until", self.until, ("auto", *UNTIL))
        _one_of("--learn-until", self.learn_until, ("burn-in", "end"))
        _in_range("--anneal-updates", self.anneal_updates, 1, 1_000_000_000)
        _in_range("--start-sweeps", self.start_sweeps, 1, 1_000_000)
        _in_range("--topics", self.topics, 2, MAX_TOPICS, "a topic model needs at least 2 topics")
        for name in ("alpha", "beta", "step_size", "step_offset"):
            _in_range(_option(name), getattr(self, name), 0, float("inf"), exclusive=True)
        _in_range("--step-decay", self.step_decay, 0, 1)
        _in_range("--batch-size", self.batch_size, 1, 10_000_000)
        _in_range("--sweeps", self.sweeps, 1, 100_000)
        _in_range("--burn-in", self.burn_in, 0, 100_000)
        if self.sweeps != "auto" and self.burn_in != "auto" and self.burn_in >= self.sweeps:
            raise UsageError(
                f"--burn-in {self.burn_in} leaves none of the {self.sweeps} sweeps to average over;"
                " lower it or raise --sweeps"
            )
        for name in ("updates", "epochs", "time_budget"):
            value = getattr(self, name)
            if value is not None:
                _in_range(_option(name), value, 0, float("inf"), exclusive=True)
        if self.evaluate_every != "auto":
            Interval.parse(self.evaluate_every, "--evaluate-every")
        Interval.parse(self.checkpoint_every, "--checkpoint-every")
        _in_range("--samples", self.samples, 1, 10_000)
        _in_range("--seed", self.seed, 0, 2**63 - 1)
        _in_range("--threads", self.threads, 1, 1024)
        _in_range("--workers", self.workers, 1, MAX_WORKERS)
        _in_range("--trajectory", self.trajectory, 1, 1_000_000)
        _in_range("--chains", self.chains, 1, MAX_WORKERS)
        if self.sampler in ("scir", "sgrld"):
            self.check_chains()
        most_groups = self.workers if self.chains == "auto" else self.chains
        _in_range("--groups", self.groups, 1, most_groups, "a group has at least one chain")

    def check_chains(self) -> None:
        """UsageError when there are more chains of minibatches than workers."""
        _in_range("--chains", self.chains, 1, self.workers, "a worker holds at most one chain")

    @property
    def keeps_assignments(self) -> bool:
        """Whether the topic of every token is kept."""
        return self.sampler in COLLAPSED or self.remember

    def evaluation_interval(self, updates: float | None) -> Interval:
        """When to evaluate: as told, or else `EVALUATIONS` times in a run of so many updates, and
        once a minute."""
        if self.evaluate_every != "auto":
            return Interval.parse(self.evaluate_every)
        seconds = min(60.0, (self.time_budget or math.inf) / EVALUATIONS)
        return Interval(seconds, math.ceil(updates / EVALUATIONS) if updates else None)

    def as_dict(self) -> dict[str, Any]:
        """The fields as JSON-able values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainConfig:
        """Inverse of `as_dict`; UsageError names a field that does not exist."""
        known = {field.name for field in fields(cls)}
        for name in values:
            if name not in known:
                close = ", ".join(sorted(known))
                raise UsageError(f"unknown setting {name!r}; the settings are {close}")
        return cls(**values)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


_KINDS: dict[str, tuple[type, str]] = {
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "str": (str, "text"),
    "bool": (bool, "true or false"),
}


def _of_type(option: str, value: Any, annotation: str, default: Any) -> None:
    """UsageError unless ``value`` is of the annotated type, or the default, as "auto" or None."""
    kind, wanted = _KINDS[annotation.partition(" ")[0]]
    is_default = value is None if default is None else isinstance(value, str) and value == default
    truth = isinstance(value, bool) and kind is not bool
    if not is_default and (truth or not isinstance(value, kind)):
        raise UsageError(f"{option} {value!r} is not {wanted}")


def _one_of(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(f"{option} {value!r} is not one of {', '.join(choices)}")


def _in_range(
    option: str, value: Any, low: float, high: float, why: str = "", exclusive: bool = False
) -> None:
    if value == "auto":
        return
    too_low = value <= low if exclusive else value < low
    if too_low or value > high or value != value:
        bound = f"above {low:g}" if exclusive else f"at least {low:g}"
        if high != float("inf"):
            bound += f" and at most {high:g}"
        reason = f" ({why})" if why else ""
        raise UsageError(f"{option} {value} is out of range: it must be {bound}{reason}")


def available_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
