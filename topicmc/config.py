"""What a training run was asked to do, and the defaults that fill in what was not said.

A `TrainConfig` is validated on construction; `resolve` replaces every ``"auto"`` by a number that
depends only on the corpus, so that the configuration saved with a run is complete.
"""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass, fields, replace
from numbers import Integral, Real
from typing import Any

from topicmc.errors import UsageError

AUTO: Any = "auto"  # in place of a number that `resolve` will decide
SAMPLERS = ("scir", "sgrld", "adlda", "asynclda")
COLLAPSED = ("adlda", "asynclda")  # samplers that remember the topic of every token
SCHEDULES = ("rotate", "permute")
STARTS = ("plain", "anneal", "grow")
MAX_TOPICS = 65_535
MAX_WORKERS = 100_000


@dataclass(frozen=True)
class Interval:
    """How often something happens: every so many training seconds, or every so many updates."""

    seconds: float | None = None
    updates: int | None = None

    @classmethod
    def parse(cls, text: str | int | float, option: str = "interval") -> Interval:
        """``"10s"``, ``"5m"``, ``"2h"``: training time; ``"500"``: updates; else UsageError."""
        text = str(text).strip()
        if re.fullmatch(r"[0-9]+", text) and int(text) > 0:
            return cls(updates=int(text))
        return cls(seconds=parse_duration(text, option))

    def __str__(self) -> str:
        return f"{self.seconds:g}s" if self.updates is None else str(self.updates)


def parse_duration(text: str | int | float, option: str = "duration") -> float:
    """Seconds from ``"90s"``, ``"10m"``, ``"2h"``.  Raises UsageError naming the option."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|m|h)\s*", str(text))
    if not match or float(match[1]) <= 0:
        raise UsageError(f"{option}: {text!r} is not a duration; write for example 90s, 10m or 2h")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


@dataclass(frozen=True)
class TrainConfig:
    """One training run; times are in seconds. Fields that hold AUTO are numbers after `resolve`.

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
    updates: int | None = None
    epochs: float | None = None
    time_budget: float | None = None
    evaluate_every: str = "10s"
    checkpoint_every: str = "30s"
    samples: int = 8
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
        _in_range("--anneal-updates", self.anneal_updates, 1, 1_000_000_000)
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
        Interval.parse(self.evaluate_every, "--evaluate-every")
        Interval.parse(self.checkpoint_every, "--checkpoint-every")
        _in_range("--samples", self.samples, 1, 10_000)
        _in_range("--seed", self.seed, 0, 2**63 - 1)
        _in_range("--threads", self.threads, 1, 1024)
        _in_range("--workers", self.workers, 1, MAX_WORKERS)
        _in_range("--trajectory", self.trajectory, 1, 1_000_000)
        _in_range("--chains", self.chains, 1, self.workers, "a worker holds at most one chain")
        most_groups = self.workers if self.chains == "auto" else self.chains
        _in_range("--groups", self.groups, 1, most_groups, "a group has at least one chain")

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


# Batches are sized in tokens rather than documents: the noise of the gradient depends on the words
# seen, and articles are ten times as long as abstracts.
_BATCH_TOKENS = 250_000
# Updates over which an annealed start lowers β from 1 to its target, for a chain alone. Those of a
# group need fewer by its size: averaging lets each learn from the documents of all.
_ANNEAL_UPDATES = 400
_STEP = {"scir": (0.5, 20.0, 0.6), "sgrld": (3.0, 20.0, 0.6)}
_START = {"scir": "anneal", "sgrld": "plain"}


def initial_total(sampler: str, beta: float, n_words: int, n_topics: int, n_tokens: int) -> float:
    """Σ_w θ_wk of a new chain: on the scale of the counts for SCIR, of the prior for SGRLD.

    SGRLD's θ keeps the scale that its prior gives it, β W, and φ then moves by the relative amount
    ε/2 · (n_tokens / K) / β W in an update: `resolve` sizes its ε by that amount. A total so small
    that it would wander to zero is avoided.
    """
    if sampler == "sgrld":
        return max(beta, 0.01) * n_words
    return beta * n_words + n_tokens / n_topics


def default_beta(n_words: int, n_tokens: int) -> float:
    """β for a corpus: 0.01, and more, up to 0.1, where words have few tokens to learn from."""
    return min(0.1, max(0.01, n_words / n_tokens))


def resolve(
    config: TrainConfig, *, n_docs: int, n_tokens: int, n_words: int, cores: int = 1
) -> TrainConfig:
    """``config`` with every ``"auto"`` decided for a corpus of that size and so many cores.

    Raises UsageError when the corpus cannot bear what was asked.
    """
    topics = config.topics
    if topics == "auto":
        topics = 20 if n_docs < 1_000 else 50 if n_docs < 10_000 else 100
    if topics > n_tokens // 10:
        raise UsageError(
            f"--topics {topics} is more than a corpus of {n_tokens:,} tokens can bear:"
            f" use at most {max(2, n_tokens // 10)}"
        )
    sampler = "scir" if config.sampler == "auto" else config.sampler
    beta = _or(config.beta, default_beta(n_words, n_tokens))
    if sampler in COLLAPSED:
        return _resolve_collapsed(replace(config, topics=topics, beta=beta), n_docs, cores)
    if config.start == "grow":
        raise UsageError("--start grow needs --sampler adlda or asynclda")
    mean_length = max(1.0, n_tokens / n_docs)
    batch_size = _or(config.batch_size, round(min(5000, max(50, _BATCH_TOKENS / mean_length))))
    batch_size = max(1, min(batch_size, n_docs // config.workers))
    sweeps = _or(config.sweeps, 5)
    step_size, step_offset, step_decay = _STEP[sampler]
    if sampler == "sgrld":
        step_size *= initial_total(sampler, beta, n_words, topics, n_tokens) * topics / n_tokens
    chains = _or(config.chains, config.workers)
    groups = _or(config.groups, 1)
    updates = config.updates
    if updates is None and config.epochs is not None:
        updates = max(1, round(config.epochs * n_docs / (chains * batch_size)))
    if updates is None and config.time_budget is None:
        updates = round(min(20_000, max(600, 20 * n_docs / batch_size)) / chains)
    anneal_updates = max(1, _ANNEAL_UPDATES * groups // chains)
    return replace(
        config,
        topics=topics,
        sampler=sampler,
        alpha=_or(config.alpha, 0.1),
        beta=beta,
        batch_size=batch_size,
        sweeps=sweeps,
        burn_in=_or(config.burn_in, sweeps // 2),
        step_size=_or(config.step_size, step_size),
        step_offset=_or(config.step_offset, step_offset),
        step_decay=_or(config.step_decay, step_decay),
        start=_START[sampler] if config.start == "auto" else config.start,
        anneal_updates=_or(config.anneal_updates, anneal_updates),
        updates=updates,
        threads=_or(config.threads, cores),
        chains=chains,
        groups=groups,
        trajectory=_or(config.trajectory, 1 if config.workers == 1 else 10),
    )


# A sweep of a collapsed sampler has so many blocks; its start lasts so many sweeps, a run so many.
_BLOCKS = 64
_START_SWEEPS = 50
_RUN_SWEEPS = 150
# Documents that a worker draws before it hears of the others, at most; and parts of a sweep.
_SYNCHRONISE = 30_000
_ROUNDS = 4


def _resolve_collapsed(config: TrainConfig, n_docs: int, cores: int) -> TrainConfig:
    """The same for AD-LDA and Async-LDA; their updates are blocks of each worker's documents."""
    if config.chains not in ("auto", 1) or config.groups not in ("auto", 1):
        raise UsageError(f"--sampler {config.sampler} has one chain: leave out --chains, --groups")
    mine = -(-n_docs // config.workers)
    batch_size = min(mine, _or(config.batch_size, -(-mine // _BLOCKS)))
    per_round = min(_SYNCHRONISE, -(-mine // _ROUNDS))
    config = replace(
        config,
        alpha=_or(config.alpha, 0.1),
        batch_size=batch_size,
        sweeps=_or(config.sweeps, 1),
        burn_in=_or(config.burn_in, 0),
        step_size=_or(config.step_size, 1.0),
        step_offset=_or(config.step_offset, 1.0),
        step_decay=_or(config.step_decay, 0.0),
        start="grow" if config.start == "auto" else config.start,
        threads=_or(config.threads, cores),
        chains=1,
        groups=1,
        trajectory=_or(config.trajectory, max(1, per_round // batch_size)),
    )
    per_sweep = config.trajectory * rounds_per_sweep(config, n_docs)
    updates = config.updates
    if updates is None and config.epochs is not None:
        updates = max(1, round(config.epochs * per_sweep))
    if updates is None and config.time_budget is None:
        updates = _RUN_SWEEPS * per_sweep
    start = _START_SWEEPS * per_sweep
    if updates is not None:
        start = max(1, min(start, updates // 2))
    return replace(config, updates=updates, anneal_updates=_or(config.anneal_updates, start))


def rounds_per_sweep(config: TrainConfig, n_docs: int) -> int:
    """Rounds of `trajectory` blocks of `batch_size` documents on each worker that see them all."""
    per_round = config.workers * config.trajectory * config.batch_size
    return -(-n_docs // per_round)


def _or(value: Any, default: Any) -> Any:
    return default if value == "auto" else value


def available_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
