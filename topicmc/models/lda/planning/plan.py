"""What a run with resolved settings comes to: its rounds, updates and posterior samples, and what
there is to say of that before it begins."""

from __future__ import annotations

from topicmc.models.lda.extent import Extent
from topicmc.models.lda.planning.chain_defaults import expected_updates
from topicmc.models.lda.planning.pace import Machine, Pace
from topicmc.models.lda.planning.sampler_choice import choose, remembers
from topicmc.models.lda.planning.starts import (
    LATEST,
    LEAST_START,
    Work,
    end_if_late,
    latest,
    start_work,
    subset_draws,
)
from topicmc.models.lda.settings import LdaSettings, Resolved
from topicmc.posterior.thinning import number_kept
from topicmc.samplers.registry import sampler_of
from topicmc.settings.values import AUTO

ENOUGH_SAMPLES = 4  # posterior samples, below which a run is told to be short


def rounds_per_sweep(config: LdaSettings, n_docs: int) -> int:
    """Rounds of `trajectory` blocks of `batch_size` documents on each worker that see them all."""
    per_round = config.workers * config.trajectory * config.batch_size
    return -(-n_docs // per_round)


def rounds_per_move(config: LdaSettings, size: Extent) -> int:
    """Rounds of kept assignments after which θ makes a move: as many as draw the tokens a weight
    that its sampler wants, but no more than a sweep has."""
    rounds = rounds_per_sweep(config, size.n_docs)
    enough = sampler_of(config.sampler).tokens_per_move * size.n_words * config.topics
    return min(rounds, max(1, round(enough * rounds / size.n_tokens)))


def seconds_of_sweeps(config: LdaSettings, size: Extent, pace: Pace) -> tuple[float, float]:
    """What a sweep over all documents may be expected to take a chain that keeps assignments: in
    its start, and behind it, where θ is moved, too. In a plain start θ is moved as well."""
    drawn = sum(pace.sweep(config, size))
    if not config.remember:
        return drawn, drawn
    n_moves = rounds_per_sweep(config, size.n_docs) / rounds_per_move(config, size)
    moved = drawn + n_moves * size.n_words * config.topics * pace.move
    return moved if config.start == "plain" else drawn, moved


def draws_per_epoch(config: LdaSettings) -> int:
    """How often an epoch draws each document: once by each chain that keeps assignments; chains of
    minibatches share the documents."""
    return config.chains if config.keeps_assignments else 1


def burn_in_updates(config: LdaSettings) -> int:
    """Updates of minibatch chains after which states are samples: those of a start, and those after
    which chains were averaged."""
    return max(config.anneal_updates, config.average_until or 0)


def work_of_start(config: LdaSettings, size: Extent) -> Work:
    """What the start of a run that keeps assignments comes to, by its resolved settings."""
    share = config.start_documents / size.n_docs if config.start == "subset" else 1.0
    return start_work(config.start, config.start_sweeps, size, config.topics, share)


def expected_samples(config: Resolved, size: Extent, pace: Pace) -> int:
    """About how many posterior samples of a chain a run will keep, from its resolved settings."""
    positions = []
    if config.keeps_assignments:
        start = config.start_sweeps
        sweep, behind = seconds_of_sweeps(config, size, pace)
        work = work_of_start(config, size)
        if config.epochs is not None:
            positions.append(config.epochs + start - work.draws)
        if config.time_budget is not None:
            sweeps = config.time_budget / (config.chains * sweep)
            late = latest(config.start, True) * sweeps + LEAST_START
            positions.append(start + (sweeps - min(work.cost, late)) * (sweep / behind))
    else:
        start = burn_in_updates(config) // config.trajectory
        tokens = size.n_tokens / size.n_docs * config.batch_size
        update = pace.minibatch_update(tokens, config.sweeps, size.n_words * config.topics)
        sweeps, drawn = 0, 0.0  # of a subset, and tokens of these
        if config.start == "subset":
            sweeps = config.start_sweeps
            drawn = subset_draws(config.start_documents, sweeps, size, config.topics)
        updates = [expected_updates(config, size.n_docs)]
        if updates[0] is not None:  # a sweep is an update, and its documents are drawn
            of_epochs = drawn / (config.chains * tokens)
            updates[0] -= sweeps if config.updates is not None else of_epochs
        if config.time_budget is not None:
            subset_seconds = min(drawn * pace.token(config), LATEST * config.time_budget)
            updates.append((config.time_budget - subset_seconds) / update)
            late = latest(config.start, False) * config.time_budget
            ends = end_if_late(int((late - subset_seconds) / update))
            start = min(start, ends // config.trajectory)
        start += sweeps
        positions += [sweeps + n / config.trajectory for n in updates if n is not None]
    last = int(min(positions))
    return number_kept(start + 1, last, config.samples)


def remarks(asked: LdaSettings, config: Resolved, size: Extent, machine: Machine) -> list[str]:
    """What there is to say of settings once they are resolved, before training begins."""
    told = []
    if asked.sampler == AUTO:
        told.append(f"--sampler auto: {', '.join(choose(asked, size, machine))}")
    elif asked.remember == AUTO and config.remember:
        why = remembers(asked, size, machine)
        told.append(f"--sampler {config.sampler} {why}; --no-remember learns from minibatches")
    if config.topics > size.n_docs:
        told.append(
            f"{config.topics} topics are more than there are documents ({size.n_docs:,}): few"
            " of them can be told from chance"
        )
    if asked.until == AUTO and config.until == "converged":
        told.append(
            f"trains until it has converged, {_target(config)} at most; --updates, --epochs or"
            " --time-budget set another length"
        )
    samples = expected_samples(config, size, machine.usual_pace(config, size.n_words))
    if samples < ENOUGH_SAMPLES:
        what = "too short for any posterior sample" if samples < 1 else (
            f"long enough for {samples} posterior sample{'s' * (samples > 1)} or so"
        )  # fmt: skip
        told.append(
            f"{_target(config)} is {what} past the start; for intervals and a verdict on"
            " convergence give more"
        )
    return told


def _target(config: Resolved) -> str:
    if config.time_budget is not None:
        return f"--time-budget {config.time_budget:g}s"
    if config.updates is not None:
        return f"--updates {config.updates}"
    return f"--epochs {config.epochs:g}"
