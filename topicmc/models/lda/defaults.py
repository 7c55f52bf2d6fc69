"""The defaults: every setting that was left to the program, decided from the corpus.

`resolve` replaces each ``"auto"`` by a number that depends only on the corpus, the number of
workers, the cores and the memory, so that the configuration saved with a run is complete. The
numbers are those that reached each perplexity soonest on blog posts, abstracts, articles and
paragraphs.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

from topicmc.errors import UsageError
from topicmc.models.lda.collapsed.consensus import member_bytes
from topicmc.models.lda.pace import Pace, documents_of_round
from topicmc.models.lda.sampler_choice import choose, default_topics
from topicmc.models.lda.seeds import usual_weight
from topicmc.models.lda.settings import COLLAPSED, WHOLE, LdaSettings, Resolved
from topicmc.models.lda.starts import (
    BURN_IN_SHARE,
    NO_GROWTH,
    SUBSET_SHARE,
    SUBSET_SWEEPS,
    Growth,
    least_subset,
    longest_start,
    subset_documents,
    subset_draws,
)
from topicmc.posterior.thinning import number_kept
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
_WARM_UPDATES = 100  # of a start from the topics of another run
# What the tokens of a start on a subset may take of a worker's memory, and bytes of each.
_SUBSET_MEMORY, _TOKEN_OF_START = 0.25, 8
_LEAST_UPDATES = 20  # a state after fewer is taken for no sample, however short the run
_START_SHARE = 2 / 3  # of a run, which such a start takes at most
ENOUGH_SAMPLES = 4  # posterior samples, below which a run is told to be short


def default_beta(n_words: int, n_tokens: int) -> float:
    """β for a corpus: 0.01, and more, up to 0.1, where words have few tokens to learn from."""
    return min(0.1, max(0.01, n_words / n_tokens))


def resolve(
    config: LdaSettings,
    *,
    n_docs: int,
    n_tokens: int,
    n_words: int,
    cores: int = 1,
    memory: int | None = None,
    pace: Pace | None = None,
) -> Resolved:
    """``config`` with every ``"auto"`` decided for a corpus of that size, so many cores and bytes
    of memory of each worker, and a machine of that pace, or of the usual where none was measured.

    Raises UsageError when the corpus cannot bear what was asked.
    """
    known = len(config.alpha) if isinstance(config.alpha, list) else default_topics(n_docs)
    topics = or_default(config.topics, known)
    if config.seeds is not None and len(config.seeds) > topics:
        raise UsageError(
            f"--seeds names {len(config.seeds)} topics and there are {topics}; give more --topics"
        )
    if config.seeds is not None and config.seed_weight is None:
        config = replace(config, seed_weight=usual_weight(n_tokens, topics))
    if topics > n_tokens // 10:
        raise UsageError(
            f"--topics {topics} is more than a corpus of {n_tokens:,} tokens can bear:"
            f" use at most {max(2, n_tokens // 10)}"
        )
    sampler = config.sampler
    if sampler == "auto":
        size = {"n_docs": n_docs, "n_tokens": n_tokens, "n_words": n_words}
        sampler = choose(config, **size, cores=cores, memory=memory, pace=pace)[0]
    if config.start_weight is not None and sampler != "sgrld":
        raise UsageError(
            f"--start-weight: weights of --sampler {sampler} do not keep the scale on which they"
            " begin; it is of --sampler sgrld"
        )
    targets = (config.updates, config.epochs, config.time_budget)
    until = "converged" if targets == (None, None, None) else "end"
    until = until if config.until == "auto" else config.until
    config = replace(config, learn=_learned(config), until=until)
    beta = or_default(config.beta, default_beta(n_words, n_tokens))
    if sampler in COLLAPSED or config.remember:
        config = replace(config, sampler=sampler)
        config = replace(config, topics=topics, beta=beta)
        return _resolve_collapsed(config, n_docs, n_tokens, n_words, cores, memory, pace)
    config.check_chains()
    if config.estimate in WHOLE and config.workers > 1:
        raise UsageError(
            f"--estimate {config.estimate} needs all documents in one place; leave out --workers,"
            " or take another estimate"
        )
    if config.start == "grow":
        raise UsageError("--start grow needs --sampler adlda or asynclda, or --remember")
    if config.start == "consensus":
        raise UsageError("--start consensus is of --sampler adlda: leave it out, or use that")
    if config.start == "stream" and sampler != "scir":
        raise UsageError(f"--start stream is of --sampler scir, not {sampler}; leave it out")
    begins = _start(config, sampler_of(sampler).start)
    open_to_subset = config.start == "subset" or (config.start, begins) == (AUTO, "stream")
    for name in ("start_sweeps", "start_documents"):
        if getattr(config, name) != AUTO and not open_to_subset:
            raise UsageError(
                f"{option(name)} is of samplers that keep assignments and of --start subset;"
                f" --sampler {sampler} --start {begins} has --anneal-updates"
            )
    batch_tokens = _between(n_tokens * _BATCH_SHARE, _BATCH_TOKENS)
    documents = _between(batch_tokens * n_docs / max(1, n_tokens), _BATCH_DOCUMENTS)
    batch_size = max(
        1, min(or_default(config.batch_size, round(documents)), n_docs // config.workers)
    )
    sweeps = or_default(config.sweeps, _SWEEPS)
    begun = replace(config, topics=topics, sampler=sampler, beta=beta)
    step_size, step_offset, step_decay = _steps(begun, n_words, n_tokens)
    chains = or_default(config.chains, config.workers)
    groups = or_default(config.groups, 1)
    updates = config.updates
    if updates is None and config.epochs is None and config.time_budget is None:
        longest = _LONGEST_WARM if config.from_run is not None else _LONGEST
        updates = round(longest * min(20_000, max(600, 20 * n_docs / batch_size)) / chains)
    planned: float | None = updates
    if planned is None and config.epochs is not None:
        planned = config.epochs * n_docs / (chains * batch_size)
    pace = pace or Pace.reckoned(replace(config, topics=topics), n_words, cores)
    tokens = n_tokens / n_docs * batch_size
    within = inf if planned is None else planned * chains * tokens * (sweeps + 1)
    if config.epochs is not None:
        within = min(within, config.epochs * n_tokens)  # a sweep over the subset counts, too
    if config.time_budget is not None:
        within = min(within, config.time_budget / pace.token(config))
    start_sweeps = or_default(config.start_sweeps, SUBSET_SWEEPS)
    size = {"n_docs": n_docs, "n_tokens": n_tokens, "n_words": n_words}
    subset = 0
    if open_to_subset:
        asked = replace(begun, groups=groups, updates=updates)
        subset = _documents_of_start(asked, within, memory, **size)
    begins = "subset" if subset else begins
    most = _ANNEAL_UPDATES
    if begins in ("subset", "warm"):  # the steps of a chain whose start is over
        most = _WARM_UPDATES
        step_size *= (1 + _ANNEAL_UPDATES / step_offset) ** -step_decay
        step_offset += _ANNEAL_UPDATES
    start = max(1, most * groups // chains)
    if planned is not None:
        start = min(start, max(_LEAST_UPDATES, int(_START_SHARE * planned)))
    if config.time_budget is not None:
        before = pace.token(config) * subset_draws(subset, start_sweeps, n_topics=topics, **size)
        update = pace.minibatch_update(tokens, sweeps, n_words * topics)
        fitting = int(BURN_IN_SHARE * (config.time_budget - before) / update)
        start = min(start, max(_LEAST_UPDATES, fitting))
    start = or_default(config.anneal_updates, start)
    average_until = config.average_until
    if average_until is None:
        average_until = start if groups < chains else 0
    return Resolved.of(
        replace(
            config,
            topics=topics,
            sampler=sampler,
            alpha=or_default(config.alpha, 0.1),
            beta=beta,
            batch_size=batch_size,
            sweeps=sweeps,
            burn_in=or_default(config.burn_in, sweeps // 2),
            step_size=or_default(config.step_size, step_size),
            step_offset=or_default(config.step_offset, step_offset),
            step_decay=or_default(config.step_decay, step_decay),
            start=begins,
            anneal_updates=start,
            start_sweeps=start_sweeps if subset else "auto",
            start_documents=subset or "auto",
            average_until=average_until,
            updates=updates,
            threads=or_default(config.threads, cores),
            chains=chains,
            groups=groups,
            trajectory=or_default(config.trajectory, 1 if config.workers == 1 else 10),
        )
    )


def initial_total(config: LdaSettings, n_words: int, n_tokens: int) -> float:
    """Σ_w θ_wk of a topic when its chain begins, as told or by its sampler; K and β decided."""
    if config.start_weight is not None:
        return config.start_weight * n_words
    sampler = sampler_of(config.sampler)
    return sampler.initial_total(config.beta, n_words, config.topics, n_tokens)


def _steps(config: LdaSettings, n_words: int, n_tokens: int) -> tuple[float, ...]:
    """a, b and c of the step size, with kept assignments or not; K and β decided."""
    total = initial_total(config, n_words, n_tokens)
    sampler = sampler_of(config.sampler)
    return sampler.steps(total, config.topics, n_tokens, kept=config.remember)


def _start(config: LdaSettings, usual: str) -> str:
    """How a chain begins: as told, with the topics of another run, or as its sampler does. Without
    noise it would not leave topics that contradict what it was given of their prior."""
    if config.start != "auto":
        return config.start
    if config.from_run is not None:
        return "warm"
    given = config.seeds is not None or config.topic_prior is not None
    return "anneal" if given and usual == "stream" else usual


def _documents_of_start(
    config: LdaSettings, within: float, memory: int | None, *, n_docs: int, n_tokens: int,
    n_words: int,
) -> int:  # fmt: skip
    """Documents of a start on a subset of them, of a run that draws ``within`` tokens: as many as
    were told, or as suit the run; 0 where it had better begin in another way."""
    told = config.start == "subset" or (config.start_sweeps, config.start_documents) != (AUTO, AUTO)
    if told and config.groups != 1:
        raise UsageError(
            f"--start subset gives every chain the same topics, and --groups {config.groups} asks"
            " for chains that know nothing of each other: leave one of them out"
        )
    if config.start_documents != AUTO:
        if config.start_documents * n_tokens < 10 * config.topics * n_docs:
            raise UsageError(
                f"--start-documents {config.start_documents} have too few tokens for"
                f" {config.topics} topics; give more"
            )
        return min(config.start_documents, n_docs)
    sweeps = or_default(config.start_sweeps, SUBSET_SWEEPS)
    short = config.updates is not None and sweeps > SUBSET_SHARE * config.updates
    if not told and (config.groups != 1 or config.anneal_updates != AUTO or short):
        return 0
    size = {"n_docs": n_docs, "n_tokens": n_tokens, "n_words": n_words, "n_topics": config.topics}
    most = inf if memory is None else _SUBSET_MEMORY * memory / _TOKEN_OF_START
    least = 10 * config.topics if told else least_subset(config.topics, n_words)
    return subset_documents(within, sweeps, (least, most), **size)


def _learned(config: LdaSettings) -> str:
    """Priors that were left to the program are learned."""
    if config.learn != "auto":
        return config.learn
    free = {name for name in ("alpha", "beta") if getattr(config, name) == "auto"}
    return "both" if len(free) == 2 else (free or {"none"}).pop()


# A sweep of a collapsed sampler has so many blocks, but blocks have so many tokens, which keep
# threads busy, unless a sweep would then have too few.
_BLOCKS = (4, 64)
_BLOCK_TOKENS = 120_000
_START_SWEEPS = 80  # of a start, and the most that a long time budget makes of it
_LONGEST_START = 160
_WARM_SWEEPS = 20  # of a start from the topics of another run, in any budget
_LEAST_SWEEPS = 5  # a state after fewer is taken for no sample, however short the run
# The shortest consensus start that is chosen, and the longest, in sweeps; how much work that is at
# least, in sweeps over the documents that a growing start would begin with, for the fewer these are
# the more growth saves; and the most topics, for those of all members are compared.
_CONSENSUS_SWEEPS, _CONSENSUS_FIRST, _CONSENSUS_TOPICS = (200, 1_250), 50, 200
_CONSENSUS_MEMORY = 0.25  # of a worker's, that their comparison may take
# Where nothing says how long to train, a run is first asked whether it has converged after what
# people gladly wait, in seconds on two cores of the usual speed, whatever this machine has, within
# so many sweeps; and goes on for at most three times as long. One that goes on from another run
# takes a third of all that.
_GLADLY, _RUN_EPOCHS = 30.0, (150, 3_000)
_LONGEST, _LONGEST_WARM = 3, 1


def _resolve_collapsed(
    config: LdaSettings, n_docs: int, n_tokens: int, n_words: int, cores: int,
    memory: int | None, pace: Pace | None,
) -> Resolved:  # fmt: skip
    """The same for AD-LDA, Async-LDA and remembered assignments; their updates are blocks of each
    worker's documents."""
    chains = or_default(config.chains, 1)
    if config.start == "stream":
        raise UsageError("--start stream is of minibatches: leave it out, or use --sampler scir")
    if config.start == "subset" or config.start_documents != AUTO:
        what = "--start subset" if config.start == "subset" else "--start-documents"
        raise UsageError(
            f"{what} is of minibatches, and --sampler {config.sampler} keeps the topics of all"
            " documents: leave it out, or use --sampler scir"
        )
    if config.start == "consensus":
        if not _pools(replace(config, alpha=0.1)):
            raise UsageError("--start consensus is of --sampler adlda: leave it out, or use that")
        given = [name for name in ("seeds", "topic_prior") if getattr(config, name) is not None]
        if given or isinstance(config.alpha, list):
            raise UsageError(
                f"--start consensus numbers topics anew, and {option((*given, 'alpha')[0])} tells"
                " them apart: leave one of them out"
            )
    if config.groups not in ("auto", 1):
        raise UsageError(
            f"--groups is of chains that are averaged, not of --sampler {config.sampler}"
        )
    if config.average_until:
        raise UsageError(
            f"--average-until is of chains that are averaged, not of --sampler {config.sampler}"
        )
    if chains > 1 and (config.sampler != "adlda" or config.remember):
        remember = " --remember" if config.remember else ""
        raise UsageError(f"--sampler {config.sampler}{remember} has one chain: leave out --chains")
    mine = -(-n_docs // config.workers)
    steps: tuple[float, ...] = (3.0, 1.0, 0.0)  # of no meaning to samplers without moves
    if config.remember:
        steps = _steps(config, n_words, n_tokens)
    n_blocks = _between(n_tokens / config.workers / _BLOCK_TOKENS, _BLOCKS)
    batch_size = min(mine, or_default(config.batch_size, max(1, round(mine / n_blocks))))
    per_round = documents_of_round(n_docs, config.workers) if config.workers > 1 else 1
    config = replace(
        config,
        alpha=or_default(config.alpha, 0.1),
        batch_size=batch_size,
        sweeps=1,
        burn_in=0,
        step_size=or_default(config.step_size, steps[0]),
        step_offset=or_default(config.step_offset, steps[1]),
        step_decay=or_default(config.step_decay, steps[2]),
        threads=or_default(config.threads, cores),
        chains=chains,
        groups=1,
        trajectory=or_default(config.trajectory, max(1, per_round // batch_size)),
    )
    per_sweep = config.trajectory * rounds_per_sweep(config, n_docs)
    warm, epochs = config.from_run is not None, config.epochs
    sweeps = inf  # that there is time for
    if config.updates is not None:
        epochs = config.updates / per_sweep  # which holds on any number of workers
    elif epochs is None and config.time_budget is None:
        usual = Pace.reckoned(replace(config, threads=2, workers=1), n_words, 2)
        sweep = chains * sum(usual.sweep(replace(config, workers=1), n_docs, n_tokens))
        sweeps = round(_between(_GLADLY / sweep, _RUN_EPOCHS))
        epochs = (_LONGEST_WARM if warm else _LONGEST) * sweeps
    sweeps = min(sweeps, inf if epochs is None else epochs)
    if config.time_budget is not None:
        pace = pace or Pace.reckoned(config, n_words, cores)
        within = config.time_budget / (chains * sum(pace.sweep(config, n_docs, n_tokens)))
        sweeps = min(sweeps, within)
    size = {"n_tokens": n_tokens, "n_topics": config.topics, "n_words": n_words}
    longest = int(min(_CONSENSUS_SWEEPS[1], BURN_IN_SHARE * sweeps))
    suits = _suits_consensus(config, longest, memory, **size)
    config = replace(config, start=_start(config, "consensus" if suits else "grow"))
    start = _WARM_SWEEPS if warm else longest if config.start == "consensus" else _START_SWEEPS
    if config.anneal_updates != "auto":
        start = max(1, round(config.anneal_updates / per_sweep))
    elif config.time_budget is not None and config.start != "consensus":
        start = longest_start(
            BURN_IN_SHARE * within, start if warm else _LONGEST_START, **size,
            grows=config.start == "grow",
        )  # fmt: skip
    start = max(_LEAST_SWEEPS, start)
    if epochs is not None and config.anneal_updates == "auto":
        start = min(start, max(_LEAST_SWEEPS, int(epochs / 2)))
    return Resolved.of(
        replace(
            config,
            epochs=epochs,
            start_sweeps=or_default(config.start_sweeps, start),
            average_until=0,
        )
    )


def _suits_consensus(config: LdaSettings, longest: int, memory: int | None, **size: int) -> bool:
    """Whether a start of a run of a collapsed sampler that may be so long, in sweeps, had better be
    a consensus of short chains: where sweeps are cheap, nothing tells topics apart at first, and
    the topics of all members fit into memory."""
    told = config.seeds, config.topic_prior, config.from_run
    free = inf if memory is None else memory
    return (
        _pools(config)
        and told == (None, None, None)
        and (config.start_sweeps, config.anneal_updates) == ("auto", "auto")
        and config.topics <= _CONSENSUS_TOPICS
        and member_bytes(size["n_words"], config.topics) <= _CONSENSUS_MEMORY * free
        and longest >= _CONSENSUS_SWEEPS[0]
        and longest * Growth.over(longest, **size).first >= _CONSENSUS_FIRST
    )


def _pools(config: LdaSettings) -> bool:
    """Whether members of a start can be pooled: their counts are those of all workers at the end of
    a sweep, and topics have no number of their own."""
    return config.sampler == "adlda" and not config.remember and not isinstance(config.alpha, list)


def needs_pace(config: LdaSettings) -> bool:
    """Whether something is left open that depends on the speed of the machine."""
    start = config.start_sweeps if config.keeps_assignments else config.anneal_updates
    return config.time_budget is not None and "auto" in (config.sampler, start)


def remarks(
    asked: LdaSettings, config: Resolved, bounds: dict[str, Any], pace: Pace | None
) -> list[str]:
    """What there is to say of settings once they are resolved, before training begins."""
    told = []
    if asked.sampler == "auto":
        told.append(f"--sampler auto: {', '.join(choose(asked, **bounds, pace=pace))}")
    size = {name: bounds[name] for name in ("n_docs", "n_tokens", "n_words")}
    pace = pace or Pace.reckoned(config, bounds["n_words"], bounds["cores"])
    if config.topics > bounds["n_docs"]:
        told.append(
            f"{config.topics} topics are more than there are documents ({bounds['n_docs']:,}): few"
            " of them can be told from chance"
        )
    if asked.until == "auto" and config.until == "converged":
        told.append(
            f"trains until it has converged, {_target(config)} at most; --updates, --epochs or"
            " --time-budget set another length"
        )
    samples = expected_samples(config, **size, pace=pace)
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


def passes(config: LdaSettings) -> int:
    """How often an epoch draws each document: once by each chain that keeps assignments; chains of
    minibatches share the documents."""
    return config.chains if config.keeps_assignments else 1


def expected_updates(config: LdaSettings, n_docs: int) -> float | None:
    """About how many updates of a chain resolved settings come to; None where only time tells."""
    if config.updates is not None or config.epochs is None:
        return config.updates
    together = config.workers if config.keeps_assignments else config.chains
    return config.epochs * n_docs / (config.batch_size * together)


def expected_samples(
    config: Resolved, *, n_docs: int, n_tokens: int, n_words: int, pace: Pace
) -> int:
    """About how many posterior samples of a chain a run will keep, from its resolved settings."""
    positions = []
    if config.keeps_assignments:
        growth = NO_GROWTH
        if config.start == "grow":
            size = {"n_tokens": n_tokens, "n_topics": config.topics, "n_words": n_words}
            growth = Growth.over(config.start_sweeps, **size)
        start = config.start_sweeps
        spared = start - growth.cost(start)
        sweep = config.chains * sum(pace.sweep(config, n_docs, n_tokens))
        if config.epochs is not None:
            positions.append(config.epochs + spared)
        if config.time_budget is not None:
            positions.append(config.time_budget / sweep + spared)
    else:
        burn_in = max(config.anneal_updates, config.average_until or 0)
        start = -(-burn_in // config.trajectory)
        tokens = n_tokens / n_docs * config.batch_size
        update = pace.minibatch_update(tokens, config.sweeps, n_words * config.topics)
        updates = [expected_updates(config, n_docs)]
        if config.time_budget is not None:
            size = {"n_docs": n_docs, "n_tokens": n_tokens, "n_words": n_words}
            drawn = 0.0
            if config.start == "subset":
                subset = config.start_documents, config.start_sweeps
                drawn = subset_draws(*subset, n_topics=config.topics, **size)
            updates.append((config.time_budget - drawn * pace.token(config)) / update)
        positions += [n / config.trajectory for n in updates if n is not None]
    last = int(min(positions))
    return number_kept(start, last, config.samples)


def rounds_per_sweep(config: LdaSettings, n_docs: int) -> int:
    """Rounds of `trajectory` blocks of `batch_size` documents on each worker that see them all."""
    per_round = config.workers * config.trajectory * config.batch_size
    return -(-n_docs // per_round)


def _between(value: float, bounds: tuple[int, int]) -> float:
    return min(max(value, bounds[0]), bounds[1])
