"""The settings of matrix factorisation: as they are asked for, and resolved. They are saved with a
run."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Never

from topicmc.errors import UsageError
from topicmc.settings.groups import DsgldSettings, Open
from topicmc.settings.values import AUTO, in_range, of_type, one_of, option, or_default

SAMPLERS = ("sgld", "gibbs", "sgd")
SPLITS = ("none", "rows", "square")
DUPLICATES = ("refuse", "keep", "last", "mean")
"""What is done with ratings of an item by the same user, when a file is read."""
MAX_FACTORS = 10_000
MOST_RATING = 1e18  # either way: what run.json says of them can be read back
_BATCHES = 16  # minibatches in a pass, by default
_LARGEST_BATCH, _SMALLEST_BATCH = 50_000, 100
_EPOCHS = {"sgld": 1_000.0, "gibbs": 400.0, "sgd": 100.0}
_TRAJECTORY = 10
_START_SWEEPS = 5  # of Gibbs, whose states are no samples
_START_UPDATES = 20  # of SGLD, at least
_WHOLE = 20_000_000  # ratings up to which every worker has all of them, by default
_SGD_PRECISION = 20.0
"""λ that gave stochastic gradient descent its lowest error on MovieLens; see `bench/factors.py`."""


@dataclass(frozen=True, kw_only=True)
class FactorSettings(DsgldSettings[Open]):
    """What is modelled, and by which sampler. Precisions and steps are those of ratings that are
    centred and divided by their standard deviation."""

    sampler: str = "sgld"
    factors: int = 20
    noise_precision: float = 2.0
    learn_noise: bool = False
    precision: float | Open = AUTO
    precision_shape: float = 1.0
    precision_rate: float = 1.0
    precision_every: int = 5
    batch_size: int | Open = AUTO
    step_size: float = 4.0
    step_offset: float = 10_000.0
    step_decay: float = 0.51
    split: str = AUTO
    balance: bool = False
    samples: int = 64

    def __post_init__(self) -> None:
        for field in fields(self):
            of_type(option(field.name), getattr(self, field.name), str(field.type), field.default)
        one_of("--sampler", self.sampler, SAMPLERS)
        if self.sampler == "sgd" and self.learn_noise:
            raise UsageError("--learn-noise: sgd samples nothing; use --sampler sgld or gibbs")
        one_of("--split", self.split, (AUTO, *SPLITS))
        if self.sampler == "gibbs" and self.split not in (AUTO, "none"):
            raise UsageError(
                f"--split {self.split}: a Gibbs sweep needs all ratings; leave it out, or use"
                " --sampler sgld"
            )
        in_range("--factors", self.factors, 0, MAX_FACTORS)
        for name in (
            "noise_precision", "precision", "precision_shape", "precision_rate", "step_size",
            "step_offset",
        ):  # fmt: skip
            in_range(option(name), getattr(self, name), 0, float("inf"), exclusive=True)
        in_range("--precision-shape", self.precision_shape, 1, float("inf"))
        in_range("--precision-every", self.precision_every, 1, 1_000_000)
        in_range("--step-decay", self.step_decay, 0, 1)
        in_range("--batch-size", self.batch_size, 1, 100_000_000)
        self.check_run()
        self.check_dsgld()
        if self.split == "square":
            root = math.isqrt(self.workers)
            if root * root != self.workers:
                raise UsageError(
                    f"--split square needs a square number of workers, not {self.workers}; use"
                    f" {root**2} or {(root + 1) ** 2}, or --split rows"
                )
            in_range("--chains", self.chains, 1, root, f"a square of {self.workers} workers")
        else:
            self.check_chains()

    @property
    def draws_precision(self) -> bool:
        """Whether Λ is drawn."""
        return self.precision == AUTO


_OF_PRIOR = ("precision_shape", "precision_rate")
_OF_SGLD = (
    "batch_size", "step_size", "step_offset", "step_decay", "trajectory", "balance",
    "precision_every",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FactorConfig(FactorSettings[Any]):
    """What a run is asked to do; raises UsageError on any value outside its range."""


@dataclass(frozen=True, kw_only=True)
class Resolved(FactorSettings[Never]):
    """What a run does: nothing is left open but ``evaluate_every``, ``checkpoint_every``, and
    ``precision`` where it is drawn."""

    def start(self, passed: float) -> float:
        """Updates of a chain whose states are no samples, where a pass takes so many: of SGLD at
        least that, a visit to each block, and until the precisions have been drawn."""
        if self.sampler == "gibbs":
            return _START_SWEEPS
        blocks = {"none": 1, "rows": self.workers, "square": math.isqrt(self.workers)}[self.split]
        draws = self.draws_precision or self.learn_noise
        rounds = max(blocks, self.precision_every if draws else 1)
        return max(_START_UPDATES, passed, rounds * self.trajectory)


def check_honoured(asked: FactorSettings) -> None:
    """UsageError for a setting that was asked for and that the sampler has no use for."""
    check_until(asked.sampler, asked.until)
    unused = dict.fromkeys(_OF_SGLD if asked.sampler == "gibbs" else (), "--sampler gibbs")
    if asked.sampler == "sgd":
        unused |= dict.fromkeys((*_OF_PRIOR, "precision_every", "samples"), "--sampler sgd")
    elif not asked.draws_precision:
        every = () if asked.learn_noise else ("precision_every",)  # by which τ is drawn, too
        unused |= dict.fromkeys((*_OF_PRIOR, *every), "--precision F")
    for name, why in unused.items():
        if getattr(asked, name) != getattr(FactorSettings, name):
            raise UsageError(f"{option(name)} has no meaning with {why}; leave it out")


def check_until(sampler: str, until: str | None) -> None:
    """UsageError for a run that is to end once chains have converged, where none samples."""
    if sampler == "sgd" and until == "converged":
        raise UsageError("--until converged has no meaning with --sampler sgd; leave it out")


def resolve(config: FactorSettings, n_ratings: int, cores: int) -> Resolved:
    """The settings with what was left open decided for so many ratings to train on, and cores for
    each worker."""
    whole = config.sampler == "gibbs" or n_ratings <= _WHOLE
    split = or_default(config.split, "none" if whole else "rows")
    at_once = math.isqrt(config.workers) if split == "square" else 1
    chains = config.workers // at_once if config.chains == AUTO else config.chains
    batch = min(max(n_ratings // (_BATCHES * at_once), _SMALLEST_BATCH), _LARGEST_BATCH)
    gibbs = config.sampler == "gibbs"
    decided: dict[str, Any] = {
        "split": split,
        "chains": chains,
        "groups": chains,
        "average_until": 0,
        "trajectory": 1 if gibbs else or_default(config.trajectory, _TRAJECTORY),
        "balance": config.balance and not gibbs,
        "batch_size": or_default(config.batch_size, batch),
        "threads": or_default(config.threads, cores),
        "epochs": config.epochs if config.has_length else _EPOCHS[config.sampler],
        "until": or_default(config.until, "end"),
    }
    if config.sampler == "sgd":
        decided["precision"] = or_default(config.precision, _SGD_PRECISION)
    return Resolved.of(replace(config, **decided))
