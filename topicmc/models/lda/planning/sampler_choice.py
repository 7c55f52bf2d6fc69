"""Whether memory and time allow kept assignments: the sampler that ``auto`` chooses, and whether
SCIR remembers."""

from __future__ import annotations

from dataclasses import replace

from topicmc.errors import UsageError
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.minibatches.defaults import minibatch_tokens, updates_within
from topicmc.models.lda.planning.chain_defaults import open_to_subset, usual_start
from topicmc.models.lda.planning.pace import Machine
from topicmc.models.lda.planning.starts import (
    LEAST_START,
    LEAST_UPDATES,
    run_of_slow_growth,
    usual_subset,
)
from topicmc.models.lda.settings import LdaSettings, Resolved
from topicmc.settings.values import AUTO, option, or_default

# What `choose` reckons with: the part of the memory that assignments may take, and how much there
# is where the system does not say; how long a run is that has no budget; and the sweeps over all
# documents, at the pace of a chain that has settled, for which minibatches are ahead of a start in
# which few documents have to join: on arXiv abstracts with 1,000 topics for some 20.
_MEMORY_SHARE, _MEMORY = 0.5, 8e9
_UNTIMED = 3600.0
LEAST_SWEEPS = 20
# Of the sweeps of a run in which documents join as slowly as they can: AD-LDA is ahead from there
# on, although they join somewhat faster. On arXiv abstracts with 100 topics it is with 33 sweeps.
GROWTH_SHARE = 0.55
# The same where they start on a subset, as minibatches would, which are ahead for some 13 sweeps.
SUBSET_LEAST = 15
# Tokens that minibatches are expected to draw for each weight θ_wk, below which topics are mostly
# draws from their prior and worse than none: on arXiv abstracts minibatches were behind AD-LDA with
# 0.03 of 10,000 and 2,000 topics and 0.06 of 1,000, and ahead with 0.07 of 2,000 and 0.11 of 1,000.
_FILLED = 0.06
_REMEMBERS = "which keeps the topic of every token, because "
_OF_CHAINS = (
    "groups", "average_until", "sweeps", "burn_in", "step_size", "step_offset", "step_decay",
    "schedule", "remember", "estimate",
)  # fmt: skip
_OF_MINIBATCHES = (
    "batch_size", "trajectory", "chains", "updates", "anneal_updates", "start_sweeps",
    "start_documents",
)  # fmt: skip
_OF_KEPT = ("grow", "consensus")  # starts of samplers that keep assignments alone
_NEUTRAL = {"groups": 1, "average_until": 0}  # what every sampler can honour
_OF_STEPS = ("step_size", "step_offset", "step_decay")  # kept assignments have moves, too


def choose(config: LdaSettings, size: Extent, machine: Machine) -> tuple[str, str]:
    """The sampler for a corpus, and why, as a phrase that follows its name.

    Remembering every assignment (AD-LDA) finds better topics than minibatches wherever the
    assignments fit into the memory of each worker, and the time allows for samples and for a start
    in which the documents join slowly (on arXiv abstracts minibatches are ahead for 5 s), or for
    one on a subset as large as theirs: for the more sweeps, the longer workers exchange their
    counts, since chains would draw more meanwhile. Nor are minibatches taken that would leave
    topics all but empty or, where they are much of the corpus, hardly come to a sample; nor for
    more chains than workers. Settings that only chains have, or kept assignments, are honoured.
    """
    asked = [name for name in _OF_CHAINS if getattr(config, name) != getattr(LdaSettings, name)]
    if config.workers == 1 and "schedule" in asked:  # a chain that stays has none
        asked.remove("schedule")
    if asked or config.start == "stream":
        what = option(asked[0]) if asked else "--start stream"
        return "scir", f"because {what} is a setting of its chains"
    if config.start in _OF_KEPT:
        return "adlda", f"{_REMEMBERS}--start {config.start} is of samplers that do"
    config = replace(config, topics=or_default(config.topics, default_topics(size)))
    tokens = f"{size.n_tokens / 1e6:,.1f} million tokens"
    chains = or_default(config.chains, 1)
    needed = chains * token_bytes(size.n_words, config.topics) * size.n_tokens / config.workers
    if needed > _MEMORY_SHARE * (_MEMORY if machine.memory is None else machine.memory):
        why = f"the topics of {tokens} would take too much memory to remember"
        return _minibatches(config, why)
    pace = machine.usual_pace(config, size.n_words)
    draw, exchange = pace.sweep(config, size)
    seconds = config.time_budget or _UNTIMED
    sweeps = seconds / (chains * (draw + exchange))
    topics = int(config.topics)
    least = max(LEAST_SWEEPS, GROWTH_SHARE * run_of_slow_growth(size, topics))
    if open_to_subset(config) and usual_subset(sweeps, size, topics):
        least = min(least, SUBSET_LEAST)
    if sweeps < least * (draw + exchange) / draw:
        if exchange > draw:
            return _minibatches(config, f"{config.workers} workers would mostly exchange counts")
        short = f"{_REMEMBERS}the time is too short for minibatches to "
        if minibatch_tokens(config, seconds, pace, size) < _FILLED * topics * size.n_words:
            return "adlda", f"{short}fill {topics:,} topics"
        updates = updates_within(config, seconds, size, machine)
        if updates <= LEAST_UPDATES and sweeps > LEAST_START + 1:
            return "adlda", f"{short}come to samples"
        return _minibatches(config, f"the time is too short for sweeps over {tokens}")
    why = f"{_REMEMBERS}those of {tokens} fit in memory"
    if config.time_budget is not None:
        why += f" and the time budget allows for some {sweeps:,.0f} sweeps"
    return "adlda", why


def _minibatches(config: LdaSettings, why: str) -> tuple[str, str]:
    """SCIR and why; but AD-LDA for more chains than workers."""
    if or_default(config.chains, 1) > config.workers:
        return "adlda", f"{_REMEMBERS}a worker holds one minibatch chain at most"
    return "scir", f"because {why}"


def remembers(config: LdaSettings, size: Extent, machine: Machine) -> str | None:
    """Why SCIR keeps the topic of every token, as a phrase that follows its name; None where it
    does not. It does where ``auto`` would take AD-LDA if that did not start on a subset, as
    minibatches do in so short a run, and nothing is asked of minibatches, in one place: several
    workers are there for chains that meet seldom.
    """
    asked = any(getattr(config, n) != getattr(LdaSettings, n) for n in _OF_MINIBATCHES)
    if config.sampler != "scir" or config.workers > 1 or asked:
        return None
    if config.start not in (AUTO, "warm", *_OF_KEPT):
        return None
    start = usual_start(config, "plain")  # not on a subset
    sampler, why = choose(replace(config, sampler=AUTO, start=start), size, machine)
    return why.removeprefix("which ") if sampler == "adlda" else None


def check_honoured(asked: LdaSettings, resolved: LdaSettings) -> None:
    """UsageError for a setting that was asked for and that nothing comes of."""
    check_averages(asked.average_until, resolved)
    if isinstance(asked, Resolved):  # which nobody typed
        return
    _check_moves_and_priors(asked, resolved)
    if not resolved.keeps_assignments:
        return
    if asked.remember is False:
        raise UsageError(
            f"--no-remember, or --estimate plain: {resolved.sampler} keeps the topic of every"
            " token in any case; leave it out, or use --sampler scir"
        )
    sampler = f"--sampler {resolved.sampler}{' --remember' * resolved.remember}"
    if AUTO not in (asked.start_sweeps, asked.anneal_updates):
        raise UsageError(
            f"--start-sweeps {asked.start_sweeps} and --anneal-updates {asked.anneal_updates} both"
            " say how long the start is; give one of them"
        )
    if resolved.start == "consensus" and resolved.start_sweeps == 1:
        raise UsageError(
            "--start-sweeps 1 has no room for the chains of a consensus; give more, or --start"
            " plain"
        )
    honoured = {"remember", "estimate", *(_OF_STEPS if resolved.remember else ())}
    for name in _OF_CHAINS:
        value = getattr(asked, name)
        if name not in honoured and value not in (getattr(LdaSettings, name), _NEUTRAL.get(name)):
            raise UsageError(
                f"{option(name)} is a setting of minibatch chains, which {sampler}"
                " does not have; leave it out, or use --sampler scir"
            )


def _check_moves_and_priors(asked: LdaSettings, resolved: LdaSettings) -> None:
    """UsageError where chains would have nowhere to move, or no prior is learned."""
    if asked.schedule != LdaSettings.schedule and resolved.workers == 1:
        raise UsageError(
            f"--schedule {asked.schedule}: chains move on between workers, and there is one; leave"
            " it out, or give more --workers"
        )
    if asked.learn_until != LdaSettings.learn_until and resolved.learn == "none":
        raise UsageError(
            f"--learn-until {asked.learn_until}: no prior is learned; leave it out, or name"
            " one with --learn"
        )


def check_averages(asked: int | None, resolved: LdaSettings) -> None:
    """UsageError where chains are to be averaged and none can be."""
    if asked and not resolved.keeps_assignments and resolved.groups == resolved.chains:
        raise UsageError(
            f"--average-until {asked}: there are no chains to average; leave it out, or have"
            " several chains, in fewer --groups"
        )


def token_bytes(n_words: int, n_topics: int) -> int:
    """Bytes that the word and the topic of a remembered token take."""
    return (2 if n_words <= 1 << 16 else 4) + (1 if n_topics < 256 else 2)


def default_topics(size: Extent) -> int:
    """K for a corpus: no more than its tokens can bear."""
    usual = 20 if size.n_docs < 1_000 else 50 if size.n_docs < 10_000 else 100
    return min(usual, max(2, size.n_tokens // 10))
