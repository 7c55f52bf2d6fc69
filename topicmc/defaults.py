"""The defaults: every setting that was left to the program, decided from the corpus.

`resolve` replaces each ``"auto"`` by a number that depends only on the corpus, the number of
workers, the cores and the memory, so that the configuration saved with a run is complete. The
numbers are those that reached each perplexity soonest on blog posts, abstracts, articles and
paragraphs.
"""

from __future__ import annotations

from dataclasses import replace

from topicmc.config import COLLAPSED, TrainConfig
from topicmc.errors import UsageError
from topicmc.suitable import choose, default_topics, documents_of_round, or_default, sweep_seconds

# Batches are sized in tokens rather than documents: the noise of the gradient depends on the words
# seen, and articles are ten times as long as abstracts. Where a batch is scaled up more than some
# hundred times, its noise drowns what it says of rarer words: large corpora need larger ones.
_BATCH_TOKENS = (250_000, 2_000_000)  # at least, at most
_BATCH_SHARE = 1 / 400  # of the corpus, in between
_BATCH_DOCUMENTS = (50, 50_000)
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
    config: TrainConfig,
    *,
    n_docs: int,
    n_tokens: int,
    n_words: int,
    cores: int = 1,
    memory: int | None = None,
) -> TrainConfig:
    """``config`` with every ``"auto"`` decided for a corpus of that size, and so many cores and
    bytes of memory of each worker.

    Raises UsageError when the corpus cannot bear what was asked.
    """
    topics = or_default(config.topics, default_topics(n_docs))
    if topics > n_tokens // 10:
        raise UsageError(
            f"--topics {topics} is more than a corpus of {n_tokens:,} tokens can bear:"
            f" use at most {max(2, n_tokens // 10)}"
        )
    sampler = config.sampler
    if sampler == "auto":
        size = {"n_docs": n_docs, "n_tokens": n_tokens, "n_words": n_words}
        sampler = choose(config, **size, cores=cores, memory=memory)[0]
    config = replace(config, learn=_learned(config))
    beta = or_default(config.beta, default_beta(n_words, n_tokens))
    if sampler in COLLAPSED or config.remember:
        config = replace(config, sampler=sampler)
        config = replace(config, topics=topics, beta=beta)
        return _resolve_collapsed(config, n_docs, n_tokens, n_words, cores)
    config.check_chains()
    if config.start == "grow":
        raise UsageError("--start grow needs --sampler adlda or asynclda, or --remember")
    batch_tokens = _between(n_tokens * _BATCH_SHARE, _BATCH_TOKENS)
    documents = _between(batch_tokens * n_docs / max(1, n_tokens), _BATCH_DOCUMENTS)
    batch_size = max(
        1, min(or_default(config.batch_size, round(documents)), n_docs // config.workers)
    )
    sweeps = or_default(config.sweeps, 5)
    step_size, step_offset, step_decay = _STEP[sampler]
    if sampler == "sgrld":
        step_size *= initial_total(sampler, beta, n_words, topics, n_tokens) * topics / n_tokens
    chains = or_default(config.chains, config.workers)
    groups = or_default(config.groups, 1)
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
        alpha=or_default(config.alpha, 0.1),
        beta=beta,
        batch_size=batch_size,
        sweeps=sweeps,
        burn_in=or_default(config.burn_in, sweeps // 2),
        step_size=or_default(config.step_size, step_size),
        step_offset=or_default(config.step_offset, step_offset),
        step_decay=or_default(config.step_decay, step_decay),
        start=_START[sampler] if config.start == "auto" else config.start,
        anneal_updates=or_default(config.anneal_updates, anneal_updates),
        updates=updates,
        threads=or_default(config.threads, cores),
        chains=chains,
        groups=groups,
        trajectory=or_default(config.trajectory, 1 if config.workers == 1 else 10),
    )


def _learned(config: TrainConfig) -> str:
    """Priors that were left to the program are learned."""
    if config.learn != "auto":
        return config.learn
    free = {name for name in ("alpha", "beta") if getattr(config, name) == "auto"}
    return "both" if len(free) == 2 else (free or {"none"}).pop()


# A sweep of a collapsed sampler has so many blocks, but blocks have so many tokens, which keep
# threads busy, unless a sweep would then have too few.
_BLOCKS = (4, 64)
_BLOCK_TOKENS = 120_000
# The step of SGRLD with remembered assignments: twice the share by which a move changes topics.
_REMEMBERED_STEP = 0.1
_START_SWEEPS = (80, 160)  # at least, and within a long time budget
_START_SHARE = 0.4  # of the sweeps that a budget allows
_RUN_SWEEPS = 150  # where nothing says how long to train


def _resolve_collapsed(
    config: TrainConfig, n_docs: int, n_tokens: int, n_words: int, cores: int
) -> TrainConfig:
    """The same for AD-LDA, Async-LDA and remembered assignments; their updates are blocks of each
    worker's documents."""
    chains = or_default(config.chains, 1)
    if config.groups not in ("auto", 1):
        raise UsageError(
            f"--groups is of chains that are averaged, not of --sampler {config.sampler}"
        )
    if chains > 1 and (config.sampler != "adlda" or config.remember):
        remember = " --remember" if config.remember else ""
        raise UsageError(f"--sampler {config.sampler}{remember} has one chain: leave out --chains")
    mine = -(-n_docs // config.workers)
    step_size = 3.0
    if config.remember and config.sampler == "sgrld":
        total = initial_total("sgrld", config.beta, n_words, config.topics, n_tokens)
        step_size = _REMEMBERED_STEP * total * config.topics / n_tokens
    n_blocks = _between(n_tokens / config.workers / _BLOCK_TOKENS, _BLOCKS)
    batch_size = min(mine, or_default(config.batch_size, max(1, round(mine / n_blocks))))
    per_round = documents_of_round(mine) if config.workers > 1 else 1
    config = replace(
        config,
        alpha=or_default(config.alpha, 0.1),
        batch_size=batch_size,
        sweeps=or_default(config.sweeps, 1),
        burn_in=or_default(config.burn_in, 0),
        step_size=or_default(config.step_size, step_size),
        step_offset=or_default(config.step_offset, 1.0),
        step_decay=or_default(config.step_decay, 0.0),
        start="grow" if config.start == "auto" else config.start,
        threads=or_default(config.threads, cores),
        chains=chains,
        groups=1,
        trajectory=or_default(config.trajectory, max(1, per_round // batch_size)),
    )
    per_sweep = config.trajectory * rounds_per_sweep(config, n_docs)
    updates = config.updates
    if updates is None and config.epochs is not None:
        updates = max(1, round(config.epochs * per_sweep))
    if updates is None and config.time_budget is None:
        updates = _RUN_SWEEPS * per_sweep
    sweeps = float(_START_SWEEPS[0])
    if config.time_budget is not None:
        sweep = chains * sum(sweep_seconds(config, n_docs, n_tokens, n_words, cores))
        sweeps = _between(_START_SHARE * config.time_budget / sweep, _START_SWEEPS)
    start = round(sweeps * per_sweep)
    if updates is not None:
        start = max(1, min(start, updates // 2))
    return replace(config, updates=updates, anneal_updates=or_default(config.anneal_updates, start))


def rounds_per_sweep(config: TrainConfig, n_docs: int) -> int:
    """Rounds of `trajectory` blocks of `batch_size` documents on each worker that see them all."""
    per_round = config.workers * config.trajectory * config.batch_size
    return -(-n_docs // per_round)


def _between(value: float, bounds: tuple[int, int]) -> float:
    return min(max(value, bounds[0]), bounds[1])
