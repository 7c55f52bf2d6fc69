"""The defaults of chains that update their topics from minibatches."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, inf
from typing import NamedTuple

from topicmc.errors import UsageError
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.chain_defaults import (
    LONGEST,
    LONGEST_WARM,
    between,
    expected_updates,
    told_documents,
    usual_start,
    usual_steps,
)
from topicmc.models.lda.planning.pace import Machine, Pace
from topicmc.models.lda.planning.starts import (
    BURN_IN_SHARE,
    FIRST_TOKENS,
    LEAST_UPDATES,
    SUBSET_SWEEPS,
    subset_documents,
    subset_draws,
)
from topicmc.models.lda.settings import WHOLE, LdaSettings, Resolved
from topicmc.samplers.registry import sampler_of
from topicmc.settings.values import AUTO, option, or_default

# Batches are sized in tokens rather than documents: the noise of the gradient depends on the words
# seen, and articles are ten times as long as abstracts. Where a batch is scaled up more than some
# hundred times, its noise drowns what it says of rarer words: large corpora need larger ones.
_BATCH_TOKENS = (250_000, 2_000_000)  # at least, at most
_BATCH_SHARE = 1 / 400  # of the corpus, in between
_BATCH_DOCUMENTS = (50, 50_000)
# Over a minibatch. At equal time SCIR has a higher perplexity with 5 and 12 on arXiv abstracts, and
# with 5 on 730 million generated tokens.
_SWEEPS = 8
# Updates over which an annealed start lowers β from 1 to its target, for a chain alone. Those of a
# group need fewer by its size: averaging lets each learn from the documents of all.
_ANNEAL_UPDATES = 400
_WARM_UPDATES = 100  # of a start from topics: those of another run, or of a subset
_WITH_TOPICS = ("subset", "warm")
# Of a start on a subset: the share of a run that it may take, and of told epochs; and the tokens of
# the smallest that is worth it, in all and for each word. A larger one finds better topics, though
# it leaves fewer updates.
_SUBSET_SHARE, _EPOCHS_SHARE = 1 / 2, 1 / 3
_SUBSET_TOKENS, _SUBSET_WORD_TOKENS = 2_500_000, 40
# What its tokens may take of a worker's memory, and bytes of each.
_SUBSET_MEMORY, _TOKEN_OF_START = 0.25, 8
_AFTER_SUBSET = 0.3  # of the time that is left, which burn-in takes
_START_SHARE = 2 / 3  # of a run, which such a start takes at most


class _Batch(NamedTuple):
    """A minibatch: its tokens, about, and the Gibbs sweeps over it."""

    tokens: float
    sweeps: int

    @classmethod
    def of(cls, config: LdaSettings, size: Extent) -> _Batch:
        """The minibatch that each chain draws from a corpus."""
        tokens = size.n_tokens / size.n_docs * _batch_size(config, size)
        return cls(tokens, or_default(config.sweeps, _SWEEPS))

    def seconds(self, config: LdaSettings, size: Extent, pace: Pace) -> float:
        """What an update of every chain of a process may be expected to take; K is decided."""
        n_weights = size.n_words * int(config.topics)
        return pace.minibatch_update(self.tokens, self.sweeps, n_weights)


def resolve_minibatches(config: LdaSettings, size: Extent, machine: Machine) -> Resolved:
    """``config``, in which K, β and the sampler are decided, with the rest decided as well.

    Raises UsageError for what these samplers do not have.
    """
    begins, may_begin_on_subset = _checked_start(config)
    config = _with_chains(config, size)
    config = replace(config, updates=_updates(config, size))
    batch, planned = _Batch.of(config, size), expected_updates(config, size.n_docs)
    pace = machine.usual_pace(config, size.n_words)
    subset = 0
    if may_begin_on_subset:
        subset = _subset(config, planned, batch, size, machine)
    config = replace(
        config,
        start="subset" if subset else begins,
        start_sweeps=or_default(config.start_sweeps, SUBSET_SWEEPS) if subset else AUTO,
        start_documents=subset or AUTO,
    )
    start = or_default(config.anneal_updates, _burn_in(config, planned, batch, size, pace))
    average_until = 0  # where each chain is a group of its own
    if config.groups < config.chains:
        average_until = start if config.average_until is None else config.average_until
    step_size, step_offset, step_decay = _steps(config, size)
    return Resolved.of(
        replace(
            config,
            alpha=or_default(config.alpha, 0.1),
            sweeps=batch.sweeps,
            burn_in=or_default(config.burn_in, batch.sweeps // 2),
            step_size=or_default(config.step_size, step_size),
            step_offset=or_default(config.step_offset, step_offset),
            step_decay=or_default(config.step_decay, step_decay),
            anneal_updates=start,
            average_until=average_until,
            threads=or_default(config.threads, machine.cores),
            trajectory=or_default(config.trajectory, 1 if config.workers == 1 else 10),
        )
    )


def minibatch_tokens(config: LdaSettings, seconds: float, pace: Pace, size: Extent) -> float:
    """Tokens of the minibatches that a chain may be expected to draw in so many seconds; K is
    decided."""
    batch = _Batch.of(config, size)
    return seconds / batch.seconds(config, size, pace) * batch.tokens


def updates_within(config: LdaSettings, seconds: float, size: Extent, machine: Machine) -> float:
    """How many updates a chain of SCIR may be expected to make in so many seconds, a start on a
    subset apart, if it has one; K is decided."""
    config = replace(_with_chains(config, size), time_budget=seconds)
    batch, pace = _Batch.of(config, size), machine.usual_pace(config, size.n_words)
    if _may_begin_on_subset(config, usual_start(config, "stream")):
        subset = _subset(config, expected_updates(config, size.n_docs), batch, size, machine)
        sweeps = or_default(config.start_sweeps, SUBSET_SWEEPS)
        seconds -= pace.token(config) * subset_draws(subset, sweeps, size, int(config.topics))
    return seconds / batch.seconds(config, size, pace)


def _with_chains(config: LdaSettings, size: Extent) -> LdaSettings:
    """The settings with minibatches, chains and their groups decided."""
    return replace(
        config,
        batch_size=_batch_size(config, size),
        chains=or_default(config.chains, config.workers),
        groups=or_default(config.groups, 1),
    )


def _updates(config: LdaSettings, size: Extent) -> int | None:
    """Updates of each chain: as told, or a usual number if no length is given."""
    if config.has_length:
        return config.updates
    longest = LONGEST_WARM if config.from_run is not None else LONGEST
    most = min(20_000, max(600, 20 * size.n_docs / config.batch_size))
    return round(longest * most / config.chains)


def _subset(
    config: LdaSettings, planned: float | None, batch: _Batch, size: Extent, machine: Machine
) -> int:
    """Documents of a start on a subset of them in a run that is ``planned`` to be so long; 0 where
    it had better begin in another way."""
    within = inf  # tokens that it may draw
    if planned is not None:
        within = _SUBSET_SHARE * planned * config.chains * batch.tokens * (batch.sweeps + 1)
    if config.epochs is not None:  # of which a sweep over the subset takes its share, too
        within = min(within, _EPOCHS_SHARE * config.epochs * size.n_tokens)
    if config.time_budget is not None:
        pace = machine.usual_pace(config, size.n_words)
        within = min(within, _SUBSET_SHARE * config.time_budget / pace.token(config))
    return _documents_within(config, within, size, machine.memory)


def _burn_in(
    config: LdaSettings, planned: float | None, batch: _Batch, size: Extent, pace: Pace
) -> int:
    """Updates of a start whose name and subset are decided, in a run as of `_subset`."""
    subset, drawn = config.start == "subset", 0.0
    if subset:
        drawn = subset_draws(config.start_documents, config.start_sweeps, size, config.topics)
    most = _WARM_UPDATES if config.start in _WITH_TOPICS else _ANNEAL_UPDATES
    start = max(1, most * config.groups // config.chains)
    if planned is not None:
        if subset and config.updates is not None:
            planned -= config.start_sweeps  # a sweep over which is an update
        elif subset:  # and its documents are drawn
            planned -= drawn / (config.chains * batch.tokens)
        start = min(start, max(LEAST_UPDATES, int(_START_SHARE * planned)))
    if config.time_budget is not None:
        left = config.time_budget - pace.token(config) * drawn
        share = _AFTER_SUBSET if subset else BURN_IN_SHARE
        update = batch.seconds(config, size, pace)
        start = min(start, max(LEAST_UPDATES, int(share * left / update)))
    return start


def _steps(config: LdaSettings, size: Extent) -> tuple[float, ...]:
    """a, b and c of the step size: chains that begin with topics have those of one whose start is
    over."""
    step_size, step_offset, step_decay = usual_steps(config, size)
    if config.start in _WITH_TOPICS:
        step_size *= (1 + _ANNEAL_UPDATES / step_offset) ** -step_decay
        step_offset += _ANNEAL_UPDATES
    return step_size, step_offset, step_decay


def _checked_start(config: LdaSettings) -> tuple[str, bool]:
    """How chains begin, and whether a start on a subset may come before; UsageError for what these
    samplers do not have."""
    config.check_chains()
    sampler = config.sampler
    if config.estimate in WHOLE and config.workers > 1:
        raise UsageError(
            f"--estimate {config.estimate} needs all documents in one place; leave out --workers,"
            " or take another estimate"
        )
    if config.start == "grow":
        raise UsageError("--start grow needs --sampler adlda or asynclda, or --remember")
    if config.start == "consensus":
        raise UsageError("--start consensus needs --sampler adlda, or --remember")
    if config.start == "stream" and sampler_of(sampler).start != "stream":
        raise UsageError(f"--start stream does not go with --sampler {sampler}; leave it out")
    begins = usual_start(config, sampler_of(sampler).start)
    may_begin_on_subset = _may_begin_on_subset(config, begins)
    for name in ("start_sweeps", "start_documents"):
        if getattr(config, name) != AUTO and not may_begin_on_subset:
            raise UsageError(
                f"{option(name)} is of samplers that keep assignments and of --start subset;"
                f" --sampler {sampler} --start {begins} has --anneal-updates"
            )
    return begins, may_begin_on_subset


def _may_begin_on_subset(config: LdaSettings, begins: str) -> bool:
    """Whether chains that else begin as ``begins`` says may do so on a subset."""
    return config.start == "subset" or (config.start, begins) == (AUTO, "stream")


def _batch_size(config: LdaSettings, size: Extent) -> int:
    """Documents of a minibatch: as told, or by their tokens; every worker has as many."""
    tokens = between(size.n_tokens * _BATCH_SHARE, _BATCH_TOKENS)
    usual = round(between(tokens * size.n_docs / max(1, size.n_tokens), _BATCH_DOCUMENTS))
    return max(1, min(or_default(config.batch_size, usual), size.n_docs // config.workers))


def _documents_within(config: LdaSettings, within: float, size: Extent, memory: int | None) -> int:
    """Documents of a start on a subset of them, which may draw ``within`` tokens: as many as were
    told, or as suit the run; 0 where it had better begin in another way."""
    told = config.start == "subset" or (config.start_sweeps, config.start_documents) != (AUTO, AUTO)
    if told and config.groups != 1:
        raise UsageError(
            f"--start subset gives every chain the same topics, and --groups {config.groups} asks"
            " for chains that know nothing of each other: leave one of them out"
        )
    if config.start_documents != AUTO:
        return told_documents(config, size)
    sweeps = or_default(config.start_sweeps, SUBSET_SWEEPS)
    short = config.updates is not None and sweeps > _SUBSET_SHARE * config.updates
    if not told and (config.groups != 1 or config.anneal_updates != AUTO or short):
        return 0
    most = float(size.n_tokens)
    if memory is not None:
        most = min(most, _SUBSET_MEMORY * memory / _TOKEN_OF_START)
    usual = max(_SUBSET_TOKENS, FIRST_TOKENS * config.topics, _SUBSET_WORD_TOKENS * size.n_words)
    least = float(10 * config.topics if told else usual)
    smallest = 0
    if told:  # however long it takes
        smallest = min(size.n_docs, ceil(least * size.n_docs / size.n_tokens))
    return subset_documents(within, sweeps, (least, most), size, config.topics) or smallest
