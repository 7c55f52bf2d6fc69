"""The defaults of AD-LDA, Async-LDA and kept assignments, whose updates are blocks of each
worker's documents."""

from __future__ import annotations

import math
from dataclasses import replace
from math import inf
from typing import NamedTuple

from topicmc.errors import UsageError
from topicmc.models.lda.collapsed.consensus import member_bytes, seconds_to_compare
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.chain_defaults import (
    LONGEST,
    LONGEST_WARM,
    between,
    open_to_subset,
    told_documents,
    usual_start,
    usual_steps,
)
from topicmc.models.lda.planning.pace import Machine, Pace, documents_of_round
from topicmc.models.lda.planning.plan import rounds_per_sweep, seconds_of_sweeps
from topicmc.models.lda.planning.starts import (
    ANNEALED,
    BURN_IN_SHARE,
    GROWTH,
    LEAST_START,
    SUBSET_SHARE,
    SUBSET_SWEEPS,
    SURE_DOCUMENTS,
    Members,
    fitting_subset,
    longest_consensus,
    longest_start,
    longest_start_of_epochs,
    run_of_slow_growth,
    start_within,
    start_work,
    usual_subset,
)
from topicmc.models.lda.settings import LdaSettings, Resolved
from topicmc.settings.values import AUTO, option, or_default

# A sweep of a collapsed sampler has so many blocks, of so many tokens, which are worth the threads'
# while. Up to the larger size they gain by drawing more tokens of a word together, and so few of
# them cost no perplexity (docs/method.md).
_BLOCKS, _BLOCK_TOKENS = (4, 16), 120_000
_MOST_BLOCKS, _LARGE_BLOCK = 64, 500_000
_START_SWEEPS = 80  # of a start without a time budget
_LONGEST_START = 105  # the most that a long budget makes of it
_WARM_SWEEPS = 20  # of a start from the topics of another run, in any budget
_SETTLED = 60  # sweeps over all documents after which topics of a subset are taken for theirs
# The shortest consensus start that is chosen, and the longest, in sweeps; and the most topics, for
# those of all members are compared.
_CONSENSUS_SWEEPS, _CONSENSUS_TOPICS = (200, 1_250), 200
_CONSENSUS_MEMORY = 0.25  # of a worker's, that their comparison may take
# Where nothing says how long to train, a run is first asked whether it has converged after what
# people gladly wait, in seconds on two cores of the usual speed, whatever this machine has, within
# so many sweeps.
_GLADLY, _RUN_EPOCHS = 30.0, (150, 3_000)


class _Length(NamedTuple):
    """How long a run is.

    Attributes:
        epochs: as decided.
        sweeps: that there is time for, each as long as one of the start.
        within: those of the time budget alone, inf without one.
        sweep: seconds of one of them by the usual pace, 0 without a budget.
        behind: what a sweep behind the start takes, in these.
    """

    epochs: float | None
    sweeps: float
    within: float = inf
    sweep: float = 0.0
    behind: float = 1.0


def resolve_collapsed(config: LdaSettings, size: Extent, machine: Machine) -> Resolved:
    """``config``, in which K, β and the sampler are decided, with the rest decided as well.

    Raises UsageError for what these samplers do not have.
    """
    _refuse(config)
    config = _with_blocks(config, size, machine)
    length = _length(config, size, machine)
    config, longest = _with_start(config, length, size, machine)
    start = or_default(config.start_sweeps, _sweeps_of_start(config, length, longest, size))
    return Resolved.of(replace(config, epochs=length.epochs, start_sweeps=start, average_until=0))


def _with_blocks(config: LdaSettings, size: Extent, machine: Machine) -> LdaSettings:
    """The settings with their blocks, moves, chains and threads decided."""
    mine = -(-size.n_docs // config.workers)
    steps: tuple[float, ...] = (3.0, 1.0, 0.0)  # of no meaning to samplers without moves
    if config.remember:
        steps = usual_steps(config, size)
    n_blocks = blocks_of_sweep(size.n_tokens / config.workers)
    batch_size = min(mine, or_default(config.batch_size, max(1, round(mine / n_blocks))))
    per_round = documents_of_round(size.n_docs, config.workers) if config.workers > 1 else 1
    return replace(
        config,
        alpha=or_default(config.alpha, 0.1),
        batch_size=batch_size,
        sweeps=1,
        burn_in=0,
        step_size=or_default(config.step_size, steps[0]),
        step_offset=or_default(config.step_offset, steps[1]),
        step_decay=or_default(config.step_decay, steps[2]),
        threads=or_default(config.threads, machine.cores),
        chains=or_default(config.chains, 1),
        groups=1,
        trajectory=or_default(config.trajectory, max(1, per_round // batch_size)),
    )


def _updates_of_sweep(config: LdaSettings, size: Extent) -> int:
    """Blocks of each worker's documents in a sweep over all of them."""
    return config.trajectory * rounds_per_sweep(config, size.n_docs)


def _length(config: LdaSettings, size: Extent, machine: Machine) -> _Length:
    """That of a run whose blocks are decided."""
    epochs, sweeps = config.epochs, inf
    if config.updates is not None:  # epochs hold on any number of workers
        epochs = config.updates / _updates_of_sweep(config, size)
    elif epochs is None and config.time_budget is None:
        alone = replace(config, threads=2, workers=1)
        usual = Pace.reckoned(alone, size.n_words, 2)
        sweep = config.chains * seconds_of_sweeps(alone, size, usual)[1]
        sweeps = round(between(_GLADLY / sweep, _RUN_EPOCHS))
        epochs = (LONGEST if config.from_run is None else LONGEST_WARM) * sweeps
    sweeps = min(sweeps, inf if epochs is None else epochs)
    if config.time_budget is None:
        return _Length(epochs, sweeps)
    pace = machine.usual_pace(config, size.n_words)
    sweep, behind = seconds_of_sweeps(config, size, pace)
    within = config.time_budget / (config.chains * sweep)
    return _Length(epochs, min(sweeps, within), within, sweep, behind / sweep)


def _with_start(
    config: LdaSettings, length: _Length, size: Extent, machine: Machine
) -> tuple[LdaSettings, int]:
    """The settings with the name of the start, and the documents of one on a subset, decided; and
    sweeps of the longest consensus start that the run has time for."""
    compared = 0.0  # of a consensus start, in sweeps
    if config.time_budget is not None:
        compared = seconds_to_compare(size.n_words, config.topics) / length.sweep
    may = BURN_IN_SHARE * length.sweeps - compared
    longest = longest_consensus(may, _CONSENSUS_SWEEPS[1], size, config.topics)
    begins, documents = "grow", 0
    if config.start == "subset" or _suits_subset(config, length.sweeps, size):
        documents = _documents_of_start(config, length.sweeps, size)
        begins = "subset" if documents else "grow"
    elif _suits_consensus(config, longest, size, machine.memory):
        begins = "consensus"
    config = replace(config, start=usual_start(config, begins))
    if config.start == "subset":
        config = replace(config, start_documents=documents)
    return config, longest


def _sweeps_of_start(config: LdaSettings, length: _Length, longest: int, size: Extent) -> int:
    """Sweeps of a start whose name is decided; ``longest`` as of `_with_start`."""
    warm = config.from_run is not None
    start = _WARM_SWEEPS if warm else longest if config.start == "consensus" else _START_SWEEPS
    if config.start == "subset":
        share = config.start_documents / size.n_docs
        spent = start_work("subset", SUBSET_SWEEPS + LEAST_START, size, config.topics, share).cost
        left = BURN_IN_SHARE * length.sweeps - spent + LEAST_START
        start = SUBSET_SWEEPS + int(between(left, (LEAST_START, _SETTLED)))
    if config.anneal_updates != AUTO:
        start = max(1, round(config.anneal_updates / _updates_of_sweep(config, size)))
    elif config.start not in ("consensus", "subset"):
        if config.time_budget is not None:
            most = start if warm else _LONGEST_START
            may = BURN_IN_SHARE * length.within
            if config.start in ANNEALED:
                may = start_within(length.within, config.topics, behind=length.behind)
            start = longest_start(config.start, may, most, size, config.topics)
        if length.epochs is not None:
            start = longest_start_of_epochs(config.start, length.epochs, start, size, config.topics)
    return max(LEAST_START, start)


def _refuse(config: LdaSettings) -> None:
    """UsageError for what these samplers do not have."""
    if config.start == "stream":
        raise UsageError("--start stream is of minibatches: leave it out, or use --sampler scir")
    if config.start != "subset" and config.start_documents != AUTO:
        raise UsageError("--start-documents is of --start subset: leave it out, or give both")
    if config.start == "subset" and config.sampler == "asynclda":
        raise UsageError("--start subset is not of --sampler asynclda: leave it out, or use adlda")
    if config.start == "consensus":
        if not _pools(replace(config, alpha=0.1)):
            raise UsageError(
                "--start consensus is not of --sampler asynclda: leave it out, or use adlda"
            )
        given = [name for name in ("seeds", "topic_prior") if getattr(config, name) is not None]
        if given or isinstance(config.alpha, list):
            raise UsageError(
                f"--start consensus numbers topics anew, and {option((*given, 'alpha')[0])} tells"
                " them apart: leave one of them out"
            )
    if config.groups not in (AUTO, 1):
        raise UsageError(
            f"--groups is of chains that are averaged, not of --sampler {config.sampler}"
        )
    if config.average_until:
        raise UsageError(
            f"--average-until is of chains that are averaged, not of --sampler {config.sampler}"
        )
    if or_default(config.chains, 1) > 1 and (config.sampler != "adlda" or config.remember):
        remember = " --remember" if config.remember else ""
        raise UsageError(f"--sampler {config.sampler}{remember} has one chain: leave out --chains")


def blocks_of_sweep(n_tokens: float) -> float:
    """In how many blocks a worker draws so many tokens by default."""
    few = between(n_tokens / _BLOCK_TOKENS, _BLOCKS)
    return between(n_tokens / _LARGE_BLOCK, (few, _MOST_BLOCKS))


def _suits_consensus(config: LdaSettings, longest: int, size: Extent, memory: int | None) -> bool:
    """Whether a start of a run of a collapsed sampler that may be so long, in sweeps, had better be
    a consensus of short chains: where sweeps are cheap, nothing tells topics apart at first, the
    topics of all members fit into memory, and their documents grow no faster than others have to.
    """
    told = config.seeds, config.topic_prior, config.from_run
    free = inf if memory is None else memory
    return (
        _pools(config)
        and told == (None, None, None)
        and (config.start_sweeps, config.anneal_updates) == (AUTO, AUTO)
        and config.topics <= _CONSENSUS_TOPICS
        and member_bytes(size.n_words, config.topics) <= _CONSENSUS_MEMORY * free
        and longest >= _CONSENSUS_SWEEPS[0]
        and Members.of(longest, size, config.topics).growth.factor <= GROWTH
    )


def _suits_subset(config: LdaSettings, sweeps: float, size: Extent) -> bool:
    """Whether a run of so many sweeps had better start on a subset, if one fits in: where all
    documents could not join slowly, and nothing else is asked of the start."""
    return (
        open_to_subset(config)
        and config.sampler != "asynclda"
        and sweeps < run_of_slow_growth(size, config.topics)
    )


def _documents_of_start(config: LdaSettings, sweeps: float, size: Extent) -> int:
    """Documents of a start on a subset, of a run of so many sweeps: as many as were told, or as
    suit the run; 0 if no subset does."""
    enough = min(SURE_DOCUMENTS, size.n_docs)
    if config.start_documents != AUTO:
        documents = told_documents(config, size)
        if documents < enough:
            raise UsageError(
                f"--start-documents {documents}: they are drawn at random; give {enough} or more"
            )
        return documents
    if config.start == "subset":  # which was asked for, however few documents fit in
        least = 10.0 * config.topics
        fitting = fitting_subset(SUBSET_SHARE * sweeps, least, size, config.topics)
        return max(enough, fitting or math.ceil(least * size.n_docs / size.n_tokens))
    return usual_subset(sweeps, size, config.topics)


def _pools(config: LdaSettings) -> bool:
    """Whether members of a start can be pooled: their counts are those of all workers at the end of
    a sweep, and topics have no number of their own."""
    return config.sampler != "asynclda" and not isinstance(config.alpha, list)
