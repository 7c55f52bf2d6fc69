"""The settings of a mixture: as they are asked for, and resolved. They are saved with a run."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Never

from topicmc.errors import UsageError
from topicmc.settings.groups import LearnsPriors, Open, RunSettings
from topicmc.settings.values import (
    AUTO,
    LEARN,
    MAX_WORKERS,
    in_range,
    of_type,
    one_of,
    option,
    or_default,
)

SAMPLERS = ("scir", "sgrld")
COUNTS = ("all", "minibatch")
LEAST_BETAS = 0.02
"""W β, at least: below it all the words of a group without documents are too small for doubles more
often than once in a million draws, 10^(−300 W β), and would come out as equally frequent."""
_BATCH = 10_000  # documents, at most, with the counts of all; else the published number
_PUBLISHED_BATCH = 1_000
_START = 50  # updates, at least
_STEPS = {("scir", "all"): 1.0, ("scir", "minibatch"): 0.1}
_SGRLD_STEP = 0.01  # as published
_UPDATES = 2_000


@dataclass(frozen=True, kw_only=True)
class MixtureSettings(LearnsPriors, RunSettings[Open]):
    """What is modelled, and how it is sampled."""

    sampler: str = "scir"
    alpha: float | str = AUTO
    beta: float | Open = AUTO
    learn: str = AUTO
    counts: str = "all"
    batch_size: int | Open = AUTO
    step_size: float | Open = AUTO
    moves_every: int = 10
    splits: int = 20
    chains: int = 1
    samples: int = 64

    def __post_init__(self) -> None:
        for field in fields(self):
            of_type(option(field.name), getattr(self, field.name), str(field.type), field.default)
        one_of("--sampler", self.sampler, SAMPLERS)
        one_of("--counts", self.counts, COUNTS)
        one_of("--learn", self.learn, (AUTO, *LEARN))
        if self.learns_beta and self.counts == "minibatch":
            raise UsageError(
                f"--learn {self.learn}: β is drawn given the groups of all documents; use --counts"
                " all"
            )
        if self.learns_alpha and self.alpha != AUTO:
            raise UsageError(
                f"--learn {self.learn}: --alpha {self.alpha} fixes the concentration; leave one of"
                " them out"
            )
        if self.alpha != AUTO:
            if isinstance(self.alpha, str):
                raise UsageError(f"--alpha {self.alpha}: is neither a number nor auto")
            in_range("--alpha", self.alpha, 1e-6, 1e3)
        in_range("--beta", self.beta, 1e-4, 1e4)
        in_range("--step-size", self.step_size, 1e-6, 1e3)
        in_range("--batch-size", self.batch_size, 1, 100_000_000)
        in_range("--moves-every", self.moves_every, 1, 1_000_000)
        in_range("--splits", self.splits, 0, 100_000)
        in_range("--chains", self.chains, 1, MAX_WORKERS)
        self.check_run()


@dataclass(frozen=True, kw_only=True)
class MixtureConfig(MixtureSettings[Any]):
    """What a run is asked to do; raises UsageError on any value outside its range."""


@dataclass(frozen=True, kw_only=True)
class Resolved(MixtureSettings[Never]):
    """What a run does: nothing is left open but ``evaluate_every``, ``checkpoint_every``, and
    ``alpha`` where it is learned."""

    @property
    def start(self) -> int:
        """Updates whose states are no samples: until β has been drawn, where it is learned."""
        return max(_START, self.moves_every) if self.learns_beta else _START


def check_honoured(asked: MixtureSettings) -> None:
    """UsageError for a setting that was asked for and that nothing would come of."""
    for name in ("moves_every", "splits") if asked.counts == "minibatch" else ():
        if getattr(asked, name) != getattr(MixtureSettings, name):
            raise UsageError(
                f"{option(name)}: groups are split and merged given all documents; use --counts"
                " all, or leave it out"
            )


def least_beta(n_words: int) -> float:
    """The least β over so many words; where it is drawn its prior ends there."""
    return LEAST_BETAS / n_words


def resolve(config: MixtureSettings, n_docs: int, cores: int) -> Resolved:
    """The settings with what was left open decided for so many documents, and cores for each
    worker."""
    batch = _BATCH if config.counts == "all" else _PUBLISHED_BATCH
    if config.learn == AUTO:
        config = replace(config, learn="alpha" if config.alpha == AUTO else "none")
    fixed = config.alpha if config.alpha != AUTO else 1.0
    decided: dict[str, Any] = {
        "alpha": AUTO if config.learns_alpha else fixed,
        "beta": or_default(config.beta, 0.1),
        "batch_size": min(n_docs, or_default(config.batch_size, batch)),
        "step_size": or_default(
            config.step_size, _STEPS.get((config.sampler, config.counts), _SGRLD_STEP)
        ),
        "threads": or_default(config.threads, cores),
        "updates": config.updates if config.has_length else _UPDATES,
        "until": or_default(config.until, "end"),
    }
    return Resolved.of(replace(config, **decided))
