"""The settings of LDA: as they are asked for, and resolved. They are saved with a run."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Never

from topicmc.errors import UsageError
from topicmc.models.lda.priors.seed_settings import MOST_WEIGHT, checked_seeds
from topicmc.samplers.registry import SAMPLERS as MOVES
from topicmc.settings.groups import DsgldSettings, LearnsPriors, Open
from topicmc.settings.values import AUTO, LEARN, in_range, of_type, one_of, option

ESTIMATES = ("plain", "remembered", "cv", "saga")
WHOLE = ("cv", "saga")  # estimates of the counts of all words, by one worker
COLLAPSED = ("adlda", "asynclda")  # samplers that keep the topic of every token
SAMPLERS = (*MOVES, *COLLAPSED)
STARTS = ("plain", "anneal", "stream", "subset", "grow", "consensus", "warm")
MAX_TOPICS = 65_535
LEAST_PRIOR, MOST_PRIOR = 1e-20, 1e9  # of α, β and what is given of them: kernels have float32
_MOST_START_WEIGHT = 1e6


def keeps_assignments(sampler: str, remember: Any) -> bool:
    """Whether a run with these settings keeps the topic of every token."""
    return sampler in COLLAPSED or remember is True


@dataclass(frozen=True, kw_only=True)
class LdaSettings(LearnsPriors, DsgldSettings[Open]):
    """What is modelled, by which sampler, and how a chain begins."""

    topics: int | Open = AUTO
    sampler: str = AUTO
    alpha: float | list[float] | Open = AUTO
    beta: float | Open = AUTO
    topic_prior: str | None = None
    seeds: dict[str, Any] | None = None
    seed_weight: float | None = None
    batch_size: int | Open = AUTO
    sweeps: int | Open = AUTO
    burn_in: int | Open = AUTO
    step_size: float | Open = AUTO
    step_offset: float | Open = AUTO
    step_decay: float | Open = AUTO
    start: str = AUTO
    start_weight: float | None = None
    anneal_updates: int | Open = AUTO
    start_sweeps: int | Open = AUTO
    start_documents: int | Open = AUTO
    remember: bool | Open = AUTO
    estimate: str = AUTO
    learn: str = AUTO
    learn_until: str = "burn-in"
    from_run: str | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "alpha" or not isinstance(self.alpha, list):
                value = getattr(self, field.name)
                of_type(option(field.name), value, str(field.type), field.default)
        one_of("--sampler", self.sampler, (AUTO, *MOVES, *COLLAPSED))
        one_of("--estimate", self.estimate, (AUTO, *ESTIMATES))
        self._check_estimate()
        one_of("--start", self.start, (AUTO, *STARTS))
        one_of("--learn", self.learn, (AUTO, *LEARN))
        one_of("--learn-until", self.learn_until, ("burn-in", "end"))
        if self.from_run is not None and self.start not in (AUTO, "warm"):
            raise UsageError(
                f"--from begins with the topics of a run, which --start {self.start} would undo;"
                " give one of them"
            )
        if self.from_run is None and self.start == "warm":
            raise UsageError("--start warm begins with the topics of a run: give it by --from RUN")
        in_range("--anneal-updates", self.anneal_updates, 1, 1_000_000_000)
        in_range("--start-sweeps", self.start_sweeps, 1, 1_000_000)
        in_range("--start-documents", self.start_documents, 1, 1_000_000_000)
        if self.start_weight is not None:
            in_range("--start-weight", self.start_weight, 0, _MOST_START_WEIGHT, exclusive=True)
        in_range("--topics", self.topics, 2, MAX_TOPICS, "a topic model needs at least 2 topics")
        for name in ("step_size", "step_offset"):
            in_range(option(name), getattr(self, name), 0, float("inf"), exclusive=True)
        self._check_priors()
        in_range("--step-decay", self.step_decay, 0, 1)
        in_range("--batch-size", self.batch_size, 1, 10_000_000)
        in_range("--sweeps", self.sweeps, 1, 100_000)
        in_range("--burn-in", self.burn_in, 0, 100_000)
        sweeps: Any = self.sweeps
        burn_in: Any = self.burn_in
        if AUTO not in (sweeps, burn_in) and burn_in >= sweeps:
            raise UsageError(
                f"--burn-in {burn_in} leaves none of the {sweeps} sweeps to average over;"
                " lower it or raise --sweeps"
            )
        self.check_run()
        if self.sampler in MOVES:
            self.check_chains()
        self.check_dsgld()

    def _check_estimate(self) -> None:
        if self.estimate != AUTO:  # which says whether topics are kept, too
            kept = self.estimate == "remembered"
            if self.remember not in (AUTO, kept):
                flag = "--remember" if self.remember else "--no-remember"
                raise UsageError(f"{flag} contradicts --estimate {self.estimate}; give one of them")
            object.__setattr__(self, "remember", kept)
        elif self.remember != AUTO:
            object.__setattr__(self, "estimate", "remembered" if self.remember else "plain")
        if self.estimate in WHOLE and self.sampler not in (AUTO, "scir"):
            raise UsageError(
                f"--estimate {self.estimate} is of --sampler scir, not {self.sampler}; leave one"
                " of them out"
            )

    def _check_priors(self) -> None:
        in_range("--beta", self.beta, LEAST_PRIOR, MOST_PRIOR)
        given = self.alpha if isinstance(self.alpha, list) else [self.alpha]
        if given == []:
            raise UsageError("--alpha has no number; give one, or one for each topic")
        for number in given:
            if given is self.alpha:  # then each is told, and none left open
                of_type("--alpha", number, "float", 0.0)
            in_range("--alpha", number, LEAST_PRIOR, MOST_PRIOR)
        if isinstance(self.alpha, list) and self.topics not in (AUTO, len(given)):
            raise UsageError(
                f"--alpha has {len(given)} numbers for {self.topics} topics; give as many, or one"
                " number"
            )
        if self.seeds is not None:
            object.__setattr__(self, "seeds", checked_seeds(self.seeds))
            topics: Any = self.topics
            if topics != AUTO and len(self.seeds) > topics:
                raise UsageError(
                    f"--seeds names {len(self.seeds)} topics and there are {topics}; give more"
                    " --topics"
                )
        elif self.seed_weight is not None:
            raise UsageError("--seed-weight is that of seed words: give --seeds, too")
        if self.seed_weight is not None:
            in_range("--seed-weight", self.seed_weight, 0, MOST_WEIGHT, exclusive=True)
        together = [name for name in ("topic_prior", "seeds", "from_run") if getattr(self, name)]
        if len(together) > 1:
            raise UsageError(
                f"{option(together[0])} and {option(together[1])} both say with what topics begin;"
                " give one of them"
            )
        if self.topic_prior is not None and self.learns_beta:
            raise UsageError(f"--learn {self.learn}: with --topic-prior β is given, not learned")

    @property
    def keeps_assignments(self) -> bool:
        """Whether the topic of every token is kept."""
        return keeps_assignments(self.sampler, self.remember)


@dataclass(frozen=True, kw_only=True)
class TrainConfig(LdaSettings[Any]):
    """What a training run is asked to do; raises UsageError on any value outside its range.
    `topicmc.models.lda.planning.defaults.resolve` decides what is left open."""


@dataclass(frozen=True, kw_only=True)
class Resolved(LdaSettings[Never]):
    """What a training run does: nothing is left open but ``evaluate_every`` and
    ``checkpoint_every``, which follow a length that may change and what things take, and what the
    start has no use for of ``anneal_updates``, ``start_sweeps`` and ``start_documents``."""

    def __post_init__(self) -> None:
        super().__post_init__()
        spare = {"evaluate_every", "checkpoint_every"}
        if self.keeps_assignments:
            spare |= {"anneal_updates"}
        elif self.start != "subset":
            spare |= {"start_sweeps"}
        if self.start != "subset":
            spare |= {"start_documents"}
        for field in fields(self):
            if field.name not in spare and getattr(self, field.name) == AUTO:
                raise ValueError(f"{field.name} is not resolved")
